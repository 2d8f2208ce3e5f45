"""The schemes that `netkv soak` searches: those that promise to lose no acknowledged write."""

from __future__ import annotations

from netkv.errors import UsageError
from netkv.model.nodes import Client, Servers
from netkv.schemes import parts, registry
from netkv.schemes.scheme import Scheme


def schemes() -> list[Scheme]:
    """Those that it takes."""
    return [each for each in registry.all_schemes() if not parts.soak(each).LOSES_WRITES]


def check(scheme: Scheme) -> None:
    """Raises `UsageError` if the scheme loses acknowledged writes by design."""
    if not (why := parts.soak(scheme).LOSES_WRITES):
        return
    roles = (scheme.role(Servers), scheme.role(Client))
    able = [each.name for each in schemes() if (each.role(Servers), each.role(Client)) == roles]
    raise UsageError(
        f"'netkv soak' searches for lost writes, and '{scheme.name}' loses acknowledged writes by "
        f"design. {why}.\n"
        f"  Schemes with the same clients and servers: {', '.join(able) or 'none'}."
    )
