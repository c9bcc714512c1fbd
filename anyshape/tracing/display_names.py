"""Show sizes, claims and structures as the caller writes them: `x.shape[0]` for `x_0`, `(x, {'w': *})` for a tree."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from anyshape.graph.prover.claim_text import RELATIONS, SizeNames
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.signature.dim_equations import SizeBinding
from anyshape.graph.signature.size_names import size_names
from anyshape.graph.sizes.expr import DimVar
from anyshape.tracing.pytrees import Static, unflatten
from anyshape.tracing.tree_nodes import Fields, Setting, class_of

_COMPARISON = r"([^=<>!]+) (==|!=|<=|>=|<|>) ([^=<>!]+)"
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class DisplayNames(SizeNames):
    """Names of the sizes of one program in explanations.

    `labels` are the paths of the arguments by the names of parameters, `params['w']`. `solved` says how a call finds
    each variable.
    """

    def __init__(self, labels: Sequence[str], solved: Iterable[SizeBinding]) -> None:
        self.solved: dict[DimVar, SizeBinding] = {s.variable: s for s in solved}
        names = size_names(self.solved.values(), labels)
        super().__init__(names.sources, names.undeclared)

    def claim(self, claim: Claim) -> str:
        """Return the claim as it was asked, or as its two sides."""
        names = [str(v) for v in claim.variables()]
        if claim.text and len(set(names)) == len(names):
            return self.text(_plainly(claim.text))
        return f"{self.size(claim.left)} {RELATIONS.get(claim.relation, claim.relation)} {self.size(claim.right)}"

    def negated(self, claim: Claim) -> str:
        """Return the claim that holds exactly where this one does not."""
        return _plainly(f"not ({self.claim(claim)})")

    def values(self, variables: Iterable[DimVar], sizes: Mapping[DimVar, int]) -> str:
        """Return the sizes as `x.shape[0] = 7, k = 2`."""
        return ", ".join(f"{self.leaf(v)} = {sizes[v]}" for v in variables)


def _plainly(text: str) -> str:
    """Return `not (a > b)` as `a <= b`."""
    if not (text.startswith("not (") and text.endswith(")")):
        return text
    inside = text[5:-1]
    comparison = re.fullmatch(_COMPARISON, inside)
    if comparison is not None:
        left, symbol, right = comparison.groups()
        return f"{left} {_OPPOSITE[symbol]} {right}"
    return inside[5:-1] if inside.startswith("not (") else text


# -- structures --------------------------------------------------------------------------------------------------


def show_tree(tree: Any, leaves: Iterator[str] | None = None) -> str:
    """Return a structure as Python writes it, with these texts or * for leaves: `{'w': *, 'b': (*, *)}`."""
    if tree.is_leaf():
        return "*" if leaves is None else next(leaves)
    parts = [show_tree(child, leaves) for child in tree.children()]
    if tree.type is type(None):
        return "None"
    if tree.type is Static:
        return repr(unflatten(tree, []).value)
    if tree.type is Setting:
        return repr(unflatten(tree, []))
    return _show_node(class_of(tree), tree.entries(), parts)


def _show_node(kind: type, entries: Sequence[Any], parts: Sequence[str]) -> str:
    """Return a node of a pytree as Python writes it, with these texts for its children."""
    if kind in (tuple, list):
        opening, closing = ("(", ",)" if len(parts) == 1 else ")") if kind is tuple else "[]"
        return f"{opening}{', '.join(parts)}{closing}"
    if issubclass(kind, dict):
        inside = ", ".join([f"{key!r}: {part}" for key, part in zip(entries, parts, strict=True)])
        return f"{{{inside}}}" if kind is dict else f"{kind.__name__}({{{inside}}})"
    labels = [f"{e}=" if isinstance(e, str) else "" for e in getattr(kind, "_fields", None) or entries]
    return f"{kind.__name__}({', '.join(map(operator.add, labels, parts))})"


def show_order(before: Any, now: Any) -> tuple[str, str]:
    """Return the keys of two nodes that differ in their order."""
    return ", ".join(map(repr, before.entries())), ", ".join(map(repr, now.entries()))


def show_call(tree: Any, names: Sequence[str], static: Mapping[int | str, Any]) -> str:
    """Return the arguments of a call: `(x, {'w': *}, k=3)`."""
    args, kwargs = tree.children()
    parts = []
    for i, child in enumerate(args.children()):
        name = names[i] if i < len(names) else f"args[{i}]"
        parts.append(f"{name}={static[i]!r}" if i in static else name if child.is_leaf() else show_tree(child))
    for name, child in zip(kwargs.entries(), kwargs.children(), strict=True):
        value = repr(static[name]) if name in static else name if child.is_leaf() else show_tree(child)
        parts.append(f"{name}={value}")
    return f"({', '.join(parts)})"


def tree_difference(before: Any, now: Any, names: Sequence[str]) -> tuple[str, Any, Any]:
    """Return the path and both versions of the first subtree in which the arguments of two calls differ.

    The path is empty where the arguments differ as a whole.
    """
    path, depth, whole = "", 0, (before, now)
    while (difference := _differing_child(before, now)) is not None:
        entry, kind = difference[0], before.type
        if depth == 1:
            path = entry if isinstance(entry, str) else names[entry] if entry < len(names) else f"args[{entry}]"
        elif depth > 1:
            fields = getattr(kind, "_fields", None)
            name = entry if kind is Fields else fields[entry] if fields else None
            path += f"[{entry!r}]" if name is None else f".{name}"
        _, before, now = difference
        depth += 1
    return (path, before, now) if depth > 1 else ("", *whole)


def _differing_child(before: Any, now: Any) -> tuple[Any, Any, Any] | None:
    """Return entry and both versions of the first child that differs, None where the nodes themselves differ."""
    if before.is_leaf() or now.is_leaf() or before.one_level() != now.one_level():
        return None
    pairs = zip(before.entries(), before.children(), now.children(), strict=True)
    return next(((entry, a, b) for entry, a, b in pairs if a != b), None)
