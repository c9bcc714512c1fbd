"""Workers that the tests of this folder share: processes, and a cluster of Dask.

Their threads in this process would slow down whatever runs later, so they end with the folder.
"""

import pytest

from anyshape.cluster import Processes

QUIET = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}


def local_cluster(workers, **options):
    """Return a cluster on this machine, of processes by default, and its class of clients."""
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(n_workers=workers, **QUIET, **options), distributed.Client


@pytest.fixture(scope="package")
def pool():
    with Processes(2) as processes:
        yield processes


@pytest.fixture(scope="package")
def client():
    cluster, Client = local_cluster(2)
    with cluster, Client(cluster) as client:
        yield client
