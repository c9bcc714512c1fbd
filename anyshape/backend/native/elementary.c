/* Elementary functions of generated kernels: inline, free of branches, made of IEEE operations alone.
 *
 * Every function has the same bits on every machine, as no step depends on a library or on a fused multiply-add.
 * Text that includes this file is compiled with -ffp-contract=off and without -ffast-math. Loops that call these
 * functions are vectorised by GCC and clang, from AVX2 and NEON on.
 *
 * Floating-point flags are those that NumPy warns of: overflow, invalid and divide by zero are raised for such
 * alone. NaN raises nothing. Inexact and underflow mean nothing. Compilers take flags for unobservable: they emit
 * signalling comparisons, and move operations over selections of floats. For this reason operands are compared,
 * limited and selected as integers wherever an operation could raise a flag, and NaN and infinity reach the result
 * by arithmetic.
 *
 * Functions of float compute in double and round once.
 *
 * Sources: arguments are reduced after Cody and Waite (Software Manual for the Elementary Functions, 1980). Sums of two
 * parts are those of Dekker (1971) and Knuth (TAOCP 2, 4.2.2). Polynomials are minimax, by fpminimax of Sollya.
 * Denominators of rational functions interpolate at Chebyshev nodes. Comments name what is particular to a function.
 */
#include <stdint.h>

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

static inline int64_t as_bits(double x) {
    int64_t i;
    __builtin_memcpy(&i, &x, 8);
    return i;
}

static inline double as_double(int64_t i) {
    double x;
    __builtin_memcpy(&x, &i, 8);
    return x;
}

static inline int32_t as_bitsf(float x) {
    int32_t i;
    __builtin_memcpy(&i, &x, 4);
    return i;
}

static inline float as_float(int32_t i) {
    float x;
    __builtin_memcpy(&x, &i, 4);
    return x;
}

/* All bits where the condition holds, else none. */
#define AS_MASK(condition) (-(int64_t)(condition))

static inline double as_pick(int64_t mask, double x, double y) {
    return as_double((as_bits(x) & mask) | (as_bits(y) & ~mask));
}

static inline double as_with_sign(double x, double sign) {
    return as_double((as_bits(x) & AS_ABS) | (as_bits(sign) & AS_SIGN));
}

/* exp: x = k ln 2 + r with |r| <= ln(2)/2, exp(x) = 2^k (1 + r + r^2 P(r)). */

#define AS_LN2_HI 0x1.62e42fefa4000p-1 /* 40 bits: products with |k| < 2^13 are exact */
#define AS_LN2_LO -0x1.8432a1b0e2634p-43
#define AS_LN2 0x1.62e42fefa39efp-1
#define AS_LOG2E 0x1.71547652b82fep+0

/* Return r, its rounding error in *error, and k in the low bits of *k (and as a number, *k - AS_ROUND). */
static inline double as_exp_reduce(double x, double *error, double *k) {
    double t = x * AS_LOG2E + AS_ROUND, n = t - AS_ROUND;
    double hi = x - n * AS_LN2_HI, lo = n * AS_LN2_LO, r = hi - lo;
    *error = (hi - r) - lo;
    *k = t;
    return r;
}

/* Return (exp(r) - 1 - r) / r^2. */
static inline double as_exp_tail(double r) {
    double p = 0x1.aeabcfb5467ffp-26;
    p = p * r + 0x1.2891c3b32a8e4p-22;
    p = p * r + 0x1.71de59f0ab925p-19;
    p = p * r + 0x1.a019b8c667f1bp-16;
    p = p * r + 0x1.a01a018c37243p-13;
    p = p * r + 0x1.6c16c178a6fd9p-10;
    p = p * r + 0x1.11111111144cfp-7;
    p = p * r + 0x1.5555555553ce5p-5;
    p = p * r + 0x1.555555555554dp-3;
    return p * r + 0x1.0000000000001p-1;
}

/* Return 2^k for the low bits of a sum with AS_ROUND, -1023 < k < 1024. */
static inline double as_power_of_two(double sum) {
    return as_double((int64_t)((uint64_t)as_bits(sum) << 52) + AS_ONE);
}

/* Return 2^k p, rounded once where it is subnormal, for |k| < 2000. */
static inline double as_scale(double p, double sum) {
    double half = (sum - AS_ROUND) * 0.5 + AS_ROUND;
    int64_t rest = as_bits(sum) - as_bits(half);
    return p * as_power_of_two(half) * as_double((int64_t)((uint64_t)rest << 52) + AS_ONE);
}

