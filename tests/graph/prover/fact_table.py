"""Facts about sizes, as data: a claim, its constraints, whether it holds, and where it comes up.

A line of the table is `claim | constraints, with ; between | truth | verdict of JAX`. A line in square brackets says
where the facts below it come up. The truth is `yes` (for all sizes that satisfy the constraints), `no` (for none) or
`unknown` (for some).
`beyond yes` and `beyond no` mark truths outside linear integer arithmetic that the prover does not decide.

Sizes are >= 0 here and >= 1 in JAX, so JAX may prove more than is true here; facts that need it state `n >= 1`.
`benchmarks/size_facts_jax.py` measures the last column. `n/a` marks a claim that JAX cannot express, and `error` an
endless recursion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

JAX_VERSION = "0.10.2"

TABLE = """
[an undeclared size is at least 0]
a >= 0 | | yes | yes
a >= 1 | | unknown | yes
a >= 1 | a >= 1 | yes | yes
a == -1 | | no | no
-a >= 1 | | no | no
a + 1 > a | | yes | yes
a < a | | no | no
a != a + 1 | | yes | yes
a + b + 1 > 0 | | yes | yes
2*a + 3*b >= 0 | | yes | yes
2*a >= a | | yes | yes
3*a + 1 > 2*a | | yes | yes
a >= 2*a | | unknown | no
a == b | | unknown | inconclusive
a != b | | unknown | inconclusive
a >= b | | unknown | inconclusive
a - b <= 0 | | unknown | inconclusive
a + b == b + a | | yes | yes
3*a - a - a == a | | yes | yes

[JAX documentation: shape polymorphism]
b + b == 2*b | | yes | yes
2*a + b >= 3 | a >= 1; b >= 1 | yes | yes
a + 1 >= b | | unknown | inconclusive
b >= 2 | b >= 1 | unknown | inconclusive
a*2 >= 1 | a >= 1 | yes | yes
a + b + c >= 3 | a >= 1; b >= 1; c >= 1 | yes | yes
a//4 >= 0 | | yes | yes
a*a >= 1 | a >= 1 | yes | yes
b + 15 >= 16 | b >= 1 | yes | yes
a + 2*b >= 32 | a >= 16; b >= 8 | yes | yes
a - b >= 8 | a >= b + 8 | yes | yes
a >= 9 | a >= b + 8; b >= 1 | yes | yes
b >= b % 3 | | yes | inconclusive
b >= b % 3 | b >= b % 3 | yes | yes
(3*b) % 3 == 0 | | yes | yes
(a*b + a)//(b + 1) == a | | yes | yes
(6*a + 4) % 3 == 1 | | yes | yes
b != 0 | b >= 1 | yes | yes
a >= 16 | a >= b; b >= 16 | yes | yes
a//b == c | a//b == c; b >= 1 | yes | yes

