"""Values to try for each parameter of NumPy's functions, and rows for functions that need their own.

A row is a name, a colon and expressions with semicolons between; indented lines continue it. `F` stands for the name.
"""


def rows(text):
    """The rows of a text, as name -> expressions."""
    joined = text.strip().replace(";\n    ", "; ")
    named = [line.partition(":") for line in joined.splitlines()]
    return {name: tuple(e.strip() for e in rest.split(";") if e.strip()) for name, _, rest in named}


REQUIRED = rows("""
b: y; 2; x
a2: y
arr2: y
ar2: y; [1, 2]
v2: y
x2: y
values: y; 2
test_elements: y; [0, 1]; 2
shape: x.shape
indices: 0; i
y: x
""")

OPTIONAL = rows("""
axis: None; 0; -1; 1; 2; -3; (0, 1); (-1,); (); (0, 0); 1.0; np.int64(0)
keepdims: True; False; 1
dtype: None; int; float; complex; bool; np.float32; np.int8; np.float16; object
initial: 0; -0.0; 2; 1.5; np.nan; None; 300; -1; True; 1j; x
where: True; False; m; [True]; 1; np.array(False)
ddof: 0; 1; 5; 0.5
correction: 1; 0.5
mean: 0.0; x
decimals: 0; 1; -1; None
kind: None; 'stable'; 'quicksort'; 'heapsort'; 'mergesort'; 'bad'
stable: None; True; False
order: None
side: 'left'; 'right'; 'bad'
mode: 'raise'; 'wrap'; 'clip'; 'bad'
casting: 'same_kind'; 'no'; 'safe'; 'unsafe'; 'bad'
rtol: 0; 0.5; 1e-3
atol: 0; 1
equal_nan: True; False
include_initial: True; False
returned: True
weights: None; y; np.ones(3); 1
bias: True
rowvar: False
nan: 0.0; 1; -0.0; None
posinf: None; 2; 1e30
neginf: None; -2
k: 0; 1; -1; 5
n: 0; 1; 2; -1
ndmin: 0; 1; 3
offset: 0; 1; -1; 4
axis1: 0; 1; -1
axis2: 0; 1; -1
prepend: 0; x; 1.5
append: 0; x; 1.5
to_end: 0; [1, 2]; 1.5
to_begin: 0; [1, 2]; 1.5
dx: 0.5; 2
ord: None; 1; 2; -1; 0; np.inf; -np.inf; 3; 'fro'; 'nuc'; 0.5; 'bad'
deg: True
method: 'linear'; 'nearest'; 'lower'; 'bad'
trim: 'f'; 'b'; 'fb'; 'bad'
assume_unique: True
return_indices: True
return_index: True
return_inverse: True
return_counts: True
invert: True
sorted: True; False
sparse: True
indexing: 'xy'; 'ij'; 'bad'
endpoint: False
retstep: True
minlength: 0; 2; -1
sorter: None
fweights: None
aweights: None
b: None; y
return_sign: False; True
start: 0; 1; -1; 5
shape: None; (2,); ()
left: 0; -1.5
right: 0; -1.5
period: 2; 0
M: 2
axes: None
default: 0; 1.5; True
""")

# values of one parameter of one function
OWN_VALUES = rows("""
reduce options: axis=None; axis=0; axis=-1; axis=1; axis=(0, 1); axis=(); keepdims=True; initial=0; initial=2;
    initial=-0.0; initial=None; where=m; where=m, initial=1; dtype=float; dtype=int; axis=None, keepdims=True;
    axis=0, initial=1
accumulate options: axis=-1; axis=1; axis=0; axis=None; dtype=float; dtype=int
np.full_like fill_value: 1
np.full_like order: 'C'; 'F'; 'A'; 'K'; 'B'
np.zeros_like order: 'C'; 'F'; 'A'; 'K'; 'B'
np.ones_like order: 'C'; 'F'; 'A'; 'K'; 'B'
""")

