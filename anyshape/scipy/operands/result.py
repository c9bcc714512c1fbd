"""Results of solvers inside of traced functions: trees of arrays with the attributes of SciPy's results.

Objects whose attributes stay as they are, so that a program that captured them is never out of date.

What a program reads of a captured array is compared in each call; what an attribute of an object names is not.
"""

from typing import Any

from anyshape.tracing.pytrees import register_class


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


class FixedAttributes:
    """Object whose attributes are set once."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            problem = f"attribute {name!r} of {type(self).__name__} cannot be set again: make another one"
            raise AttributeError(problem, name=name, obj=self)
        object.__setattr__(self, name, value)
