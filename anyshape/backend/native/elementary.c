/* Elementary functions of generated kernels: inline, free of branches, made of IEEE operations alone.
 *
 * Every function has the same bits on every machine, as no step depends on a library. Fused multiply-adds are written
 * out: they round once wherever they run. A processor without them gets no kernels, as each would be a call. Text that
 * includes this file is compiled with -ffp-contract=off and without -ffast-math. Loops that call these functions are
 * vectorised by GCC and clang, from AVX2 and NEON on.
 *
 * Floating-point flags are those that NumPy warns of: overflow, invalid and divide by zero are raised for such
 * alone. NaN raises nothing. Inexact and underflow mean nothing: a kernel of a function that returns 0 without raising
 * underflow always reports it. Compilers take flags for unobservable: they emit signalling comparisons, and move
 * operations over selections of floats. For this reason operands are compared, limited and selected as integers
 * wherever an operation could raise a flag, and NaN and infinity reach the result by arithmetic.
 *
 * Functions of float compute in double and round once, except exp, log, tanh and erf.
 *
 * Sources: arguments are reduced after Cody and Waite (Software Manual for the Elementary Functions, 1980). Sums of two
 * parts are those of Dekker (1971) and Knuth (TAOCP 2, 4.2.2). Polynomials are minimax, by fpminimax of Sollya.
 * Denominators of rational functions interpolate at Chebyshev nodes. Comments name what is particular to a function.
 */
#include <stdint.h>

/* Every function is inline in each loop: a loop with a call has no vectors. */
#define AS_INLINE static inline __attribute__((always_inline))

/* Largest operand of as_sin, as_cos and as_tan. Beyond it they return NaN and raise invalid. */
#define AS_TRIG_MAX 16777216.0

#define AS_ABS 0x7fffffffffffffffLL
#define AS_INF 0x7ff0000000000000LL
#define AS_ONE 0x3ff0000000000000LL
#define AS_MANTISSA 0x000fffffffffffffLL
#define AS_SIGN (-AS_ABS - 1)
#define AS_ROUND 0x1.8p52 /* x + AS_ROUND holds round(x) in its low bits, for |x| < 2^51 */

#define AS_ABSF 0x7fffffff
#define AS_INFF 0x7f800000
#define AS_ONEF 0x3f800000
#define AS_ROUNDF 0x1.8p23f

AS_INLINE int64_t as_bits(double x) {
    int64_t i;
    __builtin_memcpy(&i, &x, 8);
    return i;
}

AS_INLINE double as_double(int64_t i) {
    double x;
    __builtin_memcpy(&x, &i, 8);
    return x;
}

AS_INLINE int32_t as_bitsf(float x) {
    int32_t i;
    __builtin_memcpy(&i, &x, 4);
    return i;
}

AS_INLINE float as_float(int32_t i) {
    float x;
    __builtin_memcpy(&x, &i, 4);
    return x;
}

/* x y + z, rounded once. */
#define as_fma(x, y, z) _Generic((x) + (y) + (z), float: __builtin_fmaf, default: __builtin_fma)(x, y, z)

/* All bits where the condition holds, else none. */
#define AS_MASK(condition) (-(int64_t)(condition))

AS_INLINE double as_pick(int64_t mask, double x, double y) {
    return as_double((as_bits(x) & mask) | (as_bits(y) & ~mask));
}

AS_INLINE float as_pickf(int32_t mask, float x, float y) {
    return as_float((as_bitsf(x) & mask) | (as_bitsf(y) & ~mask));
}

/* A choice of bits: compilers move operations over a choice of floats, and 1 / 0 of one not chosen would set a flag. */
AS_INLINE double as_choice(int64_t condition, double x, double y) {
    return as_pick(AS_MASK(condition != 0), x, y);
}

AS_INLINE float as_choicef(int32_t condition, float x, float y) {
    return as_pickf(-(int32_t)(condition != 0), x, y);
}

AS_INLINE double as_with_sign(double x, double sign) {
    return as_double((as_bits(x) & AS_ABS) | (as_bits(sign) & AS_SIGN));
}

/* exp: x = k ln 2 + r with |r| <= ln(2)/2, exp(x) = 2^k (1 + r + r^2 P(r)). */

#define AS_LN2_HI 0x1.62e42fefa4000p-1 /* 40 bits: products with |k| < 2^13 are exact */
#define AS_LN2_LO -0x1.8432a1b0e2634p-43
#define AS_LN2 0x1.62e42fefa39efp-1
#define AS_LOG2E 0x1.71547652b82fep+0

/* Return r, its rounding error in *error, and k in the low bits of *k (and as a number, *k - AS_ROUND). */
AS_INLINE double as_exp_reduce(double x, double *error, double *k) {
    double t = as_fma(x, AS_LOG2E, AS_ROUND), n = t - AS_ROUND;
    double hi = as_fma(-n, AS_LN2_HI, x), lo = n * AS_LN2_LO, r = hi - lo;
    *error = (hi - r) - lo;
    *k = t;
    return r;
}

/* Return (exp(r) - 1 - r - r^2 / 2) / r^3. */
AS_INLINE double as_exp_tail(double r) {
    double r2 = r * r, r4 = r2 * r2;
    double a = as_fma(r2, as_fma(0x1.6c16c16c179fep-10, r, 0x1.1111111110709p-7), as_fma(0x1.5555555555554p-5, r, 0x1.5555555555556p-3));
    double b = as_fma(r2, as_fma(0x1.27e4f8293ccbbp-22, r, 0x1.71de0a3401c11p-19), as_fma(0x1.a01a019c4e291p-16, r, 0x1.a01a01a90438dp-13));
    double c = as_fma(0x1.1f3e5ee3e8b99p-29, r, 0x1.af3f1d1633858p-26);
    return as_fma(r4, as_fma(r4, c, b), a);
}

/* Return exp(r + error) - 1 - r: the largest term is added last. */
AS_INLINE double as_exp_rest(double r, double error) {
    double square = r * r;
    return as_fma(0.5, square, as_fma(r, as_fma(square, as_exp_tail(r), error), error));
}

/* Return exp(r + error), and what it lacks in *rest. */
AS_INLINE double as_exp_near(double r, double error, double *rest) {
    double sum = 1.0 + r, low = ((1.0 - sum) + r) + as_exp_rest(r, error), y = sum + low;
    *rest = low - (y - sum);
    return y;
}

/* Return 2^k for the low bits of a sum with AS_ROUND, -1023 < k < 1024. */
AS_INLINE double as_power_of_two(double sum) {
    return as_double((int64_t)((uint64_t)as_bits(sum) << 52) + AS_ONE);
}