# all calls of a function, instead of those from its signature
CALLS = rows("""
np.reshape: F(x, -1); F(x, (3, -1)); F(x, (1, -1)); F(x, x.shape); F(x, (3, 2)); F(x, (7,)); F(x, ());
    F(x, (-1, -1)); F(x, (3, 2), order='F'); F(x, (3, 2), order='A'); F(x, (3, 2), order='K'); F(x, -1, copy=True);
    F(x, -1, copy=False); F(x, -1, order='B'); F(x, (0, -1)); F(x, (1.0,)); F(x.T, (2, 3), order='A');
    F(x.T, -1, order='A'); F(x.T, -1, order='F')
x.reshape: F(-1); F(3, 2); F((3, 2)); F(2, -1, order='F'); F(3, 2, order='A'); F(); F(-1, order='K');
    F(-1, copy=False); F(3, 2, copy=True); F(None)
np.ravel: F(x); F(x, order='C'); F(x, order='F'); F(x, order='A'); F(x, order='K'); F(x, order='B');
    F(x.T, order='C'); F(x.T, order='F'); F(x.T, order='A'); F(x.T, order='K'); F(x.T, order='B');
    F(x[::-1], order='C'); F(x[::-1], order='F'); F(x[::-1], order='A'); F(x[::-1], order='K');
    F(x[::-1], order='B'); F(x[..., None].T, order='C'); F(x[..., None].T, order='F'); F(x[..., None].T, order='A');
    F(x[..., None].T, order='K'); F(x[..., None].T, order='B'); F((x + y).T, order='C'); F((x + y).T, order='F');
    F((x + y).T, order='A'); F((x + y).T, order='K'); F((x + y).T, order='B'); F(np.flip(x, -1), order='C');
    F(np.flip(x, -1), order='F'); F(np.flip(x, -1), order='A'); F(np.flip(x, -1), order='K');
    F(np.flip(x, -1), order='B')
x.ravel: F(); F('C'); F('F'); F('A'); F('K'); F('B'); F(order='F'); x.T.ravel('C'); x.T.ravel('F'); x.T.ravel('A');
    x.T.ravel('K'); x.T.ravel('B'); (x.T + y.T).ravel('C'); (x.T + y.T).ravel('F'); (x.T + y.T).ravel('A');
    (x.T + y.T).ravel('K'); (x.T + y.T).ravel('B'); x[..., ::-1].ravel('C'); x[..., ::-1].ravel('F');
    x[..., ::-1].ravel('A'); x[..., ::-1].ravel('K'); x[..., ::-1].ravel('B')
x.flatten: F(); F('C'); F('F'); F('A'); F('K'); F('B'); x.T.flatten('C'); x.T.flatten('F'); x.T.flatten('A');
    x.T.flatten('K'); x.T.flatten('B'); x[..., ::2].T.flatten('C'); x[..., ::2].T.flatten('F');
    x[..., ::2].T.flatten('A'); x[..., ::2].T.flatten('K'); x[..., ::2].T.flatten('B'); F(order='A')
np.copy: F(x); F(x, order='C'); F(x, order='F'); F(x, order='A'); F(x, order='K'); F(x, order='B');
    F(x.T, 'C').ravel('K'); F(x.T, 'F').ravel('K'); F(x.T, 'A').ravel('K'); F(x.T, 'K').ravel('K');
    F(x.T, 'B').ravel('K')
x.copy: F(); F('C'); F('F'); F('A'); F('K'); F('B'); x.T.copy('C').ravel('K'); x.T.copy('F').ravel('K');
    x.T.copy('A').ravel('K'); x.T.copy('K').ravel('K'); x.T.copy('B').ravel('K')
np.transpose: F(x); F(x, (1, 0)); F(x, (0, 1)); F(x, (0, 0)); F(x, 0); F(x, (0,)); F(x, ()); F(x, (-1, -2));
    F(x, None); F(x, (0, 1, 2))
x.transpose: F(); F(1, 0); F((1, 0)); F(None); F(0); F((0,)); F(-1, 0); F(()); F(0, 0)
np.permute_dims: F(x); F(x, (1, 0))
np.expand_dims: F(x, 0); F(x, -1); F(x, 1); F(x, (0, 1)); F(x, (0, 0)); F(x, 5); F(x, ()); F(x, None)
np.moveaxis: F(x, 0, 0); F(x, 0, -1); F(x, 0, 1); F(x, 0, 2); F(x, 0, (0, 1)); F(x, 0, ()); F(x, 0, (0, 0));
    F(x, -1, 0); F(x, -1, -1); F(x, -1, 1); F(x, -1, 2); F(x, -1, (0, 1)); F(x, -1, ()); F(x, -1, (0, 0));
    F(x, 1, 0); F(x, 1, -1); F(x, 1, 1); F(x, 1, 2); F(x, 1, (0, 1)); F(x, 1, ()); F(x, 1, (0, 0)); F(x, 2, 0);
    F(x, 2, -1); F(x, 2, 1); F(x, 2, 2); F(x, 2, (0, 1)); F(x, 2, ()); F(x, 2, (0, 0)); F(x, (0, 1), 0);
    F(x, (0, 1), -1); F(x, (0, 1), 1); F(x, (0, 1), 2); F(x, (0, 1), (0, 1)); F(x, (0, 1), ()); F(x, (0, 1), (0, 0));
    F(x, (), 0); F(x, (), -1); F(x, (), 1); F(x, (), 2); F(x, (), (0, 1)); F(x, (), ()); F(x, (), (0, 0));
    F(x, (0, 0), 0); F(x, (0, 0), -1); F(x, (0, 0), 1); F(x, (0, 0), 2); F(x, (0, 0), (0, 1)); F(x, (0, 0), ());
    F(x, (0, 0), (0, 0))
np.rollaxis: F(x, 0, 0); F(x, 0, 1); F(x, 0, 2); F(x, 0, -1); F(x, 0, 3); F(x, 1, 0); F(x, 1, 1); F(x, 1, 2);
    F(x, 1, -1); F(x, 1, 3); F(x, -1, 0); F(x, -1, 1); F(x, -1, 2); F(x, -1, -1); F(x, -1, 3)
np.swapaxes: F(x, 0, 0); F(x, 0, 1); F(x, 0, -1); F(x, 1, 0); F(x, 1, 1); F(x, 1, -1); F(x, -1, 0); F(x, -1, 1);
    F(x, -1, -1); F(x, 2, 0); F(x, 2, 1); F(x, 2, -1)
np.rot90: F(x); F(x, 2); F(x, -1); F(x, 1, (1, 0)); F(x, 1, (0, 0)); F(x, 3, (0, 1)); F(x, 1, (0,))
np.squeeze: F(x); F(x, None); F(x, 0); F(x, -1); F(x, 1); F(x, 2); F(x, -3); F(x, (0, 1)); F(x, (-1,)); F(x, ());
    F(x, (0, 0)); F(x, 1.0); F(x, np.int64(0)); F(x[None]); F(x[None], 0)
np.roll: F(x, 1); F(x, -5); F(x, 1, 0); F(x, (1, 2), (0, 1)); F(x, 1, (0, 1)); F(x, 1, -1); F(x, 1, 2);
    F(x, (1, 2), 0); F(x, 1, (0, 0)); F(x, 1.0); F(x, 0, None)
np.tile: F(x, 2); F(x, (2, 1)); F(x, 0); F(x, (1, 2, 1)); F(x, ()); F(x, -1); F(x, (2, 0)); F(x, 1)
np.repeat: F(x, 2); F(x, 0); F(x, -1); F(x, 2, 0); F(x, [1, 2, 0], 0); F(x, [1, 2, 0], -1); F(x, 2, 1); F(x, 1.5);
    F(x, [2]); F(x, [2], 0); F(x, []); F(x, [[1, 2]]); F(x, 2, -1); F(x, 2, 2); F(x, [1, 2])
np.broadcast_to: F(x, (4, 2, 3)); F(x, x.shape); F(x, (2, *x.shape)); F(x, 3); F(x, ()); F(x, (-1,))
np.broadcast_arrays: F(x, y); F(x, 1); F(x, np.ones((4, 1))); F(x); F(x, np.ones(2))
np.broadcast_shapes: F(x.shape, (4, 1, 1)); F(x.shape, y.shape); F(x.shape)
np.atleast_1d: F(x); F(x, y); F(x, 1)
np.atleast_2d: F(x); F(x, y); F(x, 1)
np.atleast_3d: F(x); F(x, y); F(x, 1)
np.meshgrid: F(x); F(x, y); F(x, y, sparse=True); F(x, y, indexing='ij'); F(x, y, indexing='bad'); F(x, 1.0, x);
    F(x, y, copy=False)
np.ix_: F(x, y); F(x); F(x, [0])
np.split: F(x, 1); F(x, 1, 1); F(x, 1, -1); F(x, 1, axis=2); F(x, 3); F(x, 3, 1); F(x, 3, -1); F(x, 3, axis=2);
    F(x, 2); F(x, 2, 1); F(x, 2, -1); F(x, 2, axis=2); F(x, 0); F(x, 0, 1); F(x, 0, -1); F(x, 0, axis=2); F(x, [1]);
    F(x, [1], 1); F(x, [1], -1); F(x, [1], axis=2); F(x, [1, 2]); F(x, [1, 2], 1); F(x, [1, 2], -1);
    F(x, [1, 2], axis=2); F(x, [-1]); F(x, [-1], 1); F(x, [-1], -1); F(x, [-1], axis=2); F(x, []); F(x, [], 1);
    F(x, [], -1); F(x, [], axis=2); F(x, 1.0); F(x, 1.0, 1); F(x, 1.0, -1); F(x, 1.0, axis=2); F(x, np.array([1]));
    F(x, np.array([1]), 1); F(x, np.array([1]), -1); F(x, np.array([1]), axis=2)
np.array_split: F(x, 1); F(x, 1, 1); F(x, 1, -1); F(x, 3); F(x, 3, 1); F(x, 3, -1); F(x, 2); F(x, 2, 1); F(x, 2, -1);
    F(x, 0); F(x, 0, 1); F(x, 0, -1); F(x, [1]); F(x, [1], 1); F(x, [1], -1); F(x, [1, 2]); F(x, [1, 2], 1);
    F(x, [1, 2], -1); F(x, [-1]); F(x, [-1], 1); F(x, [-1], -1); F(x, []); F(x, [], 1); F(x, [], -1); F(x, 1.0);
    F(x, 1.0, 1); F(x, 1.0, -1); F(x, np.array([1])); F(x, np.array([1]), 1); F(x, np.array([1]), -1)
np.hsplit: F(x, 1); F(x, 3); F(x, 2); F(x, 0); F(x, [1]); F(x, [1, 2]); F(x, [-1]); F(x, []); F(x, 1.0);
    F(x, np.array([1]))
np.vsplit: F(x, 1); F(x, 3); F(x, 2); F(x, 0); F(x, [1]); F(x, [1, 2]); F(x, [-1]); F(x, []); F(x, 1.0);
    F(x, np.array([1]))
np.dsplit: F(x, 1); F(x, 3); F(x, 2); F(x, 0); F(x, [1]); F(x, [1, 2]); F(x, [-1]); F(x, []); F(x, 1.0);
    F(x, np.array([1]))
np.unstack: F(x); F(x, axis=1); F(x, axis=-1); F(x, axis=2)
np.concatenate: F([x, y]); F([x, y], axis=1); F([x, y], axis=None); F([x, y], axis=-1); F([x, y], axis=2);
    F((x, y, x)); F((x, y, x), axis=1); F((x, y, x), axis=None); F((x, y, x), axis=-1); F((x, y, x), axis=2); F([x]);
    F([x], axis=1); F([x], axis=None); F([x], axis=-1); F([x], axis=2); F([x, 1.0]); F([x, 1.0], axis=1);
    F([x, 1.0], axis=None); F([x, 1.0], axis=-1); F([x, 1.0], axis=2); F(x); F(x, axis=1); F(x, axis=None);
    F(x, axis=-1); F(x, axis=2); F([x, np.zeros(3)]); F([x, np.zeros(3)], axis=1); F([x, np.zeros(3)], axis=None);
    F([x, np.zeros(3)], axis=-1); F([x, np.zeros(3)], axis=2); F([]); F([], axis=1); F([], axis=None);
    F([], axis=-1); F([], axis=2); F([x, x[None]]); F([x, x[None]], axis=1); F([x, x[None]], axis=None);
    F([x, x[None]], axis=-1); F([x, x[None]], axis=2); F([x, y], dtype=None); F([x, y], dtype=int);
    F([x, y], dtype=float); F([x, y], dtype=complex); F([x, y], dtype=bool); F([x, y], dtype=np.float32);
    F([x, y], dtype=np.int8); F([x, y], dtype=np.float16); F([x, y], dtype=object);
    F([x, y], dtype=np.int8, casting='unsafe'); F([x, y], casting='no'); F([x, y], casting='bad')
np.stack: F([x, y]); F([x, y], axis=1); F([x, y], axis=-1); F([x, y], axis=2); F([x, y], axis=None); F((x, y, x));
    F((x, y, x), axis=1); F((x, y, x), axis=-1); F((x, y, x), axis=2); F((x, y, x), axis=None); F([x]);
    F([x], axis=1); F([x], axis=-1); F([x], axis=2); F([x], axis=None); F([x, 1.0]); F([x, 1.0], axis=1);
    F([x, 1.0], axis=-1); F([x, 1.0], axis=2); F([x, 1.0], axis=None); F(x); F(x, axis=1); F(x, axis=-1);
    F(x, axis=2); F(x, axis=None); F([x, np.zeros(3)]); F([x, np.zeros(3)], axis=1); F([x, np.zeros(3)], axis=-1);
    F([x, np.zeros(3)], axis=2); F([x, np.zeros(3)], axis=None); F([]); F([], axis=1); F([], axis=-1); F([], axis=2);
    F([], axis=None); F([x, x[None]]); F([x, x[None]], axis=1); F([x, x[None]], axis=-1); F([x, x[None]], axis=2);
    F([x, x[None]], axis=None); F([x, y], dtype=None); F([x, y], dtype=int); F([x, y], dtype=float);
    F([x, y], dtype=complex); F([x, y], dtype=bool); F([x, y], dtype=np.float32); F([x, y], dtype=np.int8);
    F([x, y], dtype=np.float16); F([x, y], dtype=object)
np.vstack: F([x, y]); F((x, y, x)); F([x]); F([x, 1.0]); F(x); F([x, np.zeros(3)]); F([]); F([x, x[None]]);
    F([x, y], dtype=None); F([x, y], dtype=int); F([x, y], dtype=float); F([x, y], dtype=complex);
    F([x, y], dtype=bool); F([x, y], dtype=np.float32); F([x, y], dtype=np.int8); F([x, y], dtype=np.float16);
    F([x, y], dtype=object)
np.hstack: F([x, y]); F((x, y, x)); F([x]); F([x, 1.0]); F(x); F([x, np.zeros(3)]); F([]); F([x, x[None]]);
    F([x, y], dtype=None); F([x, y], dtype=int); F([x, y], dtype=float); F([x, y], dtype=complex);
    F([x, y], dtype=bool); F([x, y], dtype=np.float32); F([x, y], dtype=np.int8); F([x, y], dtype=np.float16);
    F([x, y], dtype=object)
np.dstack: F([x, y]); F((x, y, x)); F([x]); F([x, 1.0]); F(x); F([x, np.zeros(3)]); F([]); F([x, x[None]])
np.column_stack: F([x, y]); F((x, y, x)); F([x]); F([x, 1.0]); F(x); F([x, np.zeros(3)]); F([]); F([x, x[None]])
np.block: F([x, y]); F([[x, y], [y, x]]); F(x); F([[x], [1.0]]); F([]); F([x, [y]]); F((x, y))
np.append: F(x, y); F(x, y, 0); F(x, y, -1); F(x, 1); F(x, 1.5); F(x, y, 1); F(x, 1, 0); F(x, [1, 2])
np.where: F(m, x, y); F(x, x, 0); F(m, x, 1.5); F(m, -0.0, x); F(x); F(m, x); F(True, x, y); F(x, 1, 2);
    F(m, x, 300); F(m, x, 1j); F(m, x, None); F(m, None, None)
np.select: F([m], [x]); F([m, ~m], [x, y]); F([m], [x], 1.5); F([m], [x, y]); F([], []); F([x], [x]);
    F([m], [x], default=-0.0)
np.piecewise: F(x, [m], [1, 2]); F(x, [m, ~m], [1, 2]); F(x, m, [lambda v: v + v]); F(x, [m], [1, 2, 3]);
    F(x, [m], [lambda v: v, -0.0]); F(x, [m], [1.5])
np.clip: F(x, 0, 1); F(x, -0.0, 0.0); F(x, 0.0, None); F(x, None, -0.0); F(x, y, None); F(x, None, y); F(x);
    F(x, None, None); F(x, min=0); F(x, max=1.5); F(x, 1, 0); F(x, np.nan, 1); F(x, 0, np.nan); F(x, -300, 300);
    F(x, 0, 1, dtype=float); F(x, -1, 1); F(x, [0], [1]); F(x, True, 1); F(x, min=0, a_min=1); F(x, 1j, None);
    F(x, y, -y); F(x, 0.0, 0.0); F(x, -1.0, -0.0); F(x, 0.0, 1.0); F(0.0, x, 1); F(x, np.float32(0), 2.0)
x.clip: F(0, 1); F(min=0); F(max=1); F(-0.0, None); F(); F(0.0, 1.0); F(None, 0); F(1, 0)
np.take: F(x, 0); F(x, i); F(x, [0, 0]); F(x, i, 0); F(x, i, -1); F(x, i, 1); F(x, 5); F(x, -1); F(x, 1.0);
    F(x, 5, mode='clip'); F(x, -2, mode='wrap'); F(x, 5, mode='bad'); F(x, [], 0); F(x, -7, mode='wrap');
    F(x, -7, mode='clip'); F(x, [True]); F(x, np.zeros((2, 2), int)); F(x, i, 0, mode='clip'); F(x, i, mode='wrap')
np.take_along_axis: F(x, np.zeros(x.shape, int) if isinstance(x.shape, str) else np.argsort(x), -1);
    F(x, np.argsort(x, None), None); F(x, i, 0); F(x, np.argmax(x, axis=0, keepdims=True), 0); F(x, x, 0)
np.compress: F(m, x); F([True, False], x, 0); F([True], x); F([False, True], x, -1); F([], x); F([1, 0], x, 1);
    F([True], x, 2); F([True] * 9, x); F(True, x); F([0, 2.5], x)
np.extract: F(m, x); F(x, x); F([True], x); F([0, 2], x)
np.tril: F(x); F(x, 1); F(x, -1); F(x, k=5)
np.triu: F(x); F(x, 1); F(x, -1); F(x, k=5)
np.pad: F(x, 1); F(x, (1, 2)); F(x, 0); F(x, 1, constant_values=np.nan); F(x, 1, constant_values=-0.0);
    F(x, 1, constant_values=(1, 2)); F(x, 1, constant_values=1.5); F(x, 1, constant_values=300); F(x, 1, 'edge');
    F(x, 1, 'reflect'); F(x, 2, 'symmetric'); F(x, 2, 'wrap'); F(x, 1, 'mean'); F(x, 1, 'linear_ramp');
    F(x, 1, 'bad'); F(x, -1); F(x, ((1, 0), (0, 2))); F(x, 1.0); F(x, 1, constant_values=1j);
    F(x, 1, 'reflect', reflect_type='odd'); F(x, 1, 'edge', constant_values=1); F(x, {0: 1}); F(x, (1, 2, 3));
    F(x, 1, constant_values=np.array([1, 2])); F(x, 1, constant_values=np.inf); F(x, 1, constant_values=(1, np.nan));
    F(x, 5, 'reflect'); F(x, 1, constant_values='a'); F(x, 1, constant_values=y.sum())
np.quantile: F(x, 0.5); F(x, 0); F(x, 1); F(x, 0.25); F(x, 1.5); F(x, -0.1); F(x, [0.2, 0.9]); F(x, np.nan);
    F(x, []); F(x, [[0.5]]); F(x, np.float32(0.3)); F(x, True); F(x, 1j); F(x, 0.3, axis=None); F(x, 0.3, axis=0);
    F(x, 0.3, axis=-1); F(x, 0.3, axis=1); F(x, 0.3, axis=2); F(x, 0.3, axis=-3); F(x, 0.3, axis=(0, 1));
    F(x, 0.3, axis=(-1,)); F(x, 0.3, axis=()); F(x, 0.3, axis=(0, 0)); F(x, 0.3, axis=1.0);
    F(x, 0.3, axis=np.int64(0)); F(x, [0.1, 0.7], axis=0); F(x, 0.5, axis=0, keepdims=True);
    F(x, 0.5, keepdims=True); F(x, 0.4, method='linear'); F(x, 0.4, method='nearest'); F(x, 0.4, method='lower');
    F(x, 0.4, method='bad'); F(x, 0.4, weights=None); F([1.0, 2.0], x); F(x, x)
np.percentile: F(x, 50); F(x, 0); F(x, 100); F(x, [20, 90]); F(x, 101); F(x, -1); F(x, 150.5); F(x, np.nan);
    F(x, np.float32(30)); F(x, np.int64(7)); F(x, [[30.0]]); F(x, 30, axis=None); F(x, 30, axis=0);
    F(x, 30, axis=-1); F(x, 30, axis=1); F(x, 30, axis=2); F(x, 30, axis=-3); F(x, 30, axis=(0, 1));
    F(x, 30, axis=(-1,)); F(x, 30, axis=()); F(x, 30, axis=(0, 0)); F(x, 30, axis=1.0); F(x, 30, axis=np.int64(0));
    F(x, 30, axis=0, keepdims=True); F([1.0, 2.0], x)
np.tensordot: F(x, y, axes=0); F(x, y, axes=1); F(x, y, axes=2); F(x, y, axes=((0,), (0,)));
    F(x, y, axes=([-1], [-1])); F(x, y, axes=(0, 0)); F(x, y, axes=((0, 1), (0, 1))); F(x, y, axes=([], []));
    F(x, y, axes=3); F(x, y, axes=-1); F(x, y, axes=((0, 0), (0, 0))); F(x, y.T, axes=0); F(x, y.T, axes=1);
    F(x, y.T, axes=2); F(x, y.T, axes=((0,), (0,))); F(x, y.T, axes=([-1], [-1])); F(x, y.T, axes=(0, 0));
    F(x, y.T, axes=((0, 1), (0, 1))); F(x, y.T, axes=([], [])); F(x, y.T, axes=3); F(x, y.T, axes=-1);
    F(x, y.T, axes=((0, 0), (0, 0))); F(x, 2, axes=0); F(x, 2, axes=1); F(x, 2, axes=2); F(x, 2, axes=((0,), (0,)));
    F(x, 2, axes=([-1], [-1])); F(x, 2, axes=(0, 0)); F(x, 2, axes=((0, 1), (0, 1))); F(x, 2, axes=([], []));
    F(x, 2, axes=3); F(x, 2, axes=-1); F(x, 2, axes=((0, 0), (0, 0)))
np.dot: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True)
np.inner: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True)
np.outer: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True)
np.vdot: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True)
np.kron: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True)
np.matmul: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True); F(x, y, dtype=float); F(x, y.T, dtype=int); F(x[None], y.T);
    F(x, y.T, axes=[(0, 1), (0, 1), (0, 1)])
np.vecdot: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True); F(x, y, axis=0); F(x, y, axis=1); F(x, y, axis=2); F(x, y, keepdims=True)
np.matvec: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True); F(x.T, np.ones(2)); F(x, y, axis=0)
np.vecmat: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True); F(np.ones(2), x)
np.cross: F(x, y); F(x, y, axis=0); F(x, [1, 2, 3]); F(x.T, y.T, axisa=0, axisb=0); F(x, y, axisc=0); F(x, [1, 2])
np.einsum: F('...i->...', x); F('i,i', x, y); F('ij,kj->ik', x, y); F('ij->ji', x); F('ii', x); F('i,j', x, y);
    F('ij', x); F('...,...->...', x, y); F('...', x); F('i->', x); F('i->i', x); F(x, [0], [0]);
    F('ij,j', x, np.ones(3)); F('ji', x); F('i$', x); F('...i,...i', x, y, dtype=float); F('i', x, casting='unsafe');
    F('i', x, order='F'); F('', x); F('ij,jk', x, y, optimize=True)
np.linalg.cross: F(x, y); F(x, y, axis=0); F(x.T, y.T, axis=0); F(x, [1, 2, 3]); F(x, [1, 2])
np.linalg.outer: F(x, y); F(x, [1, 2]); F(x, 2)
np.linalg.matmul: F(x, y); F(x, 2); F(2.5, x); F(x, x.T); F(x, np.ones(3)); F(x, np.ones((3, 2))); F(np.ones(2), x);
    F(x, True)
np.linalg.vecdot: F(x, y); F(x, y, axis=0); F(x, y, axis=1); F(x, 2)
np.linalg.tensordot: F(x, y); F(x, y, axes=0); F(x, y.T, axes=1)
np.linalg.diagonal: F(x); F(x, offset=1); F(x[None]); F(x[..., None]); F(np.stack([x, x]))
np.linalg.trace: F(x); F(x, offset=1); F(x[None]); F(x[..., None]); F(np.stack([x, x])); F(x, dtype=float);
    F(x, dtype=int)
np.linalg.cholesky: F(x); F(x @ y.T); F(np.eye(3) + x[0]); F(np.eye(2) * 4); F(x, upper=True)
np.linalg.eigvalsh: F(x); F(x @ x.T); F(x @ x.T, 'U'); F(np.eye(3) + x[..., :1], UPLO='l'); F(x @ x.T, 'X')
np.linalg.eigh: F(x); F(x @ x.T); F(x @ x.T, 'U'); F(np.eye(3) * [1, 2, 3] + x[..., :1] * 0, UPLO='l'); F(x @ x.T, 'X')
np.linalg.eigvals: F(x); F(np.eye(3) * [1, 2, 3] + x[..., :1]); F(x[..., :2]); F(x[None, ..., :2])
np.linalg.eig: F(x); F(np.eye(3) * [1, 2, 3] + x[..., :1]); F(x[..., :2]); F(x[None, ..., :2])
np.linalg.lstsq: F(x, y); F(x.T, x.T); F(x, y, 0.5); F(x, y, rcond=-1); F(x[None], y); F(x, 2)
np.linalg.svdvals: F(x); F(x.T); F(x[None]); F(x[..., None])
np.linalg.svd: F(x, compute_uv=False); F(x[..., None], compute_uv=False); F(x[:, :1], full_matrices=False)
np.linalg.qr: F(x, 'r'); F(x); F(x, mode='x'); F(x[None])
np.linalg.pinv: F(x); F(x.T); F(x[None]); F(x, 0.5); F(x, rtol=0.1); F(x, rtol=None); F(x, 0.1, rtol=0.1)
np.linalg.matrix_rank: F(x); F(x, 0.5); F(x, rtol=0.5); F(x[None]); F(x[None], [0.5]); F(x[:0]); F(x, 1, rtol=1)
np.linalg.cond: F(x); F(x, 2); F(x, -2); F(x[None]); F(x[:, :0])
np.linalg.inv: F(x); F(x @ y.T); F(np.eye(3) * 4 + x); F(x[..., :2]); F(x[None, ..., :2]); F(x[:, :0])
np.linalg.det: F(x); F(x @ y.T); F(np.eye(3) * 4 + x); F(x[..., :2]); F(x[None, ..., :2]); F(x[:0, :0])
np.linalg.slogdet: F(x); F(x @ y.T); F(np.eye(3) * 4 + x); F(x[..., :2]); F(x[None, ..., :2]); F(x[:0, :0])
np.linalg.solve: F(x, y); F(np.eye(3) * 4 + x, x.T); F(np.eye(3) * 4, x); F(x[..., :2], y); F(np.eye(2) * 3, x);
    F(np.eye(2) * 3, y); F(x, 2); F(np.eye(3)[None], x)
np.linalg.tensorsolve: F(x, y); F(x[..., None], y); F(np.eye(6).reshape(2, 3, 2, 3) * 2, x)
np.linalg.tensorinv: F(x); F(x, 1); F(np.eye(6).reshape(2, 3, 6) * 2 + x[..., None]); F(x, 0)
np.linalg.matrix_transpose: F(x); F(x[None])
np.linalg.multi_dot: F([x, y.T]); F([x, y.T, x]); F([x]); F([x, y]); F([x, 2])
np.linalg.matrix_power: F(x, 0); F(x, 1); F(x, 2); F(x, 3); F(x, -1); F(x, 1.0); F(x, True); F(x[..., :2], 0);
    F(x[..., :2], 1); F(x[..., :2], 2); F(x[..., :2], 3); F(x[..., :2], -1); F(x[..., :2], 1.0); F(x[..., :2], True);
    F(x @ y.T, 0); F(x @ y.T, 1); F(x @ y.T, 2); F(x @ y.T, 3); F(x @ y.T, -1); F(x @ y.T, 1.0); F(x @ y.T, True)
np.interp: F(x, [0, 1, 2], [1, 2, 4]); F(x, [0.0, 1.0], [1j, 2]); F([0.5], x, y); F(x, [0, 1], [1, 2, 4]);
    F(x, [], []); F(x, [0, 1], [3, 4], left=-1); F(x, [0, 1], [3, 4], right=9); F(x, [0, 1], [3, 4], period=2);
    F(x, [0, 1], [3, 4], period=0); F(x, [0], [1])
np.bincount: F(x); F(np.abs(x)); F(i); F(np.abs(i), weights=x); F(np.abs(i), minlength=4);
    F(np.abs(i), minlength=-1); F(m); F([0, 1, 1], x)
np.searchsorted: F(np.sort(x), y); F(np.sort(x), 1); F([0, 1, 2], x); F([0, 1, 2], x, 'right');
    F([0, 1, 2], x, side='bad'); F(np.sort(x), 0.5); F([0, 1, 2], x, sorter=[0, 1, 2]); F(x, 1.5, 'right'); F([], x);
    F([0.0, np.nan], x)
np.intersect1d: F(x, y); F(x, [0.0, 1]); F([0, 1, 2], x); F([-0.0, 1], x); F(x, y, assume_unique=True);
    F(x, y, return_indices=True); F(x, -x)
np.union1d: F(x, y); F(x, [0.0, 1]); F([-0.0], x); F(x, -y)
np.setdiff1d: F(x, y); F(x, [0.0, 1]); F(x, [0], assume_unique=True); F([0, 1, 5], x)
np.cov: F(x); F(x, y); F(x, rowvar=False); F(x, bias=True); F(x, ddof=0); F(x, ddof=5); F(x, dtype=np.float32);
    F(x, ddof=0.5); F(x, fweights=[1, 2, 1]); F(x, aweights=[1, 2, 1]); F(x, dtype=complex)
np.corrcoef: F(x); F(x, y); F(x, rowvar=False); F(x, dtype=np.float32)
np.trapezoid: F(x); F(x, y); F(x, dx=2); F(x, axis=0); F(x, axis=1); F(x, [1, 2, 3]); F(x, [1, 2], axis=0);
    F(x, axis=2); F(x, dx=[1, 2]); F([1, 2, 3], x)
np.copysign: F(x, y); F(x, -0.0); F(2, x); F(x, y, dtype=np.float32)
np.ldexp: F(x, 2); F(x, i); F(2.0, x); F(x, 1.5); F(x, True)
np.result_type: F(x); F(x, y); F(x, np.int8); F(x, 2); F(x, 2.5); F(x, 'f4'); F(x, 1j)
np.can_cast: F(x.dtype, float)
np.shape: F(x)
np.astype: F(x, int); F(x, float); F(x, complex); F(x, bool); F(x, np.float32); F(x, np.int8); F(x, np.float16);
    F(x, object)
x.astype: F(None); F(int); F(float); F(complex); F(bool); F(np.float32); F(np.int8); F(np.float16); F(object);
    F(float, copy=False); F(int, casting='safe'); F(np.float32, casting='no'); F(float, order='F'); F('f4');
    F(dtype=float); F(np.int8, casting='same_kind'); F(float, 'K', 'unsafe'); F(float, casting='bad');
    F(float, order='B'); F('S3')
np.empty_like: F(x) * 0; F(x, dtype=float) * 0; F(x, shape=(2,)) * 0
np.array: F([x, y]); F([x, 1]); F(x)
np.asarray:
np.asanyarray:
np.ascontiguousarray:
np.asfortranarray:
np.arange: F(3, like=x); F(x.shape[0], like=x)
np.linspace: F(x, y); F(x, y, 3); F(x, 2, 3); F(0, x, 4, endpoint=False); F(x, y, 3, retstep=True);
    F(x, y, 3, dtype=int); F(x, y, 3, axis=-1); F(x, y, 1); F(x, y, 0); F(x, y, -1); F(x, y, 2.0);
    F(x, y, 3, axis=1); F(x, y, 3, axis=5); F(x, y, 3, dtype=np.float32)
np.frexp: F(x)
np.copyto: F(x, y)
np.fill_diagonal: F(x, 1)
np.place: F(x, m, y)
np.put: F(x, 0, 1)
np.putmask: F(x, m, y)
np.put_along_axis: F(x, i, 1, 0)
x.conj: F()
x.conjugate: F()
x.dot: F(y); F(2); F(y.T)
x.compress: F(m); F([True, False], 0); F([True], axis=-1); F([True] * 9)
x.take: F(0); F(i); F([0, 0], 0); F(5); F(5, mode='clip'); F(i, axis=0); F(i, -1)
x.repeat: F(2); F(2, 0); F([1, 2, 0], axis=-1); F(-1)
x.swapaxes: F(0, 1); F(0, 0); F(0, 2)
x.searchsorted: F(1); F(y); F(1.5, 'right'); F(1, side='bad')
x.nonzero: F()
x.squeeze: F(); F(0); F(axis=-1); F(()); F((0, 0))
x.sort:
x.to_device: F('cpu'); F('gpu')
sc.logsumexp: F(x); F(x, axis=0); F(x, axis=-1); F(x, b=y); F(x, b=2); F(x, keepdims=True); F(x, axis=(0, 1));
    F(x, axis=2); F(x, return_sign=True)
""")

