"""Programs whose loops raise, in plain Python and NumPy: each takes an array and an integer."""

# ruff: noqa: UP031, UP032 - texts of all kinds

import contextlib
import dataclasses
import sys

import numpy as np


class TooLarge(ArithmeticError):
    """Exception that makes its own text of values."""

    def __init__(self, value, *, at, limit=3.0):
        super().__init__(f"{value:.3f} at {at} is above {limit}")
        self.value, self.at = value, at


@dataclasses.dataclass
class Unfit(Exception):
    """Exception that is a dataclass."""

    index: int
    value: float
    name: str = "row"


class Plain(ValueError):
    """Exception without a text."""


CAUSE = KeyError("cause")
READY = ValueError("made before", 3)
READY.code = 7


def plain_text(x, n):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("negative")
        total = total + x[i]
    return total


def of_values(x, n):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError(f"bad {x[i]:.2f} at {i}, of {n:03d}, {len(x)=}, so far {total!s:>10}")
        total = total + x[i]
    return total


def percent(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("bad %5.2f at %d" % (x[i], i))
    return x


def formatted(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("bad {:.1f} at {at}".format(x[i], at=i))
    return x


def joined(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError("at " + str(i) + f": {x[i]}" + " is bad")
    return x


def asserted(x, n):
    total = 0.0
    for i in range(len(x)):
        assert x[i] >= 0
        total = total + x[i]
    return total


def asserted_with_text(x, n):
    total = 0.0
    for i in range(len(x)):
        assert x[i] >= 0, "negative"
        total = total + x[i]
    return total


def asserted_with_values(x, n):
    total = 0.0
    for i in range(len(x)):
        assert x[i] >= 0, f"{x[i]} at {i}"
        total = total + np.sqrt(x[i])
    return total


def own_class(x, n):
    for i in range(len(x)):
        if x[i] > 3:
            raise TooLarge(x[i], at=i)
        x[i] = x[i] * 2
    return x


def dataclass(x, n):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            raise Unfit(i, x[i])
        total += x[i] * x[i]
    return total


def class_alone(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise Plain
    return x


def made_before(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise READY
    return x


def with_cause(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise Plain(i) from CAUSE
    return x


def without_context(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise Plain(f"{i}") from None
    return x


def with_made_cause(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise Plain("outer") from KeyError(f"inner {i}")
    return x


def of_arrays(x, n):
    for i in range(len(x) - 1):
        if x[i] < 0:
            raise ValueError("rows", x[i : i + 2], [i, x[i]], {"at": i})
    return x


def two_kinds(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError(f"negative {i}")
        if x[i] > 3:
            raise OverflowError(f"large {i}")
    return x


def nested_choice(x, n):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            if x[i] < -2:
                raise ValueError(f"very {x[i]}")
            raise KeyError("slightly")
        total = total + x[i]
    return total


def all_branches(x, n):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 3 or x[i] < 0:
            if x[i] > 3:
                raise ValueError("large")
            else:
                raise KeyError(i)
        total = total + x[i]
    return total


def last_branch(x, n):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 1:
            total = total + x[i]
        elif x[i] < 3:
            total = total - 1
        else:
            raise ValueError(f"no rule for {x[i]}")
        if total < -3:
            raise TooLarge(total, at=i, limit=-3)
    return total


def _checked(v, where):
    if v < 0:
        _fail(v, where)
    return v * 2


def _fail(v, where):
    raise ValueError(f"{v} in {where}")


def of_callee(x, n):
    total = 0.0
    for i in range(len(x)):
        total = total + _checked(x[i], i)
    return total


def nested(x, n):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, len(x)):
            if x[i] - x[j] > 3:
                raise ValueError(f"{i}, {j}: {x[i] - x[j]}")
            total = total + x[i] * x[j]
    return total


def while_loop(x, n):
    k, value = 0, 1.0
    while value < 1e6 and k < len(x):
        if x[k] < 0:
            raise Plain(f"{k}: {value:.4e}")
        value = value * (1 + x[k])
        k += 1
    return value


def for_ever(x, n):
    k, value = 0, 0.0
    while True:
        value = value + x[k % max(len(x), 1)] if len(x) else 5.0
        k += 1
        if value > 4:
            break
        if k > 40:
            raise RuntimeError(f"not after {k} steps: {value}")
    return value


def unbound(x, n):
    for i in range(len(x)):
        if x[i] > 0:
            y = x[i]
        x[i] = y * 2
    return x


def unbound_after(x, n):
    for v in x:
        y = v * 2
    return y


def unbound_in_sum(x, n):
    for i in range(len(x)):
        if x[i] > 0:
            total = x[i]
        total += 1
    return total


def writes_before(x, n):
    seen = np.zeros(len(x))
    for i in range(len(x)):
        seen[i] = x[i]
        if seen[: i + 1].sum() < 0:
            raise ValueError(f"sum {seen.sum():.3f}")
    return seen


def rows(x, n):
    for i, v in enumerate(x.reshape(-1, 1)):
        if v[0] < 0:
            raise IndexError(f"row {i}: {v}")
    return x


def listed(x, n):
    return np.array([_checked(v, i) for i, v in enumerate(x)])


def appended(x, n):
    out = [x.sum()]
    for i in range(len(x)):
        out.append(_checked(x[i], i))
    return np.stack(out)


def in_parts_of_expressions(x, n):
    total = 0.0
    for i in range(len(x)):
        total += _checked(x[i], i) if x[i] < 0.7 else x[i]
        if x[i] > 0.7 and _checked(x[i] - 0.8, n) >= 0:
            total += 1
    return total


def swapped(x, n):
    a, b = 0.0, 1.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError(f"{a}, {b}")
        a, b = b, a + x[i]
    return a + b


def unpacked(x, n):
    total = 0.0
    for i in range(len(x) - 1):
        a, b = x[i : i + (2 if x[i] < 4 else 3)]
        c, d = x[i : i + (2 if x[i] >= 0 else 1)]
        total += a * b + c * d
    return total


PROGRAMS = [
    unpacked,
    plain_text, of_values, percent, formatted, joined, asserted, asserted_with_text, asserted_with_values, own_class,
    dataclass, class_alone, made_before, with_cause, without_context, with_made_cause, of_arrays, two_kinds,
    nested_choice, all_branches, last_branch, of_callee, nested, while_loop, for_ever, unbound, unbound_after,
    unbound_in_sum, writes_before, rows, listed, appended, in_parts_of_expressions, swapped,
]  # fmt: skip


def caught_around(x, n):
    total = 0.0
    try:
        for i in range(len(x)):
            if x[i] < 0:
                raise ValueError("negative")
            total = total + x[i]
    except ValueError:
        total = -1.0
    return total


def _safe(v):
    try:
        return _checked(v, "safe")
    except ValueError:
        return 0.0


def caught_inside(x, n):
    total = 0.0
    for i in range(len(x)):
        total = total + _safe(x[i])
    return total


def suppressed(x, n):
    total = np.zeros(1)
    with contextlib.suppress(ValueError):
        for i in range(len(x)):
            total[0] = total[0] + _checked(x[i], i)
    return total


def unbound_caught(x, n):
    for v in x[1:]:
        y = v
        if y > 10:
            break
    try:
        return y + 1
    except UnboundLocalError:
        return x[0]


def leaves_python(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            sys.exit("negative")
    return x


def interrupts(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise KeyboardInterrupt("negative")
    return x


def holds_an_object(x, n):
    for i in range(len(x)):
        if x[i] < 0:
            raise Plain("negative", np.float64)
    return x


def text_of_a_value(x, n):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * len(f"{i}")
    return total


def made_by_a_function(x, n):
    def made(i):
        return Plain(f"at {i}")

    for i in range(len(x)):
        if x[i] < 0:
            raise made(i)
    return x


def text_as_an_argument(x, n):
    total = 0.0
    for i in range(len(x)):
        total = total + _checked(x[i], f"part {i}")
    return total


def text_as_a_key(x, n):
    names = {"0": "zero", "3": "three"}
    for i in range(len(x)):
        if x[i] < 0:
            raise KeyError(names.get(f"{i}", "other"), len(f"{i}"))
    return x


CAUGHT = [caught_around, caught_inside, suppressed, unbound_caught]
NOTHING_ELSE = [
    leaves_python,
    interrupts,
    holds_an_object,
    text_of_a_value,
    text_as_an_argument,
    text_as_a_key,
    made_by_a_function,
]


def halved(x, n):
    k, value = 0, x[0]
    while value > 1:
        if k > 18:
            raise ValueError(f"{value} after {k}")
        value = value / 2 if value > 2 else value - 0.25
        k += 1
    return value


def printing(x, n):
    for i in range(len(x)):
        print(i)
        if x[i] < 0:
            print("negative")
            raise ValueError("negative")
    return x


def returns_early(x, n):
    for i in range(len(x)):
        if x[i] > 0.85:
            return x[i]
        if x[i] < 0:
            raise ValueError(f"no {i}")
    raise LookupError(f"none in {len(x)}: {x.sum():.2f}")


def on_a_path(x, n):
    if x[0] < 0:
        raise ValueError(f"{x[0]:.2f} of {len(x)}", x)
    assert x[0] != 3, f"it is {x[0]}"
    return (x * x).sum()


class Missing(Exception):
    """Exception that a process that loads a program may not have."""


def with_classes_of_its_own():
    class Local(Missing):
        pass

    def function(x):
        for i in range(len(x)):
            if x[i] < 0:
                raise Missing(f"{x[i]} at {i}", "a", None, 1, 2.5, [(i, True)], {"at": i})
            if x[i] > 5:
                raise Local(i)
        return x * 2

    return function
