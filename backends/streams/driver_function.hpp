// A function of a vendor's driver, which knows its own name: called like the function itself it throws Failure with
// that name and the driver's words; `raw` is for callers that tell results apart.
#pragma once

namespace sluice::streams {

/// Throws Failure unless `code` is success.
void check(int code, const char* function);

template <class Signature>
struct DriverFunction;

template <class... P>
struct DriverFunction<int(P...)> {
  const char* name;
  int (*raw)(P...) = nullptr;

  void operator()(P... arguments) const { check(raw(arguments...), name); }
};

}  // namespace sluice::streams