/* Return 2^k p for the low bits of a sum with AS_ROUND, |k| < 2000 and p < 8, rounded once where it is subnormal. Bits of
 * NaN and infinity in `fixed` reach the first factor, and so the result. The last factor is 0 where the result is: a
 * product that underflows takes some processors ten times as long. */
AS_INLINE double as_scale(double p, double sum, int64_t fixed) {
    int64_t k = as_bits(sum), half = (uint64_t)k >> 1, positive = AS_MASK(k > as_bits(AS_ROUND - 1080.0));
    double first = as_double(((int64_t)((uint64_t)half << 52) + AS_ONE) | fixed);
    return p * first * as_double(((int64_t)((uint64_t)(k - half) << 52) + AS_ONE) & positive);
}

/* Return the bits of x where it is NaN or infinity, else 0. Log and exp of such operands are the operands. */
AS_INLINE int64_t as_fixed(double x) {
    int64_t i = as_bits(x);
    return (((i & AS_ABS) > AS_INF) | (i == AS_INF)) ? i : 0;
}

/* Return x, at most `most` in magnitude. */
AS_INLINE double as_limit(double x, double most) {
    int64_t a = as_bits(x) & AS_ABS;
    return as_double((a < as_bits(most) ? a : as_bits(most)) | (as_bits(x) & AS_SIGN));
}

/* Return (exp(r) - 1 - r) / r^2 with an error of 2^-56. */
AS_INLINE double as_exp_half(double r) {
    double r2 = r * r, r4 = r2 * r2;
    double a = as_fma(r2, as_fma(0x1.11111111144cfp-7, r, 0x1.5555555553ce5p-5), as_fma(0x1.555555555554dp-3, r, 0x1.0000000000001p-1));
    double b = as_fma(r2, as_fma(0x1.71de59f0ab925p-19, r, 0x1.a019b8c667f1bp-16), as_fma(0x1.a01a018c37243p-13, r, 0x1.6c16c178a6fd9p-10));
    return as_fma(r4, as_fma(r4, as_fma(0x1.aeabcfb5467ffp-26, r, 0x1.2891c3b32a8e4p-22), b), a);
}

/* Return exp(v) / 2^k, and k in the low bits of *k. The rounded r enters the square alone: hi - lo is r before rounding. */
AS_INLINE double as_exp_part(double v, double *k) {
    double t = as_fma(v, AS_LOG2E, AS_ROUND), n = t - AS_ROUND, hi = as_fma(-n, AS_LN2_HI, v), lo = n * AS_LN2_LO, r = hi - lo;
    *k = t;
    return 1.0 + (hi + as_fma(r * r, as_exp_half(r), -lo));
}

AS_INLINE double as_exp(double x) {
    double k, y = as_exp_part(as_limit(x, 1000.0), &k);
    return as_scale(y, k, as_fixed(x));
}

/* Return the bits of as_exp for |x| < 700. */
AS_INLINE double as_exp_normal(double x) {
    double k, y = as_exp_part(x, &k);
    return y * as_power_of_two(k);
}

/* Return exp(r) - 1 with a relative error of 2^-30. */
AS_INLINE double as_exp_tail_short(double r) {
    double r2 = r * r, r4 = r2 * r2;
    double a = as_fma(r2, as_fma(0x1.11114be42e423p-7, r, 0x1.5554e94d6049cp-5), as_fma(0x1.5555552728da9p-3, r, 0x1.0000000b800bdp-1));
    double b = as_fma(0x1.a072c4de036fcp-13, r, 0x1.6d42da86c36c5p-10);
    return as_fma(r4, b, a);
}

AS_INLINE double as_expm1_short(double r) {
    return as_fma(r * r, as_exp_tail_short(r), r);
}

/* Return exp(x) for |x| < 700 with a relative error of 2^-32. */
AS_INLINE double as_exp_single(double x) {
    double k = as_fma(x, AS_LOG2E, AS_ROUND);
    return (1.0 + as_expm1_short(as_fma(-(k - AS_ROUND), AS_LN2, x))) * as_power_of_two(k);
}

/* The steps of as_exp in single precision: ln 2 has 15 bits in its first part, for |k| <= 150. */
#define AS_LN2_HIF 0x1.62e4p-1f
#define AS_LN2_LOF 0x1.7f7d1cp-20f
#define AS_LOG2EF 0x1.715476p+0f

/* Return (exp(r) - 1 - r) / r^2. */
AS_INLINE float as_exp_halff(float r) {
    float r2 = r * r, a = as_fma(0x1.110ff4p-7f, r, 0x1.555502p-5f), b = as_fma(0x1.a262a8p-13f, r, 0x1.6d2e1ap-10f);
    return as_fma(r2, as_fma(r2, b, a), as_fma(0x1.555556p-3f, r, 0.5f));
}

/* Return the bits of x where it is NaN or infinity, else 0. */
AS_INLINE int32_t as_fixedf(float x) {
    int32_t i = as_bitsf(x);
    return (((i & AS_ABSF) > AS_INFF) | (i == AS_INFF)) ? i : 0;
}

AS_INLINE float as_limitf(float x, float most) {
    int32_t a = as_bitsf(x) & AS_ABSF;
    return as_float((a < as_bitsf(most) ? a : as_bitsf(most)) | (as_bitsf(x) ^ a));
}

AS_INLINE float as_exp_partf(float v, float *k) {
    float t = as_fma(v, AS_LOG2EF, AS_ROUNDF), n = t - AS_ROUNDF, hi = as_fma(-n, AS_LN2_HIF, v), lo = n * AS_LN2_LOF, r = hi - lo;
    *k = t;
    return 1.0f + (hi + as_fma(r * r, as_exp_halff(r), -lo));
}

/* The last factor is 0 where the result is, as in as_scale. */
AS_INLINE float as_expf(float x) {
    float k, y = as_exp_partf(as_limitf(x, 110.0f), &k);
    uint32_t bits = (uint32_t)as_bitsf(k), half = bits >> 1;
    int32_t positive = -(int32_t)(as_bitsf(k) > as_bitsf(AS_ROUNDF - 154.0f));
    float first = as_float(((int32_t)(half << 23) + AS_ONEF) | as_fixedf(x));
    return y * first * as_float(((int32_t)((bits - half) << 23) + AS_ONEF) & positive);
}

/* Return the bits of as_expf for |x| < 80. */
AS_INLINE float as_exp_normalf(float x) {
    float k, y = as_exp_partf(x, &k);
    return y * as_float((int32_t)((uint32_t)as_bitsf(k) << 23) + AS_ONEF);
}

