#include <fenv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Fields of an ndarray behind the header of the object; the header of a tuple ends with its items. */
typedef struct {
    char *data;
    int ndim;
    int64_t *dims;
    int64_t *strides;
    void *base;
    void *descr;
    int flags;
} as_array;

enum { AS_ALIGNED = 0x0100, AS_UNDERFLOW = 16 };

/* The array at a position of a tuple, whose first item is the class of arrays; NULL if it is of another class. */
static __attribute__((noinline, unused)) const as_array *as_item(const char *tuple, int position, int ndim) {
    const char *object = *(const char **)(tuple + AS_TUPLE + 8 * position);
    const void *kind = *(const void **)(tuple + AS_TUPLE);
    const as_array *array = (const as_array *)(object + AS_OBJECT);
    if (*(const void **)(object + AS_OBJECT - 8) != kind || array->ndim != ndim) return 0;
    return array->flags & AS_ALIGNED ? array : 0;
}

/* Whether axes first..last lie in C order beside each other; the stride of the innermost longer than 1 is returned. */
static inline int as_axes(const as_array *array, int first, int last, int64_t itemsize, int unit, int64_t *stride) {
    int64_t expected = unit ? itemsize : 0;
    *stride = expected;
    for (int axis = last; axis >= first; axis--) {
        if (array->dims[axis] == 1) continue;
        if (!expected) *stride = expected = array->strides[axis];
        if (array->strides[axis] != expected) return 0;
        expected *= array->dims[axis];
    }
    return 1;
}

/* The flags since they were cleared, as bits that do not depend on the machine. */
static inline int64_t as_flags(void) {
    const int flags = fetestexcept(FE_ALL_EXCEPT);
    return (flags & FE_INVALID ? 2 : 0) | (flags & FE_DIVBYZERO ? 4 : 0) | (flags & FE_OVERFLOW ? 8 : 0) |
           (flags & FE_UNDERFLOW ? AS_UNDERFLOW : 0);
}

typedef double _Complex as_complex;
typedef float _Complex as_complexf;

static inline double as_masked_d(double x, int64_t bits, int64_t rest) {
    union { double number; int64_t bits; } value = {x};
    value.bits = (value.bits & bits) | rest;
    return value.number;
}

static inline float as_masked_f(float x, int32_t bits, int32_t rest) {
    union { float number; int32_t bits; } value = {x};
    value.bits = (value.bits & bits) | rest;
    return value.number;
}

#define AS_EQUAL(x, y) ((x) == (y))
#define AS_UNEQUAL(x, y) ((x) != (y))
#define AS_LARGER(x, y) ((__builtin_isgreaterequal(x, y) | ((x) != (x))) ? (x) : (y))
#define AS_SMALLER(x, y) ((__builtin_islessequal(x, y) | ((x) != (x))) ? (x) : (y))
#pragma omp declare reduction(as_larger : double, float : omp_out = AS_LARGER(omp_out, omp_in)) \
    initializer(omp_priv = -__builtin_inf())
#pragma omp declare reduction(as_smaller : double, float : omp_out = AS_SMALLER(omp_out, omp_in)) \
    initializer(omp_priv = __builtin_inf())

/* Division of floats with an integer quotient, as NumPy computes it from fmod; the operands are finite, the divisor not 0. */
#define AS_DIVISIONS(T, f) \
    static inline int as_is_divisible##f(T x, T y) { \
        const T most = __builtin_inf##f(); \
        return __builtin_isless(__builtin_fabs##f(x), most) & __builtin_isless(__builtin_fabs##f(y), most) & (y != 0); \
    } \
    static inline T as_fmod##f(T x, T y) { \
        const int divisible = as_is_divisible##f(x, y); \
        return __builtin_fmod##f(divisible ? x : 0, divisible ? y : 1); \
    } \
    static inline T as_remainder##f(T x, T y) { \
        const T rest = as_fmod##f(x, y); \
        if (rest == 0) return __builtin_copysign##f(0, y); \
        return (__builtin_isless(y, 0) != __builtin_isless(rest, 0)) ? rest + y : rest; \
    } \
    static inline T as_floor_divide##f(T x, T y) { \
        const T rest = as_fmod##f(x, y), divisor = as_is_divisible##f(x, y) ? y : 1; \
        T quotient = (x - rest) / divisor; \
        if (rest != 0 && (__builtin_isless(y, 0) != __builtin_isless(rest, 0))) quotient -= 1; \
        if (quotient == 0) return __builtin_copysign##f(0, x / divisor); \
        const T floored = __builtin_floor##f(quotient); \
        return __builtin_isgreater(quotient - floored, (T)0.5) ? floored + 1 : floored; \
    }
AS_DIVISIONS(double, )
AS_DIVISIONS(float, f)
