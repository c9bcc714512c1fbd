"""Test paths that end in an exception of the function: each is traced once, and raises the same in each call."""

import gc
import io
import pickle
import traceback
import weakref

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import errors, grad, jit, value_and_grad, vmap


class NotConverged(ArithmeticError):
    """Exception of a user that copies by its arguments."""


class Detailed(ValueError):
    """Exception of a user that does not: its class asks for other arguments than it keeps."""

    def __init__(self, text, *, code):
        super().__init__(text)
        self.code = code


def checked(x):
    if x.sum() < 0:
        raise ValueError(f"negative, of shape {x.shape}")
    assert x.shape[0] < 4, "too long"
    if x[0] > 5:
        try:
            {}["key"]
        except KeyError as error:
            raise NotConverged("large", 3) from error
    return x * 2


CALLS = {
    "value": (-np.ones(2), ValueError, "negative, of shape"),
    "size": (np.ones(4), AssertionError, "too long"),
    "with a cause": (np.full(3, 6.0), NotConverged, "large"),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_exception_is_raised_without_a_trace(name):
    x, kind, text = CALLS[name]
    compiled = jit(checked)
    compiled(np.ones(2))
    seen = []
    for _ in range(3):
        with pytest.raises(kind, match=text) as caught:
            compiled(x)
        frames = traceback.extract_tb(caught.value.__traceback__)
        seen.append((str(caught.value), caught.value.args, frames[-1].lineno, frames[-1].line, frames[-1].name))
    assert compiled.cache_info().traces == 2
    assert len(set(seen)) == 1 and seen[0][-1] == "checked"
    assert (repr(caught.value.__cause__) == "KeyError('key')") is (name == "with a cause")
    np.testing.assert_array_equal(compiled(np.ones(3)), [2, 2, 2])
    assert compiled.cache_info().traces == 2
    assert f"raises {kind.__name__}" in str(compiled.explain())


def test_what_may_differ_between_calls_is_traced_again():
    def holds_an_object(x):
        if x.sum() < 0:
            raise ValueError("bad", object)
        return x

    def cannot_be_copied(x):
        if x.sum() < 0:
            raise Detailed("bad", code=3)
        return x

    def of_a_library(x):
        return {"a": x}["b"] if x.sum() < 0 else x

    for function, kind in ((holds_an_object, ValueError), (cannot_be_copied, Detailed), (of_a_library, KeyError)):
        compiled = jit(function)
        for _ in range(2):
            with pytest.raises(kind):
                compiled(-np.ones(2))
        assert not compiled.cache_info().traces
        assert compiled(np.ones(2)).sum() == 2


def test_a_line_before_raises_first():
    def function(x, i):
        y = x[i]
        raise ValueError(f"after {y}")

    def decides(x, i):
        y = anp.array([x[i], x[0]])
        if y[1] > 0:
            raise ValueError("after")
        return np.concatenate([row[None] for row in x[:0]])

    for compiled in (jit(function), jit(decides)):
        for _ in range(2):
            with pytest.raises(IndexError):
                compiled(np.ones(2), np.array(7))
            with pytest.raises(ValueError, match="after"):
                compiled(np.ones(2), np.array(1))
    with pytest.raises(ValueError, match="at least one array"):
        compiled(-np.ones(2), np.array(1))
    with pytest.raises(IndexError):
        compiled(-np.ones(2), np.array(7))


def test_an_exception_in_a_derivative_belongs_to_its_path():
    def function(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return (x * x).sum()

    for transform in (grad, value_and_grad, lambda f: grad(lambda x: grad(f)(x).sum()), anyshape.hessian):
        derivative = transform(lambda x: function(x))
        derivative(np.ones(2))
        traces = derivative.cache_info().traces
        for n in (2, 3):
            with pytest.raises(ValueError, match="negative"):
                derivative(-np.ones(n))
        assert derivative.cache_info().traces == traces + 1


def test_a_function_that_catches_what_a_derivative_raises():
    def fails(x):
        if x[0] > 0:
            raise ValueError("positive")
        return (x * x).sum()

    def function(x):
        try:
            return grad(fails)(x)
        except ValueError:
            return x * 0 - 1

    compiled = jit(function)
    for x in (np.ones(2), -np.ones(3), np.ones(3), -np.ones(2)):
        np.testing.assert_array_equal(compiled(x), -np.ones(len(x)) if x[0] > 0 else 2 * x)
    assert compiled.cache_info().traces == 2


def test_examples_of_a_batch_raise_together():
    batch = vmap(checked)
    np.testing.assert_array_equal(batch(np.ones((2, 3))), 2 * np.ones((2, 3)))
    with pytest.raises(ValueError, match="negative"):
        batch(-np.ones((2, 3)))


def test_generators_are_as_before_and_nothing_is_written():
    def function(rng, x):
        x[:] = rng.normal(size=x.shape)
        if rng.random() > x[0] + 10:
            return x
        raise ValueError("no luck")

    compiled, rng, x = jit(function), np.random.default_rng(0), np.zeros(2)
    for _ in range(3):
        with pytest.raises(ValueError, match="no luck"):
            compiled(rng, x)
        assert not x.any() and rng.bit_generator.state == np.random.default_rng(0).bit_generator.state
    assert compiled.cache_info().traces == 1


def test_the_arguments_of_a_call_that_raised_are_not_kept_alive():
    compiled = jit(checked)
    for _ in range(2):
        x = -np.ones(3)
        alive = weakref.ref(x)
        with pytest.raises(ValueError, match="negative"):
            compiled(x)
        del x
        gc.collect()
        assert alive() is None


def test_a_change_of_captured_state_is_seen():
    limit = {"value": 0.0}

    def function(x):
        if x.sum() > limit["value"]:
            raise ValueError(f"more than {limit['value']}")
        return x

    compiled = jit(function)
    for value in (0.0, 1.0, 5.0):
        limit["value"] = value
        if value < 2:
            with pytest.raises(ValueError, match=f"more than {value}"):
                compiled(np.ones(2))
        else:
            assert compiled(np.ones(2)).sum() == 2


def test_paths_beyond_the_limit_raise_too(monkeypatch):
    def function(x):
        for i in range(6):
            if x[0] < i:
                raise ValueError(f"below {i}")
        return x

    compiled = jit(function)
    monkeypatch.setattr(anyshape.config, "max_paths", 2)
    for i in (0, 3, 1, 5, 2, 4, 9, 3):
        if i < 5:
            with pytest.raises(ValueError, match=f"below {i + 1}"):
                compiled(np.array([float(i)]))
        else:
            assert compiled(np.array([float(i)])) == i
    assert compiled.cache_info().traces <= 2


def test_a_program_of_such_a_path():
    compiled = jit(checked)
    with pytest.raises(ValueError, match="negative"):
        compiled(-np.ones(2))
    (program,) = compiled.programs()
    for one in (program, pickle.loads(pickle.dumps(program))):
        with pytest.raises(ValueError, match="negative"):
            one(-np.ones(3))
        with pytest.raises(errors.DecisionError):
            one(np.ones(3))
    with pytest.raises(errors.ArgumentError, match="raises ValueError on this path"):
        program.save(io.BytesIO())
    with pytest.raises(errors.ArgumentError, match="inside of a trace"):
        jit(lambda x: program(x))(np.ones(2))
    sent = pickle.loads(pickle.dumps(compiled.with_programs()))
    with pytest.raises(ValueError, match="negative"):
        sent(-np.ones(3))
    assert sent.cache_info().traces <= 1
