// What the kernel text expects of its includer, for a C++ compiler on the CPU. No standard header is included, so that
// one file can be compiled under several instruction sets without sharing inline functions between them.
#ifndef SLUICE_KERNELS_CPU_PRELUDE_H
#define SLUICE_KERNELS_CPU_PRELUDE_H

#define KFN static inline

/// The bits of x as an int.
KFN int k_bits(float x) {
  int bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// The float that has these bits.
KFN float k_float(int bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

KFN float k_floor(float x) { return __builtin_floorf(x); }
KFN float k_sqrt(float x) { return __builtin_sqrtf(x); }
KFN float k_abs(float x) { return __builtin_fabsf(x); }

#endif
