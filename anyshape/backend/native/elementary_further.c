/* Further elementary functions, under the rules of elementary.c, which stands before: tan, the inverse functions, roots
 * and erfc. Polynomials interpolate at Chebyshev nodes. Functions of float compute in double and round once.
 */

#define AS_LEAST 0x1p-1000 /* added to a divisor that may be 0, and else exceeds it by far */
#define AS_PIO2 0x1.921fb54442d18p+0
#define AS_PIO2_REST 0x1.1a62633145c07p-54

/* Return x^2, and what it lacks in *rest. */
AS_INLINE double as_square(double x, double *rest) {
    double y = x * x;
    *rest = as_fma(x, x, -y);
    return y;
}

/* Return x + y, and what it lacks in *rest. */
AS_INLINE double as_sum(double x, double y, double *rest) {
    double sum = x + y, second = sum - x;
    *rest = (x - (sum - second)) + (y - second);
    return sum;
}

/* Return the square root of x + x_rest, and what it lacks in *rest. */
AS_INLINE double as_root(double x, double x_rest, double *rest) {
    double y = __builtin_sqrt(x), low, square = as_square(y, &low);
    *rest = (((x - square) - low) + x_rest) / (2.0 * y + AS_LEAST);
    return y;
}

/* Return NaN with the flag of an invalid operation where the mask says so, the infinity or NaN in `fixed`, and else 0. */
AS_INLINE double as_edge(int64_t invalid, int64_t fixed) {
    double x = as_double(AS_INF & invalid);
    return (x - x) + as_double(fixed);
}

/* Return log(a + rest) + k2 ln 2 for a normal a > 0. */
AS_INLINE double as_log_parts(double a, double rest, double k2) {
    double k, f = as_log_reduce(a, 0, &k);
    return as_log_sum(k + k2, f, f / (2.0 + f), rest / a);
}

/* tan: the sine over the cosine, or the other way round, with the rests of both. */
AS_INLINE double as_tan(double x) {
    double rest, k, r = as_trig_reduce(as_trig_operand(x), &rest, &k), z = r * r, half = 0.5 * z, sum = 1.0 - half;
    double small = as_fma(rest, 1.0 - half, r * z * as_sin_tail(z)), s = r + small, s_rest = (r - s) + small;
    double less = 1.0 - sum - half + as_fma(-r, rest, z * z * as_cos_tail(z)), c = sum + less, c_rest = (sum - c) + less, lost;
    int64_t odd = AS_MASK((as_bits(k) & 1) != 0);
    double above = as_pick(odd, -c, s), above_rest = as_pick(odd, -c_rest, s_rest);
    double y = as_divide(above, above_rest, as_pick(odd, s, c), as_pick(odd, s_rest, c_rest), &lost);
    return as_double(as_bits(y + lost + as_trig_edge(x)) ^ (as_bits(x) & AS_SIGN));
}

AS_INLINE float as_tanf(float x) {
    double k, r = as_trig_reducef(as_trig_operand(x), &k), s = as_sin_nearf(r), c = as_cos_nearf(r);
    int64_t odd = AS_MASK((as_bits(k) & 1) != 0);
    double y = as_pick(odd, -c, s) / as_pick(odd, s, c) + as_trig_edge(x);
    return (float)as_double(as_bits(y) ^ (as_bits(x) & AS_SIGN));
}

/* arcsin, arccos: x + x^3 P(x^2) for |x| <= 1/2. Beyond, twice the arcsin of s = sqrt((1 - |x|) / 2), whose rest is kept. */
AS_INLINE double as_arcsin_tail(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(0x1.f1c71c1d4aa0dp-6, z, 0x1.6db6db6e3292ep-5), as_fma(0x1.3333333332ec4p-4, z, 0x1.5555555555556p-3));
    double b = as_fma(z2, as_fma(0x1.78246f32d075cp-7, z, 0x1.c9cf3759fd8ffp-7), as_fma(0x1.1c4d343fa57f6p-6, z, 0x1.6e8bb1d89492bp-6));
    double c = as_fma(z2, as_fma(-0x1.e7a24f548c99fp-7, z, 0x1.1d661531b222ep-6), as_fma(0x1.653a8f8cfd43cp-8, z, 0x1.524ea8b3aad31p-7));
    return as_fma(z4, as_fma(z4, as_fma(z4, 0x1.d78189767524ep-6, c), b), a);
}

