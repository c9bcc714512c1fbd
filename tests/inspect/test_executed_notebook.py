"""A notebook that is executed by Jupyter: tracebacks, warnings and output name its cells. Skipped without nbclient."""

import re

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
CELLS = {
    "functions": """
import numpy as np
import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, jit, trace

def helper(x):
    return x @ np.ones((7, 2))

def model(x):
    return helper(x).sum()
""",
    "a mistake": "jit(model)(np.ones((3, 5)))",
    "a mistake in a later call": "x = np.ones((2, 3))\nf = jit(lambda x, w: x @ w)\nf(x, x[0]) + f(x, x[:, 0])",
    "an exception of the user": "@jit\ndef own(x):\n    raise KeyError('weights')\n\nown(np.ones(2))",
    "a fixed size": "@jit(read_source='off')\ndef padded(x):\n    return x + np.zeros(len(x))\n\npadded(np.ones(2))",
    "a warning of NumPy": "jit(lambda x: np.log(x))(np.zeros(2)).sum()",
    "a program": "trace(lambda x: x + 1)(ShapeDtypeStruct('n'))",
}
NUMBERS = {name: number for number, name in enumerate(CELLS, start=1)}


@pytest.fixture(scope="module")
def outputs():
    """Return the outputs of each cell after all were executed."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code.strip()) for code in CELLS.values()])
    nbclient.NotebookClient(notebook, timeout=120, allow_errors=True, kernel_name="python3").execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}


def lines_of(error):
    """Return the lines that a traceback shows as the ones that ran, with their cells and functions."""
    text = COLOURS.sub("", "\n".join(error.traceback))
    steps = re.findall(r"^Cell (In\[\d+\]), line (\d+)(?:, in (\w+))?", text, re.MULTILINE)
    assert text.count("----> ") == len(steps), text  # no frame of a file
    return [(cell, int(line), function) for cell, line, function in steps]


@pytest.mark.slow
def test_a_mistake_shows_the_lines_of_the_cells_alone(outputs):
    (error,) = outputs["a mistake"]
    assert lines_of(error) == [("In[2]", 1, ""), ("In[1]", 9, "model"), ("In[1]", 6, "helper")]
    first, second = error.evalue.splitlines()
    assert first.startswith("x @ np.ones((7, 2)): x.shape[1] (5) must equal") and "at In[1]:6" in first
    assert second == "  make np.ones((7, 2)).shape[0] 5, or x.shape[1] 7"


def test_a_mistake_in_a_later_call_ends_at_the_call(outputs):
    (error,) = [output for output in outputs["a mistake in a later call"] if output.output_type == "error"]
    number = NUMBERS["a mistake in a later call"]
    assert lines_of(error) == [(f"In[{number}]", 3, "")]
    assert f"at In[{number}]:2" in error.evalue


def test_an_exception_of_the_user_keeps_its_line(outputs):
    (error,) = outputs["an exception of the user"]
    cell = f"In[{NUMBERS['an exception of the user']}]"
    assert error.ename == "KeyError" and lines_of(error) == [(cell, 5, ""), (cell, 3, "own")]


def test_the_warning_about_a_size_names_the_cell(outputs):
    warned = "".join(o.text for o in outputs["a fixed size"] if o.output_type == "stream")
    assert f"In[{NUMBERS['a fixed size']}]:3: Python needs the value of the size x.shape[0]" in warned
    assert "return x + np.zeros(len(x))" in warned


def test_a_warning_of_numpy_shows_the_line_of_the_cell(outputs):
    warned = "".join(o.text for o in outputs["a warning of NumPy"] if o.output_type == "stream")
    assert "RuntimeWarning: divide by zero encountered in log\n  jit(lambda x: np.log(x))" in warned
    assert "/ipykernel_" in warned and "site-packages" not in warned


def test_a_program_is_shown_as_a_page(outputs):
    (shown,) = outputs["a program"]
    assert shown.data["text/html"].startswith("<iframe srcdoc=")
    assert f"In[{NUMBERS['a program']}]:1" in shown.data["text/html"]
