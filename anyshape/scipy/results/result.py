"""Results of solvers inside of traced functions: trees of arrays with the attributes of SciPy's results."""

from __future__ import annotations

from typing import Any

from anyshape.tracing.tree_nodes import register_class


class Result(dict[str, Any]):
    """Dictionary whose entries are attributes too, as SciPy's results are; a tree that traced functions can return."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            problem = f"a result of a traced solver has no attribute {name!r}, only {', '.join(self)}"
            raise AttributeError(problem, name=name, obj=self) from None

    def __dir__(self) -> list[str]:
        return sorted(self)

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:>{width}}: {value}" for name, value in self.items())


register_class(
    Result, lambda x: (tuple(x.values()), tuple(x)), lambda names, values: Result(zip(names, values, strict=True))
)
