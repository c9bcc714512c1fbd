"""Functions of a plan are compiled at their first call, and once."""

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.compiler.codegen import user_lines


def weighted(x):
    return anp.mean(x * anp.arange(x.shape[0]))


@pytest.mark.parametrize("optimize", ["now", "off"])
def test_calls_at_new_sizes_compile_nothing(optimize, monkeypatch):
    f = anyshape.jit(weighted, optimize=optimize)
    x = np.linspace(0.0, 1.0, 40)
    for n in (40, 1):
        f(x[:n])
    texts = []
    compiled = user_lines.compiled
    monkeypatch.setattr(user_lines, "compiled", lambda text, *rest: texts.append(text) or compiled(text, *rest))
    for n in (2, 3, 17, 39):
        np.testing.assert_allclose(f(x[:n]), np.mean(x[:n] * np.arange(n)))
    assert not texts and f.cache_info().traces == 1