/* Return the bits of x where it is NaN or infinity, else 0. Log and exp of such operands are the operands. */
static inline int64_t as_fixed(double x) {
    int64_t i = as_bits(x);
    return i & (AS_MASK((i & AS_ABS) > AS_INF) | AS_MASK(i == AS_INF));
}

/* Return x, at most `most` in magnitude. */
static inline double as_limit(double x, double most) {
    int64_t a = as_bits(x) & AS_ABS;
    return as_double((a < as_bits(most) ? a : as_bits(most)) | (as_bits(x) & AS_SIGN));
}

static inline double as_exp(double x) {
    int64_t fixed = as_fixed(x);
    double error, k, r = as_exp_reduce(as_limit(as_double(as_bits(x) ^ fixed), 1000.0), &error, &k);
    double sum = 1.0 + r, rest = (1.0 - sum) + r;
    return as_scale(sum + (rest + (error + r * r * as_exp_tail(r))), k) + as_double(fixed);
}

/* Return exp(r) with a relative error of 2^-32. */
static inline double as_exp_short(double r) {
    double p = 0x1.a072c4de036fcp-13;
    p = p * r + 0x1.6d42da86c36c5p-10;
    p = p * r + 0x1.11114be42e423p-7;
    p = p * r + 0x1.5554e94d6049cp-5;
    p = p * r + 0x1.5555552728da9p-3;
    p = p * r + 0x1.0000000b800bdp-1;
    return 1.0 + (r + r * r * p);
}

/* Return exp(x) for |x| < 700 with a relative error of 2^-32. */
static inline double as_exp_single(double x) {
    double k = x * AS_LOG2E + AS_ROUND;
    return as_exp_short(x - (k - AS_ROUND) * AS_LN2) * as_power_of_two(k);
}

static inline float as_expf(float x) {
    int64_t fixed = as_fixed(x);
    return (float)(as_exp_single(as_limit(as_double(as_bits(x) ^ fixed), 200.0)) + as_double(fixed));
}

/* log: x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and log(1 + f) = 2 atanh(s) for s = f / (2 + f).
 * As 2 s = f - s f, this is f - f^2/2 + s (f^2/2 + R(s^2)): the first terms are exact. */

#define AS_SQRT_HALF 0x3fe6a09e667f3bcdLL

/* Return f, and k - shift in *k, for a normal x > 0. */
static inline double as_log_reduce(double x, int64_t shift, double *k) {
    int64_t i = as_bits(x) + (AS_ONE - AS_SQRT_HALF);
    *k = as_double(as_bits(AS_ROUND) + (int64_t)((uint64_t)i >> 52) - shift) - (AS_ROUND + 1023.0);
    return as_double((i & AS_MANTISSA) + AS_SQRT_HALF) - 1.0;
}

/* Return 2 atanh(s) - 2 s, divided by s, for z = s^2. */
static inline double as_log_tail(double z) {
    double p = 0x1.2b5ac544e9743p-3;
    p = p * z + 0x1.39fe306939698p-3;
    p = p * z + 0x1.7462b5ef63d76p-3;
    p = p * z + 0x1.c71c62e2379b3p-3;
    p = p * z + 0x1.2492492df1ed3p-2;
    p = p * z + 0x1.999999999530bp-2;
    return (p * z + 0x1.5555555555558p-1) * z;
}

/* Return log(2^k (1 + f)) + error for s = f / (2 + f). */
static inline double as_log_sum(double k, double f, double s, double error) {
    double square = 0.5 * f * f, tail = s * (square + as_log_tail(s * s)) - square;
    double hi = k * AS_LN2_HI, sum = hi + f, rest = f - (sum - hi);
    return sum + (rest + (tail + (k * AS_LN2_LO + error)));
}

/* Return f / (2 + f) for an ordinary x, else log(x) with its flags: -1 / 0, 0 / 0, or x / 1 where log(x) is x. */
static inline double as_log_quotient(double x, int64_t ordinary, double f) {
    int64_t fixed = as_fixed(x), above = fixed | (as_bits(-1.0) & AS_MASK((as_bits(x) & AS_ABS) == 0));
    int64_t below = AS_ONE & AS_MASK(fixed != 0);
    return as_pick(ordinary, f, as_double(above)) / as_pick(ordinary, 2.0 + f, as_double(below));
}

