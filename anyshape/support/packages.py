"""Table of lazily imported modules, so that importing anyshape costs little over importing NumPy.

This table is the only place of the library that imports late. `extra` names the optional dependency group of a package
that anyshape can do without. Modules of anyshape itself stand here if `import anyshape` needs none of them: what
compiles a graph, derives one from another, or writes a report. To import a row counts as an import of its module, so a
folder may use only the rows of folders below it.
"""

import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

from anyshape.errors import MissingPackageError
from anyshape.support.fork_lock import Lock, collection_paused, restores_thread

_LOCK = Lock()


@restores_thread
def load(name: str) -> Any:
    """Import a module by its name, without looking for garbage meanwhile.

    Threads load one after another: two that came from two sides to modules which need each other would get half of one.
    What is loaded needs no turn, for which the import of another module, that a thread waits for, might wait.
    """
    if (module := sys.modules.get(name)) and not getattr(module.__spec__, "_initializing", False):
        return module
    with _LOCK, collection_paused():
        return importlib.import_module(name)


def folders(name: str) -> list[str]:
    """Return the folders of a package, without importing it; none if it is missing."""
    spec = importlib.util.find_spec(name)
    return [os.path.join(folder, "") for folder in (spec and spec.submodule_search_locations) or ()]


def attributes(package: Any) -> list[str]:
    """Return the names that the module of a row has."""
    return dir(package._module())


def fill(package: Any) -> None:
    """Give a row all names of its module, so that code which reads it imports nothing: compilers trace no imports."""
    package.__dict__.update({k: v for k, v in vars(package._module()).items() if not k.startswith("_")})


class Package:
    """Proxy of a module that is imported at the first access to one of its attributes."""

    def __init__(self, name: str, *, extra: str | None = None) -> None:
        self._name, self._extra, self._loaded = name, extra, False

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "__wrapped__":  # which `inspect.unwrap` asks of everything: no module has it
            raise AttributeError(attribute)
        value = getattr(self._module(), attribute)
        self.__dict__[attribute] = value  # later accesses find it without a call
        return value

    def _module(self):
        """Return the module, imported if it is not."""
        try:
            module = importlib.import_module(self._name) if self._loaded else load(self._name)
        except ModuleNotFoundError as error:
            package = self._name.partition(".")[0]
            if self._extra is None or (error.name or "").partition(".")[0] != package:
                raise
            raise MissingPackageError(package, self._extra) from None
        self._loaded = True
        return module


