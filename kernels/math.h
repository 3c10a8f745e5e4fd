// Single-precision elementary functions in the kernels' C dialect: the same text is compiled for the CPU and pasted
// into device programs. Every function is free of branches, tables, doubles and FMA, so that a loop over it vectorises.
//
// The includer defines KFN, k_bits, k_float, k_floor, k_sqrt and k_abs (see cpu_prelude.h). The compiler must shift
// negative ints arithmetically and keep IEEE semantics: no fast maths; contraction to FMA is harmless. For normal
// results the errors are below 2 ulp; denormal results, NaN, infinities and the signs of zeros follow C99 (the sine and
// cosine of large arguments apart, see kSinCosFast). A clamp is written `x > c ? c : x`, which keeps NaN.
//
// Coefficients are the minimax fits of scripts/fit_polynomials.py.

#define K_INF k_float(0x7f800000)
#define K_NAN k_float(0x7fc00000)
#define K_SIGN_BIT (~0x7fffffff)
#define K_MIN_NORMAL 1.17549435e-38f
#define K_2_POW_MINUS_24 5.96046448e-8f
#define K_2_POW_90 1.23794004e27f

// 1.5 * 2^23: adding it rounds a number below 2^22 to an integer, which then lies in the low bits of the sum.
#define K_ROUND 12582912.0f
#define K_ROUND_BITS 0x4b400000u

#define K_LOG2_E 1.44269504f
#define K_LN2 0.693147181f
#define K_LN2_HI 0.693145751953125f  // 15 bits: its product with an exponent is exact
#define K_LN2_LO 1.42860677e-6f

KFN int k_is_nan(float x) { return (k_bits(x) & 0x7fffffff) > 0x7f800000; }

// The leading 12 bits of x: products of two such numbers are exact.
KFN float k_head(float x) { return k_float(k_bits(x) & ~0xfff); }

// The integer that was rounded by adding K_ROUND to give t.
KFN int k_rounded(float t) { return (int)((unsigned int)k_bits(t) - K_ROUND_BITS); }

// 2^n for n in [-126, 127].
KFN float k_pow2(int n) { return k_float((n + 127) << 23); }

// x * 2^n for n in [-252, 254], rounded once where the result is denormal.
KFN float k_scale(float x, int n) {
  int first = n >> 1;
  return x * k_pow2(first) * k_pow2(n - first);
}

// e^f - 1 for |f| <= ln2 / 2: f + f^2 q(f), q of degree 4.
KFN float k_expm1_core(float f) {
  float q = 0.00138825085f;
  q = q * f + 0.00836659595f;
  q = q * f + 0.0416672006f;
  q = q * f + 0.166665435f;
  q = q * f + 0.49999997f;
  return f + f * f * q;
}

// x - n ln2, n being t less the rounding constant.
KFN float k_exp_reduce(float x, float t) {
  float n = t - K_ROUND;
  return x - n * K_LN2_HI - n * K_LN2_LO;
}

KFN float k_exp(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  float t = x * K_LOG2_E + K_ROUND;
  float p = k_expm1_core(k_exp_reduce(x, t));
  return k_scale(1.0f + p, k_rounded(t));
}

KFN float k_expm1(float x) {
  float a = x > 89.0f ? 89.0f : x;
  a = a < -20.0f ? -20.0f : a;
  float t = a * K_LOG2_E + K_ROUND;
  float p = k_expm1_core(k_exp_reduce(a, t));
  float scale = k_pow2(k_rounded(t) - 1);  // half of 2^n, which overflows at n = 128
  float r = 2.0f * (scale * p + (scale - 0.5f));
  return k_abs(x) < K_2_POW_MINUS_24 ? x : r;
}

// e^x for x in [-87, 0].
KFN float k_exp_negative(float x) {
  float t = x * K_LOG2_E + K_ROUND;
  float p = k_expm1_core(k_exp_reduce(x, t));
  return (1.0f + p) * k_pow2(k_rounded(t));
}

// Near 0: x + x^3 P(x^2), P of degree 3. Elsewhere: 1 - 2u / (1 + u) with u = e^(-2|x|).
KFN float k_tanh(float x) {
  float a = k_abs(x);
  float z = x * x;
  float p = 0.0164375827f;
  p = p * z - 0.0526718125f;
  p = p * z + 0.133207247f;
  p = p * z - 0.333329469f;
  float u = k_exp_negative(-2.0f * (a > 10.0f ? 10.0f : a));
  float large = 1.0f - 2.0f * u / (1.0f + u);
  float r = a > 0.55f ? large : a + a * z * p;
  return k_float(k_bits(r) | (k_bits(x) & K_SIGN_BIT));
}