static inline double as_log(double x) {
    int64_t i = as_bits(x), ordinary = AS_MASK(i > 0) & AS_MASK(i < AS_INF), shift = AS_MASK(i <= AS_MANTISSA) & 54;
    double k, f = as_log_reduce(as_pick(ordinary, x, 1.0) * as_double(AS_ONE + (shift << 52)), shift, &k);
    return as_log_sum(k, f, as_log_quotient(x, ordinary, f), 0.0);
}

static inline float as_logf(float x) {
    int32_t i = as_bitsf(x);
    int64_t ordinary = AS_MASK(i > 0) & AS_MASK(i < AS_INFF);
    double k, f = as_log_reduce(as_pick(ordinary, x, 1.0), 0, &k), s = as_log_quotient(x, ordinary, f), z = s * s;
    double p = 0x1.e3b1f3ef7381ep-3;
    p = p * z + 0x1.2432b0f92b723p-2;
    p = p * z + 0x1.999a9ccdbfeb4p-2;
    p = p * z + 0x1.555554daaa158p-1;
    p = p * z + 0x1.0000000004a38p1;
    return (float)(k * AS_LN2 + s * p);
}

/* sin, cos: x = k pi/2 + r with |r| <= pi/4. The parts of pi/2 have 29 bits: their products with k are exact, and
 * so is each sum of two parts, as the first is a multiple of the last bit of the second (Rump, Ogita and Oishi,
 * Accurate floating-point summation, 2008). The last part keeps 2^-59 of the smallest r that a double below 2^24 has. */

#define AS_TWO_OVER_PI 0x1.45f306dc9c883p-1

/* Return r, its rest in *rest, and k in the low bits of *k. */
static inline double as_trig_reduce(double x, double *rest, double *k) {
    double t = x * AS_TWO_OVER_PI + AS_ROUND, n = t - AS_ROUND;
    double first = x - n * 0x1.921fb54p+0;
    double c = n * 0x1.10b4612p-30, second = first - c;
    double d = n * -0x1.676733bp-60, third = second - d;
    *rest = (((first - second) - c) + ((second - third) - d)) - n * 0x1.701b839a25205p-92;
    *k = t;
    return third;
}

static inline double as_sin_near(double r, double rest) {
    double z = r * r, p = 0x1.5e109e07e92a6p-33;
    p = p * z + -0x1.ae601e2d09d03p-26;
    p = p * z + 0x1.71de37aed723fp-19;
    p = p * z + -0x1.a01a019e9ec33p-13;
    p = p * z + 0x1.1111111110c79p-7;
    p = p * z + -0x1.5555555555555p-3;
    return r + (r * z * p + rest * (1.0 - 0.5 * z));
}

static inline double as_cos_near(double r, double rest) {
    double z = r * r, p = -0x1.90734b3d67b0ep-37;
    p = p * z + 0x1.1eeb5780e017fp-29;
    p = p * z + -0x1.27e4fa02931fcp-22;
    p = p * z + 0x1.a01a019f37f9bp-16;
    p = p * z + -0x1.6c16c16c168c9p-10;
    p = p * z + 0x1.5555555555555p-5;
    double half = 0.5 * z, sum = 1.0 - half;
    return sum + (((1.0 - sum) - half) + (z * z * p - r * rest));
}

/* Return 0 for |x| <= AS_TRIG_MAX, else NaN: NaN - NaN for NaN, and infinity - infinity otherwise. */
static inline double as_trig_edge(double x) {
    int64_t a = as_bits(x) & AS_ABS, edge = AS_INF | (a & AS_MASK(a > AS_INF));
    double beyond = as_double(edge & AS_MASK(a > as_bits(AS_TRIG_MAX)));
    return beyond - beyond;
}

/* Return |x|, or 0 beyond AS_TRIG_MAX. */
static inline double as_trig_operand(double x) {
    int64_t a = as_bits(x) & AS_ABS;
    return as_double(a & AS_MASK(a <= as_bits(AS_TRIG_MAX)));
}

/* Return s or -s, by the bit of value 2 of k. */
static inline double as_trig_sign(double s, int64_t k) {
    return as_double(as_bits(s) ^ (int64_t)((uint64_t)(k & 2) << 62));
}

