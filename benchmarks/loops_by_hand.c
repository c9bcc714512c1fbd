/* Values and gradients of loops, written by hand: what compiled loops are compared with.

    double NAME(const double **x, double **g, const int64_t *n, double *work)

The value of a loss of the arrays x; its gradients are written to g. Sizes stand in n. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define FOR(i, n) for (int64_t i = 0; i < (n); i++)
#define BACK(i, n) for (int64_t i = (n) - 1; i >= 0; i--)

/* x: A, of n[1] by n[1], after n[0] - 1 sweeps; the loss is the sum. */
double seidel(const double **x, double **g, const int64_t *n, double *work) {
    const int64_t sweeps = n[0] - 1, m = n[1];
    double *a = work, *row = a + m * m, *d = g[0], total = 0;
    memcpy(a, x[0], m * m * sizeof(double));
    FOR(t, sweeps) for (int64_t i = 1; i < m - 1; i++) {
        double *at = a + i * m, *up = at - m, *down = at + m, last = at[0];
        for (int64_t j = 1; j < m - 1; j++)
            row[j] = at[j] + (up[j - 1] + up[j] + up[j + 1] + at[j + 1] + down[j - 1] + down[j] + down[j + 1]);
        for (int64_t j = 1; j < m - 1; j++) at[j] = last = (row[j] + last) / 9.0;
    }
    FOR(k, m * m) { total += a[k]; d[k] = 1; }
    FOR(t, sweeps) for (int64_t i = m - 2; i > 0; i--) {
        double *at = d + i * m, *up = at - m, *down = at + m;
        for (int64_t j = m - 2; j > 0; j--) { at[j] /= 9.0; at[j - 1] += at[j]; }
        memcpy(row, at, m * sizeof(double));
        row[0] = row[m - 1] = 0;
        for (int64_t j = 1; j < m - 1; j++) {
            const double three = row[j - 1] + row[j] + row[j + 1];
            up[j] += three; down[j] += three; at[j] += row[j - 1];
        }
        up[0] += row[1]; down[0] += row[1];
        up[m - 1] += row[m - 2]; down[m - 1] += row[m - 2]; at[m - 1] += row[m - 2];
    }
    return total;
}

/* x: A, symmetric, of n[0] rows; the loss is the sum of its factor and of what stands above. */
double cholesky(const double **x, double **g, const int64_t *n, double *work) {
    const int64_t m = n[0];
    double *a = work, *d = g[0], total = 0;
    memcpy(a, x[0], m * m * sizeof(double));
    FOR(i, m) {
        double *r = a + i * m;
        FOR(j, i + 1) {
            const double *s = a + j * m;
            double dot = 0;
            FOR(k, j) dot += r[k] * s[k];
            r[j] = i == j ? sqrt(r[j] - dot) : (r[j] - dot) / s[j];
        }
    }
    FOR(k, m * m) { total += a[k]; d[k] = 1; }
    BACK(i, m) {
        double *r = a + i * m, *dr = d + i * m;
        BACK(j, i + 1) {
            const double *s = a + j * m;
            double *ds = d + j * m, c;
            if (i == j) {
                c = dr[i] *= 0.5 / r[i];
                FOR(k, i) dr[k] -= 2 * c * r[k];
            } else {
                c = dr[j] /= s[j];
                ds[j] -= c * r[j];
                FOR(k, j) { dr[k] -= c * s[k]; ds[k] -= c * r[k]; }
            }
        }
    }
    return total;
}

/* x: three parameters, n[0] returns. */
double garch(const double **x, double **g, const int64_t *n, double *work) {
    const double *p = x[0], *y = x[1];
    double s = p[0], total = 0, ds = 0, *d = g[0], *saved = work;
    FOR(t, n[0]) {
        const double square = y[t] * y[t];
        saved[t] = s;
        total += log(s) + square / s;
        s = p[0] + p[1] * square + p[2] * s;
    }
    d[0] = d[1] = d[2] = 0;
    BACK(t, n[0]) {
        const double square = y[t] * y[t];
        s = saved[t];
        d[0] += ds; d[1] += ds * square; d[2] += ds * s;
        ds = ds * p[2] + 1 / s - square / s / s;
    }
    d[0] += ds;
    return total;
}

enum { K = 4 };  /* of the state of a Kalman filter */

