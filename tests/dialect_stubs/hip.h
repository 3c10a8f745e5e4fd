// Stands in for what hipRTC gives kernel text without any header, so that clang, which knows HIP's language, checks
// kernels without ROCm. For checking only.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(items) __attribute__((launch_bounds(items)))
#define __forceinline__ inline __attribute__((always_inline))

struct hip_place {
  unsigned int x, y, z;
};
extern const __device__ hip_place threadIdx, blockIdx, blockDim, gridDim;

__device__ void __syncthreads();
__device__ int __float_as_int(float);
__device__ float __int_as_float(int);
__device__ long long __double_as_longlong(double);
__device__ double __longlong_as_double(long long);

extern "C" {
__device__ float floorf(float), sqrtf(float), fabsf(float), rintf(float), sinf(float), cosf(float);
__device__ float fmodf(float, float), fmaf(float, float, float);
__device__ double floor(double), sqrt(double), fabs(double), rint(double), exp(double), expm1(double), log(double);
__device__ double log1p(double), tanh(double), erf(double), sin(double), cos(double);
__device__ double pow(double, double), fmod(double, double), fma(double, double, double);
}
