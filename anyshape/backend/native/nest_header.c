/* Memory of nests of loops: blocks that hold what a trip makes, and rows whose number a run decides. */

/* Compilers would copy these functions to dozens of places, in a third of their time. */
#define AS_CALLED static __attribute__((noinline, unused))

#define AS_SPARED (1 << 20)
#define AS_MOST_SPARED (1 << 27)

typedef struct as_block {
    struct as_block *before;
    char *at, *end;
} as_block;

typedef struct {
    as_block *block;
    char *at;
} as_mark;

/* A number of bytes of about so many elements, less than 0 if an int64 does not hold it. */
static inline int64_t as_bytes(double count, int64_t bytes) { return count < 0x1p58 ? bytes : -1; }

/* The largest blocks of runs before, for the next ones: the system takes as long to give pages as steps take to fill
 * them. Threads exchange them. */
#define AS_SPARES 4
static as_block *as_spares[AS_SPARES];
static int64_t as_spared; /* bytes of all */

static inline as_block *as_exchanged(int k, as_block *block) {
    as_block *other = __atomic_exchange_n(&as_spares[k], block, __ATOMIC_ACQ_REL);
    if (other) __atomic_sub_fetch(&as_spared, other->end - (char *)other, __ATOMIC_RELAXED);
    return other;
}

AS_CALLED as_block *as_new_block(int64_t size) {
    for (int k = 0; size >= AS_SPARED && k < AS_SPARES; k++) {
        as_block *spare = as_exchanged(k, 0);
        if (spare && spare->end - (char *)spare >= size) return spare;
        free(spare);
    }
    as_block *next = malloc(size);
    if (next) next->end = (char *)next + size;
    return next;
}

/* Keep a block for a run that comes, and free it if there are many. */
AS_CALLED void as_keep(as_block *block) {
    for (int k = 0; block && k < AS_SPARES; k++) {
        const int64_t size = block->end - (char *)block;
        if (__atomic_add_fetch(&as_spared, size, __ATOMIC_RELAXED) > AS_MOST_SPARED) {
            __atomic_sub_fetch(&as_spared, size, __ATOMIC_RELAXED);
            break;
        }
        block = as_exchanged(k, block);
    }
    free(block);
}

/* Memory for some bytes, in lines of the cache; NULL if there is none. */
AS_CALLED void *as_alloc(as_block **last, int64_t bytes) {
    if (bytes < 0) return 0;
    bytes = (bytes + 127) / 64 * 64;
    as_block *block = *last;
    if (!block || block->end - block->at < bytes) {
        const int64_t least = block ? 2 * (block->end - (char *)block) : 1 << 14;
        const int64_t size = bytes + 192 > least ? bytes + 192 : least;
        as_block *next = as_new_block(size);
        if (!next) return 0;
        next->before = block;
        next->at = (char *)(((uintptr_t)(next + 1) + 63) / 64 * 64);
        *last = block = next;
    }
    void *result = block->at;
    block->at += bytes;
    return result;
}

static inline as_mark as_marked(as_block *last) {
    const as_mark mark = {last, last ? last->at : 0};
    return mark;
}

/* Give back all memory since a mark. One block stays, so that trips that need it do not ask for it again. */
AS_CALLED void as_release(as_block **last, as_mark mark) {
    if (*last == mark.block) {
        if (*last) (*last)->at = mark.at;
        return;
    }
    as_block *kept = *last;
    as_block *other = kept->before;
    while (other != mark.block) {
        as_block *before = other->before;
        free(other);
        other = before;
    }
    if (mark.block) mark.block->at = mark.at;
    kept->before = mark.block;
    kept->at = (char *)(((uintptr_t)(kept + 1) + 63) / 64 * 64);
}

AS_CALLED void as_free(as_block *last) {
    const int64_t size = last ? last->end - (char *)last : 0;
    if (size >= AS_SPARED) {
        as_block *before = last->before;
        as_keep(last);
        last = before;
    }
    while (last) {
        as_block *before = last->before;
        free(last);
        last = before;
    }
}

/* Rows whose number is known at the end of a loop. */
typedef struct {
    char *data;
    int64_t count, bytes, capacity;
} as_rows;

/* Room for further rows; NULL if there is none. */
AS_CALLED void *as_grow(as_rows *rows, int64_t count, int64_t bytes) {
    if (bytes < 0) return 0;
    if (rows->bytes + bytes + 1 > rows->capacity) {
        const int64_t capacity = 2 * (rows->bytes + bytes) + 4096;
        char *data = realloc(rows->data, capacity);
        if (!data) return 0;
        rows->data = data;
        rows->capacity = capacity;
    }
    void *result = rows->data + rows->bytes;
    rows->bytes += bytes;
    rows->count += count;
    return result;
}

