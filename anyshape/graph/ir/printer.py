"""Print graphs: one line per node with its types and the user's line, then the conditions of the program.

Reads graphs without importing them, so that a graph can print itself.
"""

from typing import Any

_WIDEST = 96  # characters of a node before its comment
_LONGEST_CONSTANT = 40
_INDENT = "  "


def show_graph(graph: Any) -> str:
    """Return the program as text.

    Values are numbered in order of appearance, and inputs keep their names. A subgraph stands indented under its node.
    """
    return "\n".join(_lines_of(graph))


def _lines_of(graph) -> list[str]:
    names = value_names(graph)
    sizes_by_value = {graph.inputs[i]: f" = {size}" for i, size in graph.values}
    arguments = ", ".join(f"{names[v]}: {v.meta}{sizes_by_value.get(v, '')}" for v in graph.inputs)
    results = ", ".join(map(str, graph.results))
    lines = [f"{graph.name or 'program'}({arguments}) -> ({results})"]
    for value, array in graph.constants:
        lines.append(f"{_INDENT}{names[value]}: {value.meta} = constant {short_text(array)}")
    texts = [node_text(node, names) for node in graph.nodes]
    width = min(max(map(len, texts), default=0), _WIDEST)
    for text, node in zip(texts, graph.nodes, strict=True):
        lines.append(f"{_INDENT}{text:<{width}}  # {node.where}" if node.where is not None else f"{_INDENT}{text}")
        for inner in graph.subgraphs.get(node, ()):
            lines += [f"{2 * _INDENT}{line}" for line in _lines_of(inner)]
    lines.append(f"{_INDENT}return {', '.join(names[v] for v in graph.outputs)}")
    return [*lines, *[f"{_INDENT}{condition}" for condition in graph.conditions]]


def value_names(graph: Any) -> dict[Any, str]:
    """Return a distinct name for each value: the name of the argument, or a number."""
    names = {value: f"%{number}" for value, number in graph.numbering.items()}
    for value, name in zip(graph.inputs, graph.input_names, strict=False):
        if name and f"%{name}" not in names.values():
            names[value] = f"%{name}"
    return names


def show_node(node: Any) -> str:
    """Return a node by itself, with process-wide value numbers: `%7: f64[n] = add(%5, %6)  # user.py:3`."""
    names = {v: f"%{v.id}" for v in (*node.operands, *node.outputs)}
    return node_text(node, names) + (f"  # {node.where}" if node.where is not None else "")


def node_text(node: Any, names: dict[Any, str]) -> str:
    """Return a node with these names of values, without its line."""
    outputs = ", ".join(f"{names[v]}: {v.meta}" for v in node.outputs)
    operands = ", ".join(names[v] for v in node.inputs)
    sources = f"; sizes of {', '.join(names[v] for v in node.sources)}" if node.sources else ""
    params = ", ".join(f"{k}={show_param(p)}" for k, p in node.params)
    return f"{outputs} = {node.op}({operands}{sources}){' {' + params + '}' if params else ''}"


def show_param(param: Any) -> str:
    """Return a param of an op as text on one line; a subgraph is its name and the number of its nodes."""
    if isinstance(param, tuple):
        return f"({', '.join(map(show_param, param))}{',' if len(param) == 1 else ''})"
    if hasattr(param, "numbering"):
        return f"<{param.name or 'graph'}: {len(param.nodes)} nodes>"
    return str(param)


def short_text(array: Any) -> str:
    """Return an array as text on one line, with its end left out where it is long."""
    text = " ".join(str(array).split())
    return text if len(text) <= _LONGEST_CONSTANT else text[: _LONGEST_CONSTANT - 3] + "..."