/* expm1: 2^k (1 + p) - 1 = (2^k - 1) + 2^k p, or twice the half of it, as 2^1024 is no double. */
AS_INLINE double as_expm1(double x) {
    int64_t fixed = as_fixed(x), negative = AS_MASK(as_bits(x) < 0);
    double v = as_limit(as_double(as_bits(x) ^ fixed), as_pick(negative, 50.0, 709.9));
    double error, k, r = as_exp_reduce(v, &error, &k);
    int64_t large = AS_MASK(as_bits(k) > as_bits(AS_ROUND + 1000.0));
    double scale = as_power_of_two(k - as_pick(large, 1.0, 0.0)), base = scale - as_pick(large, 0.5, 1.0);
    double first = scale * r, sum = base + first;
    double rest = (first - (sum - base)) + ((scale - base) - as_pick(large, 0.5, 1.0));
    double y = (sum + as_fma(scale, as_exp_rest(r, error), rest)) * as_pick(large, 2.0, 1.0);
    return as_with_sign(y + as_double(fixed), x);
}

AS_INLINE float as_expm1f(float x) {
    int64_t fixed = as_fixed(x), negative = AS_MASK(as_bits(x) < 0);
    double v = as_limit(as_double(as_bits(x) ^ fixed), as_pick(negative, 50.0, 200.0));
    double k = as_fma(v, AS_LOG2E, AS_ROUND), scale = as_power_of_two(k);
    double y = as_fma(scale, as_expm1_short(as_fma(-(k - AS_ROUND), AS_LN2, v)), scale - 1.0);
    return (float)as_with_sign(y + as_double(fixed), x);
}

/* log: x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and log(1 + f) = 2 atanh(s) for s = f / (2 + f).
 * As 2 s = f - s f, this is f - f^2/2 + s (f^2/2 + R(s^2)): the first terms are exact. */

#define AS_SQRT_HALF 0x3fe6a09e667f3bcdLL

/* Return f, and k - shift in *k, for a normal x > 0. */
AS_INLINE double as_log_reduce(double x, int64_t shift, double *k) {
    int64_t i = as_bits(x) + (AS_ONE - AS_SQRT_HALF);
    *k = as_double(as_bits(AS_ROUND) + (int64_t)((uint64_t)i >> 52) - shift) - (AS_ROUND + 1023.0);
    return as_double((i & AS_MANTISSA) + AS_SQRT_HALF) - 1.0;
}

/* Return 2 atanh(s) - 2 s, divided by s^3, for z = s^2. */
AS_INLINE double as_log_tail(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(0x1.c71c62e2379b3p-3, z, 0x1.2492492df1ed3p-2), as_fma(0x1.999999999530bp-2, z, 0x1.5555555555558p-1));
    double b = as_fma(z2, 0x1.2b5ac544e9743p-3, as_fma(0x1.39fe306939698p-3, z, 0x1.7462b5ef63d76p-3));
    return as_fma(z4, b, a);
}

/* Return 2 atanh(s) / s for z = s^2, with a relative error of 2^-37. */
AS_INLINE double as_log_short(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(0x1.2432b0f92b723p-2, z, 0x1.999a9ccdbfeb4p-2), as_fma(0x1.555554daaa158p-1, z, 0x1.0000000004a38p1));
    double b = 0x1.e3b1f3ef7381ep-3;
    return as_fma(z4, b, a);
}

/* Return log(2^k (1 + f)) + error for s = f / (2 + f). */
AS_INLINE double as_log_sum(double k, double f, double s, double error) {
    double square = 0.5 * f * f, z = s * s, tail = as_fma(s, as_fma(z, as_log_tail(z), square), -square);
    double hi = k * AS_LN2_HI, sum = hi + f, rest = f - (sum - hi);
    return sum + (rest + (tail + as_fma(k, AS_LN2_LO, error)));
}

/* Return f / (2 + f) for an ordinary x, else log(x) with its flags: -1 / 0, 0 / 0, or x / 1 where log(x) is x. */
AS_INLINE double as_log_quotient(double x, int64_t ordinary, double f) {
    int64_t fixed = as_fixed(x), above = fixed | (as_bits(-1.0) & AS_MASK((as_bits(x) & AS_ABS) == 0));
    int64_t below = AS_ONE & AS_MASK(fixed != 0);
    return as_pick(ordinary, f, as_double(above)) / as_pick(ordinary, 2.0 + f, as_double(below));
}

AS_INLINE double as_log(double x) {
    int64_t i = as_bits(x), ordinary = AS_MASK(i > 0) & AS_MASK(i < AS_INF), shift = AS_MASK(i <= AS_MANTISSA) & 54;
    double k, f = as_log_reduce(as_pick(ordinary, x, 1.0) * as_double(AS_ONE + (shift << 52)), shift, &k);
    return as_log_sum(k, f, as_log_quotient(x, ordinary, f), 0.0);
}

/* Return log(x) with a relative error of 2^-37, for an operand that is ordinary where the mask says so. */
AS_INLINE double as_log_single(double x, int64_t ordinary) {
    double k, f = as_log_reduce(as_pick(ordinary, x, 1.0), 0, &k), s = as_log_quotient(x, ordinary, f);
    return as_fma(s, as_log_short(s * s), k * AS_LN2);
}

/* The steps of as_log in single precision. */
AS_INLINE float as_logf(float x) {
    int32_t i = as_bitsf(x), rest = AS_INFF - (i & AS_ABSF), fixed = as_fixedf(x);
    int32_t ordinary = -(int32_t)((i < rest ? i : rest) > 0), shift = -(int32_t)(i < 0x00800000) & 25, zero = -(int32_t)((i & AS_ABSF) == 0);
    float v = as_float((i & ordinary) | (AS_ONEF & ~ordinary)) * as_float(AS_ONEF + (shift << 23));
    int32_t j = as_bitsf(v) + (AS_ONEF - 0x3f3504f3);
    float k = as_float(as_bitsf(AS_ROUNDF) + (int32_t)((uint32_t)j >> 23) - shift) - (AS_ROUNDF + 127.0f);
    float f = as_float((j & 0x007fffff) + 0x3f3504f3) - 1.0f;
    int32_t above = fixed | (as_bitsf(-1.0f) & zero) | (as_bitsf(f) & ordinary);
    int32_t below = (fixed != 0 ? AS_ONEF : 0) | (as_bitsf(2.0f + f) & ordinary);
    float s = as_float(above) / as_float(below), z = s * s, square = 0.5f * f * f;
    float tail = as_fma(s, as_fma(z, as_fma(z, as_fma(z, 0x1.2ef64cp-2f, 0x1.997b9ep-2f), 0x1.55555cp-1f), square), -square);
    float hi = k * AS_LN2_HIF, sum = hi + f;
    return sum + (f - (sum - hi) + as_fma(k, AS_LN2_LOF, tail));
}

