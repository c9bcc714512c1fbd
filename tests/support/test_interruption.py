"""States of the thread are restored after errors and Ctrl-C, and locks are taken in C."""

import gc
import pickle
import threading

import numpy as np
import pytest

from anyshape.support.fork_lock import Lock, restores_thread


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_states_are_restored_after_an_error(error):
    before = np.geterr(), np.geterrcall(), gc.isenabled()

    @restores_thread
    def fail():
        np.seterr(all="call")
        np.seterrcall(print)
        gc.disable()
        raise error

    with pytest.raises(error):
        fail()
    assert (np.geterr(), np.geterrcall(), gc.isenabled()) == before


def test_what_a_function_sets_stays_where_it_returns():
    @restores_thread
    def quiet(x, *, y):
        """Docs."""
        np.seterr(all="ignore")
        return x + y

    with np.errstate():
        assert quiet(1, y=2) == 3 and set(np.geterr().values()) == {"ignore"}
    assert quiet.__doc__ == "Docs." and quiet.__name__ == "quiet"


def test_a_lock_is_entered_in_c():
    """A method of Python could be interrupted once the lock is taken, before the block begins."""
    lock = Lock()
    for method in (type(lock).__enter__, type(lock).__exit__):
        assert not hasattr(method, "__code__")
    with lock, lock:  # reentrant
        taken = []
        thread = threading.Thread(target=lambda: taken.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
    assert taken == [False]
    with pytest.raises(TypeError):
        pickle.dumps(lock)
