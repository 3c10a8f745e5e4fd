// Whether a function that is declared by hand has the type that a vendor's header gives it.
#pragma once

#include <type_traits>

namespace sluice::tests {

// The backends write int for enums; the vendors' are as wide in every compiler.
template <class Theirs, class Ours>
constexpr bool kIsSame = std::is_same_v<Theirs, Ours> || (std::is_enum_v<Theirs> && std::is_same_v<Ours, int>);
template <class Theirs, class Ours>
constexpr bool kIsSame<Theirs*, Ours*> = std::is_same_v<Theirs, Ours> || kIsSame<Theirs, Ours>;
template <class R, class... P, class OurR, class... OurP>
  requires(sizeof...(P) == sizeof...(OurP))
constexpr bool kIsSame<R (*)(P...), OurR (*)(OurP...)> = kIsSame<R, OurR> && (kIsSame<P, OurP> && ...);

}  // namespace sluice::tests