/* log1p: 1 + x = u + c for a rounded sum u and its error c, which adds c / u. Where u is near 1, f is x itself. */
AS_INLINE double as_log1p(double x) {
    int64_t ordinary = AS_MASK(as_bits(1.0 + x) > 0) & AS_MASK(as_bits(1.0 + x) < AS_INF);
    double v = as_double(as_bits(x) & ordinary), u = 1.0 + v, grown = u - 1.0;
    double c = (1.0 - (u - grown)) + (v - grown), k, f = as_log_reduce(u, 0, &k);
    double scale = as_power_of_two(AS_ROUND - (k < 64.0 ? k : 64.0)), slope = as_fma(-f, as_fma(-f, 1.0 - f, 1.0), 1.0);
    f = k == 0.0 ? v : f;
    double y = as_log_sum(k, f, as_log_quotient(1.0 + x, ordinary, f), k == 0.0 ? 0.0 : c * scale * slope);
    return as_with_sign(y, x);
}

AS_INLINE float as_log1pf(float x) {
    double v = x, u = 1.0 + v, near = as_fma(-(v * v), as_fma(-v, 0x1.5555555555555p-2, 0.5), v);
    double y = as_log_single(u, AS_MASK(as_bits(u) > 0) & AS_MASK(as_bits(u) < AS_INF));
    return (float)((as_bits(v) & AS_ABS) < as_bits(0x1p-12) ? near : y);
}

/* sin, cos: x = k pi/2 + r with |r| <= pi/4. The parts of pi/2 have 29 bits: their products with k are exact, and
 * so is each sum of two parts, as the first is a multiple of the last bit of the second (Rump, Ogita and Oishi,
 * Accurate floating-point summation, 2008). The last part keeps 2^-59 of the smallest r that a double below 2^24 has. */

#define AS_TWO_OVER_PI 0x1.45f306dc9c883p-1

/* Return r, its rest in *rest, and k in the low bits of *k. */
AS_INLINE double as_trig_reduce(double x, double *rest, double *k) {
    double t = as_fma(x, AS_TWO_OVER_PI, AS_ROUND), n = t - AS_ROUND;
    double first = as_fma(-n, 0x1.921fb54p+0, x);
    double c = n * 0x1.10b4612p-30, second = first - c;
    double d = n * -0x1.676733bp-60, third = second - d;
    *rest = (((first - second) - c) + ((second - third) - d)) - n * 0x1.701b839a25205p-92;
    *k = t;
    return third;
}

/* Return (sin(r) - r) / r^3 for z = r^2. */
AS_INLINE double as_sin_tail(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(0x1.71de37aed723fp-19, z, -0x1.a01a019e9ec33p-13), as_fma(0x1.1111111110c79p-7, z, -0x1.5555555555555p-3));
    double b = as_fma(0x1.5e109e07e92a6p-33, z, -0x1.ae601e2d09d03p-26);
    return as_fma(z4, b, a);
}

AS_INLINE double as_sin_near(double r, double rest) {
    double z = r * r;
    return r + as_fma(rest, as_fma(-0.5, z, 1.0), r * z * as_sin_tail(z));
}

/* Return (cos(r) - 1 + r^2 / 2) / r^4 for z = r^2. */
AS_INLINE double as_cos_tail(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(-0x1.27e4fa02931fcp-22, z, 0x1.a01a019f37f9bp-16), as_fma(-0x1.6c16c16c168c9p-10, z, 0x1.5555555555555p-5));
    double b = as_fma(-0x1.90734b3d67b0ep-37, z, 0x1.1eeb5780e017fp-29);
    return as_fma(z4, b, a);
}

AS_INLINE double as_cos_near(double r, double rest) {
    double z = r * r, half = 0.5 * z, sum = 1.0 - half;
    return sum + (1.0 - sum - half + as_fma(-r, rest, z * z * as_cos_tail(z)));
}

/* Return 0 for |x| <= AS_TRIG_MAX, else NaN: NaN - NaN for NaN, and infinity - infinity otherwise. */
AS_INLINE double as_trig_edge(double x) {
    int64_t a = as_bits(x) & AS_ABS, edge = AS_INF | (a & AS_MASK(a > AS_INF));
    double beyond = as_double(edge & AS_MASK(a > as_bits(AS_TRIG_MAX)));
    return beyond - beyond;
}

/* Return |x|, or 0 beyond AS_TRIG_MAX. */
AS_INLINE double as_trig_operand(double x) {
    int64_t a = as_bits(x) & AS_ABS;
    return as_double(a & AS_MASK(a <= as_bits(AS_TRIG_MAX)));
}

/* Return s or -s, by the bit of value 2 of k. */
AS_INLINE double as_trig_sign(double s, int64_t k) {
    return as_double(as_bits(s) ^ (int64_t)((uint64_t)(k & 2) << 62));
}

AS_INLINE double as_sin(double x) {
    double rest, k, r = as_trig_reduce(as_trig_operand(x), &rest, &k);
    double s = as_sin_near(r, rest), c = as_cos_near(r, rest);
    int64_t n = as_bits(k);
    s = as_trig_sign((n & 1) != 0 ? c : s, n) + as_trig_edge(x);
    return as_double(as_bits(s) ^ (as_bits(x) & AS_SIGN));
}

AS_INLINE double as_cos(double x) {
    double rest, k, r = as_trig_reduce(as_trig_operand(x), &rest, &k);
    double s = as_sin_near(r, rest), c = as_cos_near(r, rest);
    int64_t n = as_bits(k) + 1;
    return as_trig_sign((n & 1) != 0 ? c : s, n) + as_trig_edge(x);
}

/* For float operands two parts of pi/2 are enough. */
AS_INLINE double as_trig_reducef(double x, double *k) {
    double t = as_fma(x, AS_TWO_OVER_PI, AS_ROUND), n = t - AS_ROUND;
    *k = t;
    return as_fma(-n, 0x1.10b4611a62633p-30, as_fma(-n, 0x1.921fb54p+0, x));
}

AS_INLINE double as_sin_tailf(double z) {
    double z2 = z * z;
    return as_fma(z2, as_fma(0x1.6dbbfd9147dbap-19, z, -0x1.a013a02dc23dap-13), as_fma(0x1.11110de879cc7p-7, z, -0x1.555555545a6fcp-3));
}

AS_INLINE double as_sin_nearf(double r) {
    double z = r * r;
    return as_fma(r * z, as_sin_tailf(z), r);
}

AS_INLINE double as_cos_tailf(double z) {
    double z2 = z * z;
    return as_fma(z2, as_fma(-0x1.25235ecb2a111p-22, z, 0x1.a015c123972bfp-16), as_fma(-0x1.6c16bf51e6ac2p-10, z, 0x1.5555555502035p-5));
}