AS_INLINE double as_arcsin_tailf(double z) {
    double z2 = z * z;
    double a = as_fma(z2, as_fma(0x1.fd9219f7fef5fp-6, z, 0x1.6d5b8d274f089p-5), as_fma(0x1.333431929508ep-4, z, 0x1.555554e3e720bp-3));
    return as_fma(z2 * z2, as_fma(0x1.14138bacdace2p-5, z, 0x1.18e1f5c4845ebp-6), a);
}

/* Return the mask of |x| > 1/2; z, which is x^2 or s^2; and s, NaN with its flag where |x| > 1. */
AS_INLINE int64_t as_arcsin_parts(double a, double *z, double *s) {
    int64_t far = AS_MASK(as_bits(a) > as_bits(0.5));
    double square = as_pick(far, 1.0 - a, a) * as_pick(far, 0.5, as_double(as_bits(a) & ~far));
    *s = __builtin_sqrt(as_pick(far, square, 0.25));
    *z = as_double(as_bits(square) & AS_MASK(as_bits(a) <= AS_ONE));
    return far;
}

AS_INLINE double as_arcsin(double x) {
    double a = as_double(as_bits(x) & AS_ABS), z, s;
    int64_t far = as_arcsin_parts(a, &z, &s);
    double tail = z * as_arcsin_tail(z), head = as_head(s, ~0x7ffffffLL), rest = as_fma(-head, head, z) / (s + head + AS_LEAST);
    double p = as_fma(2.0 * s, tail, -as_fma(-2.0, rest, AS_PIO2_REST)), q = as_fma(-2.0, head, 0.5 * AS_PIO2);
    return as_with_sign(as_pick(far, as_fma(0.5, AS_PIO2, -(p - q)), as_fma(a, tail, a)), x);
}

AS_INLINE double as_arccos(double x) {
    double a = as_double(as_bits(x) & AS_ABS), z, s;
    int64_t far = as_arcsin_parts(a, &z, &s);
    double tail = z * as_arcsin_tail(z), head = as_head(s, ~0x7ffffffLL), rest = as_fma(-head, head, z) / (s + head + AS_LEAST);
    double small = as_pick(far, 0.0, x), near = AS_PIO2 - (small - as_fma(-small, tail, AS_PIO2_REST));
    double above = 2.0 * (head + as_fma(tail, s, rest)), below = 2.0 * (AS_PIO2 - (s + (as_fma(tail, s, rest - (s - head)) - AS_PIO2_REST)));
    return as_pick(far, as_pick(AS_MASK(as_bits(x) < 0), below, above), near);
}

AS_INLINE float as_arcsinf(float x) {
    double a = as_double(as_bits(x) & AS_ABS), z, s;
    int64_t far = as_arcsin_parts(a, &z, &s);
    double v = as_pick(far, s, a), y = as_fma(v * z, as_arcsin_tailf(z), v);
    return (float)as_with_sign(as_pick(far, AS_PIO2 - 2.0 * y, y), x);
}

AS_INLINE float as_arccosf(float x) {
    double a = as_double(as_bits(x) & AS_ABS), z, s;
    int64_t far = as_arcsin_parts(a, &z, &s);
    double v = as_pick(far, s, as_pick(far, 0.0, x)), y = as_fma(v * z, as_arcsin_tailf(z), v);
    return (float)as_pick(far, as_pick(AS_MASK(as_bits((double)x) < 0), 2.0 * (AS_PIO2 - y), 2.0 * y), AS_PIO2 - y);
}

/* arctan2: the steps of as_arctan for the smaller over the larger operand; j pi/4 is added to it or to its negative. */

/* Return the smaller and the larger operand. They are 1 and 1 beside NaN and where both are infinite, and 0 and 1 for
 * two zeros. */
AS_INLINE double as_arctan2_parts(double y, double x, double *most) {
    int64_t i = as_bits(y) & AS_ABS, j = as_bits(x) & AS_ABS, a = i < j ? i : j, b = i < j ? j : i;
    int64_t one = AS_MASK(a >= AS_INF) | AS_MASK(b > AS_INF), ones = one | AS_MASK(b == 0);
    *most = as_double((AS_ONE & ones) | (b & ~ones));
    return as_double((AS_ONE & one) | (a & ~one));
}

