"""Rewrite a function so that its loops and choices ask, while it is traced, whether they become part of the program.

Bodies of loops and branches become functions inside, which share the variables of the function: `nonlocal` says so.
Each loop, `if`, `and`, conditional expression and call then asks the run-time part, a module that the name
`__anyshape__` stands for. Where nothing is traced, that does what Python does.
"""

import ast
import contextlib
from collections.abc import Iterable, Sequence
from typing import Any

from anyshape.ops.subgraph_call import RUNTIME
from anyshape.tracing.source.jumps import (
    VALUE,
    UnreadableError,
    assigned,
    known,
    load,
    own_nodes,
    runtime,
    thunk,
    without_jumps,
)
from anyshape.tracing.source.name_flow import (
    FIELDS,
    GROWING,
    INNER,
    Live,
    Liveness,
    Summaries,
    Unbound,
    bound,
    captured,
    parts,
    read,
    walk,
)
from anyshape.tracing.source.patterns import without_patterns
from anyshape.tracing.source.texts import as_call, is_runtime, late_texts, stated, waiting

_ALL_NAMES = {"locals", "vars", "dir", "eval", "exec"}  # they see variables that moved into functions inside
_LISTED = {"sum", "min", "max", "list", "tuple", "sorted"}  # they read a generator to its end
_JOINED = {"any", "all"}  # they read a generator until they know
_GRIDS = {"r_", "c_", "mgrid", "ogrid"}  # what makes arrays where it is indexed
_OPERATORS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_KEYED = {"changed": "keyed", "augmented": "keyed_again"}  # of an item, in place of an attribute
_SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def rewritten(node: ast.FunctionDef | ast.Lambda, way: str = "") -> ast.FunctionDef:
    """Return a function with the syntax of another one, which it changes; raise UnreadableError if that cannot be.

    "stepped" is the way for loops and choices in its own frame, where a debugger may stop. A generator that is run "to
    its end" gives the list of what it yields.
    """
    if way == "to its end" and isinstance(node, ast.FunctionDef):
        _list_yields(node)
    if isinstance(node, ast.Lambda):
        body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
        node = ast.copy_location(ast.FunctionDef("__kept_lambda__", node.args, body, []), node)
    if way != "stepped":
        without_patterns(node)
    node = (_Stepped if way == "stepped" else _Rewriter)(node, set()).function()
    _fill_positions(node)
    return node


def _fill_positions(node: Any) -> None:
    """Let nodes without a position have the one of the node around them, faster than `ast.fix_missing_locations`."""
    nodes: list[Any] = [node]
    for outer in nodes:  # which grows
        inside: list[Any] = parts(outer)
        nodes += inside
        for inner in inside:
            own = inner.__dict__
            if "lineno" not in own:
                own["lineno"], own["col_offset"] = outer.lineno, outer.col_offset
                own["end_lineno"], own["end_col_offset"] = outer.end_lineno, outer.end_col_offset
        if type(outer) is ast.Attribute and type(outer.value) is ast.Name and outer.value.id == RUNTIME:
            # Python takes a call of a method to be at the last line of its name
            outer.end_lineno, outer.end_col_offset = outer.lineno, outer.col_offset


def _list_yields(function: ast.FunctionDef) -> None:
    """Let a function that yields return the list of that."""
    for node in [n for s in function.body for n in own_nodes(s)]:
        match node:
            case ast.Expr(ast.Yield(value)):
                append = ast.Attribute(load(_YIELDED), "append", ast.Load())
                node.value = ast.copy_location(ast.Call(append, [value or ast.Constant(None)], []), node.value)
            case ast.Return():
                node.value = ast.copy_location(load(_YIELDED), node)
    at = 1 if ast.get_docstring(function, clean=False) is not None else 0
    first = ast.copy_location(assigned(_YIELDED, ast.List([], ast.Load())), function.body[0])
    function.body.insert(at, first)
    function.body.append(ast.copy_location(ast.Return(load(_YIELDED)), function.body[-1]))


_YIELDED = "__kept_yielded__"