static void product(double *c, const double *a, const double *b, int at, int bt) {
    FOR(i, K) FOR(j, K) {
        double s = 0;
        FOR(k, K) s += (at ? a[k * K + i] : a[i * K + k]) * (bt ? b[j * K + k] : b[k * K + j]);
        c[i * K + j] = s;
    }
}

/* x: F, Q, h, r, and n[0] observations. */
double kalman(const double **x, double **g, const int64_t *n, double *work) {
    const double *F = x[0], *Q = x[1], *h = x[2], *y = x[4], r = x[3][0];
    double m[K] = {0}, P[K * K] = {0}, total = 0, t1[K * K], t2[K * K];
    FOR(i, K) P[i * K + i] = 1;
    FOR(t, n[0]) {
        double *old = work + t * 2 * (K + K * K), *Pp = old + K + K * K, *mp = Pp + K * K, v[K], w[K], e = y[t], s = r;
        memcpy(old, m, sizeof m); memcpy(old + K, P, sizeof P);
        product(t1, F, P, 0, 0); product(Pp, t1, F, 0, 1);
        FOR(i, K * K) Pp[i] += Q[i];
        FOR(i, K) { mp[i] = 0; FOR(k, K) mp[i] += F[i * K + k] * m[k]; e -= h[i] * mp[i]; }
        FOR(i, K) { v[i] = w[i] = 0; FOR(k, K) { v[i] += Pp[i * K + k] * h[k]; w[i] += Pp[k * K + i] * h[k]; } }
        FOR(i, K) s += h[i] * v[i];
        FOR(i, K) m[i] = mp[i] + v[i] / s * e;
        FOR(i, K) FOR(j, K) P[i * K + j] = Pp[i * K + j] - v[i] / s * w[j];
        total += log(s) + e * e / s;
    }
    double *dF = g[0], *dQ = g[1], *dh = g[2], *dr = g[3], dm[K] = {0}, dP[K * K] = {0};
    memset(dF, 0, sizeof dP); memset(dQ, 0, sizeof dP); memset(dh, 0, sizeof dm); *dr = 0;
    BACK(t, n[0]) {
        const double *old = work + t * 2 * (K + K * K), *was = old + K, *Pp = was + K * K, *mp = Pp + K * K;
        double v[K], w[K], dk[K], dw[K], dv[K], dmp[K], e = y[t], s = r, de = 0, ds;
        FOR(i, K) e -= h[i] * mp[i];
        FOR(i, K) { v[i] = w[i] = 0; FOR(k, K) { v[i] += Pp[i * K + k] * h[k]; w[i] += Pp[k * K + i] * h[k]; } }
        FOR(i, K) s += h[i] * v[i];
        FOR(i, K) {
            dk[i] = dm[i] * e; dw[i] = 0;
            FOR(j, K) { dk[i] -= dP[i * K + j] * w[j]; dw[i] -= dP[j * K + i] * v[j] / s; }
            de += dm[i] * v[i] / s;
        }
        ds = 1 / s - e * e / s / s; de += 2 * e / s;
        FOR(i, K) { dv[i] = dk[i] / s; ds -= dk[i] * v[i] / s / s; }
        FOR(i, K) { dh[i] += ds * v[i]; dv[i] += ds * h[i]; }
        *dr += ds;
        FOR(i, K) FOR(j, K) {
            dh[j] += Pp[i * K + j] * dv[i]; dh[i] += Pp[i * K + j] * dw[j];
            dP[i * K + j] += dv[i] * h[j] + h[i] * dw[j];
        }
        FOR(i, K) { dh[i] -= de * mp[i]; dmp[i] = dm[i] - de * h[i]; dm[i] = 0; }
        FOR(i, K * K) dQ[i] += dP[i];
        product(t1, dP, F, 0, 0); product(t2, t1, was, 0, 1);
        FOR(i, K * K) dF[i] += t2[i];
        product(t1, dP, F, 1, 0); product(t2, t1, was, 0, 0);
        FOR(i, K) FOR(j, K) { dF[i * K + j] += t2[i * K + j] + dmp[i] * old[j]; dm[j] += F[i * K + j] * dmp[i]; }
        product(t1, F, dP, 1, 0); product(dP, t1, F, 0, 0);
    }
    return total;
}