/* Return the mask of what is subtracted from a multiple of pi/4, and the multiple: t is the angle, or pi/4 less. */
AS_INLINE int64_t as_arctan2_base(double y, double x, int64_t middle, double *multiple) {
    int64_t left = AS_MASK(as_bits(x) < 0), swap = AS_MASK((as_bits(y) & AS_ABS) > (as_bits(x) & AS_ABS)), minus = left ^ swap;
    double quarter = as_double(AS_ONE & middle);
    *multiple = as_pick(swap, 2.0, as_double(as_bits(4.0) & left)) + as_double(as_bits(quarter) ^ (minus & AS_SIGN));
    return minus & AS_SIGN;
}

/* Return a NaN among the operands, or 0. */
AS_INLINE double as_either_nan(double y, double x) {
    int64_t i = as_bits(y) & AS_ABS, j = as_bits(x) & AS_ABS;
    return as_double((i & AS_MASK(i > AS_INF)) | (j & AS_MASK(j > AS_INF)));
}

AS_INLINE double as_arctan2(double y, double x) {
    double b, a = as_arctan2_parts(y, x, &b), q = a / b, rest, multiple;
    int64_t small = AS_MASK(as_bits(q) < as_bits(0x1p-30)), middle = AS_MASK(as_bits(q) > as_bits(0.41421356));
    int64_t large = AS_MASK(as_bits(b) > as_bits(0x1p900)), tiny = AS_MASK(as_bits(b) < as_bits(0x1p-900));
    double scale = as_pick(large, 0x1p-200, as_pick(tiny, 0x1p200, 1.0));
    double u = as_pick(small, 0.0, a) * scale, v = as_pick(small, 1.0, b) * scale, less = u - v, more = u + v;
    double above_rest = as_double(as_bits(u - (less + v)) & middle), below_rest = as_double(as_bits(u - (more - v)) & middle);
    double t = as_divide(as_pick(middle, less, u), above_rest, as_pick(middle, more, v), below_rest, &rest);
    int64_t minus = as_arctan2_base(y, x, middle, &multiple);
    t = as_double(as_bits(as_pick(small, q, t)) ^ minus);
    rest = as_double((as_bits(rest) ^ minus) & ~small);
    double base = multiple * (0.5 * AS_PIO2), base_rest = multiple * (0.5 * AS_PIO2_REST), sum = base + t, z = t * t;
    double angle = sum + (base - sum + t + (base_rest + as_fma(t * z, as_arctan_tail(z), rest)));
    return as_with_sign(angle + as_either_nan(y, x), y);
}

AS_INLINE float as_arctan2f(float y, float x) {
    double b, a = as_arctan2_parts(y, x, &b), multiple;
    int64_t middle = AS_MASK(as_bits(a) > as_bits(b * 0.41421356)), minus = as_arctan2_base(y, x, middle, &multiple);
    double t = as_pick(middle, a - b, a) / as_pick(middle, a + b, b), z = t * t, z2 = z * z;
    double p = as_fma(z2, as_fma(z2, -0x1.08704d67efb06p-4, as_fma(0x1.b81f2cbbecafep-4, z, -0x1.242106cb1ffd8p-3)), as_fma(0x1.99973835f8659p-3, z, -0x1.5555544c73dc8p-2));
    double angle = multiple * (0.5 * AS_PIO2) + as_double(as_bits(t + t * z * p) ^ minus);
    return (float)as_with_sign(angle + as_either_nan(y, x), y);
}

/* arcsinh: x + x^3 P(x^2) for |x| <= 1/2, else log(a + sqrt(a^2 + 1)), whose rest is kept. Beyond 2^60 log(a) + ln 2. */
AS_INLINE double as_arcsinh_tail(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(0x1.f1c71c3bc2932p-6, z, -0x1.6db6db6d5ae31p-5), as_fma(0x1.3333333332f5bp-4, z, -0x1.5555555555555p-3));
    double b = as_fma(z2, as_fma(0x1.79b084fa7888fp-7, z, -0x1.c983adcb2b771p-7), as_fma(0x1.1c4e06bc986e9p-6, z, -0x1.6e8b9aae9aab9p-6));
    double c = as_fma(z2, as_fma(0x1.ee066227cdbccp-10, z, -0x1.4720fe1af4730p-8), as_fma(0x1.f37e69a311e27p-8, z, -0x1.3a49381b5343cp-7));
    return as_fma(z4, as_fma(z4, c, b), a);
}