def _check(nodes: Iterable[ast.AST]) -> None:
    """Raise UnreadableError for nodes of a function that functions inside of it would change."""
    for n in nodes:
        if isinstance(n, _SUSPENDS):
            raise UnreadableError("it is a generator or a coroutine")
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in _ALL_NAMES and len(n.args) < 1:
            raise UnreadableError(f"it calls {n.func.id}()")
        if isinstance(n, ast.Name) and n.id in ("exec", "eval"):
            raise UnreadableError(f"it calls {n.id}")


class _Rewriter(ast.NodeTransformer):
    """Rewrites one function, and by others of its kind the functions inside."""

    def __init__(self, function: ast.FunctionDef, sometimes: set[str]) -> None:
        self._function, self._sometimes = function, sometimes  # names of functions around it that may have no value
        self._summaries = Summaries()
        every, self._before = self._summaries.nodes(function.body)  # also behind a jump, which are left out
        self._inner = [n for n in every if isinstance(n, INNER)]
        self._nodes = [n for s in function.body for n in own_nodes(s)] if self._inner else every
        first = [*function.args.posonlyargs, *function.args.args][:1]
        self._first = first[0].arg if first else None
        arguments = walk(function.args)
        self._own = self._before | {n.arg for n in arguments if isinstance(n, ast.arg)}
        self._globals, self._nonlocals, bound_inside = _outside(every, self._nodes)
        self._bound_inside = bound_inside & self._own  # others are of functions between
        own = self._globals or self._nonlocals or self._bound_inside
        self._late = {} if own else late_texts([*every, *arguments])  # purposes of texts, by ids of expressions

    def function(self) -> ast.FunctionDef:
        """Return the function, rewritten."""
        node = self._function
        _check(self._nodes)
        without_jumps(node)
        always = {VALUE, *self._nonlocals, *self._globals, *captured(self._inner)}
        self._live = Liveness(node, always, self._summaries).around
        unbound = Unbound(node, self._sometimes | self._nonlocals, self._summaries, self._inner)
        self._unbound, self._sometimes = unbound.reads, unbound.sometimes
        names = sorted((self._before | self._bound(node.body)) - self._globals - self._nonlocals)
        at = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body[at:] = [*_declared(names, node), *self._block(node.body[at:])]
        return node

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for s in statements:
            is_simple = not isinstance(s, (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.TryStar, ast.Match))
            own = self._globals | self._nonlocals
            outside = self._bound([s]) & own if is_simple and own else set()
            new = self.visit(s)
            done += new if isinstance(new, list) else [new] if new is not None else []
            for name in sorted(outside):
                rebinds = ast.Expr(runtime("rebinds", ast.Constant(name), thunk(load(name))))
                done.append(ast.copy_location(rebinds, s))
        return done or [ast.Pass()]

    def generic_visit(self, node: Any) -> Any:
        """Rewrite the parts of a node, faster than `ast.NodeTransformer` does."""
        values = node.__dict__
        for name in FIELDS[type(node)]:
            value = values.get(name)
            if type(value) is list:
                new: list[Any] = []
                for x in value:
                    y = None if x is None else self.visit(x)
                    new += y if type(y) is list else [y] if y is not None or x is None else []
                value[:] = new
            elif value is not None:
                values[name] = self.visit(value)
        return node

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a node."""
        kind = type(node)
        if kind is ast.Constant or (kind is ast.Name and id(node) not in self._unbound):
            return node
        visitor = _VISITORS.get(kind)
        if visitor is None:
            visitor = _VISITORS[kind] = f"visit_{kind.__name__}"
        return getattr(self, visitor, self.generic_visit)(node)

    # -- bodies and branches as functions

    def _body(
        self, name: str, names: set[str], block: list[ast.stmt], like: ast.AST, *parameters: str
    ) -> ast.FunctionDef:
        """Return a function inside that runs a block, which binds names of the function around it."""
        names = names | self._bound_inside
        shared = sorted(names - self._globals)
        head: list[ast.stmt] = [ast.Global(sorted(names & self._globals))] if names & self._globals else []
        head += [ast.Nonlocal(shared)] if shared else []
        arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
        made = ast.FunctionDef(name, arguments, [*head, *block], [])
        return ast.copy_location(made, like)

    def _facts(self, statement: ast.stmt, block: Sequence[ast.AST], target: Sequence[ast.AST] = ()) -> ast.Constant:
        """Return what analysis knows of a loop or a choice: names, and why it stays as it is written, "" if it may not.

        The names are what it binds, what of this is read later, and what `x += y` alone binds.
        """
        live = self._live.get(id(statement), Live(set(), set()))
        own = self._summaries.of([*block, *target])
        names = own.bound | self._bound_inside
        stops = getattr(statement, "stops", ())
        later = names & (live.start | live.after | {*stops} | self._bound_inside)
        in_place = names - own.rebound
        after = names & (live.after | self._bound_inside)
        facts = [
            sorted(names),
            sorted(later),
            sorted(after),
            sorted(in_place),
            stops,
            sorted(self._summaries.of(block).written),
            sorted(own.grown),
        ]
        outer = sorted(own.bound & self._globals)
        plain = f"it binds {outer[0]}, a global variable" if outer else own.plain
        return _constant([*map(tuple, facts), own.nests, plain])

    def _bound(self, nodes: Sequence[ast.AST]) -> set[str]:
        return self._summaries.of(nodes).bound

    def _asked(self, test: ast.expr) -> Any:
        """Return what is tested, rewritten."""
        return self.visit(_truths(test))

    def visit_If(self, node: ast.If) -> Any:
        facts = self._facts(node, [*node.body, *node.orelse])
        if flags := getattr(node, "flags", None):
            block = self._body("__kept_if__", self._bound(node.body) | {*flags}, self._block(node.body), node)
            return [block, self._statement(runtime("unless", _constant(flags), load(block.name), facts), node)]
        test = self._asked(node.test)
        yes = self._body("__kept_if__", self._bound(node.body), self._block(node.body), node)
        functions = [yes]
        call = runtime("if_", test, load(yes.name), ast.Constant(None), facts)
        if node.orelse:
            names = self._bound(node.orelse)
            functions.append(self._body("__kept_else__", names, self._block(node.orelse), node.orelse[0]))
            call.args[2] = load(functions[1].name)
        return [*functions, self._statement(call, node)]

    def visit_For(self, node: ast.For) -> Any:
        facts = self._facts(node, node.body, [node.target])
        if isinstance(node.iter, ast.GeneratorExp) and _is_simple(node.iter):
            self.generic_visit(node.iter)
            iterable = ast.copy_location(_listed(node.iter.elt, node.iter.generators, "sifted"), node.iter)
        else:
            iterable = self.visit(node.iter)
        if not getattr(node, "stops", ()):
            _run_over(iterable)
        names = self._bound([node.target, *node.body])
        item = ast.copy_location(ast.Assign([self._target(node.target)], load("__kept_item__")), node.target)
        body = self._body("__kept_body__", names, [item, *self._block(node.body)], node, "__kept_item__")
        return [body, self._statement(runtime("for_", iterable, load(body.name), facts), node)]

    def visit_While(self, node: ast.While) -> Any:
        facts = self._facts(node, node.body, [node.test])
        test = self._test("__kept_test__", node.test)
        body = self._body("__kept_body__", self._bound(node.body), self._block(node.body), node)
        return [test, body, self._statement(runtime("while_", load(test.name), load(body.name), facts), node)]

    def _test(self, name: str, test: ast.expr) -> ast.FunctionDef:
        names, answer = bound([test]), ast.copy_location(ast.Return(self._asked(test)), test)
        return ast.copy_location(self._body(name, names, [answer], answer), test)

    @staticmethod
    def _statement(call: ast.expr, like: ast.AST) -> ast.Expr:
        head = getattr(like, "test", getattr(like, "iter", like))
        return ast.copy_location(ast.Expr(ast.copy_location(call, head)), head)

    def visit_Try(self, node: ast.Try) -> Any:
        """Let what is tried, and what handles exceptions, say so to a loop that is kept."""
        self.generic_visit(node)
        first, last = [ast.copy_location(ast.Expr(runtime(n)), node) for n in ("tries", "tried")]
        node.body = [first, *node.body, last] if node.handlers else node.body
        for handler in node.handlers:
            handler.body.insert(0, ast.copy_location(ast.Expr(runtime("handles")), handler.body[0]))
        return node

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = ast.copy_location(runtime("entered", item.context_expr), item.context_expr)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        decorators = [self.visit(d) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        with contextlib.suppress(UnreadableError):  # it stays as it is written
            node = type(self)(node, self._sometimes).function()
        node.decorator_list = decorators
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.body = [self.visit_FunctionDef(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Drop the annotation: a variable of a function around may not have one."""
        if node.value is None:
            return None
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Assert(self, node: ast.Assert) -> Any:
        made: list[ast.stmt] = []
        names: list[ast.expr] = []
        if node.msg is not None:
            message = self.visit(waiting(node.msg, "raise"))
            made, names = [assigned("__kept_message__", thunk(message))], [load("__kept_message__")]
            node.msg = ast.copy_location(runtime("failed", *names), message)
        node.test = ast.copy_location(runtime("holds", self._asked(node.test), *names), node.test)
        return [*[ast.copy_location(s, node) for s in made], node]

    def visit_Raise(self, node: ast.Raise) -> Any:
        node.exc = node.exc and self.visit(stated(node.exc, node.cause is None))
        node.cause = node.cause and self.visit(stated(node.cause, is_apart=False))
        return node

    # -- expressions

    def visit_Name(self, node: ast.Name) -> Any:
        is_unbound = id(node) in self._unbound and not node.id.startswith("__kept")
        return ast.copy_location(self._checked(node), node) if is_unbound else node

    @staticmethod
    def _checked(node: ast.Name) -> ast.Call:
        return runtime("bound", thunk(ast.copy_location(load(node.id), node)), ast.Constant(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Let the object of an attribute say what its properties are; a name from outside is mostly a module."""
        is_outside = isinstance(node.value, ast.Name) and node.value.id not in self._own
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and not is_outside:
            node.value = ast.copy_location(runtime("of", node.value), node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        name = getattr(node.value, "attr", getattr(node.value, "id", ""))
        self.generic_visit(node)
        if name in _GRIDS and isinstance(node.ctx, ast.Load):
            node.value = ast.copy_location(runtime("grid", node.value), node.value)
        elif isinstance(node.ctx, ast.Load) and not isinstance(node.slice, (ast.Constant, ast.Slice, ast.UnaryOp)):
            node.value = ast.copy_location(runtime("at", node.value), node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        was_unbound = id(node) in self._unbound
        node.value = self.visit(node.value)
        if not isinstance(node.target, ast.Name):
            node.target = self._target(node.target, "augmented")
        else:
            name = load(node.target.id)
            value = self._checked(ast.copy_location(name, node)) if was_unbound else runtime("changed", name)
            first = ast.Assign([ast.Name(name.id, ast.Store())], value)
            return [ast.copy_location(first, node), node]
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        purpose = self._late.get(id(node.value), "")
        if purpose:
            node.value = ast.copy_location(runtime("settled", as_call(node.value, purpose)), node.value)
        node.value = self.visit(node.value)
        if len(node.targets) == 1:
            node.value = _unpacked(node.targets[0], node.value)
        node.targets = [self._target(t) for t in node.targets]
        return node

    def visit_Delete(self, node: ast.Delete) -> Any:
        node.targets = [self._target(t) for t in node.targets]
        return node

    def _target(self, target: Any, asks: str = "changed") -> Any:
        """Return a target whose object says whether a loop that is kept may change it."""
        if isinstance(target, (ast.Subscript, ast.Attribute)):
            target.value = self.visit(target.value)
            if isinstance(target, ast.Subscript):
                target.slice = self.visit(target.slice)
                asks = _KEYED[asks]
            target.value = ast.copy_location(runtime(asks, target.value), target.value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            target.elts = [self._target(t) for t in target.elts]
        elif isinstance(target, ast.Starred):
            target.value = self._target(target.value)
        return target

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        self.generic_visit(node)
        return as_call(node, "")

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and any(map(_is_list, (node.left, node.right))):
            return ast.copy_location(runtime("repeated", node.left, node.right), node)
        if isinstance(node.op, ast.MatMult):
            return ast.copy_location(runtime("matmul", node.left, node.right), node)
        return as_call(node, "")

    def visit_Call(self, node: ast.Call) -> Any:
        if (text := as_call(node, "")) is not node:
            return self.visit(text)
        if (name := _called(node)) == "super":
            return self._super(node)
        if (made := self._of_iterable(node, name)) is not None:
            return made
        if isinstance(node.func, ast.Attribute) and node.func.attr in GROWING:
            node.func.value = self._member(node.func.value)
        node.args = [waiting(x, "print") for x in node.args] if name == "print" else node.args
        is_ours = is_runtime(node)
        asks = "" if is_ours else _with_texts(node)
        self.generic_visit(node)
        node.func = ast.copy_location(runtime(asks, node.func), node.func) if asks else node.func
        if name in _LISTED:
            _read_to_end(node.args)
        return node

    def _of_iterable(self, node: ast.Call, name: str) -> ast.Call | None:
        """Return what stands for a call of a generator, or of `zip(*x)`; None for others, as for `sum` of a list."""
        match node.args:
            case [ast.GeneratorExp() as of, *_] if name in _LISTED or _is_filled(node):
                node.args[0] = ast.copy_location(ast.ListComp(of.elt, of.generators), of)
            case [ast.Starred(of)] if name == "zip" and not node.keywords:
                return ast.copy_location(runtime("transposed", node.func, self.visit(of)), node)
            case [ast.GeneratorExp() as of] if name in _JOINED and _is_simple(of):
                return self._joined(node, of)
        return None

    def _joined(self, node: ast.Call, of: ast.GeneratorExp) -> ast.Call:
        """Return `any` or `all` of what a generator gives, as a loop that asks no further item once it is known."""
        self.generic_visit(of)
        call = _listed(of.elt, of.generators, "joined")
        call.args.insert(0, node.func)
        return ast.copy_location(call, node)

    @staticmethod
    def _member(owner: ast.expr) -> ast.expr:
        """Return a member of an object that a statement changes, so that the run-time part knows the object too."""
        if not isinstance(owner, (ast.Attribute, ast.Subscript)) or _binds(owner):
            return owner
        base, owner.value = owner.value, load("__kept_owner__")
        read = ast.Lambda(ast.arguments([], [ast.arg("__kept_owner__")], None, [], [], None, []), owner)
        return ast.copy_location(runtime("member", base, read), owner)

    def _super(self, node: ast.Call) -> ast.Call:
        """Return `super()` with what it means in the function itself, for functions inside."""
        if not node.args and self._first:
            node.args = [load("__class__"), load(self._first)]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if any(map(_binds, node.values[1:])):
            return self.generic_visit(node)
        first, *others = [self.visit(v) for v in node.values]
        name = "or_" if isinstance(node.op, ast.Or) else "and_"
        return ast.copy_location(runtime(name, first, *map(thunk, others)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(_truths(node))
        return ast.copy_location(runtime("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        node.test = _truths(node.test)
        self.generic_visit(node)
        if _binds(node.body) or _binds(node.orelse):
            return node
        return ast.copy_location(runtime("choose", node.test, thunk(node.body), thunk(node.orelse)), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        is_plain = len(node.ops) == 1 and not isinstance(node.ops[0], (ast.In, ast.NotIn))
        if is_plain or any(map(_binds, node.comparators[1:])):
            return node
        symbols = [ast.Constant(_OPERATORS[type(op)]) for op in node.ops]
        values = [known(node.comparators[0]), *map(thunk, node.comparators[1:])]
        others = [ast.Tuple([symbol, x], ast.Load()) for symbol, x in zip(symbols, values, strict=True)]
        return ast.copy_location(runtime("compare", node.left, *others), node)

    def _made(self, node: Any) -> Any:
        self.generic_visit(node)
        is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        return ast.copy_location(runtime("made", node), node) if is_read else node

    visit_List = visit_Dict = visit_Set = _made

    def visit_SetComp(self, node: ast.SetComp) -> Any:
        made = self._made(node)
        node.elt = ast.copy_location(runtime("key_of", node.elt), node.elt)
        return made

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        made = self._made(node)
        node.key = ast.copy_location(runtime("key_of", node.key), node.key)
        return made

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        if any(g.is_async or _names(g.target) is None for g in node.generators) or _binds(node) or _outlive(node):
            return self._made(node)
        self.generic_visit(node)
        first = node.generators[0]
        if isinstance(first.iter, ast.GeneratorExp) and _is_simple(first.iter):
            first.iter = ast.copy_location(_listed(first.iter.elt, first.iter.generators, "sifted"), first.iter)
        _run_over(first.iter)
        return ast.copy_location(_listed(node.elt, node.generators, "listed"), node)

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        node.ifs = [_truths(test, is_operand=True) for test in node.ifs]
        return self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return self.generic_visit(node)


class _Stepped(_Rewriter):
    """Rewrites what calls and texts mean, and leaves the statements as they are."""

    def function(self) -> ast.FunctionDef:
        _check(self._nodes)
        self._unbound = set[int]()
        self._function.body = self._block(self._function.body)
        return self._function

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return self.generic_visit(ast.Module([*statements], [])).body

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Let a debugger that a statement calls skip the library, by functions of C, which it does not step into."""
        name, is_call = getattr(getattr(node.value, "func", None), "attr", None), isinstance(node.value, ast.Call)
        is_debugger = is_call and (name == "set_trace" or _called(node.value) == "breakpoint")  # type: ignore[arg-type]
        self.generic_visit(node)
        if not is_debugger:
            return node
        owner = runtime("getattr", runtime("gettrace"), ast.Constant("__self__"), ast.Constant(None))
        space = runtime("getattr", owner, ast.Constant("__dict__"), ast.Dict([], []))
        skips = ast.keyword("skip", ast.Attribute(load(RUNTIME), "SKIPPED", ast.Load()))
        skip = ast.Expr(ast.Call(ast.Attribute(space, "update", ast.Load()), [], [skips]))
        return [node, ast.copy_location(skip, node)]

    visit_If = visit_For = visit_While = visit_BoolOp = visit_IfExp = visit_Compare = ast.NodeTransformer.generic_visit
    visit_ListComp = _Rewriter._made


_VISITORS: dict[type, str] = {}


def _listed(item: ast.expr, generators: Sequence[ast.comprehension], name: str) -> ast.Call:
    """Return the call that makes the list of a comprehension; what follows its first `for` is a function of items."""
    first, *others = generators
    targets = _names(first.target) or []
    of_item = lambda body: ast.copy_location(
        ast.Lambda(ast.arguments([], [ast.arg(t) for t in targets], None, [], [], None, []), body), body
    )
    body = _listed(item, others, name) if others else item
    tests = [thunk(test) for test in first.ifs[1:]]
    passes = [of_item(ast.copy_location(runtime("and_", test, *tests), test)) for test in first.ifs[:1]]
    facts = _constant([_parts_of(first.target), bool(others)])
    return runtime(name, of_item(ast.copy_location(body, item)), first.iter, facts, *passes)


def _truths(test: Any, *, is_operand: bool = False) -> Any:
    """Return a test whose operands of `and`, `or` and `not` are truths, which alone are asked for."""
    match test:
        case ast.BoolOp(values=values):
            test.values = [_truths(x, is_operand=True) for x in values]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            test.operand = _truths(operand)
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() | ast.BinOp() if is_operand:
            return test if _binds(test) else ast.copy_location(runtime("truth", test), test)
    return test


def _unpacked(target: ast.expr, value: ast.expr) -> ast.expr:
    """Return a value that several targets take apart, which may have any number of rows."""
    if not isinstance(target, (ast.Tuple, ast.List)) or any(isinstance(t, ast.Starred) for t in target.elts):
        return value
    if isinstance(value, (ast.Tuple, ast.List)):
        if len(value.elts) == len(target.elts):
            value.elts = [_unpacked(t, v) for t, v in zip(target.elts, value.elts, strict=True)]
        return value
    return ast.copy_location(runtime("unpacked", value, ast.Constant(len(target.elts))), value)


def _constant(values: Sequence[Any]) -> ast.Constant:
    new: Any = tuple(values)
    return ast.Constant(new)


def _outside(every: Sequence[ast.AST], own: Sequence[ast.AST]) -> tuple[set[str], set[str], set[str]]:
    """Return the globals and outer variables that a function binds, and its own that functions inside of it bind.

    Any call may change these.
    """
    outer = _named_by(ast.Nonlocal, own)
    return _named_by(ast.Global, own), outer, _named_by(ast.Nonlocal, every) - outer


def _named_by(kind: type, nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that statements of a kind declare."""
    return {name for n in nodes if isinstance(n, kind) for name in n.names}  # type: ignore[attr-defined]


def _declared(names: list[str], like: ast.AST) -> list[ast.stmt]:
    """Return a statement that makes names variables of a function, and is not run."""
    if not names:
        return []
    dead = ast.Assign([ast.Name(name, ast.Store()) for name in names], ast.Constant(None))
    return [ast.copy_location(ast.If(ast.Constant(False), [dead], []), like)]


def _names(target: ast.expr) -> list[str] | None:
    """Return the names of a target in their order, None for one with starred parts, attributes or items."""
    if isinstance(target, ast.Name):
        return [target.id]
    each = [_names(part) for part in target.elts] if isinstance(target, (ast.Tuple, ast.List)) else [None]
    names = [name for part in each for name in part or [""]]
    return names if "" not in names and len({*names}) == len(names) else None


def _parts_of(target: ast.expr) -> tuple[Any, ...]:
    """Return the parts of each part of a target, none for a name."""
    return tuple(map(_parts_of, target.elts)) if isinstance(target, (ast.Tuple, ast.List)) else ()


def _is_list(node: ast.expr) -> bool:
    """Return whether an expression is a list of one item, as it is rewritten."""
    is_made = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "made" and is_runtime(node)
    return is_made and isinstance(node.args[0], ast.List) and len(node.args[0].elts) == 1  # type: ignore[attr-defined]


def _with_texts(node: ast.Call) -> str:
    """Let texts among the arguments of a call know what is called; return the name of what the function is asked by."""
    values = [*node.args, *[k.value for k in node.keywords]]
    last = max([k for k, x in enumerate(values) if as_call(x, "") is not x], default=-1)
    values = [as_call(x, "last argument" if k == last else "argument") for k, x in enumerate(values)]
    node.args = values[: len(node.args)]
    for keyword, value in zip(node.keywords, values[len(node.args) :], strict=True):
        keyword.value = value
    return "call" if last < 0 else "call_with_texts"


def _is_filled(node: ast.Call) -> bool:
    """Return whether a call is `np.fromiter` of all items."""
    is_whole = len(node.args) < 3 and all(k.arg == "dtype" for k in node.keywords)
    return is_whole and getattr(node.func, "attr", "") == "fromiter"


def _read_to_end(args: list[Any]) -> None:
    """Let a call that is the first argument give a list in place of a generator."""
    match args:
        case [ast.Call(func=ast.Call(func=ast.Attribute(attr="call") as asks)), *_]:
            asks.attr = "call_to_end"


def _run_over(iterable: Any, asked: str = "call_in_loop") -> None:
    """Let a call that a loop runs over to its end, or one inside of `enumerate` or `zip`, be one of a generator."""
    match iterable:
        case ast.Call(func=ast.Call(func=ast.Attribute(attr="call"), args=[ast.Name("enumerate" | "zip" as name)])):
            for x in iterable.args:
                _run_over(x, "call_in_zip" if name == "zip" and len(iterable.args) > 1 else asked)
        case ast.Call(func=ast.Call(func=ast.Attribute(attr="call") as asks) as call) if is_runtime(call):
            asks.attr = asked


def _is_simple(node: ast.GeneratorExp) -> bool:
    """Return whether a generator has one `for`, whose targets nothing outlives."""
    first, *others = node.generators
    return not (others or first.is_async or _names(first.target) is None or _binds(node) or _outlive(node))


def _outlive(node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Return whether functions or generators that items make read a target, which is one variable for all items."""
    targets = bound([g.target for g in node.generators])
    every = walk(node)[1:]
    ended = {id(n.args[0]) for n in every if isinstance(n, ast.Call) and n.args and _called(n) in {*_LISTED, *_JOINED}}
    inside = [n for n in every if isinstance(n, (*_SCOPES, ast.GeneratorExp)) and id(n) not in ended]
    return any(targets & read(n) for n in inside)


def _called(node: ast.Call) -> str:
    """Return the name of the function that a call is of, "" for others."""
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _binds(node: ast.AST) -> bool:
    """Return whether an expression binds a name, which would be one of a function inside."""
    return any(isinstance(n, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) for n in walk(node))