/* Room before the rows that are there, which stand at the end of the memory. */
AS_CALLED void *as_grow_down(as_rows *rows, int64_t count, int64_t bytes) {
    if (bytes < 0) return 0;
    if (rows->bytes + bytes + 1 > rows->capacity) {
        const int64_t capacity = 2 * (rows->bytes + bytes) + 4096;
        char *data = malloc(capacity);
        if (!data) return 0;
        if (rows->bytes) memcpy(data + capacity - rows->bytes, rows->data + rows->capacity - rows->bytes, rows->bytes);
        free(rows->data);
        rows->data = data;
        rows->capacity = capacity;
    }
    rows->bytes += bytes;
    rows->count += count;
    return rows->data + rows->capacity - rows->bytes;
}

/* Move such rows to the beginning of their memory. */
static inline void as_grown_down(as_rows *rows) {
    if (rows->bytes) memmove(rows->data, rows->data + rows->capacity - rows->bytes, rows->bytes);
}

/* Result whose sizes a run decides, in memory of its own. */
typedef struct {
    char *data;
    int64_t dims[8];
} as_result;

/* Add to a total, and keep what the addition loses for the next one. */
static inline void as_add(double *total, double *lost, double part) {
    const double more = part - *lost, sum = *total + more, error = (sum - *total) - more;
    *lost = error - error == 0 ? error : 0;
    *total = sum;
}

/* Add 0 to all elements of an array outside of a window. An axis has a size, a stride, and where the window is. */
#define AS_AROUND(T) \
    AS_CALLED void as_around_##T(T *x, int axes, const int64_t (*axis)[4], int64_t inside) { \
        const int64_t n = axis[0][0], stride = axis[0][1], low = axis[0][2], high = low + axis[0][3]; \
        if (axes > 1) { \
            for (int64_t i = 0; i < n; i++) \
                as_around_##T(x + i * stride, axes - 1, axis + 1, inside && i >= low && i < high); \
            return; \
        } \
        for (int64_t i = 0; i < (inside ? low : n); i++) x[i * stride] += 0; \
        for (int64_t i = high; inside && i < n; i++) x[i * stride] += 0; \
    }
AS_AROUND(double)
AS_AROUND(float)

static inline int64_t as_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t as_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t as_floordiv(int64_t a, int64_t b) { return b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0; }
static inline int64_t as_mod(int64_t a, int64_t b) { return b ? a - as_floordiv(a, b) * b : 0; }
static inline int64_t as_broadcast(int64_t a, int64_t b) { return a == 1 ? b : a; }

/* Let NumPy run a step. Its kernels clear the flags that they see, so flags of earlier steps are collected here. */
static __attribute__((noinline)) int as_call(int (*call)(int64_t), int64_t *packet, int64_t *flags) {
    *flags |= as_flags();
    const int status = call((int64_t)packet);
    feclearexcept(FE_ALL_EXCEPT);
    return status;
}

/* Run the inner loop of a ufunc, which may clear the flags; return whether it leaves the one of an invalid operation. */
static __attribute__((noinline)) int as_loop(
    void *const *link, char **args, const int64_t *sizes, const int64_t *steps, int64_t *flags
) {
    *flags |= as_flags();
    feclearexcept(FE_ALL_EXCEPT);
    ((void (*)(char **, const int64_t *, const int64_t *, void *))link[0])(args, sizes, steps, link[1]);
    return (as_flags() & 2) != 0;
}

/* Factor a matrix in columns, and solve by such factors; pivots count from 0. Flags of LAPACK mean nothing. */
static __attribute__((noinline)) int as_getrf(void *const *link, int64_t n, void *a, int32_t *pivots, int64_t *flags) {
    int size = n, info = 0;
    *flags |= as_flags();
    if (n) ((void (*)(int *, int *, void *, int *, int32_t *, int *))link[0])(&size, &size, a, &size, pivots, &info);
    for (int k = 0; k < n; k++) pivots[k]--;
    feclearexcept(FE_ALL_EXCEPT);
    return info;
}

static __attribute__((noinline)) int as_getrs(
    void *const *link, char form, int64_t n, int64_t columns, void *a, const int32_t *pivots, void *b, int64_t *flags
) {
    int size = n, count = columns, info = 0;
    int32_t *rows = malloc(n * sizeof(int32_t) + 1);
    if (!rows) return 1;
    for (int k = 0; k < n; k++) {
        if (pivots[k] < 0 || pivots[k] >= n) info = 1;
        rows[k] = pivots[k] + 1;
    }
    *flags |= as_flags();
    if (n && columns && !info)
        ((void (*)(char *, int *, int *, void *, int *, int32_t *, void *, int *, int *, size_t))link[0])(
            &form, &size, &count, a, &size, rows, b, &size, &info, 1);
    free(rows);
    feclearexcept(FE_ALL_EXCEPT);
    return info;
}

/* The status of a run that ends. Compilers take calls of a cold function for rare: behind many checks that may end a
   run, they would hold loops for rare otherwise, and let them be slow. Long texts compile sooner so. */
#ifndef AS_COLD
#define AS_COLD __attribute__((noinline, cold))
#endif
static AS_COLD int64_t as_ended(int64_t status) { return status; }

#define AS_FAIL goto fail;
/* Every so many trips, let Python handle signals. */
#define AS_TICK(n) if ((ticks += (n)) >= 65536) { ticks = 0; if (poll && poll()) { status = 32; goto fail; } }