AS_INLINE double as_cos_nearf(double r) {
    double z = r * r;
    return as_fma(z * z, as_cos_tailf(z), as_fma(-0.5, z, 1.0));
}

AS_INLINE float as_sinf(float x) {
    double k, r = as_trig_reducef(as_trig_operand(x), &k), s = as_sin_nearf(r), c = as_cos_nearf(r);
    int64_t n = as_bits(k);
    s = as_trig_sign((n & 1) != 0 ? c : s, n) + as_trig_edge(x);
    return (float)as_double(as_bits(s) ^ (as_bits(x) & AS_SIGN));
}

AS_INLINE float as_cosf(float x) {
    double k, r = as_trig_reducef(as_trig_operand(x), &k), s = as_sin_nearf(r), c = as_cos_nearf(r);
    int64_t n = as_bits(k) + 1;
    return (float)(as_trig_sign((n & 1) != 0 ? c : s, n) + as_trig_edge(x));
}

/* tanh: x + x^3 P(x^2) / Q(x^2) for |x| < 0.5625, else 1 - 2 / (exp(2 |x|) + 1), whose quotient is corrected by the
 * rest of the denominator. Both share one division. */
AS_INLINE double as_tanh(double x) {
    int64_t i = as_bits(x) & AS_ABS;
    _Bool small = i < as_bits(0.5625);
    double a = as_limit(as_double(i), 22.0), error, k;
    double r = as_exp_reduce(2.0 * a, &error, &k), low, scale = as_power_of_two(k);
    double high = as_exp_near(r, error, &low) * scale, below = high + 1.0;
    low = as_fma(low, scale, 1.0 - (below - high));
    double z = a * a, p = as_fma(as_fma(-0x1.a1f45318c364bp-13, z, -0x1.4fe56107fbeaep-6), z, -0x1.5555555555555p-2);
    double q = as_fma(as_fma(as_fma(0x1.b165e3d0ea5c0p-13, z, 0x1.7da9d4a9c42bcp-6), z, 0x1.d8949bcb18d39p-2), z, 1.0);
    double quotient = (small ? a * z * p : -2.0) / (small ? q : below);
    double base = small ? a : 1.0, y = base + quotient;
    y += ((base - y) + quotient) + (small ? 0.0 : 0.5 * quotient * quotient * low);
    return as_with_sign(y + as_double(i & AS_MASK(i > AS_INF)), x);
}

/* The steps of as_tanh in single precision. */
AS_INLINE float as_tanhf(float x) {
    int32_t i = as_bitsf(x) & AS_ABSF;
    float a = as_limitf(as_float(i), 10.0f), k = as_fma(a, 2.0f * AS_LOG2EF, AS_ROUNDF), n = k - AS_ROUNDF;
    float hi = as_fma(-n, AS_LN2_HIF, 2.0f * a), lo = n * AS_LN2_LOF, r = hi - lo, error = (hi - r) - lo;
    float scale = as_float((int32_t)((uint32_t)as_bitsf(k) << 23) + AS_ONEF), one = 1.0f + r;
    float rest = 1.0f - one + r + as_fma(r * r, as_exp_halff(r), error), e = one + rest;
    float high = e * scale, below = high + 1.0f, low = as_fma(rest - (e - one), scale, 1.0f - (below - high)), z = a * a;
    _Bool small = i < as_bitsf(0.5625f);
    float above = small ? a * z * (-0x1.555554p-2f + -0x1.98617cp-10f * z) : -2.0f;
    float quotient = above / (small ? 1.0f + 0x1.9e61a4p-2f * z : below), base = small ? a : 1.0f, y = base + quotient;
    y += ((base - y) + quotient) + (small ? 0.0f : 0.5f * quotient * quotient * low);
    y += as_float(i & -(int32_t)(i > AS_INFF));
    return as_float(as_bitsf(y) | (as_bitsf(x) ^ i));
}

/* erf: x + x P(x^2 - 1/2) for |x| < 1, else 1 - exp(-x^2) G(|x|). G is a polynomial for exp(x^2) erfc(x), whose error is
 * minimax in erfc: it interpolates at nodes between which errors are equal. Its derivative has the same exponential, so
 * a kernel of both computes that once. The exponential is taken of the rounded square, and G has what this lacks. */
#define AS_ERF_MAX 5.93 /* beyond it erf rounds to 1 */
#define AS_ERF_MAXF 3.93f

AS_INLINE double as_erf_near(double t) {
    double t2 = t * t, t4 = t2 * t2;
    double a = as_fma(t2, as_fma(-0x1.263991b7b8bd8p-11, t, 0x1.c82aa249d9604p-9), as_fma(-0x1.2b902b7b2f446p-6, t, 0x1.454368017b053p-4));
    double b = as_fma(t2, as_fma(-0x1.bf8be3bb144b3p-24, t, 0x1.1ad5d73578eafp-20), as_fma(-0x1.429e948caf5bfp-17, t, 0x1.486638c8bd052p-14));
    double c = as_fma(t2, 0x1.d806651c36ed7p-35, as_fma(-0x1.ada821dee806bp-31, t, 0x1.42b63454d11fcp-27));
    return as_fma(t, as_fma(t, as_fma(t4, as_fma(t4, c, b), a), -0x1.1fd16292151fdp-2), -0x1.1ae14dc34815ap-5);
}

/* Return G(1 + u) - G(1) for 0 <= u < 5. */
#define AS_ERFC_FACTOR 0x1.b5d8780f956b2p-2 /* G(1) */
AS_INLINE double as_erfc_factor(double u) {
    double u2 = u * u, u4 = u2 * u2;
    double a = as_fma(u2, as_fma(0x1.33cad0e39b349p-5, u, -0x1.44837f88a3ddep-4), as_fma(0x1.3c27283c31188p-3, u, -0x1.17c4e3f17c021p-2));
    double b = as_fma(u2, as_fma(0x1.134e3d3fe0f8cp-10, u, -0x1.6af1b8d411415p-9), as_fma(0x1.c8cb8126632aep-8, u, -0x1.10fcf0dd86782p-6));
    double c = as_fma(u2, as_fma(0x1.e23fdeece8d0dp-17, u, -0x1.77c4c18d0e132p-15), as_fma(0x1.17c8306916a30p-13, u, -0x1.905bd917de45cp-12));
    double d = as_fma(u2, as_fma(0x1.0b06f615033aep-24, u, -0x1.3e868794949ffp-22), as_fma(0x1.437c43973b397p-20, u, -0x1.236fb14bfe8fbp-18));
    double f = as_fma(u2, as_fma(0x1.0e072f5a3b427p-37, u, -0x1.1dbbca4ba62ecp-33), as_fma(0x1.7d8946734af81p-30, u, -0x1.6be4a6ae06ff5p-27));
    return u * as_fma(u4, as_fma(u4, as_fma(u4, as_fma(u4, as_fma(u4, -0x1.e144111894a4fp-43, f), d), c), b), a);
}