[the size algebra must decide]
a*b >= a | a >= 1; b >= 1 | yes | inconclusive
a*a >= b*b | a >= b; b >= 0 | yes | inconclusive
8*((n + 7)//8) >= n | | yes | yes
min(a, b) <= (a + b)//2 | | yes | yes
(4*b)//4 == b | | yes | yes
(a*b + c)//a == b | c < a | yes | inconclusive
(a*b + c) % a == c | c < a | yes | inconclusive
a*b >= a | b >= 1 | yes | inconclusive
b // 8 * 8 == b | b % 8 == 0 | yes | yes
c + d >= a | a*b == c + d; b >= 1 | yes | inconclusive
a*b == c + d | a*b == c + d | yes | yes
a == b | a + c == b + c | yes | inconclusive
a == b | 2*a + c == 2*b + c | yes | inconclusive
a == 2*b | 3*a == 6*b | yes | inconclusive
a == 1 | 2*a + 3*b == 5 | yes | inconclusive
a >= 2 | a >= 1; a != 1 | yes | n/a
2*a == 2*b + 1 | | no | inconclusive

[JAX test-suite ideas: bounds of linear expressions]
4*a + b + 3 >= 8 | a >= 1; b >= 1 | yes | yes
4*a + b + 3 >= 9 | a >= 1; b >= 1 | unknown | inconclusive
5 - a <= 4 | a >= 1 | yes | yes
5*a - 2 >= 3 | a >= 1 | yes | yes
-5*a - 2 <= -7 | a >= 1 | yes | yes
20 - 2*a - 3*b - 5*c <= 10 | a >= 1; b >= 1; c >= 1 | yes | yes
2*a - 3*b + 5*c >= 1 | a >= 1; b >= 1; c >= 1 | unknown | inconclusive
3*a*b*b + 5*a - 7 >= 1 | a >= 1; b >= 1 | yes | yes
-2*a*b - b - 2 <= -5 | a >= 1; b >= 1 | yes | yes
a*a + b >= 2 | a >= 1; b >= 1 | yes | yes
5*a - 2 == 13 | 2*a >= 5; 3*a <= 10 | yes | inconclusive
a + b >= 4 | 2*a + 3*b >= 10 | yes | yes
a + 2*b >= 9 | 3*b >= 10 + 2*a; a >= 1 | yes | yes
2*b - a <= 3 | 2*a + 3*b <= 10; a >= 1 | yes | yes
c >= 2 | c + 3*d >= 10; c + 4 >= 2*d | yes | yes
a - 2*d >= 3 | a == 4*d + m; m >= 1; m <= 3; d >= 1 | yes | yes
a >= 5 | a == 4*d + m; m >= 1; m <= 3; d >= 1 | yes | yes
b - a >= 2 | a + 2 <= b; b <= a + 5; a + b >= c | yes | yes
c - 2*a <= 5 | a + 2 <= b; b <= a + 5; a + b >= c | yes | yes
a > b | a >= 4; b <= 3 | yes | yes

[JAX test-suite ideas: quotients and remainders]
5 - a % 5 >= 1 | | yes | yes
-5 - a % (-5) <= -1 | | yes | yes
(b + 1) % -2 >= -1 | | yes | yes
(b - 4) % 2 <= 1 | | yes | yes
(a + 4)//-2 <= -2 | | yes | yes
-2*((-b)//2) >= b | | yes | yes
11//(a + 1) <= 11 | | yes | yes
-11//(a + 1) <= -1 | | yes | yes
(b + 1)//(a + 1) >= 0 | | yes | yes
-b//(a + 1) <= 0 | | yes | yes
a - a//2 >= 1 | a >= 1 | yes | yes
a - 2*(a//2) <= 1 | | yes | yes
a > 5 % a | a >= 1 | yes | yes
3*a - 2 == 3*(a - 1) + 1 | | yes | yes
(3*a + 5)//3 == a + 1 | | yes | yes
(256*a*b)//32 == 8*a*b | | yes | yes
(a*a - b*b)//(a + b) == a - b | a >= 1 | yes | yes
a//2*2 == a - a % 2 | | yes | inconclusive
a//2 + a//2 == a - a % 2 | | yes | inconclusive
a//2*6 == 3*a - 3*(a % 2) | | yes | inconclusive
a + (a + b)//b - (b + a)//b == a | b >= 1 | yes | yes
(2*a//2) % (a + b - a) == a % b | b >= 1 | yes | yes
a % b >= 1 | a % b >= 2; b >= 1 | yes | yes
b >= 3 | a % b >= 2; b >= 1 | yes | yes

[JAX test-suite ideas: max, min and clamps]
max(a, b) >= min(a, b) | | yes | yes
max(a, a + 2) == a + 2 | | yes | yes
min(a, a - 2) == a - 2 | | yes | yes
max(a % 2 - 1, 0) == 0 | | yes | yes
min(a % 2 - 1, -1) == -1 | | yes | yes
max(a, b) + c >= b | | yes | yes
a*max(a - 1, 0) + a == a*max(a, 1) | | yes | yes
a*min(b - 2, 5) + 2*a == a*min(b, 7) | | yes | inconclusive
b - max(b - a, 0) >= 1 | a >= 1; b >= 1 | yes | yes
a - max(a - 3, 0) <= 3 | | yes | yes
max(15 - a, 0)//3 <= 5 | | yes | yes
max(1 - b, 0) == 0 | b >= 1 | yes | yes
max(a, b) == a + max(b - a, 0) | | yes | inconclusive
max(a, b) + max(c, d) == max(a + max(c, d), b + max(c, d)) | | yes | inconclusive
max(min(a, b + 10), b) <= b + 10 | | yes | yes
max(min(a, b + 10), b) >= b | | yes | yes
min(a, b)//2 >= 0 | | yes | yes
max(-1, a - 2) + 1 >= max(-1, a - 2*b - 2) | | yes | yes
max(1 - b, 0)//2 == 0 | | yes | yes
max(a, 2) == a | a >= 4; max(a, 2) >= 6 | yes | yes
max(a, b) >= 6 | max(a, b) >= 8; min(a, b) <= 2 | yes | yes
a + b == 8 | max(a, b) == 5; min(a, b) == 3 | yes | inconclusive
a <= 5 | max(a, b) == 5; min(a, b) == 3 | yes | yes
a == 4 | max(a, b) == 5; min(a, b) == 3 | no | inconclusive

[chains of inequalities and equalities]
a >= c | a >= b; b >= c | yes | yes
a > c | a > b; b >= c | yes | yes
a >= f | a >= b; b >= c; c >= d; d >= e; e >= f | yes | yes
a >= g + 6 | a > b; b > c; c > d; d > e; e > f; f > g | yes | yes
f == a + 5 | b == a + 1; c == b + 1; d == c + 1; e == d + 1; f == e + 1 | yes | yes
a == f | a == b; b == c; c == d; d == e; e == f | yes | error
a == f | a >= b; b >= c; c >= d; d >= e; e >= f; f >= a | yes | inconclusive
a != f | a > b; b == c; c >= d; d == e; e >= f | yes | yes
a >= 4 | a >= b + 1; b >= c + 1; c >= d + 1; d >= e + 1 | yes | inconclusive
e >= 32*a | b >= 2*a; c >= 2*b; d >= 2*c; f >= 2*d; e >= 2*f | yes | yes
a//32 == f | a//2 == b; b//2 == c; c//2 == d; d//2 == e; e//2 == f | yes | inconclusive
a - c == 2 | a - b == 1; b - c == 1 | yes | inconclusive
a >= f | a >= b; b >= c; d >= e; e >= f | unknown | inconclusive

[linear integer arithmetic: textbook]
a + c >= b + d | a >= b; c >= d | yes | yes
2*a >= b + c | a >= b; a >= c | yes | yes
a >= b | 2*a + 1 >= 2*b | yes | yes
a > b | 3*a >= 3*b + 1 | yes | yes
a == 3 | 2*a >= 5; 2*a <= 7 | yes | inconclusive
a == b | a >= b; a <= b | yes | inconclusive
a == b | a <= b + c; b <= a; c == 0 | yes | n/a
a == 0 | a + b == 0 | yes | n/a
2*a + 4*b == 7 | | no | inconclusive
6*a + 9*b == 12*c + 1 | | no | inconclusive
6*a + 10*b == 2*c + 1 | | no | inconclusive
3*a + 5*b == 7 | | no | no
3*a + 5*b == 4 | | no | no
3*a + 5*b == 8 | | unknown | inconclusive
3*a + 5*b != 7 | | yes | yes
a == 5 | a + b == 10; a - b == 0 | yes | inconclusive
a == 2 | a + 2*b == 8; b == a + 1 | yes | inconclusive
a == 2 | a + b + c == 5; b == 2*c; a == c + 1 | yes | inconclusive
a == 3 | a + b + c == 5; b == 2*c; a == c + 1 | no | no
c == 3 | a + b + c == 6; a + b == 3 | yes | inconclusive
a <= 5 | a + b <= 5 | yes | yes
a >= 3 | a + b >= 8; b <= 5 | yes | yes
a != b | a > b | yes | yes
a == b | a != b | no | n/a
a > b | a >= b; a != b | yes | n/a
a == b | a != b + 1 | unknown | n/a
a == 3 | a >= 1; a <= 3; a != 1; a != 2 | yes | n/a
a >= 5 | a != 0; a != 1; a != 2; a != 3; a != 4 | yes | n/a
a == 0 | a <= 1; a != 1 | yes | n/a
a + b != 3 | a == b | yes | inconclusive
a != 5 | a % 2 == 0 | yes | inconclusive
a == 2 | a >= 1; a <= 3; a % 2 == 0 | yes | inconclusive
a % 3 == 0 | 2*a == 3*b | yes | inconclusive
b % 2 == 0 | 2*a == 3*b | yes | inconclusive
a >= b | 2*a == 3*b | yes | yes
a == 3*(b//2) | 2*a == 3*b | yes | inconclusive
a == 7 | a//5 == 1; a % 5 == 2 | yes | inconclusive
a % 15 == 7 | a % 3 == 1; a % 5 == 2 | yes | inconclusive
a >= 7 | a % 3 == 1; a % 5 == 2 | yes | inconclusive
a % 6 == 5 | a % 2 == 1; a % 3 == 2 | yes | inconclusive
a % 4 == 2 | a % 8 == 1 | no | inconclusive

[floors, ceilings and remainders: identities]
n//2 + (n + 1)//2 == n | | yes | inconclusive
n//3 + (n + 1)//3 + (n + 2)//3 == n | | yes | inconclusive
n == 7*(n//7) + n % 7 | | yes | inconclusive
n//2//3 == n//6 | | yes | inconclusive
n//2//2//2 == n//8 | | yes | inconclusive
((n + 1)//2 + 1)//2 == (n + 3)//4 | | yes | inconclusive
ceildiv(n, 2) == n - n//2 | | yes | inconclusive
ceildiv(n, 4) == (n + 3)//4 | | yes | inconclusive
ceildiv(n, 3)*3 >= n | | yes | yes
ceildiv(n, 3)*3 <= n + 2 | | yes | yes
ceildiv(n, 4) <= n | | yes | yes
ceildiv(ceildiv(n, 2), 3) == ceildiv(n, 6) | | yes | inconclusive
ceildiv(n, 2) >= n | | unknown | inconclusive
(b % 6) % 3 == b % 3 | | yes | inconclusive
(b % 3) % 6 == b % 3 | | yes | inconclusive
b % 3 == 3 | | no | no
b % 2 + (b + 1) % 2 == 1 | | yes | inconclusive
(a + b) % 2 == (a % 2 + b % 2) % 2 | | yes | inconclusive
(2*a + b) % 2 == b % 2 | | yes | inconclusive
(3*a) % 2 == a % 2 | | yes | inconclusive
(-a) % 4 == (4 - a % 4) % 4 | | yes | inconclusive
(a + b)//2 >= a//2 + b//2 | | yes | yes
(a + b)//2 <= a//2 + b//2 + 1 | | yes | yes
a//2 >= b//2 | a >= b | yes | yes
a//3 >= a//4 | | yes | yes
a//2 == a//3 | | unknown | inconclusive
a//-3 == -((a + 2)//3) | | yes | inconclusive
a % -5 >= -4 | | yes | yes
(7 - a)//2 <= 3 | | yes | yes
(a//2) % 3 == (a % 6)//2 | | yes | inconclusive
a//4*4 + a//2 % 2*2 + a % 2 == a | | yes | inconclusive
(a//2 + b//2)//2 <= (a + b)//4 | | yes | yes
a//10 == 3 | a >= 30; a <= 39 | yes | inconclusive
a % 10 == a - 30 | a >= 30; a <= 39 | yes | inconclusive
a//10 >= 2 | a >= 20 | yes | yes

[divisibility constraints]
n//4*4 == n | n % 4 == 0 | yes | yes
n//4*4 == n | | unknown | inconclusive
n//2*2 == n | n % 4 == 0 | yes | inconclusive
n % 4 == 0 | n % 8 == 0 | yes | inconclusive
n % 8 == 0 | n % 4 == 0 | unknown | inconclusive
n % 6 == 0 | n % 2 == 0; n % 3 == 0 | yes | inconclusive
n % 12 == 0 | n % 4 == 0; n % 6 == 0 | yes | inconclusive
n % 2 == 0 | n == 2*k | yes | yes
n//2 == k | n == 2*k + 1 | yes | yes
(n + m) % 8 == 0 | n % 8 == 0; m % 8 == 0 | yes | inconclusive
n >= 8 | n % 8 == 0; n >= 1 | yes | inconclusive
n % 2 == 1 | n % 4 == 3 | yes | inconclusive
n != m | n % 2 == 0; m % 2 == 1 | yes | inconclusive
n >= m + 2 | n > m; n % 2 == 0; m % 2 == 0 | yes | inconclusive
n//8 == m//8 + 1 | n == m + 8 | yes | inconclusive

[numpy reshape]
(a*b)//b == a | b >= 1 | yes | yes
(a*b*c)//(b*c) == a | b >= 1; c >= 1 | yes | yes
(6*n)//3 == 2*n | | yes | yes
(n*m) % m == 0 | m >= 1 | yes | yes
(a*b + a)//a == b + 1 | a >= 1 | yes | yes
(a + b)*c == a*c + b*c | | yes | yes
(a + b)*(a - b) == a*a - b*b | | yes | yes
(2*a*b) % 2 == 0 | | yes | yes
(2*a*b + 1) % 2 == 1 | | yes | yes
(4*a*b + 6)//2 == 2*a*b + 3 | | yes | yes
a*b == 6 | a == 2; b == 3 | yes | yes
a*b == 2*b | a == 2 | yes | yes
a*b == a*c | b == c | yes | yes
a*b == 0 | a == 0 | yes | yes
a*b == a*c | | unknown | inconclusive

[strided slice length]
(n - 1)//2 + 1 == (n + 1)//2 | | yes | inconclusive
(n + 1)//2 >= 1 | n >= 1 | yes | yes
(n + 1)//2 <= n | | yes | yes
n//2 < n | n >= 1 | yes | yes
max(n - 2, 0)//2 == max((n - 2)//2, 0) | | yes | inconclusive
max(n - 1, 0) + min(n, 1) == n | | yes | yes
min(n, k) + max(n - k, 0) == n | | yes | inconclusive
min(n, b) >= min(n, a) | b >= a | yes | yes
(n - k)//3*3 + k <= n | n >= k | yes | yes
2*((n + 1)//2 - 1) < n | | yes | yes
min(n, 8) == 8 | n >= 8 | yes | yes
ceildiv(max(min(n, 10) - 2, 0), 3) <= 3 | | yes | yes
max(b - a, 0) == b - a | b >= a | yes | yes
min(n, k) == k | | unknown | inconclusive

[convolution and pooling output]
n - k + 1 >= 1 | n >= k | yes | yes
(n - 3)//2 + 1 >= 1 | n >= 3 | yes | yes
(n + 2 - 3)//2 + 1 == (n + 1)//2 | | yes | inconclusive
(n + 2*1 - 3) + 1 == n | | yes | yes
(n - 1)*2 + 3 - 2*1 + 1 == 2*n | | yes | yes
2*((n - 2)//2) + 2 <= n | | yes | yes
n - 2*(k - 1) >= 1 | n >= 2*k - 1 | yes | yes
n//8*8 > n - 8 | | yes | yes
n//8 == 4 | n >= 32; n < 40 | yes | inconclusive
n//8 >= 1 | n >= 7 | unknown | inconclusive
(n + 2*p - k)//s + 1 >= 1 | n + 2*p >= k; s >= 1 | yes | yes
(n - 2)//2 + 1 == n//2 | | yes | inconclusive
(n - k)//2 + 1 <= n | n >= 1; k >= 1 | yes | yes
2*((n + 1)//2) - n <= 1 | | yes | yes

[attention blocks, padding to 8]
(n + 7)//8*8 < n + 8 | | yes | yes
(n + 7)//8*8 == n | n % 8 == 0 | yes | inconclusive
(n + 7)//8*8 == n | | unknown | inconclusive
(n + 7)//8*8 - n == (-n) % 8 | | yes | inconclusive
((n + 7)//8*8) % 8 == 0 | | yes | yes
(n + 7)//8 == n//8 + 1 | n % 8 != 0 | yes | n/a
(n + 63)//64 >= (m + 63)//64 | n >= m | yes | yes
b//64 >= 2 | b % 64 == 0; b > 64 | yes | yes
(n + 127)//128*128 <= 512 | n <= 512 | yes | yes
n % 64 == n | n < 64 | yes | inconclusive
d//h*h == d | d % h == 0; h >= 1 | yes | inconclusive
(b*s) % 8 == 0 | b % 8 == 0 | yes | inconclusive
b*t*h >= t | b >= 1; h >= 1 | yes | inconclusive
n - n//10 >= n//2 | | yes | yes

[max and min]
max(a, b) + min(a, b) == a + b | | yes | inconclusive
(a + b)//2 <= max(a, b) | | yes | yes
max(a, max(b, c)) == max(c, b, a) | | yes | inconclusive
max(min(a, b), c) == min(max(a, c), max(b, c)) | | yes | inconclusive
max(min(a, b), min(a, c)) == min(a, max(b, c)) | | yes | inconclusive
max(a, b) == a | a >= b | yes | yes
max(a, b) <= c | a <= c; b <= c | yes | yes
min(a, b) <= c | a <= c | yes | yes
2*max(a, b) == max(2*a, 2*b) | | yes | inconclusive
max(a//2, b//2) == max(a, b)//2 | | yes | inconclusive
min(max(a, 2), 5) == max(min(a, 5), 2) | | yes | inconclusive
min(max(a, 2), 5) == a | a >= 2; a <= 5 | yes | yes
max(a, b, c) == a | a >= b; b >= c | yes | yes
max(a, b) > min(a, b) | a != b | yes | n/a
max(a, b) == min(a, b) | | unknown | inconclusive
-min(-a, -b) == max(a, b) | | yes | inconclusive
min(a, b) == 0 | a + b <= 1 | yes | n/a
max(a, b) >= 3 | a + b >= 5 | yes | yes
3*max(a, b, c) >= a + b + c | | yes | inconclusive
min(a, b, c, d) <= (a + b + c + d)//4 | | yes | inconclusive
a + b + c - max(a, b, c) >= 2*min(a, b, c) | | yes | inconclusive

[broadcasting]
broadcast(a, a) == a | | yes | n/a
broadcast(a, 1) == a | | yes | n/a
broadcast(a, b) == broadcast(b, a) | | yes | n/a
broadcast(a, broadcast(b, c)) == broadcast(a, b, c) | | yes | n/a
broadcast(a, b) >= min(a, b) | | yes | n/a
broadcast(a, b) <= max(a, b) | | yes | n/a
broadcast(a, b) >= a | | unknown | n/a
broadcast(a, b) >= a | b >= 1 | yes | n/a
broadcast(a, b) == a | b == 1 | yes | n/a
broadcast(a, b) == b | a == b | yes | n/a
broadcast(a, b) == 4 | a == 4 | yes | n/a
broadcast(a, b) == max(a, b) | a >= 1; b >= 1 | yes | n/a
a is 1 or equals broadcast(a, b) | | yes | n/a
a broadcasts with 1 | | yes | n/a
a broadcasts with b | | unknown | n/a
a broadcasts with b | a <= 1; b <= 1 | yes | n/a
a broadcasts with c | a broadcasts with b; b == c | yes | n/a
a + 2 broadcasts with a + 3 | | no | n/a
a broadcasts with 2*a | a >= 2 | no | n/a
a == 5 | a broadcasts with 5; a != 1 | yes | n/a

[products of sizes]
a*b >= 0 | | yes | yes
a*b >= a | | unknown | inconclusive
a*b*c >= a | b >= 1; c >= 1 | yes | inconclusive
a*b*c >= a*b | c >= 1 | yes | inconclusive
a*a >= a | | yes | inconclusive
a*a*a >= a*a | | yes | inconclusive
a*a > b*b | a > b | yes | inconclusive
(a + 1)*(a + 1) > a*a | | yes | yes
(a + 1)*(b + 1) >= a + b + 1 | | yes | yes
a*b >= a*c | b >= c | yes | inconclusive
a*b > a*c | b > c; a >= 1 | yes | inconclusive
a*b >= c | a >= c; b >= 1 | yes | inconclusive
a*b >= c*d | a >= c; b >= d | yes | inconclusive
a*b >= 6 | a >= 2; b >= 3 | yes | yes
a*b <= 12 | a <= 3; b <= 4 | yes | yes
a*b != 0 | a >= 1; b >= 1 | yes | yes
a*a >= 9 | a >= 3 | yes | yes
a*b >= a + b - 1 | a >= 1; b >= 1 | yes | inconclusive
a*b >= a + b | a >= 2; b >= 2 | yes | inconclusive
a*a + b*b >= 2*a*b | | beyond yes | inconclusive
a*a == 2 | | no | inconclusive
(a*a + a) % 2 == 0 | | yes | inconclusive
max(a, b)*c == max(a*c, b*c) | | beyond yes | inconclusive

[symbolic divisors]
n//m*m <= n | m >= 1 | yes | yes
n % m < m | m >= 1 | yes | yes
n % m <= n | m >= 1 | yes | inconclusive
n//m <= n | m >= 1 | yes | inconclusive
n//m*m + n % m == n | m >= 1 | yes | inconclusive
n//m >= 1 | n >= m; m >= 1 | yes | inconclusive
n//m == 0 | n < m | yes | inconclusive
n % m == n | n < m | yes | inconclusive
(n + m - 1)//m*m >= n | m >= 1 | yes | yes
ceildiv(n, m) <= n | m >= 1 | yes | inconclusive
(n + m)//m == n//m + 1 | m >= 1 | yes | inconclusive
n//m >= k//m | n >= k; m >= 1 | yes | inconclusive
n//m*m == n | n % m == 0; m >= 1 | yes | inconclusive
n//n == 1 | n >= 1 | yes | yes
(i + k) % n < n | n >= 1 | yes | yes
n//m <= n//2 | m >= 2 | yes | inconclusive
i//w < h | i < h*w; w >= 1 | yes | inconclusive
"""


@dataclass(frozen=True)
class Fact:
    """Row of the table: the claim and the constraints as texts, the truth, JAX's verdict, and where it comes up."""

    claim: str
    constraints: tuple[str, ...]
    truth: str
    jax: str
    source: str
    beyond: bool

    def __str__(self) -> str:
        return self.claim + (f" given {', '.join(self.constraints)}" if self.constraints else "")


def read(table: str) -> list[Fact]:
    """Return the rows of a table."""
    facts, source = [], ""
    for line in table.strip().splitlines():
        if line.startswith("["):
            source = line.strip("[]")
        elif line:
            claim, conjunction, truth, jax = (part.strip() for part in line.split("|"))
            constraints = tuple(c.strip() for c in conjunction.split(";") if c.strip())
            facts.append(Fact(claim, constraints, truth.split()[-1], jax, source, "beyond" in truth))
    return facts


FACTS = read(TABLE)

RELATIONS = (">=", "<=", "==", "!=", ">", "<", "broadcasts with", "is 1 or equals")


def sides(text: str) -> tuple[str, str, str]:
    """Return the left side, the relation and the right side of a claim."""
    relation = next(r for r in RELATIONS if f" {r} " in text)
    left, right = text.split(f" {relation} ")
    return left, relation, right


def names(*texts: str) -> list[str]:
    """Return the names of sizes in the texts, sorted."""
    bare = " ".join(sides(t)[0] + " " + sides(t)[2] for t in texts)
    words = re.findall(r"[a-z]+", bare)
    return sorted(set(words) - {"max", "min", "ceildiv", "broadcast"})
