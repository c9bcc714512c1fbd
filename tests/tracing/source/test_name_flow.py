"""The walk over nodes that names are read from."""

import ast
from pathlib import Path

import pytest

from anyshape.tracing.source import name_flow

TEXT = """
import a.b as c
from d import e as g

def f(x: int, *y, z=1, **w) -> "t":
    global h
    match x:
        case {"k": v, **rest}:
            return f"{v!r:>{z}}"
        case [q, *_] | P(q, r=_):
            async def inner():
                async with x as (m, n):
                    await m
    try:
        lambda: (yield x)
    except* ValueError as error:
        del x[1:2, ...], error.a
    return [i async for i in y if (j := i) not in w]
"""
DULL = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


@pytest.mark.parametrize("text", [TEXT, Path(name_flow.__file__).read_text()], ids=["all kinds", "a module"])
def test_a_walk_has_all_nodes_but_those_of_uses_and_operators(text):
    tree = ast.parse(text)
    walked = [id(n) for n in name_flow.walk(tree) if not isinstance(n, DULL)]
    assert len(walked) == len({*walked})
    assert {*walked} == {id(n) for n in ast.walk(tree) if not isinstance(n, DULL)}