# calls beside those from the signature
MORE = rows("""
np.sum: x, 0, None, None, True; x, keepdims=True, axis=0, initial=1
np.nan_to_num: x, posinf=1, neginf=-1, nan=2
np.diagonal: x, 0, 1, 0; x, 1, 0, 1; x, 0, 0, 0; x, 0, -1, -2
np.trace: x, 0, 1, 0; x, 1, 0, 1; x, 0, 0, 0
np.round: x, 2; x, -1; x, 400; x, 1.0; x, None
np.linalg.vector_norm: x, axis=(0, 1), ord=1; x, axis=0, ord=0
np.linalg.norm: x, 2, 0; x, 1, (0, 1); x, np.inf, (1, 0); x, None, (0, 1); x, 'fro', 0; x, -1, 0; x, 3, -1, True;
    x, 1, (0, 0); x, None, (0, 1, 2)
np.isin: x, [0, 1.0]; x, [], invert=True; x, 0; x, [True]
np.average: x, 0, y; x, None, np.ones(x.ndim); x, -1, [1, 2, 3]; x, 0, [1, 2], returned=True;
    x, weights=np.abs(y) + 1
np.ediff1d: x, 1, 2; x, x, x; x, to_end=300
np.diff: x, 2, 0; x, prepend=x, append=x; x, axis=0, prepend=0
np.full_like: x, 1; x, 1.5; x, np.nan; x, 300; x, -0.0; x, 1j; x, y; x, True, dtype=float; x, 1, shape=(2, 1);
    x, [1, 2, 3]; x, 1, order='B'
""")

