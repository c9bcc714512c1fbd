"""Find out which names a block of statements binds, which are read later, and which may have no value.

Functions here have no jumps: `jumps` writes them as flags.
"""

import ast
import functools
from collections.abc import Container, Iterable, Sequence, Set
from typing import Any, TypeAlias

from anyshape.support.lazy_dataclass import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
INNER = (*_FUNCTIONS, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Names = set[str]
GROWING = {"append", "extend", "insert", "pop", "appendleft", "extendleft", "popleft"}  # methods of lists and deques


class Live(NamedTuple):
    """Names that are read later before they are bound: at the start of each iteration or branch, and after it."""

    start: Names
    after: Names


_NAMES = {"ctx", "id", "attr", "arg", "name", "rest", "op", "ops", "level", "module", "conversion", "is_async", "kind"}
_NAMES |= {"asname", "type_comment", "tag", "str", "kwd_attrs", "simple"}


class _Fields(dict[type, tuple[str, ...]]):
    """Fields of nodes of each class that hold nodes."""

    def __missing__(self, kind: Any) -> tuple[str, ...]:
        new = () if kind in _WITHOUT else tuple([f for f in kind._fields if f not in _NAMES])
        self[kind] = new
        return new


_WITHOUT = (ast.Constant, ast.MatchSingleton, ast.Global, ast.Nonlocal)
FIELDS = _Fields()


def parts(node: ast.AST) -> list[ast.AST]:
    """Return the nodes inside of a node, but for what says how a name is used: faster than `ast.iter_child_nodes`."""
    inside: list[ast.AST] = []
    values = node.__dict__
    for name in FIELDS[type(node)]:
        value = values.get(name)
        if type(value) is list:
            inside += [v for v in value if v is not None] if None in value else value
        elif value is not None:
            inside.append(value)
    return inside


def walk(node: ast.AST) -> list[ast.AST]:
    """Return a node and all nodes inside of it."""
    nodes = [node]
    for inner in nodes:  # which grows
        if FIELDS[type(inner)]:
            nodes += parts(inner)
    return nodes


def blocks(statement: ast.AST) -> list[ast.AST]:
    """Return the statements inside of a statement, its handlers, or its cases."""
    return [s for name in _BLOCKS for s in getattr(statement, name, ())]


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
        elif isinstance(node, INNER):
            continue
        elif FIELDS[type(node)]:
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


_BINDERS = (*_BINDING, ast.Import, ast.ImportFrom)


def read(node: ast.AST) -> Names:
    """Return the names that a node reads, also in functions inside."""
    return {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _written(nodes: Iterable[ast.AST]) -> Names:
    """Return the names of arrays that some nodes write to, as far as these tell."""
    names: Names = set()
    for node in nodes:
        if type(node) in (ast.Subscript, ast.Attribute) and not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            owner: ast.AST = node
            while isinstance(owner, (ast.Subscript, ast.Attribute)):
                owner = owner.value
            names |= read(owner) if isinstance(owner, ast.Name) else set()
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def _grown(nodes: Iterable[ast.AST]) -> Names:
    """Return the names of lists that some nodes append to, if they are lists."""
    names: Names = set()
    for node in nodes:
        if type(node) not in (ast.Call, ast.AugAssign, ast.Assign):
            continue
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in GROWING:
                names.add(name)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=other), op=ast.Add())):
                names |= {name} & {other}
    return names


class Summary(NamedTuple):
    """Names that statements bind, bind by more than `x += y`, read, write to and append to.

    `nests` says that they have a loop, `plain` why they are run by Python in any case, "" if they are not.
    """

    bound: Names
    rebound: Names
    read: Names
    written: Names
    grown: Names
    nests: bool
    plain: str


_EMPTY: Summary = Summary(set(), set(), set(), set(), set(), nests=False, plain="")
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_LOOPS = (ast.For, ast.While)
_COMPOUND = (*_LOOPS, ast.If, ast.With, ast.Try, ast.TryStar, ast.Match, ast.ExceptHandler, ast.match_case)
_PLAIN: dict[type, str] = {ast.TryStar: "it handles exceptions", ast.Match: "it matches patterns"}


_SCOPES = (*INNER, *_COMPREHENSIONS)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)


