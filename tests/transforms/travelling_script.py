"""Script whose functions travel to other processes. Run as `python travelling_script.py spawn|loky [programs]`.

With `programs` they carry the programs that this process has traced.
Traces are noted in the file that TRACES names. Prints the numbers of traces and processes. For each
function it prints whether all results agree, and the largest number of objects that a process made of it.
"""

import concurrent.futures
import functools
import json
import multiprocessing
import os
import sys
from pathlib import Path

import numpy as np

import anyshape
from anyshape.transforms import sharing

TASKS = 12


def note():
    """Write down that a function is traced, and where."""
    with open(os.environ["TRACES"], "a") as file:
        file.write(f"{os.getpid()}\n")


def loss(w, x):
    note()
    return np.sum(np.tanh(x * w))


@anyshape.jit
def decorated(x):
    note()
    return x * 2


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) * 2

    return wrapper


@anyshape.jit
@doubled
def wrapped(x):
    note()
    return x + 3


def closure(factor):
    def scaled(x):
        note()
        return x * factor

    return anyshape.jit(scaled)


@functools.partial(anyshape.jit, static_argnums=1)
def power(x, k):
    """Call itself, so that its pickle refers to itself."""
    if k == 0:
        note()
        return x
    return x * power(x, k - 1)


class Model:
    def __init__(self, factor):
        self.factor = np.full(3, factor)

    @anyshape.jit
    def step(self, x):
        note()
        return x * self.factor

    def plus(self, x):
        note()
        return x + self.factor

    def __call__(self, x):
        note()
        return x - self.factor


x = np.arange(3.0)
CALLS = {
    "a derivative": (anyshape.value_and_grad(loss), (x, x)),
    "a decorated function": (decorated, (x,)),
    "a wrapped function": (wrapped, (x,)),
    "a closure": (closure(2.0), (x,)),
    "another closure of the name": (closure(3.0), (x,)),
    "a lambda": (anyshape.jit(lambda x: (note(), x + 1)[1]), (x,)),
    "a recursive function": (power, (x, 3)),
    "a jitted method": (Model(2.0).step, (x,)),
    "the method of another object": (Model(3.0).step, (x,)),
    "a plain method": (anyshape.jit(Model(4.0).plus), (x,)),
    "a callable object": (anyshape.jit(Model(5.0)), (x,)),
    "a partial function": (anyshape.jit(functools.partial(loss, x)), (x,)),
    "a transform of a transform": (anyshape.jit(anyshape.grad(loss)), (x, x)),
    "a batch of a jitted function": (anyshape.vmap(decorated), (x[:, None],)),
    "a checkpoint": (anyshape.grad(lambda x: np.sum(anyshape.checkpoint(decorated)(x))), (x,)),
}


def call(function, args):
    return os.getpid(), id(function), function(*args)


def run_spawn(jobs):
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [future.result() for future in [pool.submit(call, *job) for job in jobs]]


def run_loky(jobs):
    import joblib

    return joblib.Parallel(n_jobs=2)(joblib.delayed(call)(*job) for job in jobs)


def main():
    run, traces = {"spawn": run_spawn, "loky": run_loky}[sys.argv[1]], Path(os.environ["TRACES"])
    traces.write_text("")
    expected = []
    for function, args in CALLS.values():
        sharing.forget()  # programs that functions of one code share are not sent
        expected.append(function(*args))
    notes = len(traces.read_text().split())
    traces.write_text("")
    carry = sys.argv[2:] == ["programs"]
    jobs = [(function.with_programs() if carry else function, args) for function, args in CALLS.values()]
    answers = run([job for _ in range(TASKS) for job in jobs])
    processes = {pid for pid, _, _ in answers}
    report = {"traces": len(traces.read_text().split()), "traces of one process": notes, "processes": len(processes)}
    for number, name in enumerate(CALLS):
        mine = answers[number :: len(CALLS)]
        report[name] = [all(same(y, expected[number]) for *_, y in mine), objects(mine)]
    print(json.dumps(report))


def same(y, expected):
    if isinstance(expected, tuple):
        return all(map(same, y, expected))
    return np.array_equal(y, expected)


def objects(answers):
    """Return the largest number of objects that one process made of a function."""
    made = {(pid, number) for pid, number, _ in answers}
    return max(sum(pid == p for p, _ in made) for pid, _ in made)


if __name__ == "__main__":
    main()