/* x: start, moves and emissions of n[1] states; n[0] symbols as numbers. */
double hidden_markov(const double **x, double **g, const int64_t *n, double *work) {
    const int64_t T = n[0], S = n[1], symbols = n[2];
    const double *moves = x[1], *emitted = x[2], *seen = x[3];
    double *alphas = work, *b = work + (T + 1) * S, *norms = b + T * S, *d = norms + T, *db = d + S, total = 0;
    memcpy(alphas, x[0], S * sizeof(double));
    FOR(t, T) {
        const double *at = alphas + t * S;
        double *to = alphas + (t + 1) * S, *mine = b + t * S, norm = 0;
        const int64_t o = (int64_t)seen[t];
        FOR(j, S) mine[j] = 0;
        FOR(i, S) FOR(j, S) mine[j] += at[i] * moves[i * S + j];
        FOR(j, S) { to[j] = mine[j] * emitted[j * symbols + o]; norm += to[j]; }
        FOR(j, S) to[j] /= norm;
        norms[t] = norm;
        total += log(norm);
    }
    memset(g[1], 0, S * S * sizeof(double)); memset(g[2], 0, S * symbols * sizeof(double));
    FOR(i, S) d[i] = 0;
    BACK(t, T) {
        const double *at = alphas + t * S, *to = at + S, *mine = b + t * S;
        const int64_t o = (int64_t)seen[t];
        double dot = 0;
        FOR(j, S) dot += d[j] * to[j];
        FOR(j, S) {
            const double dc = (d[j] + 1 - dot) / norms[t];
            g[2][j * symbols + o] += dc * mine[j];
            db[j] = dc * emitted[j * symbols + o];
        }
        FOR(i, S) { d[i] = 0; FOR(j, S) { g[1][i * S + j] += at[i] * db[j]; d[i] += moves[i * S + j] * db[j]; } }
    }
    memcpy(g[0], d, S * sizeof(double));
    return total;
}

/* x: sequences of n[0] and n[1] numbers. */
double soft_dtw(const double **x, double **g, const int64_t *n, double *work) {
    const int64_t rows = n[0], w = n[1] + 1;
    double *R = work, *d = work + (rows + 1) * w;
    FOR(k, (rows + 1) * w) { R[k] = 1e10; d[k] = 0; }
    R[0] = 0;
    FOR(i, rows) FOR(j, n[1]) {
        double *at = R + (i + 1) * w + j + 1;
        const double a = at[-w - 1], b = at[-w], c = at[-1], gap = x[0][i] - x[1][j];
        const double least = fmin(a, fmin(b, c));
        at[0] = gap * gap + least - log(exp(least - a) + exp(least - b) + exp(least - c));
    }
    memset(g[0], 0, rows * sizeof(double)); memset(g[1], 0, n[1] * sizeof(double));
    d[rows * w + n[1]] = 1;
    BACK(i, rows) BACK(j, n[1]) {
        const int64_t k = (i + 1) * w + j + 1;
        const double gap = x[0][i] - x[1][j], soft = R[k] - gap * gap, c = d[k];
        g[0][i] += 2 * c * gap; g[1][j] -= 2 * c * gap;
        d[k - w - 1] += c * exp(soft - R[k - w - 1]); d[k - w] += c * exp(soft - R[k - w]); d[k - 1] += c * exp(soft - R[k - 1]);
    }
    return R[rows * w + n[1]];
}

enum { D = 16 };  /* of the state of a recurrent network */

/* x: W, U, b, and n[0] rows. */
double recurrent(const double **x, double **g, const int64_t *n, double *work) {
    const double *W = x[0], *U = x[1], *b = x[2], *xs = x[3];
    double *h = work, total = 0, back[D] = {0};
    FOR(i, D) h[i] = 0;
    FOR(t, n[0]) {
        const double *at = h + t * D, *row = xs + t * D;
        FOR(i, D) {
            double s = b[i];
            FOR(k, D) s += W[i * D + k] * at[k] + U[i * D + k] * row[k];
            s = tanh(s);
            h[(t + 1) * D + i] = s;
            total += s * s;
        }
    }
    memset(g[0], 0, D * D * sizeof(double)); memset(g[1], 0, D * D * sizeof(double)); memset(g[2], 0, D * sizeof(double));
    BACK(t, n[0]) {
        const double *at = h + t * D, *to = at + D, *row = xs + t * D;
        double next[D] = {0};
        FOR(i, D) {
            const double d = (back[i] + 2 * to[i]) * (1 - to[i] * to[i]);
            g[2][i] += d;
            FOR(k, D) { g[0][i * D + k] += d * at[k]; g[1][i * D + k] += d * row[k]; next[k] += d * W[i * D + k]; }
        }
        memcpy(back, next, sizeof back);
    }
    return total;
}