class Folder:
    """Folder of modules that each enter rows of tables: a module is imported when a row of its family is looked up."""

    def __init__(self, name: str) -> None:
        self._name = name

    def load(self, family: str) -> None:
        """Import the module of a family, if the folder has one."""
        name = f"{self._name}.{family}"
        try:
            load(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise


islpy: Package = Package("islpy")  # integer sets: claims that intervals and models leave open
networkx: Package = Package("networkx")  # layers of a drawing, minimum cuts under a memory limit
threadpoolctl: Package = Package("threadpoolctl")  # thread count of BLAS, asked by the first large contraction
numpy_testing: Package = Package("numpy.testing")  # assertions of traced functions
lapack: Package = Package("scipy.linalg.lapack")  # factors of matrices that are kept, and triangular solutions
scipy_cluster: Package = Package("scipy.cluster")
scipy_vq: Package = Package("scipy.cluster.vq")
scipy_integrate: Package = Package("scipy.integrate")
scipy_fft: Package = Package("scipy.fft")
scipy_interpolate: Package = Package("scipy.interpolate")
scipy_linalg: Package = Package("scipy.linalg")
scipy_ndimage: Package = Package("scipy.ndimage")
scipy_optimize: Package = Package("scipy.optimize")
scipy_windows: Package = Package("scipy.signal.windows")
scipy_signal: Package = Package("scipy.signal")  # filters with feedback too
scipy_sparse: Package = Package("scipy.sparse")
scipy_sparse_linalg: Package = Package("scipy.sparse.linalg")
scipy_spatial: Package = Package("scipy.spatial")
scipy_transform: Package = Package("scipy.spatial.transform")
scipy_distance: Package = Package("scipy.spatial.distance")
scipy_special: Package = Package("scipy.special")
scipy_stats: Package = Package("scipy.stats")
decimal: Package = Package("decimal")  # decimals among arguments and captured values
futures: Package = Package("concurrent.futures")  # pools of processes and threads
multiprocessing: Package = Package("multiprocessing")
queue: Package = Package("queue")  # runs that wait for threads: made with the first thread
shutil: Package = Package("shutil")  # width of the terminal; it loads all compressions
html: Package = Package("html")  # escapes of pages; it loads the table of all named characters
argcomplete: Package = Package("argcomplete", extra="completion")  # of the command line in shells
cloudpickle: Package = Package("cloudpickle", extra="cluster")  # functions that no module has by name
dask: Package = Package("dask", extra="cluster")
distributed: Package = Package("distributed", extra="cluster")  # clients of a cluster
joblib: Package = Package("joblib", extra="cluster")
matplotlib_figure: Package = Package("matplotlib.figure", extra="demo")
rich_console: Package = Package("rich.console", extra="demo")
rich_markup: Package = Package("rich.markup", extra="demo")
rich_progress: Package = Package("rich.progress", extra="demo")
rich_table: Package = Package("rich.table", extra="demo")
array_api_strict: Package = Package("array_api_strict")
compat_cupy: Package = Package("array_api_compat.cupy", extra="arrays")
compat_torch: Package = Package("array_api_compat.torch", extra="arrays")
cupy_special: Package = Package("cupyx.scipy.special")
jax: Package = Package("jax")
jax_linalg: Package = Package("jax.scipy.linalg")
jax_numpy: Package = Package("jax.numpy")
jax_special: Package = Package("jax.scipy.special")
torch: Package = Package("torch")
dask_array: Package = Package("dask.array", extra="cluster")
dask_base: Package = Package("dask.base", extra="cluster")
dask_delayed: Package = Package("dask.delayed", extra="cluster")
dask_highlevelgraph: Package = Package("dask.highlevelgraph", extra="cluster")
dask_optimization: Package = Package("dask.optimization", extra="cluster")

# Rows of tables, a module for each family of ops: loaded at the lookup of one of its rows.
kernels: Folder = Folder("anyshape.backend.numpy")
library_kernels: Folder = Folder("anyshape.backend.xp")
derivative_rules: Folder = Folder("anyshape.autodiff.rules")

if TYPE_CHECKING:
    from anyshape.autodiff import equal_values as equal_values
    from anyshape.autodiff import flat_rules as flat_rules
    from anyshape.autodiff import jvp as graph_jvp
    from anyshape.autodiff import linearize_transpose as linearize_transpose
    from anyshape.autodiff import padded_examples as padded_examples
    from anyshape.autodiff import replay as graph_replay
    from anyshape.autodiff import subgraph_transforms as subgraph_transforms
    from anyshape.autodiff import vmap as graph_vmap
    from anyshape.backend.compiler import lower as lower
    from anyshape.backend.compiler.codegen import loop_source as loop_source
    from anyshape.backend.compiler.passes.fusion import fuse as fusing
    from anyshape.backend.native import automatic as automatic_kernels
    from anyshape.backend.native import kernels as native_kernels
    from anyshape.backend.native import launch as native_launch
    from anyshape.backend.native import nest_listing as nest_listing
    from anyshape.backend.native import nest_profile as timed_nests
    from anyshape.backend.native import nest_sites as loop_nests
    from anyshape.backend.native import nests as native_nests
    from anyshape.backend.runtime import blas as blas
    from anyshape.backend.xp import libraries as libraries
    from anyshape.backend.xp import write as library_code
    from anyshape.demo import cluster as demo_cluster
    from anyshape.graph.prover import size_points as size_points
    from anyshape.inspect import cost as costs
    from anyshape.inspect import explanation_text as explain_text
    from anyshape.inspect import notebook as notebook
    from anyshape.inspect import profile as profiles
    from anyshape.inspect.draw import html as draw_html
    from anyshape.inspect.draw import picture as draw_picture
    from anyshape.numpy.analysis import quantile_methods as quantile_methods
    from anyshape.numpy.arrays import concrete_views as concrete_views
    from anyshape.numpy.arrays import python_slips as python_slips
    from anyshape.numpy.random import random_state as traced_generators
    from anyshape.numpy.sizes import python_values as python_values
    from anyshape.numpy.sizes import values_of_sizes as values_of_sizes
    from anyshape.optimize import transformations as gradient_transformations
    from anyshape.program import file as program_file
    from anyshape.program import loop_slots as loop_slots
    from anyshape.program import program as traced_program
    from anyshape.program import saved_rules as saved_rules
    from anyshape.program import saved_trees as saved_trees
    from anyshape.tracing import argument_containers as argument_containers
    from anyshape.tracing import decisions as value_decisions
    from anyshape.tracing import looks as looks
    from anyshape.tracing import row_maps as mapped_rows
    from anyshape.tracing import world as world
    from anyshape.tracing.captured import rebound as rebound
    from anyshape.tracing.source import find as source_find
    from anyshape.tracing.source import rebuild as source_rebuild
    from anyshape.tracing.source import rewrite as source_rewrite
    from anyshape.transforms import less_memory as less_memory
    from anyshape.transforms import profiler as profiler
    from anyshape.transforms import sharing as sharing
    from anyshape.transforms.caching import paths as paths
    from anyshape.transforms.caching import sent_programs as sent_programs
    from anyshape.transforms.control_flow import cumulative_functions as cumulative_functions
    from anyshape.transforms.control_flow import size_paths as size_paths
    from anyshape.transforms.ragged import mapping as ragged_mapping
else:
    demo_cluster = Package("anyshape.demo.cluster")
    libraries = Package("anyshape.backend.xp.libraries")  # of arrays that are not NumPy's
    library_code = Package("anyshape.backend.xp.write")
    traced_program = Package("anyshape.program.program")  # with the compiler: plans and their code
    automatic_kernels = Package("anyshape.backend.native.automatic")  # of optimised plans
    native_kernels = Package("anyshape.backend.native.kernels")  # of programs that compile their groups
    native_nests = Package("anyshape.backend.native.nests")  # of programs with loops that take long
    loop_nests = Package("anyshape.backend.native.nest_sites")  # of programs with loops
    native_launch = Package("anyshape.backend.native.launch")
    timed_nests = Package("anyshape.backend.native.nest_profile")  # of loops that are profiled
    nest_listing = Package("anyshape.backend.native.nest_listing")  # of loops that are read as C
    lower = Package("anyshape.backend.compiler.lower")  # what passes rely on, for reports
    subgraph_transforms = Package("anyshape.autodiff.subgraph_transforms")  # element values of loops
    graph_replay = Package("anyshape.autodiff.replay")  # derived graphs
    graph_jvp = Package("anyshape.autodiff.jvp")
    equal_values = Package("anyshape.autodiff.equal_values")  # of decompositions
    loop_source = Package("anyshape.backend.compiler.codegen.loop_source")  # of programs with loops
    blas = Package("anyshape.backend.runtime.blas")  # of linear algebra and large products
    fusing = Package("anyshape.backend.compiler.passes.fusion.fuse")  # of optimised plans
    costs = Package("anyshape.inspect.cost")  # of programs with a memory limit, and reports
    linearize_transpose = Package("anyshape.autodiff.linearize_transpose")
    graph_vmap = Package("anyshape.autodiff.vmap")
    flat_rules = Package("anyshape.autodiff.flat_rules")  # of ragged_map
    padded_examples = Package("anyshape.autodiff.padded_examples")  # of ragged_map
    size_points = Package("anyshape.graph.prover.size_points")  # of open claims about sizes
    quantile_methods = Package("anyshape.numpy.analysis.quantile_methods")  # all but "linear"
    concrete_views = Package("anyshape.numpy.arrays.concrete_views")  # the first write of a traced value
    values_of_sizes = Package("anyshape.numpy.sizes.values_of_sizes")  # of scalars such as 1 / n
    python_slips = Package("anyshape.numpy.arrays.python_slips")  # of code that wants values
    python_values = Package("anyshape.numpy.sizes.python_values")  # of sizes, and len
    mapped_rows = Package("anyshape.tracing.row_maps")  # np.apply_along_axis and np.vectorize
    traced_generators = Package("anyshape.numpy.random.random_state")  # of functions that draw random numbers
    ragged_mapping = Package("anyshape.transforms.ragged.mapping")  # calls of vmap with results of several sizes
    gradient_transformations = Package("anyshape.optimize.transformations")  # with all of SciPy: not on workers
    loop_slots = Package("anyshape.program.loop_slots")  # loops under a memory limit
    program_file = Package("anyshape.program.file")
    saved_rules = Package("anyshape.program.saved_rules")  # pickles of programs
    saved_trees = Package("anyshape.program.saved_trees")
    less_memory = Package("anyshape.transforms.less_memory")  # for calls that exceed max_bytes
    paths = Package("anyshape.transforms.caching.paths")  # of a function that decides on values
    rebound = Package("anyshape.tracing.captured.rebound")  # the first trace
    sent_programs = Package("anyshape.transforms.caching.sent_programs")  # pickles of jitted functions
    sharing = Package("anyshape.transforms.sharing")
    argument_containers = Package("anyshape.tracing.argument_containers")  # that a trace passes
    looks = Package("anyshape.tracing.looks")  # at values that are refused, and the error is caught
    world = Package("anyshape.tracing.world")  # that traced functions read: clocks, files
    value_decisions = Package("anyshape.tracing.decisions")  # of Python, with the naive evaluator
    cumulative_functions = Package("anyshape.transforms.control_flow.cumulative_functions")  # of associative_scan
    source_find = Package("anyshape.tracing.source.find")  # of functions with loops
    source_rebuild = Package("anyshape.tracing.source.rebuild")
    source_rewrite = Package("anyshape.tracing.source.rewrite")
    size_paths = Package("anyshape.transforms.control_flow.size_paths")  # of exported functions that decide on sizes
    explain_text = Package("anyshape.inspect.explanation_text")
    notebook = Package("anyshape.inspect.notebook")
    draw_picture = Package("anyshape.inspect.draw.picture")
    draw_html = Package("anyshape.inspect.draw.html")
    profiler = Package("anyshape.transforms.profiler")
    profiles = Package("anyshape.inspect.profile")