// Near 0: x + x P(x^2), P of degree 5. Elsewhere: 1 - e^-g(|x|), g of degree 6 fitted to -log(erfc).
KFN float k_erf(float x) {
  float a = k_abs(x);
  float z = x * x;
  float p = -0.000581610599f;
  p = p * z + 0.00495796045f;
  p = p * z - 0.0267419908f;
  p = p * z + 0.112811208f;
  p = p * z - 0.376124263f;
  p = p * z + 0.128379136f;
  float t = a > 4.0f ? 4.0f : a;
  float g = -0.000191232481f;
  g = g * t + 0.00299663655f;
  g = g * t - 0.0220393613f;
  g = g * t + 0.103538252f;
  g = g * t + 0.637635708f;
  g = g * t + 1.12740302f;
  g = g * t + 0.000262540416f;
  float large = 1.0f - k_exp_negative(-g);
  float r = a > 0.96f ? large : a + a * p;
  return k_float(k_bits(r) | (k_bits(x) & K_SIGN_BIT));
}

// The bits of x less those of sqrt(1/2): their exponent field is the e of x = m 2^e with m in [0.707, 1.414).
KFN int k_log_bits(float x) { return (int)((unsigned int)k_bits(x) - 0x3f3504f3u); }

KFN float k_log_mantissa(int bits) { return k_float((bits & 0x7fffff) + 0x3f3504f3); }

// log(1 + f) + e ln2 for 1 + f in [0.707, 1.414): f - f^2/2 + f^3 P(f), P of degree 7.
KFN float k_log_core(float f, float e) {
  float p = -0.0763447955f;
  p = p * f + 0.127615601f;
  p = p * f - 0.13160181f;
  p = p * f + 0.142017603f;
  p = p * f - 0.166233584f;
  p = p * f + 0.200012267f;
  p = p * f - 0.250008196f;
  p = p * f + 0.333333313f;
  float f2 = f * f;
  return e * K_LN2_HI + (f - (0.5f * f2 - (f2 * f * p + e * K_LN2_LO)));
}

KFN float k_log(float x) {
  float scaled = x < K_MIN_NORMAL ? x * 8388608.0f : x;
  int bits = k_log_bits(scaled);
  float e = (float)(bits >> 23) - (x < K_MIN_NORMAL ? 23.0f : 0.0f);
  float r = k_log_core(k_log_mantissa(bits) - 1.0f, e);
  r = x < K_INF ? r : x;
  r = x < 0.0f ? K_NAN : r;
  return x == 0.0f ? -K_INF : r;
}

// With 1 + x = m 2^e, f = m - 1 is x 2^-e + (2^-e - 1): one rounding, nothing lost of a small x.
KFN float k_log1p(float x) {
  float scaled = x > K_2_POW_90 ? x * 5.42101086e-20f : x;  // 2^-64, so that 2^-e stays normal
  int e = k_log_bits(1.0f + scaled) >> 23;
  float scale = k_pow2(-e);
  float f = scaled * scale + (scale - 1.0f);
  float r = k_log_core(f, (float)e + (x > K_2_POW_90 ? 64.0f : 0.0f));
  r = x < K_INF ? r : x;
  r = k_abs(x) < K_2_POW_MINUS_24 ? x : r;
  r = x < -1.0f ? K_NAN : r;
  return x == -1.0f ? -K_INF : r;
}

// k_sin and k_cos are accurate for |x| up to this bound; beyond it they return some number or NaN.
#define kSinCosFast 8192.0f

// The sine of a + turn pi/2 for 0 <= a <= kSinCosFast, negated where flip is negative. The integer n nearest to
// a / (pi/2) has at most 13 bits; pi/2 is taken off in four parts, of which three have 11 bits: n times each is exact.
KFN float k_sin_turned(float a, unsigned int turn, int flip) {
  float t = a * 0.636619772f + K_ROUND;
  float n = t - K_ROUND;
  unsigned int quadrant = (unsigned int)k_bits(t) + turn;
  float rest = a - n * 1.5703125f - n * 0.000483751296997f;
  float f = rest - n * 7.54953362e-8f;
  f = f + (((rest - f) - n * 7.54953362e-8f) - n * 2.56334407e-12f);
  float z = f * f;
  float s = f + f * z * (-0.166666552f + z * (0.00833215751f - z * 0.000195147848f));
  float c = 1.0f - (0.5f * z - z * z * (0.0416666456f + z * (-0.00138873118f + z * 2.44325875e-5f)));
  float r = (quadrant & 1u) != 0u ? c : s;
  return k_float(k_bits(r) ^ ((flip ^ (int)(quadrant << 30)) & K_SIGN_BIT));
}

