"""Options that name files of this machine: a request must not have them.

On the command line they are files of the user. In a request they would let a client of the API
read whatever the server may read.
"""

from __future__ import annotations

from netkv.api.errors import RequestFieldError
from netkv.schemes.spec import LabSpec


def refuse(lab: LabSpec) -> None:
    """Raises `RequestFieldError` if an option names a file, or hosts."""
    if lab.profile.endswith(".json"):
        raise RequestFieldError(
            f"'lab.profile' is '{lab.profile}': a file of this machine cannot be named in a "
            f"request. Name a profile, or give figures in 'lab.profile_changes'.",
            "lab.profile",
        )
    if lab.hosts:
        raise RequestFieldError(
            "'lab.hosts' names hosts that are reached with your SSH keys, which a request cannot "
            "do. 'netkv up' and 'netkv scenario run' can.",
            "lab.hosts",
        )
    if lab.switch.p4info is not None:
        raise RequestFieldError(
            f"'lab.switch.config' is '{lab.switch.config}': a file of this machine cannot be named "
            f"in a request. It can be 'bmv2' or 'bundle'.",
            "lab.switch.config",
        )
