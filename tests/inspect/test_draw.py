"""Drawings of programs: the layout, the page and what is in it, hostile names, Graphviz source, the command line."""

import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, jit, trace, value_and_grad
from anyshape.cli import main
from anyshape.errors import ShapeError
from anyshape.graph.ir.graph import OPS, Graph, Node, Value
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.shapes.array_type import Exact, TensorMeta, Unknown, UpperBound
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate, values_from
from anyshape.inspect.cost import cost, variables_of
from anyshape.inspect.draw import html
from anyshape.inspect.draw.html import formula, start_sizes, to_html
from anyshape.inspect.draw.picture import picture, quote, to_dot
from anyshape.inspect.draw.sheets import Wire, _Rows, lay_out
from anyshape.ops.core.flop_counts import ceil_log2
from tests.inspect.test_cost import programs

ROOT = Path(__file__).resolve().parents[2]
ATTENTION = (f"{ROOT}/examples/attention.py:loss", "--shapes", "n, d; d, 3*d; n, d")


def traced(function, *shapes, dtype=np.float64):
    return trace(function)(*[ShapeDtypeStruct(s, dtype) for s in shapes])


def layer(x, w, b):
    return np.mean(np.tanh(x @ w + b) ** 2, axis=0)


def deep(x, w):
    """Enough nodes, when differentiated, for a drawing that nobody can see at once."""
    for _ in range(40):
        x = np.tanh(x @ w) + x
    return np.sum(x)


# -- layout ------------------------------------------------------------------------------------------------------


def random_wires(count, seed, reach=8):
    """Edges of a random program: each box reads one to three of the last ones, sometimes one from far above."""
    rng = random.Random(seed)
    wires = []
    for head in range(1, count):
        tails = {rng.randrange(max(0, head - 6), head) for _ in range(rng.randint(1, 3))}
        tails |= {rng.randrange(head)} if rng.random() < 0.1 else set()
        for k, tail in enumerate(sorted(tails)):
            enters = (2 * k + 1) / (2 * len(tails))
            wires.append(Wire(tail, head, 0.5, enters, weak=rng.random() < 0.2, reach=reach))
    return wires


def random_sizes(count, seed):
    rng = random.Random(seed)
    return [(rng.uniform(60, 240), rng.uniform(30, 60)) for _ in range(count)]


def overlaps(a, b):
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


@pytest.mark.parametrize("seed", range(25))
def test_boxes_do_not_overlap_and_edges_lead_down(seed):
    count = 2 + seed * 4
    sizes, wires = random_sizes(count, seed), random_wires(count, seed, reach=seed % 9)
    layout = lay_out(sizes, wires)
    boxes = [(*corner, *size) for corner, size in zip(layout.corners, sizes, strict=True)]
    assert not [pair for pair in itertools.combinations(boxes, 2) if overlaps(*pair)]
    for x, y, width, height in boxes:
        assert min(x, y, layout.width - x - width, layout.height - y - height) >= -1e-6
    for wire, route in zip(wires, layout.routes, strict=True):
        bottom, top = boxes[wire.tail][1] + boxes[wire.tail][3], boxes[wire.head][1]
        assert bottom < top
        far = layout.layers[wire.head] - layout.layers[wire.tail] - 1 > wire.reach
        aside = abs(layout.corners[wire.tail][0] - layout.corners[wire.head][0])
        assert (route is None) == far or (route is None and wire.weak and aside > 500)
        heights = [bottom, *[y for _, y in route or ()], top]
        assert heights == sorted(heights)


@pytest.mark.parametrize("seed", range(10))
def test_bends_keep_clear_of_boxes(seed):
    sizes, wires = random_sizes(40, seed), random_wires(40, seed)
    layout = lay_out(sizes, wires)
    boxes = [(*corner, *size) for corner, size in zip(layout.corners, sizes, strict=True)]
    for route in layout.routes:
        for (x, top), (again, bottom) in zip((route or ())[::2], (route or ())[1::2], strict=True):
            assert x == again
            assert not [b for b in boxes if overlaps(b, (x - 1, top, 2, bottom - top))]