/* Return erf(x), where e is exp(-x * x) for a rounded square. Its rest corrects G. */
AS_INLINE double as_erf_given(double x, double e) {
    int64_t i = as_bits(x) & AS_ABS;
    double a = as_limit(as_double(i), AS_ERF_MAX), z = a * a, rest = as_fma(a, a, -z), g = as_erfc_factor(a - 1.0);
    double far = as_fma(-e, AS_ERFC_FACTOR + as_fma(-rest, AS_ERFC_FACTOR + g, g), 1.0);
    double y = a < 1.0 ? as_fma(a, as_erf_near(z - 0.5), a) : far;
    return as_with_sign(y + as_double(i & AS_MASK(i > AS_INF)), x);
}

AS_INLINE double as_erf(double x) {
    double a = as_limit(x, AS_ERF_MAX);
    return as_erf_given(x, as_exp_normal(-(a * a)));
}

/* The steps of as_erf in single precision. */
AS_INLINE float as_erf_near_single(float t) {
    float t2 = t * t, a = as_fma(-0x1.2b8df4p-6f, t, 0x1.454368p-4f);
    float b = as_fma(t2, 0x1.4a5690p-14f, as_fma(-0x1.287056p-11f, t, 0x1.c828b2p-9f));
    return as_fma(t, as_fma(t, as_fma(t2, b, a), -0x1.1fd164p-2f), -0x1.1ae14ep-5f);
}

#define AS_ERFC_FACTORF 0x1.b5d878p-2f
AS_INLINE float as_erfc_factorf(float u) {
    float u2 = u * u, u4 = u2 * u2;
    float a = as_fma(u2, as_fma(0x1.31dc14p-5f, u, -0x1.444f4ap-4f), as_fma(0x1.3c2472p-3f, u, -0x1.17c4d6p-2f));
    float b = as_fma(u2, as_fma(0x1.4eca0ap-12f, u, -0x1.bfbe8ap-10f), as_fma(0x1.85b8f0p-8f, u, -0x1.06aa3ap-6f));
    return u * as_fma(u4, as_fma(u4, -0x1.d388cap-16f, b), a);
}

AS_INLINE float as_erf_givenf(float x, float e) {
    int32_t i = as_bitsf(x) & AS_ABSF;
    float a = as_limitf(as_float(i), AS_ERF_MAXF), z = a * a, rest = as_fma(a, a, -z), g = as_erfc_factorf(a - 1.0f);
    float far = as_fma(-e, AS_ERFC_FACTORF + as_fma(-rest, AS_ERFC_FACTORF + g, g), 1.0f);
    float y = (a < 1.0f ? as_fma(a, as_erf_near_single(z - 0.5f), a) : far) + as_float(i & -(int32_t)(i > AS_INFF));
    return as_float(as_bitsf(y) | (as_bitsf(x) ^ i));
}

AS_INLINE float as_erff(float x) {
    float a = as_limitf(x, AS_ERF_MAXF);
    return as_erf_givenf(x, as_exp_normalf(-(a * a)));
}

/* pow: 2^(y log2|x|). log2(1 + f) = s (1 + s^2 / 3 + ...) 2 / ln 2 and its product with y are sums of two doubles. Their
 * first parts have so few bits that products of these are exact (Dekker, 1971). */

/* Return x with the bits of the mask alone. */
AS_INLINE double as_head(double x, int64_t mask) {
    return as_double(as_bits(x) & mask);
}

/* Return atanh(s) / s - 1 - s^2 / 3, divided by s^4, for z = s^2. */
AS_INLINE double as_atanh_tail(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(0x1.745d173c51b80p-4, z, 0x1.c71c71c74d1fcp-4), as_fma(0x1.24924924922fcp-3, z, 0x1.999999999999ap-3));
    double b = as_fma(z2, as_fma(0x1.da8e2456a48b7p-5, z, 0x1.e01bc8a7f0ccep-5), as_fma(0x1.1115454951dd2p-4, z, 0x1.3b13aa0633c79p-4));
    return as_fma(z4, b, a);
}

/* Return the head of log2(2^k (1 + f)), of at most 26 bits, and the rest in *rest. The reciprocal is 1 / (2 + f). */
AS_INLINE double as_log2_parts(double k, double f, double reciprocal, double *rest) {
    double below = 2.0 + f, below_rest = f - (below - 2.0), below_head = as_head(below, ~0x7ffffffLL);
    double s = f * reciprocal, head = as_head(s, ~0xffffffffLL);
    double tail = as_fma(-head, below - below_head + below_rest, as_fma(-head, below_head, f));
    tail *= reciprocal;
    /* s^2 / 3 = square * 0x1.5554p-2 + small, where the first product is exact, and exact again times head */
    double z = head * head, square = as_head(z, ~0xfffffffffLL), small = tail * (head + s), full = s * s;
    double cube = square * 0x1.5554p-2;
    small = as_fma(full * full, as_atanh_tail(full), as_fma(full, 0x1.5555555555555p-18, (z - square + small) * 0x1.5554p-2));
    double first = head * cube, sum = head + first, low = first - (sum - head);
    low += tail + as_fma(s, small, tail * cube);
    double sum_head = as_head(sum, ~0x7ffffffLL), sum_rest = (sum - sum_head) + low;
    double whole = sum_head * 0x1.7154768p+1, part = as_fma(sum + low, -0x1.6a3e80f444178p-26, sum_rest * 0x1.7154768p+1);
    double log2 = k + whole, log2_head = as_head(log2, ~0x7ffffffLL);
    *rest = (log2 - log2_head) + ((whole - (log2 - k)) + part);
    return log2_head;
}

/* Tell where x^y is 2^(y log2|x|), up to the sign: finite operands, no zero for x, no root of a negative number. */
AS_INLINE int64_t as_pow_is_plain(double x, double y, int64_t *invalid, int64_t *odd) {
    int64_t a = as_bits(x) & AS_ABS, b = as_bits(y) & AS_ABS, large = AS_MASK(b >= as_bits(0x1p52));
    double shifted = as_double(b & ~large) + 0x1p52;
    int64_t whole = large | AS_MASK(as_bits(shifted - 0x1p52) == b), negative = AS_MASK(as_bits(x) < 0);
    int64_t last = (as_bits(shifted) & ~large) | (b & large & AS_MASK(b < as_bits(0x1p53)));
    int64_t finite = AS_MASK(a > 0) & AS_MASK(a < AS_INF) & AS_MASK(b < AS_INF);
    *odd = whole & negative & ((int64_t)((uint64_t)last << 63));
    *invalid = finite & negative & ~whole;
    return finite & ~*invalid;
}

