// The kernels' C dialect on CUDA C++, for NVRTC without any header. See dialect.h. The compiler is called with
// --fmad=false.
typedef long long k_i64;
typedef unsigned long long k_u64;

#define KFN static __device__ __forceinline__
#define K_KERNEL(name) extern "C" __global__ void __launch_bounds__(K_GROUP_SIZE) name
#define K_IDS
#define K_GLOBAL
#define K_READ(T, name, slot) const T* name
#define K_WRITE(T, name, slot) T* name
#define K_VALUES(T, name, slot) const T name
#define K_LOCAL(T, name, count) __shared__ T name[count]
#define K_LOCAL_POINTER(T) T*
#define K_BARRIER __syncthreads()
#define K_ITEM ((unsigned int)threadIdx.x)
#define K_GROUP ((unsigned int)blockIdx.x)
#define K_GROUPS ((unsigned int)gridDim.x)

KFN int k_bits(float x) { return __float_as_int(x); }
KFN float k_float(int bits) { return __int_as_float(bits); }
KFN float k_floor(float x) { return floorf(x); }
KFN float k_sqrt(float x) { return sqrtf(x); }
KFN float k_abs(float x) { return fabsf(x); }
KFN float k_rint(float x) { return rintf(x); }
KFN float k_fmod_f32(float x, float y) { return fmodf(x, y); }
KFN float k_device_sin(float x) { return sinf(x); }
KFN float k_device_cos(float x) { return cosf(x); }
KFN float k_multiply_add_f32(float x, float y, float z) { return fmaf(x, y, z); }

KFN k_u64 k_bits_f64(double x) { return (k_u64)__double_as_longlong(x); }
KFN double k_double(k_u64 bits) { return __longlong_as_double((k_i64)bits); }
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