def crossings_one_by_one(rows):
    """Pairs of edges between neighbouring rows whose ends are in opposite order."""
    count = 0
    for i, upper in enumerate(rows.rows[:-1]):
        below = {v: k for k, v in enumerate(rows.rows[i + 1])}
        ends = [(k + p.own_part, below[p.other] + p.other_part) for k, u in enumerate(upper) for p in rows.below[u]]
        count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in itertools.combinations(ends, 2))
    return count


@pytest.mark.parametrize("seed", range(10))
def test_crossings_are_counted_and_reduced(seed):
    sizes, wires = random_sizes(40, seed), random_wires(40, seed)
    depth = lay_out(sizes, wires).layers
    rows = _Rows(sizes, wires, depth)
    for row in rows.rows:
        random.Random(seed).shuffle(row)
    before = crossings_one_by_one(rows)
    assert rows.crossings() == before
    after = rows.order()
    assert after == crossings_one_by_one(rows) and after < 0.6 * before


def test_two_crossed_pairs_are_uncrossed():
    wires = [Wire(0, 3), Wire(1, 2), Wire(2, 4), Wire(3, 5)]
    assert lay_out([(50, 30)] * 6, wires).crossings == 0


def test_a_chain_is_drawn_straight():
    layout = lay_out([(100, 40)] * 300, [Wire(i, i + 1) for i in range(299)])
    assert max(x for x, _ in layout.corners) - min(x for x, _ in layout.corners) < 1
    assert layout.width < 101


def test_a_chain_that_enters_aside_does_not_drift_away():
    layout = lay_out([(100, 40)] * 400, [Wire(i, i + 1, 0.5, 0.25) for i in range(399)])
    assert layout.width < 1500


def test_boxes_sink_to_their_only_reader():
    wires = [Wire(0, 1), Wire(1, 2), Wire(2, 3), Wire(4, 3), Wire(0, 5, weak=True), Wire(5, 3)]
    assert lay_out([(50, 30)] * 6, wires).layers == (0, 1, 2, 3, 2, 2)


def test_nothing_is_laid_out_too():
    layout = lay_out([], [])
    assert layout.corners == () and layout.width == layout.height == 0


def test_five_hundred_boxes_are_laid_out_in_time():
    sizes, wires = random_sizes(600, 1), random_wires(600, 1)
    start = time.perf_counter()
    lay_out(sizes, wires)
    assert time.perf_counter() - start < 30  # seconds, and a drawing that tries all orders takes years


