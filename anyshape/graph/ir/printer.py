"""Graphs as text: one line per node with extents and the user's line, then what the program relies on.

Reads graphs without importing what they are made of, so that a graph can print itself.
"""

from __future__ import annotations

from typing import Any


def show_graph(graph: Any) -> str:
    """The program as text. Values are numbered in order of appearance; inputs keep their names."""
    names = value_names(graph)
    values = {graph.inputs[i]: f" = {size}" for i, size in graph.values}
    arguments = ", ".join(f"{names[v]}: {v.meta}{values.get(v, '')}" for v in graph.inputs)
    results = ", ".join(map(str, graph.results))
    lines = [f"{graph.name or 'program'}({arguments}) -> ({results})"]
    for value, array in graph.constants:
        lines.append(f"  {names[value]}: {value.meta} = constant {_short(array)}")
    bodies = [(_node_text(node, names), node.where) for node in graph.nodes]
    width = min(max((len(text) for text, _ in bodies), default=0), 96)
    for text, where in bodies:
        lines.append(f"  {text:<{width}}  # {where}" if where is not None else f"  {text}")
    lines.append(f"  return {', '.join(names[v] for v in graph.outputs)}")
    lines += [f"  {condition}" for condition in graph.conditions]
    return "\n".join(lines)


def value_names(graph: Any) -> dict[Any, str]:
    """A distinct name for each value: that of the argument, or a number."""
    names: dict[Any, str] = {}
    given = [*graph.input_names, *[""] * len(graph.inputs)]
    for value, number in graph.numbering.items():
        names[value] = f"%{number}"
    for value, name in zip(graph.inputs, given, strict=False):
        if name and f"%{name}" not in names.values():
            names[value] = f"%{name}"
    return names


def show_node(node: Any) -> str:
    """A node by itself: `%7: f64[n] = add(%5, %6)  # user.py:3`, with the numbers that its values have anywhere."""
    names = {v: f"%{v.id}" for v in (*node.operands, *node.outputs)}
    return _node_text(node, names) + (f"  # {node.where}" if node.where is not None else "")


def _node_text(node: Any, names: dict[Any, str]) -> str:
    outputs = ", ".join(f"{names[v]}: {v.meta}" for v in node.outputs)
    operands = ", ".join(names[v] for v in node.inputs)
    sources = f"; sizes of {', '.join(names[v] for v in node.sources)}" if node.sources else ""
    params = ", ".join(f"{k}={show_param(p)}" for k, p in node.params)
    return f"{outputs} = {node.op}({operands}{sources}){' {' + params + '}' if params else ''}"


def show_param(param: Any) -> str:
    """A param of an op as text."""
    if isinstance(param, tuple):
        return f"({', '.join(map(show_param, param))}{',' if len(param) == 1 else ''})"
    return str(param)


def _short(array: Any) -> str:
    text = " ".join(str(array).split())
    return text if len(text) <= 40 else text[:37] + "..."
