"""Drawings fold: groups of calls and trips, sheets inside of them, bodies of loops, and places of unfolded boxes."""

import itertools
import json
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import networkx
import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, trace, value_and_grad
from anyshape.inspect.cost import variables_of
from anyshape.inspect.draw import html
from anyshape.inspect.draw.html import drawing_data
from anyshape.inspect.draw.picture import picture
from anyshape.inspect.draw.sheets import MOST, Drawing, Group, folded

PAGE = Path(html.__file__).parents[1] / "page"


def norm(x):
    centred = x - np.max(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.sum(centred * centred, axis=-1, keepdims=True) + 1e-5)


def layer(x, w):
    y = np.tanh(norm(x) @ w)
    return x + norm(y)


def loss(ws, x):
    for w in ws:
        x = layer(x, w)
    return np.sum(x**2)


@pytest.fixture(scope="module")
def network():
    """Six layers with their gradient."""
    return trace(value_and_grad(loss))([ShapeDtypeStruct("d, d")] * 6, ShapeDtypeStruct("n, d"))


@pytest.fixture(scope="module")
def drawing(network):
    return Drawing(picture(network))


def titles(items):
    return {item.title: titles(item.items) for item in items if isinstance(item, Group)}


def test_calls_and_trips_of_python_loops_are_groups(network):
    items = folded(network.graph.nodes, "loss")
    forward = next(item for item in items if isinstance(item, Group))
    assert forward.title == "layer" and str(forward.where).startswith("test_folding.py:")
    trips = titles(forward.items)
    assert list(trips) == [f"layer #{k}" for k in range(1, 7)]
    assert all(list(inside) == ["norm"] for inside in list(trips.values())[1:])
    counts = Counter(type(item) for item in items)
    assert counts[Group] >= 2 and sum(counts.values()) < MOST


def test_every_node_is_in_one_group_and_no_value_comes_back(network):
    nodes = network.graph.nodes
    flat = [i for item in folded(nodes, "") for i in (item.nodes() if isinstance(item, Group) else (item,))]
    assert flat == list(range(len(nodes)))


@pytest.mark.usefixtures("as_written")
def test_a_straight_program_is_cut_into_ranges():
    def straight(x):
        for _ in range(150):
            x = np.sin(x)
        return x

    graph = trace(straight)(ShapeDtypeStruct("n")).graph
    items = folded(graph.nodes, "straight")
    assert [item.title for item in items] == ["straight 1/4", "straight 2/4", "straight 3/4", "straight 4/4"]
    assert max(len(item.items) for item in items) <= MOST
    assert all(isinstance(item, int) for item in folded(graph.nodes[:MOST], "straight"))


def test_files_forget_calls_and_pickles_keep_them(network, tmp_path):
    file = tmp_path / "net.anyshape"
    anyshape.export(value_and_grad(loss))([ShapeDtypeStruct("d, d")] * 2, ShapeDtypeStruct("n, d")).save(file)
    assert {n.where.path for n in anyshape.load(file).graph.nodes if n.where} == {()}
    deepest = max((n.where for n in network.graph.nodes if n.where), key=lambda where: len(where.path))
    assert [step.function for step in deepest.path] == ["loss", "layer"] and deepest.function == "norm"


def test_each_box_stands_on_one_sheet(drawing):
    counts = Counter(box for sheet in drawing.sheets for box in sheet.boxes)
    assert set(counts) == set(range(len(drawing.boxes))) and set(counts.values()) == {1}
    for number, sheet in enumerate(drawing.sheets):
        assert all(drawing.home[box] == number for box in sheet.boxes)


def test_sheets_have_no_cycles_and_all_values(drawing):
    for sheet in drawing.sheets:
        graph = networkx.DiGraph([(x.tail, x.head) for x in sheet.links if not x.is_mark])
        assert networkx.is_directed_acyclic_graph(graph)
        assert {x.head for x in sheet.links} <= set(sheet.boxes)
        assert {x.tail for x in sheet.links if not x.is_mark} <= set(sheet.boxes)
    drawn = {(x.head, name) for sheet in drawing.sheets for x in sheet.links for name in x.names}
    assert all((edge.head, edge.name) in drawn for reads in drawing.reads for edge in reads)


def test_bodies_of_loops_are_sheets():
    def rnn(w, xs):
        step = lambda h, x: (np.tanh(h @ w + x), np.sum(h))
        return anyshape.scan(step, xs[0], xs)[1]

    drawing = Drawing(picture(trace(rnn)(ShapeDtypeStruct("d, d"), ShapeDtypeStruct("t, d"))))
    scan = next(i for i, box in enumerate(drawing.boxes) if box.title == "scan")
    (body,) = drawing.insides[scan]
    names = [drawing.boxes[box].title for box in drawing.sheets[body].boxes]
    assert "tanh" in names and names.count("result 0") == 1
    assert drawing.sheets[body].owner == scan


def test_many_inputs_are_groups():
    program = trace(lambda xs: sum(x.sum() for x in xs))([ShapeDtypeStruct("n")] * 100)
    drawing = Drawing(picture(program))
    first = drawing.boxes[drawing.sheets[0].boxes[0]]
    assert (first.title, first.size) == ("inputs", 100)
    assert max(len(sheet.boxes) for sheet in drawing.sheets) <= MOST + 8


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the script of the page")
def test_unfolded_boxes_lie_in_their_frames_and_do_not_overlap(drawing, tmp_path):
    data = drawing_data(drawing, variables_of(drawing.picture.graph))
    foldable = [i for i, box in enumerate(data["boxes"]) if "inside" in box]
    rng = random.Random(0)
    choices = [[], foldable, *[rng.sample(foldable, len(foldable) // 2) for _ in range(4)]]
    script = (PAGE / "layout.js").read_text()
    (tmp_path / "run.js").write_text(
        f"const data = {json.dumps(data)};\n{script}\n"
        f"console.log(JSON.stringify({json.dumps(choices)}.map((open) => arranged(new Set(open)))));"
    )
    done = subprocess.run(["node", str(tmp_path / "run.js")], capture_output=True, text=True, check=True)
    for choice, shown in zip(choices, json.loads(done.stdout), strict=True):
        check_places(drawing, set(choice), shown)


def check_places(drawing, is_open, shown):
    at = {box["box"]: box for box in shown["boxes"]}
    expected = [b for b in range(len(drawing.boxes)) if {owner for _, owner in drawing.chain(b)[:-1]} <= is_open]
    assert sorted(at) == expected
    neighbours = [p for p in itertools.combinations(at, 2) if drawing.home[p[0]] == drawing.home[p[1]]]
    assert not [pair for pair in neighbours if overlap(at[pair[0]], at[pair[1]])]
    check_frames(drawing, at)
    heights = [[y for _, y in line["points"]] for line in shown["lines"]]
    assert all(h == sorted(h) for h in heights)


def check_frames(drawing, at):
    owned = [(n, drawing.sheets[drawing.home[n]].owner) for n in at if drawing.home[n]]
    assert all(inside(at[number], at[owner]) for number, owner in owned)


def overlap(a, b):
    return (
        a["x"] < b["x"] + b["width"] - 0.01
        and b["x"] < a["x"] + a["width"] - 0.01
        and a["y"] < b["y"] + b["height"] - 0.01
        and b["y"] < a["y"] + a["height"] - 0.01
    )


def inside(a, b):
    across = b["x"] <= a["x"] and a["x"] + a["width"] <= b["x"] + b["width"] + 0.01
    return across and b["y"] <= a["y"] and a["y"] + a["height"] <= b["y"] + b["height"] + 0.01