AS_INLINE double as_arcsinh(double x) {
    double a = as_double(as_bits(x) & AS_ABS), v = as_limit(a, 0.5), near = as_fma(v * (v * v), as_arcsinh_tail(v * v), v);
    double u = as_limit(a, 0x1p60), low, square_rest, root_rest, square = as_square(u, &square_rest);
    double sum = as_sum(square, 1.0, &low), root = as_root(sum, low + square_rest, &root_rest), w = u + root;
    int64_t fixed = as_fixed(a), large = AS_MASK(as_bits(a) > as_bits(0x1p60)), far = AS_MASK(as_bits(a) > as_bits(0.5));
    double rest = as_double(as_bits((u - (w - root)) + root_rest) & ~large);
    double y = as_log_parts(as_pick(large & ~AS_MASK(fixed != 0), a, w), rest, as_double(AS_ONE & large));
    return as_with_sign(as_pick(far, y, near) + as_double(fixed), x);
}

AS_INLINE float as_arcsinhf(float x) {
    double a = as_double(as_bits(x) & AS_ABS), v = as_limit(a, 0.5), z = v * v, z2 = z * z;
    double p = as_fma(z2, as_fma(z2, as_fma(0x1.458837d3b01a6p-7, z, -0x1.504abe18cc909p-6), as_fma(0x1.ee133a3b9cf67p-6, z, -0x1.6d9be6f85a2b6p-5)), as_fma(0x1.3332ea4eba27bp-4, z, -0x1.5555553503f46p-3));
    double u = as_limit(a, 0x1p130), y = as_log_single(u + __builtin_sqrt(as_fma(u, u, 1.0)), -1);
    return (float)as_with_sign(as_pick(AS_MASK(as_bits(a) > as_bits(0.5)), y, v + v * z * p) + as_double(as_fixed(a)), x);
}

/* arccosh: log(1 + w) for w = t + sqrt(t (t + 2)) and t = x - 1, whose rests are kept. Beyond 2^60 log(x) + ln 2. */
AS_INLINE double as_arccosh(double x) {
    int64_t i = as_bits(x), nan = AS_MASK((i & AS_ABS) > AS_INF), below = AS_MASK(i < AS_ONE) & ~nan;
    int64_t fixed = i & (nan | AS_MASK(i == AS_INF)), large = AS_MASK(i > as_bits(0x1p60)) & ~nan;
    double v = as_limit(as_pick(nan | below, 1.0, x), 0x1p60), t = v - 1.0, t_rest = v - (t + 1.0);
    double p_rest, p = as_sum(t, 2.0, &p_rest);
    double m = t * p, m_rest = as_fma(t, p, -m);
    double root_rest, root = as_root(m, m_rest + t * p_rest + t_rest * (t + p), &root_rest), w_rest, w = as_sum(root, t, &w_rest);
    double u_rest, u = as_sum(1.0, w, &u_rest), k, f = as_log_reduce(as_pick(large & ~AS_MASK(fixed != 0), x, u), 0, &k);
    int64_t near = AS_MASK(as_bits(k) == 0);
    f = as_pick(near, w, f);
    double rest = ((t_rest + root_rest) + w_rest + as_double(as_bits(u_rest) & ~near)) / u;
    double y = as_log_sum(k + as_double(AS_ONE & large), f, f / (2.0 + f), as_double(as_bits(rest) & ~large));
    return y + as_edge(below, fixed);
}

AS_INLINE float as_arccoshf(float x) {
    double v = x;
    int64_t i = as_bits(v), nan = AS_MASK((i & AS_ABS) > AS_INF), below = AS_MASK(i < AS_ONE) & ~nan;
    double t = as_limit(as_pick(nan | below, 1.0, v), 0x1p130) - 1.0, w = t + __builtin_sqrt(t * (t + 2.0));
    double near = as_fma(-(w * w), as_fma(-w, 0x1.5555555555555p-2, 0.5), w), y = as_log_single(1.0 + w, -1);
    int64_t fixed = i & (nan | AS_MASK(i == AS_INF));
    return (float)(as_pick(AS_MASK(as_bits(w) < as_bits(0x1p-12)), near, y) + as_edge(below, fixed));
}

