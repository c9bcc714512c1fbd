/* Sums of rows by position: zeros, with row k of x added at position[k], in the order of k.
 *
 * A call writes the rows of the result from lo to hi, and reads all positions. So threads need no sums of their own, and
 * their number does not change a bit. A negative position counts from the end. `clears`: the result is not zero yet.
 */
enum { AS_AHEAD = 8 };

#define AS_ROW_SUMS(name, T) \
    int64_t name(int64_t lo, int64_t hi, int64_t part, const char *arrays, int64_t clears) { \
        const as_array *x_ = as_item(arrays, 1, 2), *position_ = as_item(arrays, 2, 1), *result_ = as_item(arrays, 3, 2); \
        int64_t stride; \
        if (!x_ || !position_ || !result_ || !as_axes(result_, 0, 1, sizeof(T), 1, &stride)) return 1; \
        const int64_t length = x_->dims[0], width = x_->dims[1], count = result_->dims[0], row = x_->strides[0]; \
        if (position_->dims[0] != length || result_->dims[1] != width || count < hi) return 1; \
        if (!as_axes(x_, 1, 1, sizeof(T), 1, &stride) || !as_axes(position_, 0, 0, 8, 1, &stride)) return 1; \
        const int64_t *position = (const int64_t *)position_->data; \
        T *result = (T *)result_->data; \
        if (clears) memset(result + lo * width, 0, (hi - lo) * width * sizeof(T)); \
        int64_t declined = 0; \
        feclearexcept(FE_ALL_EXCEPT); \
        for (int64_t k = 0; k < length; k++) { \
            const int64_t at = position[k] + (position[k] < 0 ? count : 0); \
            declined |= (at < 0) | (at >= count); \
            if (at < lo || at >= hi) continue; \
            const T *restrict from = (const T *)(x_->data + k * row); \
            T *restrict to = result + at * width; \
            if (k + AS_AHEAD < length) __builtin_prefetch(result + position[k + AS_AHEAD] * width, 1); \
            for (int64_t j = 0; j < width; j++) to[j] += from[j]; \
        } \
        return declined ? 1 : as_flags() & ~AS_UNDERFLOW; \
    }
AS_ROW_SUMS(row_sums_float64, double)
AS_ROW_SUMS(row_sums_float32, float)
AS_ROW_SUMS(row_sums_int64, int64_t)
AS_ROW_SUMS(row_sums_int32, int32_t)
AS_ROW_SUMS(row_sums_complex128, as_complex)
AS_ROW_SUMS(row_sums_complex64, as_complexf)
