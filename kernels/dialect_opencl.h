// The kernels' C dialect on OpenCL C 1.2. See dialect.h.
#pragma OPENCL FP_CONTRACT OFF
#ifdef SLUICE_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef long k_i64;
typedef ulong k_u64;

#define KFN static inline
#define K_KERNEL(name) __kernel __attribute__((reqd_work_group_size(K_GROUP_SIZE, 1, 1))) void name
#define K_IDS
#define K_GLOBAL __global
#define K_READ(T, name, slot) __global const T* name
#define K_WRITE(T, name, slot) __global T* name
#define K_VALUES(T, name, slot) const T name
#define K_LOCAL(T, name, count) __local T name[count]
#define K_LOCAL_POINTER(T) __local T*
#define K_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define K_ITEM ((unsigned int)get_local_id(0))
#define K_GROUP ((unsigned int)get_group_id(0))
#define K_GROUPS ((unsigned int)get_num_groups(0))

KFN int k_bits(float x) { return as_int(x); }
KFN float k_float(int bits) { return as_float(bits); }
KFN float k_floor(float x) { return floor(x); }
KFN float k_sqrt(float x) { return sqrt(x); }
KFN float k_abs(float x) { return fabs(x); }
KFN float k_rint(float x) { return rint(x); }
KFN float k_fmod_f32(float x, float y) { return fmod(x, y); }
KFN float k_device_sin(float x) { return sin(x); }
KFN float k_device_cos(float x) { return cos(x); }
#ifdef FP_FAST_FMAF
KFN float k_multiply_add_f32(float x, float y, float z) { return fma(x, y, z); }
#else
KFN float k_multiply_add_f32(float x, float y, float z) { return x * y + z; }
#endif

#ifdef SLUICE_F64
KFN k_u64 k_bits_f64(double x) { return as_ulong(x); }
KFN double k_double(k_u64 bits) { return as_double(bits); }
KFN double k_fmod_f64(double x, double y) { return fmod(x, y); }
KFN double k_floor_f64(double x) { return floor(x); }
KFN double k_round_f64(double x) { return rint(x); }
KFN double k_abs_f64(double x) { return fabs(x); }
KFN double k_sqrt_f64(double x) { return sqrt(x); }
KFN double k_exp_f64(double x) { return exp(x); }
KFN double k_expm1_f64(double x) { return expm1(x); }
KFN double k_log_f64(double x) { return log(x); }
KFN double k_log1p_f64(double x) { return log1p(x); }
KFN double k_tanh_f64(double x) { return tanh(x); }
KFN double k_erf_f64(double x) { return erf(x); }
KFN double k_sin_f64(double x) { return sin(x); }
KFN double k_cos_f64(double x) { return cos(x); }
KFN double k_pow_f64(double x, double y) { return pow(x, y); }
KFN double k_multiply_add_f64(double x, double y, double z) { return fma(x, y, z); }
#endif
