"""Mistakes that were found after the ones of the other tables: calls, leaks, generators, other packages."""

# ruff: noqa: E501 (messages are whole)

import queue
import threading

import numpy as np
import scipy.sparse

from anyshape import grad, jit, trace
from tests.errors.mistakes import mistake, ones

STORED = queue.SimpleQueue()


@mistake(
    """trace() takes 1 positional argument but 2 were given
  write trace(f)(...): it returns a function, and that one takes the arguments"""
)
def argument_in_the_call_of_trace():
    trace(lambda x: x, ones(3))


@mistake(
    """grad(<lambda>): argnums is 2.0
  write grad(f)(...): the arguments go to the function that grad returns"""
)
def argument_in_the_call_of_grad():
    grad(lambda x: x * x, 2.0)


@mistake(
    """x + y: the traced array f64[x.shape[0]], made by x * 2 at model.py, was used after its trace had ended at model.py
  return it from the traced function instead of storing it"""
)
def leak_into_another_trace():
    def keep(x):
        STORED.put(x * 2)
        return x

    jit(keep)(ones(3))
    y = STORED.get(timeout=5)
    jit(lambda x: x + y)(ones(3))


@mistake(
    """x + 1: the traced array f64[x.shape[0]] was used in another thread than its trace at model.py
  compute in the thread that calls the traced function"""
)
def operation_in_another_thread():
    def sum_in_thread(x):
        raised = []

        def work():
            try:
                x + 1
            except RuntimeError as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        raise raised[0]

    jit(sum_in_thread)(ones(3))


@mistake(
    """next(rates): takes an item of the generator rates while it is traced, and each call would repeat the item of the trace at model.py
  take it outside of <lambda>, and pass it as an argument"""
)
def generator_that_is_closed_over():
    rates = (0.5**i for i in range(9))
    jit(lambda x: x * next(rates))(ones(3))


@mistake(
    """matrix @ x: a NumPy array needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  write anyshape.scipy.sparse.csr_array(matrix), whose products take traced values"""
)
def product_with_a_sparse_matrix():
    matrix = scipy.sparse.csr_array(np.eye(3))
    jit(lambda x: matrix @ x)(ones(3))


@mistake(
    """y[0, :2] = ...: 3 must be 1 or equal min(x.shape[1], 2) (2) at model.py
  make the axis of 3 elements 2 or 1 long"""
)
def values_for_a_part_of_a_row():
    def fill(x):
        y = x.copy()
        y[0, :2] = ones(3)
        return y

    jit(fill)(ones(2, 3))


@mistake(
    """'%.2f' % x.sum(): float() needs the value of a traced array f64[], which is not known while tracing at model.py
  return the array, and format it outside the traced function"""
)
def number_in_a_format():
    jit(lambda x: print("%.2f" % x.sum()))(ones(3))  # noqa: UP031