static inline double as_sin(double x) {
    double rest, k, r = as_trig_reduce(as_trig_operand(x), &rest, &k);
    double s = as_sin_near(r, rest), c = as_cos_near(r, rest);
    int64_t n = as_bits(k);
    s = as_trig_sign((n & 1) != 0 ? c : s, n) + as_trig_edge(x);
    return as_double(as_bits(s) ^ (as_bits(x) & AS_SIGN));
}

static inline double as_cos(double x) {
    double rest, k, r = as_trig_reduce(as_trig_operand(x), &rest, &k);
    double s = as_sin_near(r, rest), c = as_cos_near(r, rest);
    int64_t n = as_bits(k) + 1;
    return as_trig_sign((n & 1) != 0 ? c : s, n) + as_trig_edge(x);
}

/* For float operands two parts of pi/2 are enough. */
static inline double as_trig_reducef(double x, double *k) {
    double t = x * AS_TWO_OVER_PI + AS_ROUND, n = t - AS_ROUND;
    *k = t;
    return (x - n * 0x1.921fb54p+0) - n * 0x1.10b4611a62633p-30;
}

static inline double as_sin_nearf(double r) {
    double z = r * r, p = 0x1.6dbbfd9147dbap-19;
    p = p * z + -0x1.a013a02dc23dap-13;
    p = p * z + 0x1.11110de879cc7p-7;
    p = p * z + -0x1.555555545a6fcp-3;
    return r + r * z * p;
}

static inline double as_cos_nearf(double r) {
    double z = r * r, p = -0x1.25235ecb2a111p-22;
    p = p * z + 0x1.a015c123972bfp-16;
    p = p * z + -0x1.6c16bf51e6ac2p-10;
    p = p * z + 0x1.5555555502035p-5;
    return (1.0 - 0.5 * z) + z * z * p;
}

static inline float as_sinf(float x) {
    double k, r = as_trig_reducef(as_trig_operand(x), &k), s = as_sin_nearf(r), c = as_cos_nearf(r);
    int64_t n = as_bits(k);
    s = as_trig_sign((n & 1) != 0 ? c : s, n) + as_trig_edge(x);
    return (float)as_double(as_bits(s) ^ (as_bits(x) & AS_SIGN));
}

static inline float as_cosf(float x) {
    double k, r = as_trig_reducef(as_trig_operand(x), &k), s = as_sin_nearf(r), c = as_cos_nearf(r);
    int64_t n = as_bits(k) + 1;
    return (float)(as_trig_sign((n & 1) != 0 ? c : s, n) + as_trig_edge(x));
}

/* tanh: x + x^3 P(x^2) / Q(x^2) for |x| < 0.5625, else 1 - 2 / (exp(2 |x|) + 1), whose quotient is corrected by the
 * rest of the denominator. Both share one division. */
static inline double as_tanh(double x) {
    int64_t i = as_bits(x) & AS_ABS;
    _Bool small = i < as_bits(0.5625);
    double a = as_limit(as_double(i), 22.0), error, k;
    double r = as_exp_reduce(2.0 * a, &error, &k), scale = as_power_of_two(k), sum = 1.0 + r;
    double rest = ((1.0 - sum) + r) + (error + r * r * as_exp_tail(r)), e = sum + rest;
    double low = (rest - (e - sum)) * scale, high = e * scale, below = high + 1.0;
    low += 1.0 - (below - high);
    double z = a * a, p = (-0x1.a1f45318c364bp-13 * z + -0x1.4fe56107fbeaep-6) * z + -0x1.5555555555555p-2;
    double q = ((0x1.b165e3d0ea5c0p-13 * z + 0x1.7da9d4a9c42bcp-6) * z + 0x1.d8949bcb18d39p-2) * z + 1.0;
    double quotient = (small ? a * z * p : -2.0) / (small ? q : below);
    double base = small ? a : 1.0, y = base + quotient;
    y += ((base - y) + quotient) + (small ? 0.0 : 0.5 * quotient * quotient * low);
    return as_with_sign(y + as_double(i & AS_MASK(i > AS_INF)), x);
}

static inline float as_tanhf(float x) {
    int64_t i = as_bits(x) & AS_ABS;
    double a = as_double(i), y = 1.0 - 2.0 / (as_exp_single(2.0 * as_limit(a, 10.0)) + 1.0);
    y = (i < as_bits(0x1p-12) ? a : y) + as_double(i & AS_MASK(i > AS_INF));
    return (float)as_with_sign(y, x);
}
