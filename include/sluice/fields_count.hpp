// The fields of a plain aggregate without SLUICE_FIELDS: counted by how many initialisers fit between its braces,
// reached by structured bindings.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace sluice::detail {

inline constexpr std::size_t kMaxFields = 24;

/// Converts to anything except T itself, so that a struct of one field is not counted by its copy constructor.
template <class T>
struct AnyField {
  template <class U>
    requires(!std::is_same_v<std::remove_cvref_t<U>, T>)
  operator U() const;  // never defined
};

template <class T, std::size_t... I>
constexpr bool takes_initialisers(std::index_sequence<I...>) {
  return requires { T{((void)I, AnyField<T>{})...}; };
}

template <class T, std::size_t... I, std::size_t... J>
constexpr bool takes_empty_braces(std::index_sequence<I...>, std::index_sequence<J...>) {
  return requires { T{((void)I, AnyField<T>{})..., {}, ((void)J, AnyField<T>{})...}; };
}

template <class T, std::size_t N = kMaxFields + 1>
constexpr std::size_t count_initialisers() {
  if constexpr (takes_initialisers<T>(std::make_index_sequence<N>{})) return N;
  else if constexpr (N == 0) return 0;
  else return count_initialisers<T, N - 1>();
}

/// A C array takes one initialiser per element without braces of its own, but {} fills all of it: where {} leaves room
/// for fewer initialisers than a single one does, an array begins.
template <class T, std::size_t N, std::size_t I = 0>
constexpr bool has_c_array() {
  if constexpr (I >= N) {
    return false;
  } else {
    using Before = std::make_index_sequence<I>;
    if constexpr (!takes_empty_braces<T>(Before{}, std::make_index_sequence<N - I - 1>{}) &&
                  takes_empty_braces<T>(Before{}, std::make_index_sequence<0>{})) {
      return true;
    } else {
      return has_c_array<T, N, I + 1>();
    }
  }
}

template <class T>
inline constexpr bool kHasNoCArray = !has_c_array<T, count_initialisers<T>()>();
template <class T>
inline constexpr bool kFieldsCanBeCounted = count_initialisers<T>() >= 1 && count_initialisers<T>() <= kMaxFields;

/// Stands for names where there are none.
struct Unnamed {
  constexpr std::string_view operator[](std::size_t) const { return {}; }
};

// clang-format off
#define SLUICE_TIE(count, ...) \
  else if constexpr (kCount == count) { auto& [__VA_ARGS__] = value; return std::tie(__VA_ARGS__); }
/// References to the fields of an aggregate.
template <class T>
auto tie_fields(T& value) {
  static_assert(kFieldsCanBeCounted<T>, "the fields of this struct cannot be counted: add SLUICE_FIELDS(first, second, ...) to it");
  if constexpr (kFieldsCanBeCounted<T>) {
    static_assert(kHasNoCArray<T>, "a C array cannot be a field of a model: write std::array");
  }
  constexpr std::size_t kCount = kFieldsCanBeCounted<T> && kHasNoCArray<T> ? count_initialisers<T>() : 0;
  if constexpr (kCount == 0) return std::tie();
  SLUICE_TIE(1, a)
  SLUICE_TIE(2, a, b)
  SLUICE_TIE(3, a, b, c)
  SLUICE_TIE(4, a, b, c, d)
  SLUICE_TIE(5, a, b, c, d, e)
  SLUICE_TIE(6, a, b, c, d, e, f)
  SLUICE_TIE(7, a, b, c, d, e, f, g)
  SLUICE_TIE(8, a, b, c, d, e, f, g, h)
  SLUICE_TIE(9, a, b, c, d, e, f, g, h, i)
  SLUICE_TIE(10, a, b, c, d, e, f, g, h, i, j)
  SLUICE_TIE(11, a, b, c, d, e, f, g, h, i, j, k)
  SLUICE_TIE(12, a, b, c, d, e, f, g, h, i, j, k, l)
  SLUICE_TIE(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  SLUICE_TIE(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  SLUICE_TIE(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  SLUICE_TIE(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  SLUICE_TIE(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  SLUICE_TIE(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  SLUICE_TIE(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  SLUICE_TIE(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  SLUICE_TIE(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  SLUICE_TIE(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  SLUICE_TIE(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
  SLUICE_TIE(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
}
#undef SLUICE_TIE
// clang-format on

}  // namespace sluice::detail
