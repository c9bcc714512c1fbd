"""Random signatures of up to three inputs, some of them integer values, with constraints."""

import itertools
import random

import numpy as np

import anyshape
from anyshape import ShapeDtypeStruct, trace
from anyshape.graph.signature.dim_equations import connected_conditions
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import values_from
from anyshape.numpy.sizes.symdim import symdim
from tests.graph.signature.solvers import input_sizes, integer

AXES = [
    "a", "b", "c", "a+b", "2*a", "a-b", "a*b", "a+1", "a*a", "b*(b+1)//2", "a//2", "a%2", "max(a,b)", "2*a+3*b", "c+a",
    "b+c", "a*c", "(a+b)//2", "3", "a*a+b", "min(a,c)", "c//2 + c", "2*c+1", "a % b", "c // b",
]  # fmt: skip


DECLARED = [
    "a >= b", "a % 2 == 0", "b == 2*a", "c == a + b", "a*b == c", "a != 3", "a <= 5", "b >= 1", "a >= 1", "c >= 1",
    "a == b", "c == 2*b + 1", "a + b <= 6", "a + c == 2*b", "c < 4", "b*b == c", "c % b == 0",
]  # fmt: skip


class RandomSignature:
    """Specifications of inputs, their declared sizes, and the claims about them."""

    def __init__(self, seed, axes=AXES, declared=DECLARED):
        rng = random.Random(seed)
        self.scope = anyshape.SymbolicScope()
        texts = [[rng.choice(axes) for _ in range(rng.randint(1, 2))] for _ in range(rng.randint(1, 3))]
        are_values = [rng.random() < 0.2 for _ in texts]
        self.scope.read("a, b, c")
        for text in rng.sample(declared, rng.randint(0, 2)):
            self.scope.declare(text)
        self.structs = [self._struct(text, value) for text, value in zip(texts, are_values, strict=True)]
        self.declared = list(itertools.chain.from_iterable(map(declared_sizes, self.structs)))
        self.sizes = [getattr(s, "expr", s) for s in self.declared]
        self.claims = [c.claim for c in connected_conditions(self.scope.conditions, variables_of(self.sizes))]
        self.variables = variables_of([*self.sizes, *[side for c in self.claims for side in (c.left, c.right)]])

    def _struct(self, text, value):
        shape = anyshape.symbolic_shape(", ".join(text), scope=self.scope)
        return integer(shape[0]) if value else ShapeDtypeStruct(shape)

    def is_value(self, k):
        """Return True where the k-th input size is the value of an integer."""
        return [x.value is not None for x in self.structs for _ in (x.shape or (0,))][k]

    def calls(self, most):
        """Return the choices of sizes below `most` that satisfy all claims, by the input sizes that they give."""
        choices = {}
        for choice in itertools.product(range(most), repeat=len(self.variables)):
            sizes = dict(zip(self.variables, choice, strict=True))
            if self.allows(sizes):
                actual = tuple(input_sizes(self.sizes, sizes))
                if min(actual) >= 0:
                    choices.setdefault(actual, []).append(choice)
        return choices

    def allows(self, sizes):
        """Return True where the sizes satisfy all claims."""
        try:
            return all(c.holds(values_from(sizes)) for c in self.claims) and bool(input_sizes(self.sizes, sizes))
        except ZeroDivisionError:
            return False

    def arguments(self, actual):
        """Return arguments with these input sizes, which take no memory."""
        remaining = iter(actual)
        return [
            next(remaining) if x.value is not None else empty_array([next(remaining) for _ in x.shape])
            for x in self.structs
        ]


def declared_sizes(struct):
    """Return the sizes that an input gives: its value, or its axes."""
    return struct.shape if struct.value is None else (struct.value,)


def variables_of(sizes):
    """Return the distinct variables of the sizes."""
    return list(dict.fromkeys(v for size in sizes for v in expr.variables(size)))


def empty_array(shape):
    """Return an array of any shape over one element."""
    return np.lib.stride_tricks.as_strided(np.zeros(1), shape, [0] * len(shape))


def sizes_program(signature):
    """Trace the function that returns the sizes of all variables."""
    sizes = [expr.from_atom(v) for v in signature.variables]
    return trace(lambda *xs: [symdim(size, signature.scope) for size in sizes])(*signature.structs)
