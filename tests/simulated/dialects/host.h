// What kernel text of any dialect finds on a virtual GPU: the item that is running, the functions of libm, and memory
// that the items of a group share. It stands before the text; no standard header, so that compiling stays quick.
#ifndef SLUICE_TESTS_SIMULATED_DIALECTS_HOST_H
#define SLUICE_TESTS_SIMULATED_DIALECTS_HOST_H

#define VIRTUAL_EXPORT extern "C" __attribute__((visibility("default")))

// The same struct as in tests/simulated/virtual_compiler.hpp.
struct virtual_item {
  unsigned int item, group, groups, group_size;
  void (*wait)(int line);  // for all items of the group to come as far
};
VIRTUAL_EXPORT virtual_item* virtual_now;
virtual_item* virtual_now;

// One section holds all local memory of a text, so that it can be spoilt before each group.
#define VIRTUAL_LOCAL static __attribute__((section("virtual_local")))
#define VIRTUAL_WAIT virtual_now->wait(__LINE__)
extern "C" __attribute__((weak, visibility("hidden"))) char __start_virtual_local[], __stop_virtual_local[];

extern "C" {
float floorf(float), sqrtf(float), fabsf(float), rintf(float), sinf(float), cosf(float);
float fmodf(float, float), fmaf(float, float, float);
double floor(double), sqrt(double), fabs(double), rint(double), sin(double), cos(double), exp(double), expm1(double);
double log(double), log1p(double), tanh(double), erf(double), pow(double, double), fmod(double, double);
double fma(double, double, double);
}

template <class To, class From>
static inline To virtual_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "the bits of a value of the same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// ---- How a kernel is called. Argument k is the address of a block or of a value; parameters behind the last argument
// are the numbers of the item, of its group and of groups. The size of a block's parameter is 0.

template <class P>
struct virtual_parameter {
  static constexpr int size = sizeof(P);
  static P& get(void* argument, int) { return *static_cast<P*>(argument); }
};
template <class T>
struct virtual_parameter<T*> {
  static constexpr int size = 0;
  static T* get(void* argument, int) { return static_cast<T*>(argument); }
};
template <class T>
struct virtual_parameter<T&> {
  static constexpr int size = sizeof(T);
  static T& get(void* argument, int) { return *static_cast<T*>(argument); }
};
template <>
struct virtual_parameter<unsigned int> {
  static constexpr int size = sizeof(unsigned int);
  static unsigned int get(void* argument, int behind) {
    switch (behind) {
      case 0: return virtual_now->item;
      case 1: return virtual_now->group;
      case 2: return virtual_now->groups;
      default: return *static_cast<unsigned int*>(argument);
    }
  }
};

template <int... K>
struct virtual_places {};
template <int N, int... K>
struct virtual_first : virtual_first<N - 1, N - 1, K...> {};
template <int... K>
struct virtual_first<0, K...> {
  using type = virtual_places<K...>;
};

template <class... P, int... K>
static inline void virtual_call(void (*kernel)(P...), void* const* arguments, int count, virtual_places<K...>) {
  kernel(virtual_parameter<P>::get(K < count ? arguments[K] : nullptr, K - count)...);
}
template <class... P>
static inline void virtual_call(void (*kernel)(P...), void* const* arguments, int count) {
  virtual_call(kernel, arguments, count, typename virtual_first<sizeof...(P)>::type());
}
template <class... P>
static inline int virtual_size(void (*)(P...), int k) {
  const int sizes[] = {virtual_parameter<P>::size..., 0};
  return k < static_cast<int>(sizeof...(P)) ? sizes[k] : -1;
}

#define VIRTUAL_ENTRY(kernel)                                                                                    \
  VIRTUAL_EXPORT void virtual_run(void* const* arguments, int count) { virtual_call(kernel, arguments, count); } \
  VIRTUAL_EXPORT int virtual_parameter_size(int k) { return virtual_size(kernel, k); }                           \
  VIRTUAL_EXPORT void virtual_local_memory(char** begin, char** end) {                                           \
    *begin = __start_virtual_local;                                                                              \
    *end = __stop_virtual_local;                                                                                 \
  }

#endif
