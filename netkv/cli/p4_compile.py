"""`netkv p4 compile`: the programs of schemes through p4c, for bmv2."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json, stdout


def compile_(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SCHEME...]", help="Default: all schemes.", autocompletion=completion.schemes
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change an option of the lab: programs may depend on it.",
            autocompletion=completion.changes,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compile programs of schemes for bmv2 with p4c, show its warnings, and cache the output.

    A lab on bmv2 does the same by itself and uses the same cache.
    """
    from netkv import schemes
    from netkv.live.bmv2.compiler import compile_scheme
    from netkv.scenarios import loader
    from netkv.scenarios.model import Scenario

    chosen = [schemes.get(name) for name in names] if names else list(schemes.all_schemes())
    found: list[dict[str, Any]] = []
    for scheme in chosen:
        about = loader.override(Scenario(name="lab", schemes=[scheme.name]), changes or ())
        lab = about.of_scheme(scheme.name).lab
        compiled = compile_scheme(scheme, lab)
        found.append(
            {
                "scheme": scheme.name,
                "program": scheme.programs.main,
                "config": str(compiled.config),
                "p4info": str(compiled.p4info),
                "cached": compiled.cached,
                "warnings": compiled.warnings,
            }
        )
        if not json:
            if compiled.warnings:
                notify(compiled.warnings)
            how = "was compiled before" if compiled.cached else "is compiled"
            stdout().print(
                f"{scheme.name}: {scheme.programs.main} {how}: {compiled.config}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    if json:
        print_json({"programs": found})
