"""Clusters that a command uses: one that runs already, or one of its own, which ends with it.

The scheduler of an own cluster is in this process. Whoever joins it needs its certificate
(`credentials`), so others on the network can neither read units nor execute any.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import dask
from distributed import Client, LocalCluster
from distributed.utils import get_ip

from netkv.errors import NetkvError
from netkv.executors import credentials, unit_processes
from netkv.executors.cluster import Cluster
from netkv.executors.credentials import Credentials, Invitation
from netkv.executors.executor import Warn

_CONNECT_S = 15.0
_CLOSE_S = 10.0
_JOIN_S = 120.0
"""Seconds in which the first worker must come; a queue of SLURM is waited for without a limit."""


class Workers(Protocol):
    """Workers on other machines, which this command starts."""

    name: str
    join_seconds: float | None
    """In which time the first one comes; None: nobody knows."""

    def addresses(self) -> list[str]:
        """The addresses of this machine that they can reach; empty if nobody knows."""

    def start(self, invitation: Invitation) -> None:
        """Starts them; raises `NetkvError` if none can be started."""

    def all_ended(self) -> bool:
        """Whether none is left that may still join."""

    def stop(self) -> None:
        """Ends them."""


def local(count: int, warn: Warn = lambda _: None) -> Cluster:
    """A cluster with one worker in this process, which executes so many units at a time."""
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=count,
        processes=False,
        # Nobody needs a page about one process; the port of its server is a free one.
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        silence_logs=logging.CRITICAL,
        **unit_processes.options(count),
    )
    client = _client(cluster.scheduler_address, None)
    name = f"{count} process{'es' * (count != 1)} of this machine"
    found = Cluster(client, name, warn=warn, closes=lambda: _close(cluster))
    found.link = None
    return _with_workers(found, _JOIN_S)


def existing(address: str, warn: Warn) -> Cluster:
    """The cluster of a scheduler that runs already."""
    client = _client(address, None)
    found = Cluster(
        client,
        f"the cluster {address}",
        warn=warn,
        restarts="Start its scheduler again if it has ended.",
    )
    _with_workers(found, _CONNECT_S)
    for each in found.workers():
        if each.refused is not None:
            warn(f"The worker {each.name} gets no units. {each.refused}")
    return found


def with_workers(workers: Workers, warn: Warn) -> Cluster:
    """A cluster of this command's own, with workers that it starts."""
    own = credentials.made()
    cluster = _scheduler(own)
    port = cluster.scheduler_address.rpartition(":")[2]
    client = _client(cluster.scheduler_address, own)

    def close() -> None:
        workers.stop()
        _close(cluster)

    found = Cluster(client, workers.name, warn=warn, closes=close)
    try:
        known = workers.addresses()
        host = known[0] if known else get_ip()
        workers.start(Invitation(f"tls://{host}:{port}", own))
        warn(f"The scheduler is at tls://{host}:{port}.")
    except BaseException:
        found.close()
        raise
    return _with_workers(found, workers.join_seconds, workers.all_ended)


def _scheduler(own: Credentials) -> LocalCluster:
    """A scheduler without workers. Its certificate keeps others out."""
    _quiet()
    return LocalCluster(
        n_workers=0,
        host="0.0.0.0",
        protocol="tls://",
        security=credentials.joined(own),
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


def _close(cluster: LocalCluster) -> None:
    with suppress(Exception):
        cluster.close(timeout=_CLOSE_S)


def _client(address: str, own: Credentials | None) -> Client:
    _quiet()
    security: dict[str, Any] = {} if own is None else {"security": credentials.joined(own)}
    try:
        return Client(address, timeout=_CONNECT_S, set_as_default=False, **security)
    except (OSError, TimeoutError, RuntimeError) as error:
        why = str(error).strip().split("\n")[0].rstrip(".")
        raise NetkvError(
            f"The scheduler {address} cannot be reached: {why}. 'dask scheduler' starts one, and "
            f"'netkv worker {address}' its workers."
        ) from error


def _with_workers(
    found: Cluster, seconds: float | None, all_ended: Callable[[], bool] = lambda: False
) -> Cluster:
    try:
        found.wait_for_workers(seconds, all_ended)
    except BaseException:
        with suppress(Exception):
            found.close()
        raise
    return found


def _quiet() -> None:
    """What users should know of Dask is told in sentences of netkv's."""
    for name in ("distributed", "distributed.client", "distributed.nanny", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Units do not kill workers (`cluster`, rule 2): those that die were killed.
    dask.config.set({"distributed.scheduler.allowed-failures": 10})
