"""Programs describe their arguments and results, by the names that users gave."""

import io

import numpy as np
import pytest

import anyshape
from anyshape import Dim, ShapeDtypeStruct, export, jit, load, trace, value_and_grad


def shapes(specs):
    return {path: str(spec.shape) for path, spec in specs.items()}


def model(params, x, k):
    hidden = np.tanh(x @ params["w"] + params["b"])
    return {"loss": hidden.sum(), "head": (hidden[:k], hidden[hidden > 0])}


def test_a_program_describes_its_arguments_and_results():
    program = trace(model)({"w": ShapeDtypeStruct("d, h"), "b": ShapeDtypeStruct("h", np.float32)},
                           ShapeDtypeStruct("batch, d"), ShapeDtypeStruct((), int, value=Dim("k", max=5)))  # fmt: skip
    assert shapes(program.inputs) == {"params['w']": "(d, h)", "params['b']": "(h,)", "x": "(batch, d)", "k": "()"}
    assert str(program.inputs["k"].value) == "k" and program.inputs["params['b']"].dtype == np.float32
    assert shapes(program.outputs) == {
        "result['loss']": "()",
        "result['head'][0]": "(min(batch, k), h)",
        "result['head'][1]": "<=batch*h",
    }
    x = np.ones((3, 4))
    params = {"w": np.ones((4, 2)), "b": np.ones(2, np.float32)}
    assert program.call(params, x, 2)["head"][0].shape == program(params, x, 2)["head"][0].shape == (2, 2)


def test_descriptions_survive_a_file_and_evaluate():
    program = export(lambda x, w: x @ w)(ShapeDtypeStruct("n, 2*d"), ShapeDtypeStruct("2*d, 3"))
    program.save(file := io.BytesIO())
    loaded = load(io.BytesIO(file.getvalue()))
    for p in (program, loaded):
        assert shapes(p.inputs) == {"x": "(n, 2*d)", "w": "(2*d, 3)"} and shapes(p.outputs) == {"result": "(n, 3)"}
        assert p.inputs["x"].shape.evaluate(n=4, d=1) == (4, 2)
        assert p.outputs["result"].shape.evaluate(n=4) == (4, 3)
        assert p.call(np.ones((2, 4)), np.ones((4, 3))).shape == (2, 3)


@pytest.mark.parametrize("transform", [jit, value_and_grad])
def test_programs_of_a_cache_describe_themselves(transform):
    function = transform(lambda x, scale: (x * scale).sum())
    function(np.ones((2, 3)), 2.0)
    (program,) = function.programs()
    assert list(program.inputs) == ["x", "scale"] and program.inputs["x"].ndim == 2
    assert all(spec.dtype == np.float64 for spec in [*program.inputs.values(), *program.outputs.values()])


def test_specifications_of_a_program_trace_another():
    program = trace(lambda x: np.concatenate([x, x]))(ShapeDtypeStruct("n"))
    again = trace(lambda y: y + 1)(program.outputs["result"])
    assert again(np.ones(4)).shape == (4,)
    assert anyshape.eval_shape(lambda y: y, program.inputs["x"]).shape == program.inputs["x"].shape