class Summaries:
    """Summaries of the statements of a function, which are made once, before they are rewritten."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ast.AST, Summary]] = {}  # by the id of the node, which stays alive
        self._walks: dict[int, list[ast.AST]] = {}  # the nodes of what has no blocks

    def nodes(self, statements: Iterable[ast.AST]) -> tuple[list[ast.AST], Names]:
        """Return all nodes of statements, whose blocks may still change, and the names that they bind."""
        nodes, names, waiting = list[ast.AST](), Names(), list(statements)
        while waiting:
            node = waiting.pop()
            if isinstance(node, _COMPOUND):
                nodes.append(node)
                names |= _bound_here(node)
                waiting += parts(node)
            else:
                names |= self._of(node).bound
                nodes += self._walks[id(node)]
        return nodes, names

    def of(self, nodes: Iterable[ast.AST]) -> Summary:
        """Return what some statements or expressions do together."""
        return self._together([self._of(node) for node in nodes])

    @staticmethod
    def _together(parts: Sequence[Summary]) -> Summary:
        if len(parts) < 2:
            return parts[0] if parts else _EMPTY
        names: list[Any] = [set[str]().union(*sets) for sets in zip(*[part[:5] for part in parts], strict=True)]
        names += [any(part.nests for part in parts), next(filter(None, [p.plain for p in parts]), "")]
        return Summary(*names)

    def _of(self, node: ast.AST) -> Summary:
        known = self._known.get(id(node))
        if known is None:
            if isinstance(node, _COMPOUND):
                new = self._of_blocks(node)
            else:
                self._walks[id(node)] = every = walk(node)
                new = self._of_simple(node, every)
            known = self._known[id(node)] = node, new
        return known[1]

    def _of_blocks(self, node: ast.AST) -> Summary:
        inside = {*map(id, statements := blocks(node))}
        own = self._together([self._of(part) for part in parts(node) if id(part) not in inside])
        binds = _bound_here(node)
        plain, nests = _PLAIN.get(type(node), ""), isinstance(node, _LOOPS)
        own = own._replace(bound=own.bound | binds, rebound=own.rebound | binds, nests=nests, plain=plain or own.plain)
        return self._together([own, *map(self._of, statements)])

    @staticmethod
    def _of_simple(node: ast.AST, every: Sequence[ast.AST]) -> Summary:
        names = [n for n in every if type(n) is ast.Name]
        reads = {n.id for n in names if type(n.ctx) is ast.Load}
        kinds = {*map(type, every)}
        if kinds.isdisjoint(_SCOPES):
            binds = {n.id for n in names if type(n.ctx) is not ast.Load}
            binds = binds if kinds.isdisjoint(_BINDERS) else binds.union(*map(_bound_here, every))
        else:
            binds = bound([node])
        added = {id(n.target) for n in every if type(n) is ast.AugAssign}
        rebinds = bound([node], added) if added else binds
        return Summary(binds, rebinds, reads, _written(every), _grown(every), nests=False, plain="")


def captured(scopes: Iterable[ast.AST]) -> Names:
    """Return the names that functions and classes read: they may be read at any time."""
    return {name for scope in scopes for name in read(scope)}


_ALL = frozenset[str](["*"])  # what a statement that never ends binds: nothing is live before it that is live after
Flow: TypeAlias = tuple[Names, Set[str]]


class Liveness:
    """Names that are live around each `if` and loop of a function, by the id of the statement.

    A statement has a flow, and so has a block: the names that it reads first, and those that it binds in any case. Live
    before it are the former, and what is live after it without the latter.
    """

    def __init__(self, function: ast.FunctionDef, always: Names, summaries: Summaries) -> None:
        self.always = always  # may be read at any time
        self.around: dict[int, Live] = {}
        self._summaries = summaries
        self._flows: dict[int, Flow] = {}
        self.block(function.body, set())

    def block(self, statements: Sequence[ast.stmt], after: Names) -> Names:
        """Return the names that are live before some statements, and note what is live around those inside."""
        live = after | self.always
        for statement in reversed(statements):
            if isinstance(statement, _COMPOUND):
                self._note(statement, live)
            live = _before(self._flow(statement), live)
        return live

    def _note(self, s: ast.AST, after: Names) -> None:
        match s:
            case ast.If():
                self.around[id(s)] = Live(self.block(s.body, after) | self.block(s.orelse, after), after)
            case ast.For() | ast.While():
                start = self._start(s, after)
                self.around[id(s)] = Live(start, after)
                self.block(s.body, after | start | {*getattr(s, "stops", ())})
            case ast.With():
                self.block(s.body, after)
            case ast.Try() | ast.TryStar():
                ends = self.block(s.finalbody, after)
                handled = Names().union(*[self.block(h.body, ends) for h in s.handlers])
                self.block(s.body, self.block(s.orelse, ends) | handled)
            case ast.Match():
                for case in s.cases:
                    self.block(case.body, after)

    def _start(self, s: ast.For | ast.While, after: Names) -> Names:
        """Return the names that are live at the start of each iteration."""
        live = _before(self._flow_of(s.body), after | {*getattr(s, "stops", ())})
        if isinstance(s, ast.While):
            return live | self._read(s.test)
        return live - self._summaries.of([s.target]).bound

    def _read(self, *nodes: ast.AST | None) -> Names:
        return self._summaries.of([n for n in nodes if n is not None]).read

    def _flow_of(self, statements: Sequence[ast.stmt]) -> Flow:
        reads: Names = set(self.always)
        binds: Set[str] = set()
        for statement in reversed(statements):
            flow = self._flow(statement)
            reads, binds = _before(flow, reads), _ALL if _ALL in (flow[1], binds) else flow[1] | binds
        return reads, binds

    def _flow(self, s: ast.stmt) -> Flow:
        known = self._flows.get(id(s))
        if known is None:
            known = self._flows[id(s)] = self._new_flow(s)
        return known

    def _new_flow(self, s: ast.stmt) -> Flow:
        match s:
            case ast.If():
                return self._joined(self._read(s.test), [s.body, s.orelse])
            case ast.For() | ast.While():
                return self._start(s, set()) | self._read(getattr(s, "iter", None)), set()
            case ast.With():
                return self._joined(self._read(*s.items), [s.body])
            case ast.Try() | ast.TryStar():
                return self._of_try(s)
            case ast.Match():
                heads = [self._read(case.pattern, case.guard) for case in s.cases]
                return self._joined(self._read(s.subject).union(*heads), [*[case.body for case in s.cases], []])
        own = self._summaries.of([s])
        reads = own.read | _added_to(s) | self.always
        return reads, _ALL if isinstance(s, (ast.Return, ast.Raise)) else own.bound

    def _joined(self, heads: Names, branches: Sequence[Sequence[ast.stmt]]) -> Flow:
        flows = [self._flow_of(branch) for branch in branches]
        ending = [flow[1] for flow in flows if flow[1] is not _ALL]
        return heads.union(*[flow[0] for flow in flows]), set(ending[0]).intersection(*ending[1:]) if ending else _ALL

    def _of_try(self, s: ast.Try | ast.TryStar) -> Flow:
        ends, binds = self._flow_of(s.finalbody)
        handled = Names().union(*[_before(self._flow_of(h.body), ends) for h in s.handlers])
        inside = _before(self._flow_of(s.body), _before(self._flow_of(s.orelse), ends) | handled)
        return inside | handled | ends | self._read(*[h.type for h in s.handlers]), binds


def _before(flow: Flow, after: Names) -> Names:
    reads, binds = flow
    return set(reads) if binds is _ALL else reads | (after - binds)


def _added_to(s: ast.AST) -> Names:
    """Return the name x of `x += y`."""
    return {s.target.id} if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) else set()


class Unbound(ast.NodeVisitor):
    """Reads of names that may have no value, by the id of the node, of names that only a part of a function binds.

    `outside` are such names of functions around it.
    """

    def __init__(
        self, function: ast.FunctionDef, outside: Names, summaries: Summaries, inner: Sequence[ast.AST]
    ) -> None:
        self.reads: set[int] = set()
        self._summaries = summaries
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self._has = {a.arg for a in every if a}
        self._sometimes: Names = set()
        waiting: list[ast.AST] = [*function.body, *[s for scope in inner for s in walk(scope)]]
        for node in waiting:  # which grows
            if isinstance(node, (ast.If, ast.For, ast.While, ast.Match)):
                self._sometimes |= summaries.of([node]).bound
            elif isinstance(node, _COMPOUND):
                waiting += blocks(node)
        self.sometimes = self._sometimes | (outside - self._has - summaries.of(function.body).bound)
        self._sometimes = self.sometimes
        self._run(function.body)

    def _run(self, statements: Sequence[ast.AST]) -> None:
        for s in statements:
            if type(s) in _SIMPLE or isinstance(s, ast.expr):
                own = self._summaries.of([s])
                if not (own.read | _added_to(s)) & self._sometimes - self._has:
                    self._has |= own.bound
                    continue
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
        self._run([node.test])
        self._joined(functools.partial(self._run, node.body), functools.partial(self._run, node.orelse))

    def visit_For(self, node: ast.For) -> None:
        self._run([node.iter])
        self._joined(functools.partial(self._run, [node.target, *node.body]), lambda: None)

    def visit_While(self, node: ast.While) -> None:
        self._run([node.test])
        self._joined(functools.partial(self._run, node.body), lambda: None)

    def visit_Try(self, node: ast.Try) -> None:
        handlers = [functools.partial(self._run, h.body) for h in node.handlers]
        self._joined(functools.partial(self._run, [*node.body, *node.orelse]), *handlers, lambda: None)
        self._run(node.finalbody)

    visit_TryStar = visit_Try  # type: ignore[assignment]

    def visit_Match(self, node: ast.Match) -> None:
        self._run([node.subject])
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
