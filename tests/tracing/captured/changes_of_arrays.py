"""Changes of arrays and buffers."""

import array
import ctypes
import mmap
import warnings

import numpy as np
import scipy.sparse

from tests.tracing.captured.case import case


@case
def element_of_a_closed_over_array():
    w = np.array([1.0, 2.0])
    yield lambda x: x * float(w[0])
    w[0] = 5.0


@case
def sum_of_a_closed_over_array():
    w = np.array([1.0, 2.0])
    yield lambda x: x * float(w.sum())
    w[1] = 5.0


@case
def zero_dimensional_array_that_decides():
    w = np.array(1.0)
    yield lambda x: x * 2 if w > 0 else x * 3
    w[()] = -1.0


@case
def mask():
    m = np.array([True, False, True])
    yield lambda x: x[m].sum()
    m[:] = [True, True, True]


@case
def mask_as_indices():
    m = np.array([True, False, True])
    yield lambda x: x[np.flatnonzero(m)].sum()
    m[1] = True


@case
def view_whose_base_changes():
    base = np.arange(6.0)
    w = base[::2]
    yield lambda x: x * float(w[1])
    base[2] = 9.0


@case
def transposed_view():
    base = np.arange(6.0).reshape(2, 3)
    w = base.T
    yield lambda x: x * float(w[2, 1])
    base[1, 2] = 9.0


@case
def shape_assigned():
    w = np.arange(6.0)
    yield lambda x: x * len(w)
    with warnings.catch_warnings(action="ignore"):
        w.shape = (2, 3)


@case
def shape_of_a_large_array_assigned():
    w = np.ones(6000)
    yield lambda x: x * len(w)
    with warnings.catch_warnings(action="ignore"):
        w.shape = (2, 3000)


@case
def array_resized():
    w = np.arange(4.0)
    yield lambda x: x * len(w)
    w.resize(6, refcheck=False)


@case
def integers_that_index():
    order = np.array([0, 1, 2])
    yield lambda x: x[list(order)] * np.arange(3.0)
    order[:] = [2, 1, 0]


@case
def array_in_a_list():
    ws = [np.ones(2), np.ones(2)]
    yield lambda x: x * float(ws[1][0])
    ws[1][0] = 4.0


@case
def array_in_a_dict_in_a_tuple():
    ws = ({"a": np.ones(2)}, 1)
    yield lambda x: x * float(ws[0]["a"][0])
    ws[0]["a"][0] = 4.0


@case
def structured_array():
    w = np.zeros(2, [("a", float), ("b", int)])
    yield lambda x: x + float(w["a"][0])
    w["a"] = 3.0


@case
def record_of_an_array():
    w = np.zeros(2, [("a", float)])[0]
    yield lambda x: x + float(w["a"])
    w["a"] = 3.0


@case
def array_of_objects():
    w = np.array([1.0, "a", None], dtype=object)
    yield lambda x: x * w[0]
    w[0] = 3.0


@case
def list_in_an_array_of_objects():
    w = np.empty(1, dtype=object)
    w[0] = [1.0]
    yield lambda x: x * w[0][0]
    w[0][0] = 3.0


@case
def text_array():
    w = np.array(["add", "mul"])
    yield lambda x: x + 3 if w[0] == "add" else x * 3
    w[0] = "mul"


@case
def nan_becomes_a_number():
    w = np.array([np.nan])
    yield lambda x: x + (0.0 if np.isnan(w[0]) else 1.0)
    w[0] = 0.0


@case
def zero_changes_its_sign():
    w = np.array([0.0])
    yield lambda x: np.copysign(x, float(w[0]))
    w[0] = -0.0


@case
def element_of_a_large_array():
    w = np.ones(6000)
    yield lambda x: x * float(w[0])
    w[0] = 3.0


@case
def mean_of_a_large_array():
    w = np.ones(6000)
    yield lambda x: x * w.mean()
    w[7] = 3.0


@case
def large_array_that_decides():
    w = np.zeros(6000, bool)
    yield lambda x: x * 2 if w.any() else x
    w[7] = True


@case
def large_array_in_a_container():
    w = {"w": [np.ones(6000)]}
    yield lambda x: x * np.unique(w["w"][0]).size
    w["w"][0][7] = 3.0


@case
def large_array_of_dates():
    w = np.zeros(6000, "datetime64[D]")
    yield lambda x: x * float((w.max() - w.min()).astype(int))
    w[7] = np.datetime64("1970-01-05")


@case
def large_array_of_records():
    w = np.zeros(6000, [("i", int), ("x", float)])
    yield lambda x: x * np.sum(w["x"] * x[0]) + float(w["x"][3])
    w["x"][3] = 3.0


@case
def large_array_of_objects():
    w = np.array([1.0] * 6000, object)
    yield lambda x: x * w[7]
    w[7] = 3.0


@case
def large_masked_array():
    w = np.ma.array(np.ones(6000), mask=np.arange(6000) % 3 == 0)
    yield lambda x: x * float(w.sum())
    w[7] = np.ma.masked


@case
def large_sparse_matrix():
    w = scipy.sparse.random(500, 500, 0.1, format="csr", random_state=0)
    yield lambda x: x * w.sum()
    w.data[0] += 3.0


@case
def sparse_matrix_that_is_a_dict():
    w = scipy.sparse.dok_matrix((4, 4))
    yield lambda x: x * w.tocsr().sum()
    w[1, 2] = 3.0


@case
def large_array_of_the_standard_library():
    w = array.array("d", [1.0] * 6000)
    yield lambda x: x * w[7]
    w[7] = 3.0


@case
def large_bytearray():
    w = bytearray(6000)
    yield lambda x: x * (w[7] + 1)
    w[7] = 3


@case
def large_array_of_a_model():
    class Model:
        def __init__(self):
            self.w = np.ones(6000)

        def __call__(self, x):
            return x * float(self.w[7])

    model = Model()
    yield model
    model.w[7] = 3.0


@case
def large_array_rebound():
    w = np.ones(6000)
    yield lambda x: x * float(w[0])
    w = np.ones(6000) * 2


@case
def large_array_used_as_it_is():
    w = np.ones((3, 600))
    yield lambda x: x @ w
    w[:] = 5.0


@case
def bytearray_changed():
    w = bytearray(b"\x01\x02")
    yield lambda x: x * w[0]
    w[0] = 7


@case
def array_of_the_standard_library():
    w = array.array("d", [1.0, 2.0])
    yield lambda x: x * w[0]
    w[0] = 7.0


@case
def memoryview_changed():
    data = bytearray(b"\x01\x02")
    w = memoryview(data)
    yield lambda x: x * w[0]
    data[0] = 7


@case
def masked_array():
    w = np.ma.masked_array([1.0, 2.0, 3.0], mask=[True, False, False])
    yield lambda x: x * float(w.sum())
    w.mask = [True, True, False]


@case
def number_of_ctypes():
    w = ctypes.c_double(2.0)
    yield lambda x: x * w.value
    w.value = 3.0


@case
def structure_of_ctypes():
    w = type("Pair", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int), ("b", ctypes.c_double)]})(1, 2.0)
    yield lambda x: x * w.b
    w.b = 3.0


@case
def memory_map():
    w = mmap.mmap(-1, 8)
    yield lambda x: x * w[0]
    w[0] = 3
