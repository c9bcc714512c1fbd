"""Pages that compare two programs: which lines match, and what is said of each."""

import re

import numpy as np

from anyshape import ShapeDtypeStruct, jit, scan, trace
from anyshape.inspect.draw.html import _conditions, _nodes, pairs


def matched(left, right):
    """Return the op of each line of two functions of an array of any length, after a letter for its kind."""
    graphs = [trace(f)(ShapeDtypeStruct("n")).graph for f in (left, right)]
    lines = []
    for pair in pairs(*[_nodes(graph) for graph in graphs]):
        text = (pair.left or pair.right).text
        op = re.search(r"= (\w+)", text)
        lines.append(f"{pair.kind[0]} {op[1] if op else text.split()[0]}")
    return lines


def test_a_program_is_like_itself():
    kinds = matched(lambda x: np.sum(np.sin(x)), lambda y: np.sum(np.sin(y)))
    assert kinds[:2] == ["l %x:", "r %y:"]  # parameters have their names
    same = matched(lambda x: np.sum(np.sin(x) + x), lambda x: np.sum(np.sin(x) + x))
    assert same == ["s %x:", "s sin", "s add", "s reduce_sum", "s return"]


def test_only_readers_of_what_changed_are_marked():
    lines = matched(lambda x: np.exp(np.tanh(x * 2.0)), lambda x: np.exp(np.tanh(np.sin(x) * 2.0)))
    assert lines == ["s %x:", "r sin", "s full", "o mul", "s tanh", "s exp", "s return"]


def test_operands_in_another_order_are_other_values():
    assert matched(lambda x: np.sin(x) - x, lambda x: x - np.sin(x)) == ["s %x:", "s sin", "o sub", "s return"]


def test_constants_match_by_content():
    one, other = np.arange(20.0), np.arange(20.0) + np.eye(20)[7]
    assert "l constant" in matched(lambda x: one + x[:20], lambda x: other + x[:20])
    assert "s constant" in matched(lambda x: one + x[:20], lambda x: one.copy() + x[:20])


def test_bodies_of_loops_are_compared():
    def by(function):
        return lambda x: scan(lambda c, e: (function(c + e), c), np.zeros(()), x)[0]

    lines = matched(by(np.sin), by(np.cos))
    assert "l sin" in lines and "r cos" in lines and "s scan" not in lines
    assert {line[0] for line in matched(by(np.sin), by(np.sin))} == {"s"}


def test_two_traces_are_compared_with_their_conditions():
    def branch(x):
        return np.sum(np.tanh(x)) if x.shape[0] > 3 else np.sum(x)

    f = jit(branch)
    f(np.ones(5))
    f(np.ones(2))
    one, two = f.programs()
    kinds = [(p.kind, (p.left or p.right).text) for p in pairs(_conditions(one.graph), _conditions(two.graph))]
    assert kinds == [("left", "guard x_0 > 3"), ("right", "guard not (x_0 > 3)")]
    page = one.html(beside=two)
    assert "default-src 'none'" in page and "tanh(%x)" in page and "guard not (x_0 &gt; 3)" in page


def test_a_program_is_compared_with_its_trace_before_passes():
    program = trace(lambda x: np.sum(x * 1.0 + np.sin(x) - np.sin(x)))(ShapeDtypeStruct("n"))
    before = program.trace.graph
    assert len(before.nodes) > len(program.graph.nodes)
    page = program.html(beside=before)
    assert f"<code>{len(program.graph.nodes)}</code></td><td><code>{len(before.nodes)}</code>" in page


def test_names_of_users_stay_text():
    def hostile(x):
        return np.sum(x)

    hostile.__name__ = "<script>alert(1)</script>"
    program = trace(hostile)(ShapeDtypeStruct("n"))
    assert "<script>alert" not in program.html(beside=program)
