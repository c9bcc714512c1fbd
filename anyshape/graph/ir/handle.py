"""Memory layout of handles."""


class Handle:
    """Memory layout of handles, by which an array that a trace made may become a traced one while others hold it."""

    __slots__ = ("__weakref__", "builder", "exact", "memory", "owner", "value", "views", "weak")
