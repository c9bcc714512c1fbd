#include <fenv.h>
#include <stdint.h>
#include <stdlib.h>

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

enum { AS_ALIGNED = 0x0100 };

/* The array at a position of a tuple, whose first item is the class of arrays; NULL if it is of another class. */
static inline const as_array *as_item(const char *tuple, int position, int ndim) {
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
           (flags & FE_UNDERFLOW ? 16 : 0);
}

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

#define AS_LARGER(x, y) ((__builtin_isgreaterequal(x, y) | ((x) != (x))) ? (x) : (y))
#define AS_SMALLER(x, y) ((__builtin_islessequal(x, y) | ((x) != (x))) ? (x) : (y))
#pragma omp declare reduction(as_larger : double, float : omp_out = AS_LARGER(omp_out, omp_in)) \
    initializer(omp_priv = -__builtin_inf())
#pragma omp declare reduction(as_smaller : double, float : omp_out = AS_SMALLER(omp_out, omp_in)) \
    initializer(omp_priv = __builtin_inf())