/* arctanh: x + x^3 P(x^2) for |x| <= 1/2, else log((1 + a) / (1 - a)) / 2, whose rest is kept. */
AS_INLINE double as_arctanh_tail(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(0x1.c71c71314faf5p-4, z, 0x1.249249256dafdp-3), as_fma(0x1.99999999989dep-3, z, 0x1.5555555555557p-2));
    double b = as_fma(z2, as_fma(0x1.dda895fa89da8p-5, z, 0x1.114089ce4834cp-4), as_fma(0x1.3b10eb50f5a6ap-4, z, 0x1.745d31bfbf641p-4));
    double c = as_fma(z2, as_fma(-0x1.c1717526a1e7fp-4, z, 0x1.d5ba2ad21ec92p-4), as_fma(0x1.b82d159f6b79fp-6, z, 0x1.cfc01907cf012p-5));
    return as_fma(z4, as_fma(z4, as_fma(z4, 0x1.94b001e5945f9p-3, c), b), a);
}

/* Return 0 for |x| < 1, x for NaN; infinity at 1 and NaN beyond, with their flags. */
AS_INLINE double as_arctanh_edge(double a) {
    int64_t i = as_bits(a), inside = AS_MASK(i < AS_ONE), nan = AS_MASK(i > AS_INF);
    double above = as_double((AS_ONE & AS_MASK(i == AS_ONE)) | (i & nan));
    return above / as_double(AS_ONE & (inside | nan));
}

AS_INLINE double as_arctanh(double x) {
    double a = as_double(as_bits(x) & AS_ABS), v = as_limit(a, 0.5), z = v * v, near = as_fma(v * z, as_arctanh_tail(z), v);
    double u = as_pick(AS_MASK(as_bits(a) < AS_ONE), a, 0.5), more = 1.0 + u, rest;
    double q = as_divide(more, u - (more - 1.0), 1.0 - u, 0.0, &rest), y = 0.5 * as_log_parts(q, rest, 0.0);
    return as_with_sign(as_pick(AS_MASK(as_bits(a) > as_bits(0.5)), y, near) + as_arctanh_edge(a), x);
}

AS_INLINE float as_arctanhf(float x) {
    double a = as_double(as_bits(x) & AS_ABS), v = as_limit(a, 0.5), z = v * v, z2 = z * z;
    double p = as_fma(z2, as_fma(z2, as_fma(0x1.42b2f0f45c6acp-3, z, 0x1.09dbd8ab1e14bp-4), as_fma(0x1.d5d4031a2df3ap-4, z, 0x1.24201dc117648p-3)), as_fma(0x1.999c16578ce46p-3, z, 0x1.5555543958228p-2));
    double u = as_pick(AS_MASK(as_bits(a) < AS_ONE), a, 0.5), y = 0.5 * as_log_single((1.0 + u) / (1.0 - u), -1);
    return (float)as_with_sign(as_pick(AS_MASK(as_bits(a) > as_bits(0.5)), y, v + v * z * p) + as_arctanh_edge(a), x);
}