/* Return x^y for the power of plain operands, which is 1 for others. 0 to a negative power is 1 / 0. */
AS_INLINE double as_pow_edges(double power, double x, double y, int64_t plain, int64_t invalid, int64_t odd) {
    int64_t a = as_bits(x) & AS_ABS, b = as_bits(y) & AS_ABS, grows = ~(AS_MASK(a > AS_ONE) ^ AS_MASK(as_bits(y) >= 0));
    int64_t one = AS_MASK(b == 0) | AS_MASK(as_bits(x) == AS_ONE) | (AS_MASK(a == AS_ONE) & AS_MASK(b == AS_INF));
    int64_t nan = (AS_MASK(a > AS_INF) | AS_MASK(b > AS_INF)) & ~one, finite = plain | invalid | one | nan;
    int64_t pole = AS_MASK(a == 0) & AS_MASK(as_bits(y) < 0) & ~finite;
    double factor = as_double((AS_ONE & (finite | pole)) | (AS_INF & grows & ~finite & ~pole));
    double edge = as_double((AS_INF & (invalid | nan)) | (1LL << 51 & nan));
    double result = power * factor / as_double(AS_ONE & ~pole) + (edge - edge);
    return as_double(as_bits(result) ^ odd);
}

AS_INLINE double as_pow(double x, double y) {
    int64_t invalid, odd, plain = as_pow_is_plain(x, y, &invalid, &odd);
    double v = as_pick(plain, as_double(as_bits(x) & AS_ABS), 1.0), w = as_limit(as_double(as_bits(y) & plain), 0x1p70);
    int64_t shift = AS_MASK(as_bits(v) <= AS_MANTISSA) & 54;
    double k, f = as_log_reduce(v * as_double(AS_ONE + (shift << 52)), shift, &k), log2_rest;
    double log2_head = as_log2_parts(k, f, 1.0 / (2.0 + f), &log2_rest);
    double w_head = as_head(w, ~0x7ffffffLL), head = w_head * log2_head;
    double rest = as_fma(w - w_head, log2_head, w * log2_rest);
    rest = as_double(as_bits(rest) & AS_MASK((as_bits(head) & AS_ABS) < as_bits(1200.0)));
    head = as_limit(head, 1200.0);
    double sum = (head + rest) + AS_ROUND, r = head - (sum - AS_ROUND), both = r + rest;
    double lost, power = as_exp_near(both * AS_LN2, ((r - both) + rest) * AS_LN2, &lost);
    return as_pow_edges(as_scale(power, sum, 0), x, y, plain, invalid, odd);
}

AS_INLINE float as_powf(float x, float y) {
    int64_t invalid, odd, plain = as_pow_is_plain(x, y, &invalid, &odd);
    double k, f = as_log_reduce(as_pick(plain, as_double(as_bits(x) & AS_ABS), 1.0), 0, &k);
    double s = f / (2.0 + f), log = as_fma(s, as_log_short(s * s), k * AS_LN2);
    double power = as_exp_single(as_limit(as_double(as_bits(y) & plain) * log, 200.0));
    return (float)as_pow_edges(power, x, y, plain, invalid, odd);
}

/* exp2: x = k + r, 2^r = exp(r ln 2). */
AS_INLINE double as_exp2(double x) {
    double v = as_limit(x, 1200.0), k = v + AS_ROUND, r = (v - (k - AS_ROUND)) * AS_LN2;
    return as_scale(1.0 + as_fma(r * r, as_exp_half(r), r), k, as_fixed(x));
}

AS_INLINE float as_exp2f(float x) {
    int64_t fixed = as_fixed(x);
    double v = as_limit(as_double(as_bits(x) ^ fixed), 200.0), k = v + AS_ROUND, r = (v - (k - AS_ROUND)) * AS_LN2;
    return (float)((1.0 + as_expm1_short(r)) * as_power_of_two(k) + as_double(fixed));
}

/* log2, log10: k c + log(1 + f) d, where the heads of f and d have so few bits that their product is exact. */
AS_INLINE double as_log_base(double x, double c, double c_rest, double d, double d_rest) {
    int64_t i = as_bits(x), ordinary = AS_MASK(i > 0) & AS_MASK(i < AS_INF), shift = AS_MASK(i <= AS_MANTISSA) & 54;
    double k, f = as_log_reduce(as_pick(ordinary, x, 1.0) * as_double(AS_ONE + (shift << 52)), shift, &k);
    double s = as_log_quotient(x, ordinary, f), z = s * s, square = 0.5 * f * f;
    double tail = as_fma(s, as_fma(z, as_log_tail(z), square), -square), head = as_double(as_bits(f) & ~0x7ffffffLL);
    double hi = k * c, first = head * d, sum = hi + first;
    return sum + (first - (sum - hi) + as_fma(f - head, d, as_fma(f, d_rest, as_fma(k, c_rest, tail * (d + d_rest)))));
}

AS_INLINE double as_log2(double x) {
    return as_log_base(x, 1.0, 0.0, 0x1.7154768p+0, -0x1.6a3e80f444178p-27);
}

AS_INLINE double as_log10(double x) {
    return as_log_base(x, 0x1.34413509f8p-2, -0x1.80433b83b532ap-44, 0x1.bcb7b18p-2, -0x1.6c8d78e6acaa4p-29);
}

/* Return k c + log(1 + f) d with a relative error of 2^-37. */
AS_INLINE float as_log_basef(float x, double c, double d) {
    int64_t i = as_bits(x), ordinary = AS_MASK(i > 0) & AS_MASK(i < AS_INF);
    double k, f = as_log_reduce(as_pick(ordinary, x, 1.0), 0, &k), s = as_log_quotient(x, ordinary, f);
    return (float)(k * c + s * as_log_short(s * s) * d);
}

AS_INLINE float as_log2f(float x) {
    return as_log_basef(x, 1.0, AS_LOG2E);
}

AS_INLINE float as_log10f(float x) {
    return as_log_basef(x, 0x1.34413509f79ffp-2, 0x1.bcb7b1526e50ep-2);
}

/* sinh, cosh: e - 1 / (4 e) and e + 1 / (4 e) for e = exp(|x|) / 2; sinh is x + x^3 P(x^2) for |x| < 1. */
AS_INLINE double as_half_exp(double a) {
    double v = as_limit(a, 1000.0), error, rest, k, r = as_exp_reduce(v, &error, &k);
    return as_scale(as_exp_near(r, error, &rest), k - 1.0, as_fixed(a));
}

