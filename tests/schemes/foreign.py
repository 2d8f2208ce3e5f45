"""Packages with schemes, installed into a folder of the search path."""

from __future__ import annotations

from pathlib import Path

from netkv.schemes import registry

SCHEME = """
from typing import Annotated
from pydantic import Field
from netkv.options import SECONDS
from netkv.model.scheme_options import {base}
from netkv.model.nodes import Client, Servers
from netkv.schemes.scheme import About, Host, P4Programs, Scheme, Traits

class Options({base}):
    {option}
    \"\"\"Time between two probes.\"\"\"

SCHEME = Scheme(
    name="{name}", about=About(title="Probing", paper="None", summary="Probes."),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, "plain"), Host(Servers, "plain")), traits=Traits(caches=False),
    options=Options,
)
"""
PROBE = "probe_period: Annotated[float, Field(gt=0), SECONDS] = 0.5"


def source(name: str = "probing", base: str = "SchemeOptions", option: str = PROBE) -> str:
    """The source of a module with a scheme that has an option."""
    return SCHEME.format(name=name, base=base, option=option)


def install(folder: Path, package: str, text: str, scheme: str = "probing") -> None:
    """Install a package, a module and its entry point, into a folder."""
    (folder / f"{package}.py").write_text(text)
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{scheme} = {package}:SCHEME\n")
