"""Parts that most programs never ask for: each is loaded when it is first used, so that importing costs little."""

from __future__ import annotations

import importlib
from typing import Any


class Lazy:
    """A module by its name. Its attributes are found when they are asked for, by Python's import, which has locks."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


cost = Lazy("anyshape.frontend.cost")
draw_dot = Lazy("anyshape.frontend.draw_dot")
draw_html = Lazy("anyshape.frontend.draw_html")
explanation = Lazy("anyshape.frontend.explanation")
profiling = Lazy("anyshape.frontend.profiling")
program_file = Lazy("anyshape.frontend.program_file")
tree_data = Lazy("anyshape.frontend.tree_data")
