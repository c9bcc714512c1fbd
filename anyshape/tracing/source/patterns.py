"""Write `match` as `if`, where its patterns are values, names, alternatives and sequences of fixed length.

So a traced value chooses the case as it chooses a branch. Other patterns stay, and their loops are unrolled.
"""

import ast
import copy
from collections.abc import Sequence

from anyshape.tracing.source.jumps import assigned, load, runtime
from anyshape.tracing.source.name_flow import INNER, walk


class _OtherPatternError(Exception):
    """Raised for a statement that stays as it is."""


def without_patterns(function: ast.FunctionDef) -> None:
    """Write the `match` statements of a function as choices."""
    if any(isinstance(n, ast.Match) for n in walk(function)):
        _Cases(function).visit(function)


class _Cases(ast.NodeTransformer):
    def __init__(self, function: ast.AST) -> None:
        self._function, self._count = function, 0

    def visit_Match(self, node: ast.Match) -> list[ast.stmt] | ast.Match:
        """Return the assignments of what is matched, and the choices between the cases."""
        self.generic_visit(node)
        self._count += 1
        is_listed = isinstance(node.subject, (ast.Tuple, ast.List))
        values: list[ast.expr] = node.subject.elts if is_listed else [node.subject]  # type: ignore[attr-defined]
        names = [f"__kept_matched{self._count}_{i}__" for i in range(len(values))]
        matched: Sequence[ast.expr] | ast.expr = [*map(load, names)] if is_listed else load(names[0])
        try:
            cases = [_Case(case, matched) for case in node.cases]
            self._check_names(cases)
        except _OtherPatternError:
            return node
        rest: list[ast.stmt] = []
        for case in reversed(cases):
            rest = case.chosen(rest)
        return [*[ast.copy_location(assigned(n, x), x) for n, x in zip(names, values, strict=True)], *rest]

    def _check_names(self, cases: Sequence["_Case"]) -> None:
        """Raise where a name is read elsewhere that a case binds before its guard fails."""
        names = {name for case in cases if case.case.guard is not None for name in case.bound}
        own = {id(n) for case in cases for n in _reads(case.case) if n.id in case.bound}
        if any(n.id in names and id(n) not in own for n in _reads(self._function)):
            raise _OtherPatternError


class _Case:
    """Case of a statement: the tests that its pattern makes, and the names that it binds to parts of the subject."""

    def __init__(self, case: ast.match_case, matched: Sequence[ast.expr] | ast.expr) -> None:
        self.case, self.tests = case, list[ast.expr]()
        self.bound: dict[str, ast.expr] = {}
        self._add(case.pattern, matched)
        if case.guard is not None:
            if any(isinstance(n, (*INNER, ast.comprehension, ast.NamedExpr)) for n in walk(case.guard)):
                raise _OtherPatternError
            self.tests.append(_Named(self.bound).visit(copy.deepcopy(case.guard)))

    def _add(self, pattern: ast.pattern, x: Sequence[ast.expr] | ast.expr) -> None:
        if isinstance(pattern, ast.MatchSequence):
            self._add_sequence(pattern.patterns, x)
        elif isinstance(pattern, ast.MatchAs) and pattern.name is None:
            return
        elif not isinstance(x, ast.expr):
            raise _OtherPatternError
        elif isinstance(pattern, ast.MatchAs):
            if pattern.pattern is not None:
                self._add(pattern.pattern, x)
            self.bound[str(pattern.name)] = x
        else:
            self.tests.append(_test(pattern, x))

    def _add_sequence(self, patterns: Sequence[ast.pattern], x: Sequence[ast.expr] | ast.expr) -> None:
        if isinstance(x, ast.expr):
            self.tests.append(runtime("is_sequence", copy.deepcopy(x), ast.Constant(len(patterns))))
            x = [ast.Subscript(copy.deepcopy(x), ast.Constant(i), ast.Load()) for i in range(len(patterns))]
        if len(x) != len(patterns) or any(isinstance(p, ast.MatchStar) for p in patterns):
            raise _OtherPatternError
        for p, part in zip(patterns, x, strict=True):
            self._add(p, part)

    def chosen(self, rest: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statement that runs the body where the pattern matches, else the rest."""
        at = self.case.pattern
        bindings = [ast.copy_location(assigned(name, copy.deepcopy(x)), at) for name, x in self.bound.items()]
        body = [*bindings, *self.case.body]
        if not self.tests:
            return body
        test = self.tests[0] if len(self.tests) == 1 else ast.BoolOp(ast.And(), self.tests)
        return [ast.copy_location(ast.If(ast.copy_location(test, at), body, rest), at)]


def _reads(node: ast.AST) -> list[ast.Name]:
    return [n for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]


def _test(pattern: ast.pattern, x: ast.expr) -> ast.expr:
    """Return the test whether a value, or one of several, is what is matched."""
    match pattern:
        case ast.MatchValue(value=value):
            return ast.Compare(copy.deepcopy(x), [ast.Eq()], [value])
        case ast.MatchSingleton(value=value):
            return ast.Compare(copy.deepcopy(x), [ast.Is()], [ast.Constant(value)])
        case ast.MatchOr(patterns=patterns):
            return ast.BoolOp(ast.Or(), [_test(p, x) for p in patterns])
    raise _OtherPatternError


class _Named(ast.NodeTransformer):
    """Puts what names stand for in their place."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what a name stands for."""
        return copy.deepcopy(self.values.get(node.id, node))
