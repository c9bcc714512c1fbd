"""Find out which names a block of statements binds, which are read later, and which may have no value.

Functions here have no jumps: `jumps` writes them as flags.
"""

import ast
import functools
from collections.abc import Container, Iterable, Sequence

from anyshape.support.lazy_dataclass import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Names = set[str]
GROWING = {"append", "extend", "insert", "pop"}  # methods of lists


class Live(NamedTuple):
    """Names that are read later before they are bound: at the start of each iteration or branch, and after it."""

    start: Names
    after: Names


_NAMES = {"ctx", "id", "attr", "arg", "name", "rest", "op", "ops", "level", "module", "conversion", "is_async", "kind"}


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return the fields of nodes of a class that hold nodes."""
    return () if kind is ast.Constant else tuple([f for f in kind._fields if f not in _NAMES])  # type: ignore[attr-defined]


def parts(node: ast.AST) -> list[ast.AST]:
    """Return the nodes inside of a node, but for what says how a name is used: faster than `ast.iter_child_nodes`."""
    inside: list[ast.AST] = []
    for name in _fields(type(node)):  # type: ignore[arg-type]
        value = getattr(node, name, None)
        if type(value) is list:
            inside += [v for v in value if isinstance(v, ast.AST)]
        elif isinstance(value, ast.AST):
            inside.append(value)
    return inside


def walk(node: ast.AST) -> list[ast.AST]:
    """Return a node and all nodes inside of it."""
    nodes, waiting = [], [node]
    while waiting:
        nodes.append(node := waiting.pop())
        waiting += parts(node)
    return nodes


def bound(nodes: Iterable[ast.AST], without: Container[int] = ()) -> Names:
    """Return the names that statements bind in their own function, but not by the nodes of these ids."""
    names: Names = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if id(node) in without:
            continue
        names |= _bound_here(node)
        if isinstance(node, _COMPREHENSIONS):
            names |= {n.target.id for n in walk(node) if isinstance(n, ast.NamedExpr)}
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            continue
        else:
            waiting += parts(node)
    return names


def _bound_here(node: ast.AST) -> Names:
    """Return the names that a node itself binds, without its parts."""
    kind = type(node)
    if kind is ast.Name:
        return set() if type(node.ctx) is ast.Load else {node.id}  # type: ignore[attr-defined]
    if kind in _BINDING:
        name = getattr(node, _BINDING[kind])
        return {name} if name else set()
    if kind in (ast.Import, ast.ImportFrom):
        return {a.asname or a.name.partition(".")[0] for a in node.names}  # type: ignore[attr-defined]
    return set()


_BINDING: dict[type, str] = {  # fields with the name that a node binds
    ast.MatchMapping: "rest",
    **dict.fromkeys((*_FUNCTIONS[:2], ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar), "name"),
}


def read(node: ast.AST) -> Names:
    """Return the names that a node reads, also in functions inside."""
    return {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def rebound(nodes: Sequence[ast.AST]) -> Names:
    """Return the names that statements bind by more than `x += y`."""
    return bound(nodes, {id(n.target) for s in nodes for n in walk(s) if isinstance(n, ast.AugAssign)})


def written(nodes: Sequence[ast.AST]) -> Names:
    """Return the names of arrays that statements write to, as far as the statements tell."""
    names: Names = set()
    for node in (n for s in nodes for n in walk(s)):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            owner: ast.AST = node
            while isinstance(owner, (ast.Subscript, ast.Attribute)):
                owner = owner.value
            names |= read(owner) if isinstance(owner, ast.Name) else set()
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def grown(nodes: Sequence[ast.AST]) -> Names:
    """Return the names of lists that statements append to, if they are lists."""
    names: Names = set()
    for node in (n for s in nodes for n in walk(s)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in GROWING:
                names.add(name)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=other), op=ast.Add())):
                names |= {name} & {other}
    return names


def captured(function: ast.AST) -> Names:
    """Return the names that functions inside of one read: they may be read at any time."""
    inner = [n for n in walk(function) if isinstance(n, (*_FUNCTIONS, ast.ClassDef)) and n is not function]
    return {name for n in inner for name in read(n)}


class Liveness:
    """Names that are live around each `if` and loop of a function, by the id of the statement."""

    def __init__(self, function: ast.FunctionDef, outside: Names) -> None:
        self.always = captured(function) | outside
        self.around: dict[int, Live] = {}
        self._simple: dict[int, tuple[Names, Names]] = {}  # what statements without blocks read and bind
        self.block(function.body, set())

    def block(self, statements: Sequence[ast.stmt], after: Names) -> Names:
        """Return the names that are live before some statements."""
        live = after | self.always
        for statement in reversed(statements):
            live = self._before(statement, live)
        return live

    def _before(self, s: ast.stmt, after: Names) -> Names:
        match s:
            case ast.If():
                start = self.block(s.body, after) | self.block(s.orelse, after)
                self.around[id(s)] = Live(start, after)
                return read(s.test) | start
            case ast.For() | ast.While():
                return self._before_loop(s, after)
            case ast.With():
                heads = [n for item in s.items for n in (item.context_expr, item.optional_vars) if n]
                return set[str]().union(*map(read, heads)) | self.block(s.body, after)
            case ast.Try() | ast.TryStar():
                return self._before_try(s, after)
            case ast.Match():
                return self._before_match(s, after)
        return self._before_simple(s, after)

    def _before_try(self, s: ast.Try | ast.TryStar, after: Names) -> Names:
        ends = self.block(s.finalbody, after)
        handled = set[str]().union(*[self.block(h.body, ends) for h in s.handlers])
        types = [read(h.type) for h in s.handlers if h.type]
        inside = self.block(s.body, self.block(s.orelse, ends) | handled)
        return inside | handled | ends | set[str]().union(*types)

    def _before_match(self, s: ast.Match, after: Names) -> Names:
        parts = [self.block(case.body, after) for case in s.cases]
        tests = [read(n) for case in s.cases for n in (case.pattern, case.guard) if n]
        return read(s.subject) | after | set[str]().union(*parts, *tests)

    def _before_simple(self, s: ast.stmt, after: Names) -> Names:
        if (known := self._simple.get(id(s))) is None:
            reads = read(s)
            if isinstance(s, ast.AugAssign):
                reads |= read(ast.Expr(s.target)) | ({s.target.id} if isinstance(s.target, ast.Name) else set())
            known = self._simple[id(s)] = reads | self.always, bound([s])
        reads, binds = known
        return reads if isinstance(s, (ast.Return, ast.Raise)) else reads | (after - binds)

    def _before_loop(self, s: ast.For | ast.While, after: Names) -> Names:
        tested = read(s.test) if isinstance(s, ast.While) else set()
        target = bound([s.target]) if isinstance(s, ast.For) else set()
        start: Names = set(tested)
        while True:
            stops = set(getattr(s, "stops", ()))
            new = tested | (self.block(s.body, after | start | stops) - target)
            if new <= start:
                break
            start |= new
        self.around[id(s)] = Live(start, after)
        return start | after | (read(s.iter) if isinstance(s, ast.For) else set())


class Unbound(ast.NodeVisitor):
    """Reads of names that may have no value, by the id of the node, of names that only a part of a function binds.

    `outside` are such names of functions around it.
    """

    def __init__(self, function: ast.FunctionDef, outside: Names) -> None:
        self.reads: set[int] = set()
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self._has = {a.arg for a in every if a}
        self._sometimes = {
            name for node in walk(function) if isinstance(node, (ast.If, ast.For, ast.While, ast.Match))
            for name in bound([node])
        }  # fmt: skip
        self.sometimes = self._sometimes = self._sometimes | (outside - self._has - bound(function.body))
        self._run(function.body)

    def _run(self, statements: Sequence[ast.AST]) -> None:
        for s in statements:
            self.visit(s)

    def _joined(self, *branches) -> None:
        """Run branches, after which names are bound that all of them bind."""
        before, ends = set(self._has), []
        for branch in branches:
            self._has = set(before)
            branch()
            ends.append(self._has)
        self._has = set.intersection(*ends)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._has.add(node.id)
        elif isinstance(node.ctx, ast.Del):
            self._has.discard(node.id)
        elif node.id in self._sometimes and node.id not in self._has:
            self.reads.add(id(node))

    def generic_visit(self, node: ast.AST) -> None:
        """Visit values before the targets that they are assigned to."""
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            if node.value is not None:
                self.visit(node.value)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.visit_Name(ast.Name(node.target.id, ast.Load()))
                name = node.target.id
                if name in self._sometimes and name not in self._has:
                    self.reads.add(id(node))
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self.visit(target)
            return
        super().generic_visit(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._has |= bound([node])

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._joined(functools.partial(self._run, node.body), functools.partial(self._run, node.orelse))

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._joined(functools.partial(self._run, [node.target, *node.body]), lambda: None)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._joined(functools.partial(self._run, node.body), lambda: None)

    def visit_Try(self, node: ast.Try) -> None:
        handlers = [functools.partial(self._run, h.body) for h in node.handlers]
        self._joined(functools.partial(self._run, [*node.body, *node.orelse]), *handlers, lambda: None)
        self._run(node.finalbody)

    visit_TryStar = visit_Try  # type: ignore[assignment]

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        cases = [functools.partial(self._run, [c.pattern, *c.body]) for c in node.cases]
        self._joined(*cases, lambda: None)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inner(node)
        self._has.add(node.name)

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inner(node)
        self._has.add(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inner(node)

    def _comprehension(self, node: ast.AST) -> None:
        self._inner(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _inner(self, node: ast.AST) -> None:
        """Find reads in a scope inside, whose own names are bound there."""
        before = set(self._has)
        arguments = getattr(node, "args", None)
        if isinstance(arguments, ast.arguments):
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            self._has |= {a.arg for a in every if a}
        inside = [n for n in walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        self._has |= {n.id for n in inside}
        for child in walk(node):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                self.visit_Name(child)
        self._has = before