KFN float k_sin(float x) { return k_sin_turned(k_abs(x), 0u, k_bits(x)); }

KFN float k_cos(float x) { return k_sin_turned(k_abs(x), 1u, 0); }

// An unevaluated sum.
typedef struct {
  float head;
  float tail;
} k_pair;

// log2 x for finite x > 0, within 2^-32 of itself; the head has 12 bits.
KFN k_pair k_log2_pair(float x) {
  float scaled = x < K_MIN_NORMAL ? x * 8388608.0f : x;
  int bits = k_log_bits(scaled);
  float e = (float)(bits >> 23) - (x < K_MIN_NORMAL ? 23.0f : 0.0f);
  float m = k_log_mantissa(bits);

  // s = (m - 1) / (m + 1) = s_head + s_tail.
  float f = m - 1.0f;
  float sum_head = k_head(m + 1.0f);
  float sum_tail = m - (sum_head - 1.0f);
  float inverse = 1.0f / (m + 1.0f);
  float s = f * inverse;
  float s_head = k_head(s);
  float s_tail = ((f - s_head * sum_head) - s_head * sum_tail) * inverse;

  // log2 m = 2/(3 ln2) s (3 + s^2 + s^4 Q(s^2)), Q of degree 2.
  float z = s * s;
  float q = 0.351284504f;
  q = q * z + 0.428206772f;
  q = q * z + 0.600002289f;
  float square_head = s_head * s_head;
  float square_tail = s_tail * (s_head + s) + z * z * q;
  float three_head = k_head(3.0f + square_head + square_tail);
  float three_tail = square_tail - ((three_head - 3.0f) - square_head);
  float series_tail = s_tail * three_head + three_tail * s;
  float series_head = k_head(s_head * three_head + series_tail);
  series_tail = series_tail - (series_head - s_head * three_head);
  float head = series_head * 0.9619140625f;  // 12 bits of 2/(3 ln2)
  float tail = series_head * -0.000117368574f + series_tail * 0.961796701f;

  float high = e + head;
  float low = (head - (high - e)) + tail;
  k_pair log2_x;
  log2_x.head = k_head(high + low);
  log2_x.tail = (high - log2_x.head) + low;
  return log2_x;
}

// x^y for finite x > 0: e^(ln2 y log2 x).
KFN float k_pow_positive(float x, float y) {
  k_pair log2_x = k_log2_pair(x);
  // From 2^40 on every power but those of 1 overflows or vanishes.
  y = y > 1.09951163e12f ? 1.09951163e12f : y;
  y = y < -1.09951163e12f ? -1.09951163e12f : y;
  float y_head = k_head(y);
  float product_head = y_head * log2_x.head;
  float product_tail = (y - y_head) * log2_x.head + y * log2_x.tail;
  float product = product_head + product_tail;
  float t = product + K_ROUND;
  float n = t - K_ROUND;
  float r = k_scale(1.0f + k_expm1_core(((product_head - n) + product_tail) * K_LN2), k_rounded(t));
  r = product > 130.0f ? K_INF : r;
  return product < -160.0f ? 0.0f : r;
}

KFN float k_pow(float x, float y) {
  float a = k_abs(x);
  float y_half = y * 0.5f;
  int is_integer = k_floor(y) == y;
  int is_odd = is_integer & (k_floor(y_half) != y_half);
  float r = k_pow_positive(a, y);
  float edge = (a == 0.0f) == (y < 0.0f) ? K_INF : 0.0f;
  r = ((a == 0.0f) | (a == K_INF)) ? edge : r;
  r = k_float(k_bits(r) | (is_odd ? k_bits(x) & K_SIGN_BIT : 0));
  r = ((x < 0.0f) & (a < K_INF) & !is_integer) ? K_NAN : r;
  r = (k_is_nan(x) | k_is_nan(y)) ? K_NAN : r;
  return ((x == 1.0f) | (y == 0.0f)) ? 1.0f : r;
}