/* cbrt: x = 2^(3 n) v with 1/2 <= v < 4. A step of Halley from 25 bits, whose square is exact, leaves the last rounding. */
AS_INLINE double as_cbrt(double x) {
    int64_t i = as_bits(x) & AS_ABS, ordinary = AS_MASK(i > 0) & AS_MASK(i < AS_INF), shift = AS_MASK(i <= AS_MANTISSA) & 54;
    int64_t bits = as_bits(as_pick(ordinary, as_double(i), 1.0) * as_double(AS_ONE + (shift << 52)));
    double k = as_double(as_bits(AS_ROUND) + (int64_t)((uint64_t)bits >> 52) - shift) - (AS_ROUND + 1023.0);
    double third = as_fma(k, 0x1.5555555555555p-2, AS_ROUND), left = as_fma(-3.0, third - AS_ROUND, k);
    int64_t below = AS_MASK(left < 0.0), above = AS_MASK(left > 0.0);
    double m = as_double((bits & AS_MANTISSA) | AS_ONE), m2 = m * m, v = m * as_pick(below, 0.5, as_pick(above, 2.0, 1.0));
    double a = as_fma(m2, as_fma(0x1.4271a3214c696p-1, m, -0x1.c0b0579be37d2p-1), as_fma(0x1.0cab81eba25ffp+0, m, 0x1.b573b58a7f6e5p-2));
    double b = as_fma(m2, as_fma(0x1.893319a48b51ap-10, m, -0x1.2f34c7760c1f9p-6), as_fma(0x1.9a67a79d1c6f7p-4, m, -0x1.40d4226467813p-2));
    double t = as_fma(m2 * m2, b, a) * as_pick(below, 0x1.965fea53d6e3dp-1, as_pick(above, 0x1.428a2f98d728bp+0, 1.0));
    t = as_head(t, ~0x7ffffffLL);
    double r = v / (t * t), y = as_fma(t, (r - t) / as_fma(2.0, t, r), t) * as_power_of_two(third);
    return as_with_sign(as_pick(ordinary, y, x), x);
}

AS_INLINE float as_cbrtf(float x) {
    return (float)as_cbrt(x);
}

/* hypot: the root of a^2 + b^2, whose rest is kept, of operands scaled away from overflow. */
/* Return the larger of |x| and |y| and the smaller one, both times 2^600 or 2^-600 where their squares need it, or 0 beside
 * NaN and infinity, which are in *special. The power of two that undoes it is in *back. */
AS_INLINE double as_scaled(double x, double y, double *smaller, double *back, double *special) {
    int64_t i = as_bits(x) & AS_ABS, j = as_bits(y) & AS_ABS, most = i < j ? j : i, least = i < j ? i : j;
    int64_t infinite = AS_MASK(i == AS_INF) | AS_MASK(j == AS_INF), others = infinite | AS_MASK(most > AS_INF);
    int64_t large = AS_MASK(most > as_bits(0x1p500)), tiny = AS_MASK(most < as_bits(0x1p-450));
    double scale = as_pick(large, 0x1p-600, as_pick(tiny, 0x1p600, 1.0));
    *back = as_pick(large, 0x1p600, as_pick(tiny, 0x1p-600, 1.0));
    *special = as_double((AS_INF & infinite) | (most & others & ~infinite));
    *smaller = as_double(least & ~others) * scale;
    return as_double(most & ~others) * scale;
}

AS_INLINE double as_hypot(double x, double y) {
    double b, back, special, a = as_scaled(x, y, &b, &back, &special);
    double a_rest, b_rest, root_rest, a2 = as_square(a, &a_rest), b2 = as_square(b, &b_rest), sum = a2 + b2;
    double root = as_root(sum, (b2 - (sum - a2)) + (a_rest + b_rest), &root_rest);
    return as_fma(root + root_rest, back, special);
}

AS_INLINE float as_hypotf(float x, float y) {
    double a = x, b = y, sum = as_fma(b, b, a * a);
    int64_t infinite = AS_MASK((as_bits(a) & AS_ABS) == AS_INF) | AS_MASK((as_bits(b) & AS_ABS) == AS_INF);
    return (float)__builtin_sqrt(as_pick(infinite, __builtin_inf(), sum));
}

/* Return erf(x) / x - 1 for z = x^2 and |x| < 1, for a float x. */
AS_INLINE double as_erf_nearf(double z) {
    double z2 = z * z, z4 = z2 * z2;
    double a = as_fma(z2, as_fma(-0x1.b7fb938020f88p-6, z, 0x1.ce2cefa85ad37p-4), as_fma(-0x1.81273c6191cd5p-2, z, 0x1.06eba7d8aa037p-3));
    double b = as_fma(z2, 0x1.4dfb6956f0a3bp-14, as_fma(-0x1.a55f89707a50bp-11, z, 0x1.542ab96253fb1p-8));
    return as_fma(z4, b, a);
}

/* erfc: 1 - erf(x) for |x| < 1/2; else exp(-a^2) P(t) / (1 + 2 a) for t = (a - 3.75) / (a + 3.75), or 2 less that
 * (Shepherd and Laframboise, Chebyshev approximation of (1 + 2 x) exp(x^2) erfc x, 1981). */
