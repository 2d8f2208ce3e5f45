"""The executor that `--on` names.

| place | workers |
|---|---|
| `local:N` | N processes of this machine, by Dask |
| `dask://HOST:PORT` | those of a Dask scheduler that runs already (also `tls://`) |
| `ssh:FILE` | started over SSH on the hosts of a file |
| `slurm[:PARTITION][?tasks=N&...]` | the tasks of a job array of SLURM |
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from netkv.errors import NetkvError, UsageError
from netkv.executors.executor import Executor, Warn

_FORMS = "local:N, dask://HOST:PORT, tls://HOST:PORT, ssh:FILE, or slurm[:PARTITION][?tasks=N]"


def opened(place: str, warn: Warn = lambda _: None) -> Executor:
    """The executor at a place; to be closed.

    `warn` gets sentences about hosts and workers that cannot be used. Raises `UsageError` for a
    place that does not exist, `NetkvError` if nobody answers there, or no worker has this netkv.
    """
    found = re.fullmatch(r"([a-z]+)(?::|(?=\?)|$)(.*)", place)
    kind, rest = found.groups() if found else ("", "")
    if kind not in ("local", "dask", "tcp", "tls", "ssh", "slurm"):
        raise _wrong(place)
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError as error:
        raise NetkvError(
            f"'--on {place}' needs Dask, which is not installed. Install netkv[cluster]."
        ) from error
    match kind:
        case "local":
            if not rest.isdecimal() or int(rest) == 0:
                raise _wrong(place)
            from netkv.executors import own_cluster

            return own_cluster.local(int(rest), warn)
        case "dask" | "tcp" | "tls":
            if not re.fullmatch(r"//[^/\s]+:\d+", rest):
                raise _wrong(place)
            from netkv.executors import own_cluster

            return own_cluster.existing(f"{'tcp' if kind == 'dask' else kind}:{rest}", warn)
        case "ssh":
            from netkv.executors import host_file, hosts, own_cluster

            return own_cluster.with_workers(hosts.Hosts(host_file.read(rest), warn), warn)
        case _:
            from netkv.executors import own_cluster, slurm

            partition, _, options = rest.partition("?")
            return own_cluster.with_workers(slurm.array(partition, parse_qsl(options)), warn)


def _wrong(place: str) -> UsageError:
    return UsageError(f"--on {place}: there is no such place. It should look like {_FORMS}.")