AS_INLINE double as_half_exp_single(double a) {
    int64_t fixed = as_fixed(a);
    return 0.5 * as_exp_single(as_limit(as_double(as_bits(a) ^ fixed), 200.0)) + as_double(fixed);
}

AS_INLINE double as_sinh_tail(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(0x1.71de3a5f0db9dp-19, z, 0x1.a01a01a00b33ep-13), as_fma(0x1.111111111119ap-7, z, 0x1.5555555555555p-3));
    double b = as_fma(z2, 0x1.b2502d89eaa9bp-41, as_fma(0x1.612265e4b9796p-33, z, 0x1.ae6452c7cecbep-26));
    return as_fma(z4, b, a);
}

AS_INLINE double as_sinh_tailf(double z) {
    double z2 = z * z;
    return as_fma(z2, as_fma(0x1.78a24b891fdacp-19, z, 0x1.a0091c3d4822ap-13), as_fma(0x1.11111e855329ap-7, z, 0x1.5555554eab2dp-3));
}

AS_INLINE double as_sinh(double x) {
    int64_t i = as_bits(x) & AS_ABS;
    double a = as_double(i), e = as_half_exp(a), v = as_limit(a, 1.0), z = v * v, near = as_fma(v * z, as_sinh_tail(z), v);
    return as_with_sign(i < AS_ONE ? near : e - 0.25 / e, x);
}

AS_INLINE double as_cosh(double x) {
    double e = as_half_exp(as_double(as_bits(x) & AS_ABS));
    return e + 0.25 / e;
}

AS_INLINE float as_sinhf(float x) {
    int64_t i = as_bits(x) & AS_ABS;
    double a = as_double(i), e = as_half_exp_single(a), v = as_limit(a, 1.0), z = v * v;
    return (float)as_with_sign(i < AS_ONE ? v + v * z * as_sinh_tailf(z) : e - 0.25 / e, x);
}

AS_INLINE float as_coshf(float x) {
    double e = as_half_exp_single(as_double(as_bits(x) & AS_ABS));
    return (float)(e + 0.25 / e);
}

/* expit: 1 / (1 + e) or e / (1 + e) for e = exp(-|x|), corrected by what the rounded denominator lost. */
AS_INLINE double as_expit(double x) {
    double v = as_limit(as_double(as_bits(x) | AS_SIGN), 1000.0), error, rest, k, r = as_exp_reduce(v, &error, &k);
    double e = as_scale(as_exp_near(r, error, &rest), k, as_fixed(as_double(as_bits(x) | AS_SIGN)));
    double below = 1.0 + e, lost = (1.0 - below) + e, y = (as_bits(x) < 0 ? e : 1.0) / below;
    return y - y * lost * (as_bits(x) < 0 ? 1.0 - y : y);
}

AS_INLINE float as_expitf(float x) {
    int64_t i = as_bits(x) & AS_ABS;
    double e = as_exp_single(-as_limit(as_double(i), 200.0)), y = (as_bits(x) < 0 ? e : 1.0) / (1.0 + e);
    return (float)(y + as_double(i & AS_MASK(i > AS_INF)));
}

/* arctan: t is x, (x - 1) / (x + 1) or -1 / x, below tan(pi/8) = 0.4142, to which 0, pi/4 or pi/2 is added. The rests of
 * sums and of the quotient are kept. */
AS_INLINE double as_arctan_tail(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(0x1.c71c7188a80bfp-4, z, -0x1.249249243d5a5p-3), as_fma(0x1.9999999999429p-3, z, -0x1.5555555555555p-2));
    double b = as_fma(z2, as_fma(0x1.dfeca710bfa74p-5, z, -0x1.10fae17b0ec7ep-4), as_fma(0x1.3b126ba9086c5p-4, z, -0x1.745d0b992690bp-4));
    double c = as_fma(z2, -0x1.3ae27b51e3795p-6, as_fma(0x1.41b171d3c2ae1p-5, z, -0x1.a0b791a5b9035p-5));
    return as_fma(z4, as_fma(z4, c, b), a);
}

/* Return a / b, and what it lacks in *rest, for operands that have lost a_rest and b_rest. */
AS_INLINE double as_divide(double a, double a_rest, double b, double b_rest, double *rest) {
    double reciprocal = 1.0 / b, q = a * reciprocal, lost = as_fma(-q, b, a);
    *rest = (lost + (a_rest - q * b_rest)) * reciprocal;
    return q;
}

AS_INLINE double as_arctan(double x) {
    int64_t i = as_bits(x) & AS_ABS;
    double a = as_limit(as_double(i), 0x1p60), less = a - 1.0, more = a + 1.0, rest;
    int64_t middle = AS_MASK(i > as_bits(0.41421356)), large = AS_MASK(i > as_bits(2.41421356));
    double above = large ? -1.0 : middle ? less : a, below = as_pick(large, a, as_pick(middle, more, 1.0));
    double above_rest = (middle & ~large) ? a - (less + 1.0) : 0.0, below_rest = (middle & ~large) ? a - (more - 1.0) : 0.0;
    double t = as_divide(above, above_rest, below, below_rest, &rest), z = t * t;
    double base = large ? 0x1.921fb54442d18p+0 : middle ? 0x1.921fb54442d18p-1 : 0.0, sum = base + t;
    double base_rest = base * 0x1.678afae35cdd1p-55; /* pi/2 is 0x1.921fb54442d18p+0 + 0x1.1a62633145c07p-54 */
    double y = sum + (base - sum + t + (base_rest + as_fma(t * z, as_arctan_tail(z), rest)));
    return as_with_sign(y + as_double(i & AS_MASK(i > AS_INF)), x);
}

AS_INLINE float as_arctanf(float x) {
    int64_t i = as_bits(x) & AS_ABS;
    double a = as_limit(as_double(i), 0x1p60);
    int64_t middle = AS_MASK(i > as_bits(0.41421356)), large = AS_MASK(i > as_bits(2.41421356));
    double t = (large ? -1.0 : middle ? a - 1.0 : a) / as_pick(large, a, as_pick(middle, a + 1.0, 1.0)), z = t * t;
    double base = large ? 0x1.921fb54442d18p+0 : middle ? 0x1.921fb54442d18p-1 : 0.0;
    double z2 = z * z, p = as_fma(z2, as_fma(z2, -0x1.08704d67efb06p-4, as_fma(0x1.b81f2cbbecafep-4, z, -0x1.242106cb1ffd8p-3)), as_fma(0x1.99973835f8659p-3, z, -0x1.5555544c73dc8p-2));
    return (float)as_with_sign(base + (t + t * z * p) + as_double(i & AS_MASK(i > AS_INF)), x);
}