# -- the page ----------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """A strict reader: every tag is closed in order, every id is given once."""

    VOID = {"meta", "input", "br"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.texts, self.attributes = [], [], [], {}, []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        self.ids += [v for k, v in attrs if k == "id"]
        if tag not in self.VOID:
            self.open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        for tag, id_ in self.open:
            self.texts[id_ or tag] = self.texts.get(id_ or tag, "") + data

    @property
    def data(self):
        return json.loads(self.texts["data"])

    @property
    def boxes(self):
        """Boxes with their types, lines, params and costs in place of positions in tables."""
        data = self.data
        boxes = []
        for box in data["boxes"]:
            values = [(name, data["types"][k]) for name, k in box.get("values", ())]
            whole = {**box, "values": values, "params": data["params"][box["params"]] if "params" in box else []}
            whole |= {"cost": data["costs"][box["cost"]]} if "cost" in box else {}
            if "where" in box:
                whole |= dict(zip(("where", "in", "line", "label"), data["lines"][box["where"]], strict=True))
            boxes.append(whole)
        return boxes


def page_of(program):
    page = Page(to_html(program))
    assert not set("<>&") & set(page.texts["data"])
    assert len(page.ids) == len(set(page.ids))
    return page


def test_the_page_is_well_formed_and_holds_every_box_and_condition():
    program = traced(value_and_grad(lambda x, w: np.max(x @ w) + x[2:].sum(), argnums=(0, 1)), "n, d", "d, k")
    page = page_of(program)
    boxes, edges = picture(program).boxes, picture(program).edges
    assert len(boxes) == len(program.graph.nodes) + 2 + len(program.graph.outputs) + len(program.graph.constants)
    shown = page.boxes
    assert len(shown) == len(boxes)
    for box in boxes:
        written = shown[box.number]
        assert (written["title"], written["kind"]) == (box.title, box.kind)
        types = [(name, "".join(text for text, _ in pieces)) for name, pieces in written["values"]]
        assert types == [(name, str(meta)) for name, meta in box.values]
        assert written["reads"] == [[e.tail, e.name, e.sizes_only] for e in edges if e.head == box.number]
    (sheet,) = page.data["sheets"]
    assert sorted(b[0] for b in sheet["boxes"]) == list(range(len(boxes)))
    assert [c["claim"] for c in page.data["conditions"]] == [str(c.claim) for c in program.graph.conditions]
    assert len(program.graph.conditions) >= 2
    for condition in program.graph.conditions:
        for text in (condition.claim, condition.why, condition.where):
            assert str(text) in page.texts["aside"]


def test_programs_draw_and_count_themselves():
    program = traced(layer, "n, d", "d, k", "k")
    assert program.html() == to_html(program) and program.dot() == to_dot(program)
    assert program.cost() == cost(program)


def test_results_have_the_names_under_which_the_user_returned_them():
    def loss(p, x):
        return np.mean((x @ p["w"] + p["b"]) ** 2)

    def titles(function):
        drawn = picture(
            trace(function)({"b": ShapeDtypeStruct(""), "w": ShapeDtypeStruct("d")}, ShapeDtypeStruct("n, d"))
        )
        return [box.title for box in drawn.boxes if box.kind == "result"]

    assert titles(value_and_grad(loss)) == ["value", "grad['b']", "grad['w']"]
    assert titles(lambda p, x: {"loss": loss(p, x), "pair": (x, p["w"])}) == [
        "result['loss']", "result['pair'][0]", "result['pair'][1]",
    ]  # fmt: skip
    assert titles(loss) == ["result"]


def test_an_argument_that_is_written_is_a_result_by_its_name():
    def write(x, y):
        x[0] = y
        return y * 2

    f = jit(write)
    f(np.ones(3), np.array(2.0))
    assert [box.title for box in picture(f.programs()[0]).boxes if box.kind == "result"] == ["result", "x"]


def test_the_page_shows_lines_sizes_and_costs():
    program = traced(layer, "n, d", "d, k", "k")
    page = page_of(program)
    tanh = next(b for b in page.boxes if b["title"] == "tanh")
    assert tanh["line"] == "return np.mean(np.tanh(x @ w + b) ** 2, axis=0)"
    assert tanh["where"].startswith(f"{__file__}:") and tanh["in"] == "layer"
    assert tanh["cost"]["flops"]["text"] == "k*n"
    text = page.texts["aside"]
    assert "x.shape[0]" in text and "w.shape[1]" in text and ">= 0" in text
    spent = cost(program)
    assert all(str(extent) in text for extent in spent.total.parts())
    costs = [[b["cost"][k]["text"] for k in ("flops", "read", "written")] for b in page.boxes if "cost" in b]
    assert costs == [[str(extent) for extent in one.parts()] for one in spent.nodes]


def test_guards_are_listed_first_and_lead_to_their_line():
    def careful(x):
        scaled = x * 2
        return scaled.sum(axis=0) if x.shape[0] > 4 else scaled.max(axis=0)

    step = anyshape.jit(careful)
    step(np.ones((3, 2)))
    page = page_of(step.programs()[0])
    kinds = re.findall(r'class="condition (\w+)"', to_html(step.programs()[0]))
    assert kinds[0] == "guard"
    guard = next(c for c in page.data["conditions"] if c["kind"] == "guard")
    titles = [page.data["boxes"][i]["title"] for i in guard["boxes"]]
    assert "reduce_max" in titles and "mul" not in titles


def test_the_page_loads_nothing():
    text = to_html(traced(layer, "n, d", "d, k", "k"))
    assert set(re.findall(r"\w+://[^\s\"'<]*", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|\burl\((?!#arrow\))", text)
    page = Page(text)
    loading = {"src", "href", "srcset", "action"}
    assert not [(t, a) for t, a in page.attributes if loading & set(a) or t in ("link", "iframe", "object", "base")]
    assert "default-src 'none'" in dict(page.attributes[4][1])["content"]


def test_guarantees_are_told_apart():
    n = expr.variable("n")
    metas = [TensorMeta(np.dtype(np.float64), (e, Exact(3))) for e in (Exact(n), UpperBound(n), Unknown())]
    inputs = [Value(m) for m in metas]
    outputs = [Value(m) for m in metas]
    nodes = [Node(OPS["neg"], (x,), (), (), (y,)) for x, y in zip(inputs, outputs, strict=True)]
    graph = Graph("three", tuple(inputs), (), tuple(nodes), tuple(outputs))
    text = to_html(graph)
    page = Page(text)
    negs = [b for b in page.boxes if b["title"] == "neg"]
    assert [b["cost"]["flops"]["text"] for b in negs] == ["3*n", "<=3*n", "?"]
    assert [b["values"][0][1][1] for b in negs] == [["n", "exact"], ["<=n", "bound"], ["?", "unknown"]]


def test_programs_of_every_kind_are_drawn():
    constant = np.arange(3.0)
    page_of(traced(lambda x: x + constant, "n, 3"))
    page_of(traced(lambda x: x, "n"))
    page_of(traced(lambda: np.ones(3)))
    page_of(traced(lambda x: np.frexp(x), "n"))
    page_of(traced(lambda x: {"a": x, "b": [x, x + 1]}, "3"))
    page_of(trace(lambda x, k: x[:k])(ShapeDtypeStruct("n", np.float64), ShapeDtypeStruct((), int, value="k")))
    page_of(traced(lambda x: np.sort(x.reshape(-1)), "a*a + a"))


def test_programs_of_the_samples_are_drawn():
    for _, _, program in programs()[::10]:
        page_of(program)
        tokens(to_dot(program))


@pytest.mark.usefixtures("as_written")
def test_many_nodes_are_drawn_in_time():
    program = traced(value_and_grad(deep, argnums=(0, 1)), "n, d", "d, d")
    assert len(program.graph.nodes) > 300
    start = time.perf_counter()
    text = to_html(program)
    assert time.perf_counter() - start < 30  # seconds, and a drawing that tries all orders takes years
    assert len(text) < 60_000 + 400 * len(program.graph.nodes)  # bytes
    Page(text)


EVIL = "</script><img src=x onerror=alert(1)>&\"'`${1}$title"


def test_hostile_names_stay_text(tmp_path):
    file = tmp_path / "a\"<b>&'.py"
    body = f"    return np.tanh(x[{EVIL!r}]) # </script><script>alert(2)</script>\n"
    file.write_text("import numpy as np\ndef f(x):\n" + body)
    space = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    function = space["f"]
    function.__name__ = function.__qualname__ = EVIL
    program = trace(function)({EVIL: ShapeDtypeStruct("n", np.float64)})
    page = page_of(program)
    assert page.tags.count("script") == 2 and "img" not in page.tags and "b" not in page.tags
    assert page.texts["h1"] == program.graph.name and EVIL in program.graph.name
    tanh = next(b for b in page.boxes if b["title"] == "tanh")
    assert tanh["where"] == f"{file}:3" and tanh["line"].endswith("</script><script>alert(2)</script>")
    assert not [a for _, a in page.attributes if set(a) & {"onerror", "onload", "onclick"}]
    tokens(to_dot(program))


def test_only_lines_of_python_are_shown(tmp_path):
    """A program of unknown origin may name any file as that of its source."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the password\n")
    program = traced(np.tanh, "n")
    (node,) = program.graph.nodes
    elsewhere = Node(node.op, node.inputs, (), (), node.outputs, SourceLine(str(secret), 1))
    graph = Graph("g", program.graph.inputs, (), (elsewhere,), program.graph.outputs)
    assert "password" not in to_html(graph) and "password" not in to_dot(graph)


# -- numbers in the page -----------------------------------------------------------------------------------------


def test_the_first_numbers_are_ones_the_program_takes():
    for function, shapes in [
        (lambda x: x.reshape(2, -1)[:, 5:], ["n"]),
        (lambda x, y: x @ y, ["n, m", "m, 3"]),
        (lambda x, y: x + y, ["n", "m"]),
        (lambda x: x[40:].max(), ["n"]),
    ]:
        graph = traced(function, *shapes).graph
        start = start_sizes(graph, variables_of(graph))
        assert all(c.claim.holds(values_from(start)) for c in graph.conditions), start


def formulas():
    """(size, variables): every function of sizes, with negative parts."""
    a, b = expr.variable("a"), expr.variable("b")
    variables = (expr.variables(a)[0], expr.variables(b)[0])
    sizes = [
        3, a, -a, 2 * a * b - 7, a**3 - b, (a - 5) // 3, (3 - a) % 4, (a - b) // (b - 3), (a - b) % (b - 3),
        expr.maximum(a, b, 2), expr.minimum(a - 3, b), expr.broadcast(a, b), ceil_log2(a), ceil_log2(a * b) * a,
        (2**70) * a + 1, expr.ceildiv(a, 4) * (b // 2),
    ]  # fmt: skip
    return sizes, variables


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the script of the page")
def test_the_script_counts_as_python_does(tmp_path):
    sizes, variables = formulas()
    points = [(x, y) for x in range(7) for y in range(7)]
    script = (Path(html.__file__).parents[1] / "page" / "formulas.js").read_text()
    start, end = script.index("function floordiv"), script.index("function grouped")
    described = json.dumps([[formula(s, variables) for s in sizes], points])
    (tmp_path / "run.js").write_text(
        script[start:end] + f"const [formulas, points] = {described};"
        "console.log(JSON.stringify(points.map((p) => formulas.map((f) => {"
        "try { return evaluate(f, p.map(BigInt)).toString(); }"
        "catch (e) { return e instanceof RangeError ? null : e.message; }}))));"
    )
    done = subprocess.run(["node", str(tmp_path / "run.js")], capture_output=True, text=True, check=True)
    for point, matches in zip(points, json.loads(done.stdout), strict=True):
        for size, text in zip(sizes, matches, strict=True):
            assert text == as_python(size, dict(zip(variables, point, strict=True))), (size, point)


def as_python(size, values):
    """The number as text, or None where there is none."""
    read = lambda leaf: values[leaf] if leaf in values else ceil_log2(evaluate(leaf.of, read))
    try:
        return str(evaluate(size, read))
    except (ZeroDivisionError, ShapeError):
        return None


# -- Graphviz ----------------------------------------------------------------------------------------------------

TOKEN = re.compile(r'\s+|//[^\n]*|"(?:\\.|[^"\\])*"|->|[A-Za-z_][A-Za-z_0-9]*|[0-9.]+|[\[\]{}=,;]')


def tokens(text):
    """The tokens of Graphviz source; whatever is none is a mistake."""
    matches, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match is not None, text[at : at + 40]
        at = match.end()
        if not match[0].isspace() and not match[0].startswith("//"):
            matches.append(match[0])
    return matches


def test_graphviz_source_names_every_box_and_edge():
    program = traced(value_and_grad(lambda *a: layer(*a).sum()), "n, d", "d, k", "k")
    drawn, words = picture(program), tokens(to_dot(program))
    assert (words[0], words[2], words[-1]) == ("digraph", "{", "}")
    edges = [(words[i - 1], words[i + 1]) for i, token in enumerate(words) if token == "->"]
    assert edges == [(f"b{e.tail}", f"b{e.head}") for e in drawn.edges]
    alone = [words[i] for i in range(1, len(words) - 1) if words[i - 1] == ";" and words[i + 1] == "["]
    assert [name for name in alone if name not in ("node", "edge")] == [f"b{b.number}" for b in drawn.boxes]
    assert words.count('"dashed"') == sum(e.sizes_only for e in drawn.edges) > 0


@pytest.mark.parametrize("text", ['a"b', "a\\", "a\\n", "a\nb", "", '\\"', EVIL])
def test_quoted_text_is_one_token(text):
    assert tokens(quote(text)) == [quote(text)]


# -- the command line --------------------------------------------------------------------------------------------


@pytest.fixture
def run(capsys):
    def call(*arguments):
        try:
            code = main.main(["show", *arguments])
        except SystemExit as leaving:
            code = leaving.code
        return code, *capsys.readouterr()

    return call


def test_show_writes_a_page_and_graphviz_source(run, tmp_path):
    page, dot = tmp_path / "out.html", tmp_path / "out.dot"
    code, out, err = run(*ATTENTION, "--grad", "--html", str(page), "--dot", str(dot))
    assert (code, out, err) == (0, "", "")
    assert Page(page.read_text()).texts["h1"] == "value_and_grad(loss)"
    assert tokens(dot.read_text())[0] == "digraph"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.dot", "out.html"]


def test_show_prints_graphviz_source_and_a_plan_beside_a_page(run, tmp_path):
    code, out, _ = run(*ATTENTION, "--dot", "-")
    assert code == 0 and tokens(out)[-1] == "}"
    code, out, _ = run(*ATTENTION, "--plan", "--html", str(tmp_path / "x.html"))
    assert code == 0 and out.startswith("plan loss(")


@pytest.mark.parametrize("option", ["--html", "--dot"])
def test_a_path_that_cannot_be_written_is_one_line(run, tmp_path, option):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    for path in ("missing/x.html", "folder", "file/x.html", "x" * 300, "", "a\0b"):
        code, out, err = run(*ATTENTION, option, str(tmp_path / path) if path else "")
        assert code == 2 and out == "" and err.count("\n") == 1 and err.startswith("anyshape show: cannot write"), path
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "kept"


def test_a_failed_write_leaves_the_old_file_alone(run, tmp_path, monkeypatch):
    target = tmp_path / "out.html"
    target.write_text("old")

    def fails(self, text, **options):
        self.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fails)
    code, _, err = run(*ATTENTION, "--html", str(target))
    assert code == 2 and "No space left on device" in err
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["out.html"]


def test_a_link_stays_a_link(run, tmp_path):
    (tmp_path / "real.dot").write_text("old")
    (tmp_path / "link.dot").symlink_to("real.dot")
    assert run(*ATTENTION, "--dot", str(tmp_path / "link.dot"))[0] == 0
    assert (tmp_path / "link.dot").is_symlink() and (tmp_path / "real.dot").read_text().startswith("digraph")


def test_a_function_that_fails_writes_nothing(run, tmp_path):
    code, _, err = run("numpy:matmul", "--shapes", "n, 2; 3, m", "--html", str(tmp_path / "x.html"))
    assert code == 2 and err.count("\n") == 1 and not list(tmp_path.iterdir())


def test_networkx_is_loaded_by_a_drawing_alone():
    code = (
        "import sys, numpy, anyshape\n"
        "from anyshape.inspect.draw import html, picture\n"
        "program = anyshape.trace(numpy.tanh)(anyshape.ShapeDtypeStruct('n', numpy.float64))\n"
        "picture.to_dot(program)\n"
        "print('networkx' in sys.modules)\n"
        "html.to_html(program)\n"
        "print('networkx' in sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["False", "True"]