/* Return P(t) less the constant of its double, which is AS_ERFC_FIRST. */
#define AS_ERFC_FIRST 0x1.3ccda0b5d5dc2p+0
AS_INLINE double as_erfc_tail(double t) {
    double t2 = t * t, t4 = t2 * t2;
    double a = as_fma(t2, as_fma(-0x1.bda9309a28934p-4, t, 0x1.510169d095f92p-4), as_fma(0x1.d5f29481598ecp-9, t, -0x1.1f367683f899ep-3));
    double b = as_fma(t2, as_fma(-0x1.3f603c3ecbfe8p-7, t, 0x1.d0b00378673a8p-6), as_fma(-0x1.e0d0fa6de3e28p-5, t, 0x1.7a14188aad9fdp-4));
    double c = as_fma(t2, as_fma(0x1.b141482687913p-15, t, -0x1.303fe78070eefp-12), as_fma(0x1.33fb33d1160acp-12, t, 0x1.cc3a11599942fp-10));
    double d = as_fma(t2, as_fma(0x1.d3559c172916fp-20, t, -0x1.078cc72028777p-20), as_fma(-0x1.7fdb063660431p-17, t, 0x1.779adf2e18ba2p-16));
    double e = as_fma(t2, as_fma(0x1.b50c394e0e0bep-26, t, 0x1.d2f880cffbd04p-27), as_fma(-0x1.04c52d690e579p-22, t, -0x1.8642e432e928cp-25));
    return as_fma(t, as_fma(t4, as_fma(t4, as_fma(t4, as_fma(t4, e, d), c), b), a), 0x1.f24172572e322p-54);
}

AS_INLINE double as_erfc(double x) {
    int64_t i = as_bits(x) & AS_ABS, nan = i & AS_MASK(i > AS_INF), far = AS_MASK(i > as_bits(0.5));
    double a = as_limit(as_double(i), 28.0), v = as_limit(as_double(as_bits(x) ^ nan), 0.5);
    double head = as_double(as_bits(a) & ~0x7ffffffLL), tail = (a - head) * (a + head);
    double error, low, k, first = as_exp_reduce(-head * head, &error, &k), r = first - tail;
    double e = as_exp_near(r, error + ((first - r) - tail), &low), rest;
    double terms = as_erfc_tail((a - 3.75) / (a + 3.75)), above = AS_ERFC_FIRST + terms, below_rest, below = as_sum(1.0, 2.0 * a, &below_rest);
    double factor = as_divide(above, (AS_ERFC_FIRST - above) + terms, below, below_rest, &rest);
    double y = as_scale(as_fma(e, factor, as_fma(e, rest, low * factor)), k, 0), near = 1.0 - as_fma(v, as_erf_near(as_fma(v, v, -0.5)), v);
    return as_pick(far, as_pick(AS_MASK(as_bits(x) < 0), 2.0 - y, y), near) + as_double(nan);
}

AS_INLINE float as_erfcf(float x) {
    double v = x;
    int64_t i = as_bits(v) & AS_ABS, nan = i & AS_MASK(i > AS_INF);
    double a = as_limit(as_double(i), 11.0), w = as_limit(as_double(i), 0.5), t = (a - 3.75) / (a + 3.75), t2 = t * t, t4 = t2 * t2;
    double p = as_fma(t2, as_fma(0x1.510169582763cp-4, t, 0x1.d5f2bd4f3180dp-9), as_fma(-0x1.1f367687190a7p-3, t, 0x1.3ccda0b5bc9dap+0));
    double q = as_fma(t2, as_fma(0x1.d0aac0ed1ad68p-6, t, -0x1.e0cccd51d04ffp-5), as_fma(0x1.7a1439a0b5fe3p-4, t, -0x1.bda95adc5776cp-4));
    double s = as_fma(t2, as_fma(-0x1.2b7ced466b738p-12, t, 0x1.5c358aa84a4d8p-12), as_fma(0x1.cd1ead8672a26p-10, t, -0x1.3fc73c5e0beaep-7));
    double far = as_exp_single(-a * a) * as_fma(t4, as_fma(t4, s, q), p) / as_fma(2.0, a, 1.0), near = 1.0 - as_fma(w, as_erf_nearf(w * w), w);
    double y = as_pick(AS_MASK(i > as_bits(0.5)), far, near);
    return (float)(as_pick(AS_MASK(as_bits(v) < 0), 2.0 - y, y) + as_double(nan));
}

