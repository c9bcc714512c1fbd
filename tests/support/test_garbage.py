"""The collector is paused for imports alone, and what the user did with it stays."""

import gc
import subprocess
import sys
import weakref

import pytest

from anyshape import jit
from anyshape.support.fork_lock import collection_deferred, collection_paused


class Node:
    pass


def cycle():
    node = Node()
    node.itself = node
    return weakref.ref(node)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was_after_imports_that_fail_too(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with collection_paused():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
        with pytest.raises(ImportError), collection_paused():
            raise ImportError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.slow
def test_garbage_of_before_and_of_the_pause_is_still_collected():
    frozen = gc.get_freeze_count() > 0
    gc.unfreeze()  # as in a process without tests
    before = cycle()
    with collection_paused():
        inside = cycle()
    assert gc.get_freeze_count() == 0
    gc.collect()
    if frozen:
        gc.freeze()
    assert before() is None and inside() is None


def test_importing_leaves_frozen_objects_frozen():
    code = "import gc; gc.freeze(); import anyshape; assert gc.get_freeze_count()"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was_after_a_trace(enabled):
    seen = []

    def function(x, fails):
        seen.append(gc.isenabled())
        if fails:
            raise KeyError("of the user")
        return x + 1

    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        jit(function, static_argnums=1)(1.0, False)
        assert gc.isenabled() == enabled
        with pytest.raises(KeyError):
            jit(function, static_argnums=1)(1.0, True)
        assert gc.isenabled() == enabled and not any(seen)
        with collection_deferred(), collection_deferred():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
