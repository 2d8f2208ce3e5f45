"""Write-around: a cache of the hottest records in the switch that writes go around."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from netkv.metrics.metric import Metric
from netkv.metrics.readings import servers
from netkv.metrics.sources import Peak
from netkv.model.nodes import Client, Servers
from netkv.model.scheme_options import SwitchCache
from netkv.options import BYTES
from netkv.schemes.scheme import PLAIN, About, Host, Limits, P4Programs, Scheme, Traits


class Options(SwitchCache):
    cached_bytes: Annotated[int, Field(ge=1, le=128), BYTES] = 128
    """Largest value that the switch caches."""


def control_plane(spec, topology):
    from write_around.control_plane import WriteAround

    return WriteAround(topology)


SCHEME = Scheme(
    name="writearound",
    about=About(
        title="Write-around",
        paper="The example of docs/extend/add-a-scheme.md",
        summary="The switch caches the hottest records, and writes go around it.",
    ),
    programs=P4Programs(
        str(Path(__file__).with_name("write_around.p4")),
        defines=lambda lab: {"CACHED_BYTES": str(Options.of(lab).cached_bytes)},
    ),
    hosts=(
        Host(Client, PLAIN),
        Host(Servers, "python:write_around.server:WriteAroundServer"),
    ),
    traits=Traits(caches=True),
    control_plane=control_plane,
    options=Options,
    limits=Limits(one_switch=True),
    metrics=(
        Metric("refills", "Refills", "Answers that could fill an entry.", Peak(servers("refills"))),
    ),
)