(SCALARS,) = rows("""
scalars: 2; -1; 0; 0.5; True; 1j; 300; np.float32(2); np.int64(-3); -0.0; np.nan
""").values()

OPERATORS = rows("""
x + y: x + y; x + 2; x + 0.5; x + -1; x + True; x + 1j; x + None; x + 'a'; x + [1, 2, 3]; x + (1,);
    x + np.float32(2); x + np.arange(3); x + {}; x + b'a'; x + np.array('a'); x + np.array(None); x + object; y + x;
    2 + x; 0.5 + x; -1 + x; True + x; 1j + x; None + x; 'a' + x; [1, 2, 3] + x; (1,) + x; np.float32(2) + x;
    np.arange(3) + x; {} + x; b'a' + x; np.array('a') + x; np.array(None) + x; object + x
x - y: x - y; x - 2; x - 0.5; x - -1; x - True; x - 1j; x - None; x - 'a'; x - [1, 2, 3]; x - (1,);
    x - np.float32(2); x - np.arange(3); x - {}; x - b'a'; x - np.array('a'); x - np.array(None); x - object; y - x;
    2 - x; 0.5 - x; -1 - x; True - x; 1j - x; None - x; 'a' - x; [1, 2, 3] - x; (1,) - x; np.float32(2) - x;
    np.arange(3) - x; {} - x; b'a' - x; np.array('a') - x; np.array(None) - x; object - x
x * y: x * y; x * 2; x * 0.5; x * -1; x * True; x * 1j; x * None; x * 'a'; x * [1, 2, 3]; x * (1,);
    x * np.float32(2); x * np.arange(3); x * {}; x * b'a'; x * np.array('a'); x * np.array(None); x * object; y * x;
    2 * x; 0.5 * x; -1 * x; True * x; 1j * x; None * x; 'a' * x; [1, 2, 3] * x; (1,) * x; np.float32(2) * x;
    np.arange(3) * x; {} * x; b'a' * x; np.array('a') * x; np.array(None) * x; object * x
x / y: x / y; x / 2; x / 0.5; x / -1; x / True; x / 1j; x / None; x / 'a'; x / [1, 2, 3]; x / (1,);
    x / np.float32(2); x / np.arange(3); x / {}; x / b'a'; x / np.array('a'); x / np.array(None); x / object; y / x;
    2 / x; 0.5 / x; -1 / x; True / x; 1j / x; None / x; 'a' / x; [1, 2, 3] / x; (1,) / x; np.float32(2) / x;
    np.arange(3) / x; {} / x; b'a' / x; np.array('a') / x; np.array(None) / x; object / x
x // y: x // y; x // 2; x // 0.5; x // -1; x // True; x // 1j; x // None; x // 'a'; x // [1, 2, 3]; x // (1,);
    x // np.float32(2); x // np.arange(3); x // {}; x // b'a'; x // np.array('a'); x // np.array(None); x // object;
    y // x; 2 // x; 0.5 // x; -1 // x; True // x; 1j // x; None // x; 'a' // x; [1, 2, 3] // x; (1,) // x;
    np.float32(2) // x; np.arange(3) // x; {} // x; b'a' // x; np.array('a') // x; np.array(None) // x; object // x
x % y: x % y; x % 2; x % 0.5; x % -1; x % True; x % 1j; x % None; x % 'a'; x % [1, 2, 3]; x % (1,);
    x % np.float32(2); x % np.arange(3); x % {}; x % b'a'; x % np.array('a'); x % np.array(None); x % object; y % x;
    2 % x; 0.5 % x; -1 % x; True % x; 1j % x; None % x; 'a' % x; [1, 2, 3] % x; (1,) % x; np.float32(2) % x;
    np.arange(3) % x; {} % x; b'a' % x; np.array('a') % x; np.array(None) % x; object % x
x ** y: x ** y; x ** 2; x ** 0.5; x ** -1; x ** True; x ** 1j; x ** None; x ** 'a'; x ** [1, 2, 3]; x ** (1,);
    x ** np.float32(2); x ** np.arange(3); x ** {}; x ** b'a'; x ** np.array('a'); x ** np.array(None); x ** object;
    y ** x; 2 ** x; 0.5 ** x; -1 ** x; True ** x; 1j ** x; None ** x; 'a' ** x; [1, 2, 3] ** x; (1,) ** x;
    np.float32(2) ** x; np.arange(3) ** x; {} ** x; b'a' ** x; np.array('a') ** x; np.array(None) ** x; object ** x
x & y: x & y; x & 2; x & 0.5; x & -1; x & True; x & 1j; x & None; x & 'a'; x & [1, 2, 3]; x & (1,);
    x & np.float32(2); x & np.arange(3); x & {}; x & b'a'; x & np.array('a'); x & np.array(None); x & object; y & x;
    2 & x; 0.5 & x; -1 & x; True & x; 1j & x; None & x; 'a' & x; [1, 2, 3] & x; (1,) & x; np.float32(2) & x;
    np.arange(3) & x; {} & x; b'a' & x; np.array('a') & x; np.array(None) & x; object & x
x | y: x | y; x | 2; x | 0.5; x | -1; x | True; x | 1j; x | None; x | 'a'; x | [1, 2, 3]; x | (1,);
    x | np.float32(2); x | np.arange(3); x | {}; x | b'a'; x | np.array('a'); x | np.array(None); x | object; y | x;
    2 | x; 0.5 | x; -1 | x; True | x; 1j | x; None | x; 'a' | x; [1, 2, 3] | x; (1,) | x; np.float32(2) | x;
    np.arange(3) | x; {} | x; b'a' | x; np.array('a') | x; np.array(None) | x; object | x
x ^ y: x ^ y; x ^ 2; x ^ 0.5; x ^ -1; x ^ True; x ^ 1j; x ^ None; x ^ 'a'; x ^ [1, 2, 3]; x ^ (1,);
    x ^ np.float32(2); x ^ np.arange(3); x ^ {}; x ^ b'a'; x ^ np.array('a'); x ^ np.array(None); x ^ object; y ^ x;
    2 ^ x; 0.5 ^ x; -1 ^ x; True ^ x; 1j ^ x; None ^ x; 'a' ^ x; [1, 2, 3] ^ x; (1,) ^ x; np.float32(2) ^ x;
    np.arange(3) ^ x; {} ^ x; b'a' ^ x; np.array('a') ^ x; np.array(None) ^ x; object ^ x
x << y: x << y; x << 2; x << 0.5; x << -1; x << True; x << 1j; x << None; x << 'a'; x << [1, 2, 3]; x << (1,);
    x << np.float32(2); x << np.arange(3); x << {}; x << b'a'; x << np.array('a'); x << np.array(None); x << object;
    y << x; 2 << x; 0.5 << x; -1 << x; True << x; 1j << x; None << x; 'a' << x; [1, 2, 3] << x; (1,) << x;
    np.float32(2) << x; np.arange(3) << x; {} << x; b'a' << x; np.array('a') << x; np.array(None) << x; object << x
x >> y: x >> y; x >> 2; x >> 0.5; x >> -1; x >> True; x >> 1j; x >> None; x >> 'a'; x >> [1, 2, 3]; x >> (1,);
    x >> np.float32(2); x >> np.arange(3); x >> {}; x >> b'a'; x >> np.array('a'); x >> np.array(None); x >> object;
    y >> x; 2 >> x; 0.5 >> x; -1 >> x; True >> x; 1j >> x; None >> x; 'a' >> x; [1, 2, 3] >> x; (1,) >> x;
    np.float32(2) >> x; np.arange(3) >> x; {} >> x; b'a' >> x; np.array('a') >> x; np.array(None) >> x; object >> x
x == y: x == y; x == 2; x == 0.5; x == -1; x == True; x == 1j; x == None; x == 'a'; x == [1, 2, 3]; x == (1,);
    x == np.float32(2); x == np.arange(3); x == {}; x == b'a'; x == np.array('a'); x == np.array(None); x == object;
    y == x; 2 == x; 0.5 == x; -1 == x; True == x; 1j == x; None == x; 'a' == x; [1, 2, 3] == x; (1,) == x;
    np.float32(2) == x; np.arange(3) == x; {} == x; b'a' == x; np.array('a') == x; np.array(None) == x; object == x
x != y: x != y; x != 2; x != 0.5; x != -1; x != True; x != 1j; x != None; x != 'a'; x != [1, 2, 3]; x != (1,);
    x != np.float32(2); x != np.arange(3); x != {}; x != b'a'; x != np.array('a'); x != np.array(None); x != object;
    y != x; 2 != x; 0.5 != x; -1 != x; True != x; 1j != x; None != x; 'a' != x; [1, 2, 3] != x; (1,) != x;
    np.float32(2) != x; np.arange(3) != x; {} != x; b'a' != x; np.array('a') != x; np.array(None) != x; object != x
x < y: x < y; x < 2; x < 0.5; x < -1; x < True; x < 1j; x < None; x < 'a'; x < [1, 2, 3]; x < (1,);
    x < np.float32(2); x < np.arange(3); x < {}; x < b'a'; x < np.array('a'); x < np.array(None); x < object; y < x;
    2 < x; 0.5 < x; -1 < x; True < x; 1j < x; None < x; 'a' < x; [1, 2, 3] < x; (1,) < x; np.float32(2) < x;
    np.arange(3) < x; {} < x; b'a' < x; np.array('a') < x; np.array(None) < x; object < x
x <= y: x <= y; x <= 2; x <= 0.5; x <= -1; x <= True; x <= 1j; x <= None; x <= 'a'; x <= [1, 2, 3]; x <= (1,);
    x <= np.float32(2); x <= np.arange(3); x <= {}; x <= b'a'; x <= np.array('a'); x <= np.array(None); x <= object;
    y <= x; 2 <= x; 0.5 <= x; -1 <= x; True <= x; 1j <= x; None <= x; 'a' <= x; [1, 2, 3] <= x; (1,) <= x;
    np.float32(2) <= x; np.arange(3) <= x; {} <= x; b'a' <= x; np.array('a') <= x; np.array(None) <= x; object <= x
x > y: x > y; x > 2; x > 0.5; x > -1; x > True; x > 1j; x > None; x > 'a'; x > [1, 2, 3]; x > (1,);
    x > np.float32(2); x > np.arange(3); x > {}; x > b'a'; x > np.array('a'); x > np.array(None); x > object; y > x;
    2 > x; 0.5 > x; -1 > x; True > x; 1j > x; None > x; 'a' > x; [1, 2, 3] > x; (1,) > x; np.float32(2) > x;
    np.arange(3) > x; {} > x; b'a' > x; np.array('a') > x; np.array(None) > x; object > x
x >= y: x >= y; x >= 2; x >= 0.5; x >= -1; x >= True; x >= 1j; x >= None; x >= 'a'; x >= [1, 2, 3]; x >= (1,);
    x >= np.float32(2); x >= np.arange(3); x >= {}; x >= b'a'; x >= np.array('a'); x >= np.array(None); x >= object;
    y >= x; 2 >= x; 0.5 >= x; -1 >= x; True >= x; 1j >= x; None >= x; 'a' >= x; [1, 2, 3] >= x; (1,) >= x;
    np.float32(2) >= x; np.arange(3) >= x; {} >= x; b'a' >= x; np.array('a') >= x; np.array(None) >= x; object >= x
x @ y: x @ y; x @ 2; x @ 0.5; x @ -1; x @ True; x @ 1j; x @ None; x @ 'a'; x @ [1, 2, 3]; x @ (1,);
    x @ np.float32(2); x @ np.arange(3); x @ {}; x @ b'a'; x @ np.array('a'); x @ np.array(None); x @ object; y @ x;
    2 @ x; 0.5 @ x; -1 @ x; True @ x; 1j @ x; None @ x; 'a' @ x; [1, 2, 3] @ x; (1,) @ x; np.float32(2) @ x;
    np.arange(3) @ x; {} @ x; b'a' @ x; np.array('a') @ x; np.array(None) @ x; object @ x
unary: -x; +x; ~x; abs(x); round(x); round(x, 1); divmod(x, y); divmod(x, 2); pow(x, 2); x ** -1; x ** 0.5;
    pow(x, 2, 3); divmod(7, x)
x[key]: x[0]; x[-1]; x[5]; x[...]; x[None]; x[()]; x[1:]; x[::-1]; x[::2]; x[0, 1]; x[..., 0]; x[m]; x[i]; x[[0]];
    x[[True]]; x[True]; x[1.0]; x[None, ...]; x[:, None]; x[i, ...]; x[..., i]; x[0:0]; x[::0]; x[[0, 5]]; x['a'];
    x[np.int64(0)]; x[[[0, 1]]]; x[m, None]; x[0, ..., 0]; x[..., ...]; x[np.array(0)]; x[1:0:-1]; x[-2:]; x[[]];
    x[x]; x[[1.0]]; x[np.zeros((0, 3), bool)]; x[5:]; x[:5]; x[False]; x[None, None]; x[1, None]
python: list(x); len(x); [*reversed(x)]; list(x.flat); sum(x); max(x); list(zip(x, x)); next(iter(x)); next(x.flat);
    hash(x) * 0; copy.copy(x); copy.deepcopy(x); [v for v in x]; x.__len__(); len(x.flat); operator.matmul(x, y);
    operator.concat(x, y); math.floor(x)
np.equal options: np.equal(x, y, dtype=object); np.equal(x, y, dtype=bool); np.equal(x, y, dtype=float);
    np.equal(x, y, dtype=None); np.less(x, y, dtype=object); np.less(x, y, dtype=bool); np.less(x, y, dtype=float);
    np.less(x, y, dtype=None); np.logical_and(x, y, dtype=object); np.logical_and(x, y, dtype=bool);
    np.logical_and(x, y, dtype=float); np.logical_and(x, y, dtype=None); np.not_equal(x, y, dtype=object);
    np.not_equal(x, y, dtype=bool); np.not_equal(x, y, dtype=float); np.not_equal(x, y, dtype=None);
    np.greater_equal(x, y, dtype=object); np.greater_equal(x, y, dtype=bool); np.greater_equal(x, y, dtype=float);
    np.greater_equal(x, y, dtype=None)
""")

(ATTRIBUTES,) = rows("""
attributes: T; mT; real; imag; ndim; shape; size; itemsize; nbytes; dtype; device; strides; flags.c_contiguous;
    flags.writeable; flags; base; data; ctypes; flat[0]; flat[-1]; flat[::2]; flat[i]; flat[5]; flat[m.ravel()];
    flat[1.0]; flat[None]; flat; T.strides; T.flags; flat.base; flat.copy(); flat.coords; flat.index; flat[0, 0]
""").values()

# refused with an error of the library: they need values or memory, or write to their array
(SKIPPED,) = rows("""
skipped: np.empty; np.eye; np.full; np.identity; np.indices; np.ones; np.tri; np.zeros; x.argpartition; x.byteswap;
    x.choose; x.dump; x.dumps; x.fill; x.getfield; x.item; x.partition; x.put; x.resize; x.setfield; x.setflags;
    x.sort; x.tobytes; x.tofile; x.tolist; x.view
""").values()