/* Absolute values of complex numbers, within 2 ulp. */
AS_INLINE double as_modulus(double re, double im) {
    double b, back, special, a = as_scaled(re, im, &b, &back, &special);
    return as_fma(__builtin_sqrt(as_fma(b, b, a * a)), back, special);
}

AS_INLINE float as_modulusf(float re, float im) {
    return as_hypotf(re, im);
}

/* Complex numbers. Products and quotients have NumPy's steps, the quotient those of Smith (Algorithm 116, 1962). Its
 * operands are exchanged where the imaginary part of the divisor is the larger. */
#define AS_COMPLEX(T, f, I, MOST) \
    AS_INLINE T _Complex as_pair##f(T re, T im) { \
        return __builtin_complex(re, im); \
    } \
    AS_INLINE T _Complex as_product##f(T _Complex x, T _Complex y) { \
        const T a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y; \
        return as_pair##f(a * c - b * d, a * d + b * c); \
    } \
    AS_INLINE T _Complex as_quotient##f(T _Complex x, T _Complex y) { \
        const T a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y; \
        const I first = __builtin_isgreaterequal(__builtin_fabs##f(c), __builtin_fabs##f(d)); \
        const T u = as_choice##f(first, a, b), v = as_choice##f(first, b, a); \
        const T p = as_choice##f(first, c, d), q = as_choice##f(first, d, c); \
        const T ratio = q / p, scale = 1 / (p + q * ratio), t = u * ratio; \
        const T im = as_choice##f(first, v, t) - as_choice##f(first, t, v); \
        return as_pair##f((u + v * ratio) * scale, im * scale); \
    } \
    AS_INLINE T _Complex as_inverse##f(T _Complex x) { \
        const T a = __real__ x, b = __imag__ x; \
        const I first = __builtin_islessequal(__builtin_fabs##f(b), __builtin_fabs##f(a)); \
        const T p = as_choice##f(first, a, b), q = as_choice##f(first, b, a), ratio = q / p, d = p + q * ratio; \
        return as_pair##f(as_choice##f(first, 1, ratio) / d, -as_choice##f(first, ratio, 1) / d); \
    } \
    /* Return whether exp has neither a special case nor an angle out of range. */ \
    AS_INLINE int as_has_exp##f(T _Complex x) { \
        const T re = __builtin_fabs##f(__real__ x), im = __builtin_fabs##f(__imag__ x); \
        return __builtin_isless(re, (T)MOST) & __builtin_islessequal(im, (T)AS_TRIG_MAX); \
    } \
    AS_INLINE T _Complex as_exp_complex##f(T _Complex x) { \
        const T e = as_exp##f(__real__ x), im = __imag__ x; \
        return as_pair##f(e * as_cos##f(im), e * as_sin##f(im)); \
    }
AS_COMPLEX(double, , int64_t, 700.0)
AS_COMPLEX(float, f, int32_t, 80.0f)

/* e / (1 + e)^2 for a small e. */
AS_INLINE double as_logistic_tail(double e) {
    return e * (1.0 - e * (2.0 - 3.0 * e));
}

AS_INLINE float as_logistic_tailf(float e) {
    return e * (1.0f - e * (2.0f - 3.0f * e));
}

/* The same bits for one number, not elements of vectors: most operands are ordinary, and need no choice of bits. */
static __attribute__((noinline, cold, unused)) double as_exp_rare(double x) { return as_exp(x); }
static __attribute__((noinline, cold, unused)) double as_log_rare(double x) { return as_log(x); }

AS_INLINE double as_exp_alone(double x) {
    return __builtin_expect((as_bits(x) & AS_ABS) < as_bits(700.0), 1) ? as_exp_normal(x) : as_exp_rare(x);
}

AS_INLINE double as_log_alone(double x) {
    const uint64_t least = AS_MANTISSA + 1, above = as_bits(x) - least;
    if (__builtin_expect(above >= AS_INF - least, 0)) return as_log_rare(x);
    double k, f = as_log_reduce(x, 0, &k);
    return as_log_sum(k, f, f / (2.0 + f), 0.0);
}
