"""`netkv scheme`: the schemes that netkv can compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json, stdout

if TYPE_CHECKING:
    from netkv.schemes import Scheme

app = typer.Typer(help="List and show schemes, and where their files are.", no_args_is_help=True)

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Name of a scheme.", autocompletion=completion.schemes),
]


@app.command("list")
def list_schemes(json: Json = False) -> None:
    """List the schemes, netkv's own and those of installed packages."""
    from netkv.schemes import all_schemes, registry

    found = registry.catalogue()
    if json:
        about = [
            {
                "name": each.name,
                "title": each.about.title,
                "summary": each.about.summary,
                "paper": each.about.paper,
                "package": found.packages[each.name],
            }
            for each in all_schemes()
        ]
        print_json({"schemes": about, "problems": list(found.problems.values())})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("name", style="bold", no_wrap=True)
    for heading in ("title", "summary", "paper"):
        table.add_column(heading)
    for each in all_schemes():
        table.add_row(each.name, each.about.title, each.about.summary, each.about.paper)
    stdout().print(table)
    for problem in found.problems.values():
        notify(problem)


@app.command()
def show(name: Name, json: Json = False) -> None:
    """Show a scheme: its options, program, roles, limits and paper."""
    from netkv import schemes
    from netkv.schemes import counters
    from netkv.schemes.description import describe
    from netkv.schemes.spec import LabSpec

    scheme = schemes.get(name)
    counters.check_counters(scheme, LabSpec())
    about = describe(scheme)
    if json:
        print_json(about)
        return
    _print(scheme, about)


@app.command()
def files(name: Name, json: Json = False) -> None:
    """List the files and folders of a scheme."""
    from netkv import schemes
    from netkv.schemes import files as scheme_files

    found = scheme_files.of(schemes.get(name))
    if json:
        rows = [
            {"path": str(each.path), "what": each.what, "shared": each.shared} for each in found
        ]
        print_json({"scheme": name, "places": rows})
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    for each in found:
        about = f"{each.what} (shared)" if each.shared else each.what
        table.add_row(Text(_shown(each.path), style="bold"), about)
    stdout().print(table)


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new scheme.")],
    kit: Annotated[
        str,
        typer.Option(
            metavar="KIT",
            help="What it is made of: write_through or write_back, for example.",
            autocompletion=completion.kits,
        ),
    ] = "write_through",
    into: Annotated[Path, typer.Option(help="Folder in which its folder is made.")] = Path(),
    json: Json = False,
) -> None:
    """Write a small scheme that runs, with tests, as a package of its own."""
    from netkv.schemes.new import write

    place = write(name, kit, into)
    files = sorted(str(each.relative_to(place)) for each in place.rglob("*") if each.is_file())
    if json:
        print_json({"scheme": name, "folder": str(place), "files": files})
        return
    out = stdout()
    for file in files:
        out.print(str(place / file), highlight=False, soft_wrap=True)
    out.print(
        f"Next: install it ('uv pip install -e {place}'), run it ('netkv scenario run "
        f"{place / name}.yaml') and its tests ('pytest {place}').",
        highlight=False,
        soft_wrap=True,
    )


def _shown(path: Path) -> str:
    """The path from here, if it is below this directory; a folder ends with a slash."""
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return f"{shown}/" if path.is_dir() else str(shown)


def _print(scheme: Scheme, about: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = stdout()
    out.print(
        Text(scheme.about.title, style="bold"), scheme.about.summary, sep="  ", highlight=False
    )
    facts = Table(box=None, show_header=False, pad_edge=False)
    for what, value in (
        ("paper", about["paper"]),
        ("package", about["package"]),
        ("program", _programs(scheme)),
        ("server role", about["server_role"]),
        ("client role", about["client_role"]),
        ("coordinator", "yes" if about["limits"]["coordinator"] else "no"),
        ("multigets", "yes" if about["limits"]["multigets"] else "no"),
        ("switches", _switches(scheme)),
        ("pipelines", f"up to {about['limits']['pipelines']}"),
        ("clients", f"up to {about['limits']['clients']:,}"),
    ):
        facts.add_row(Text(what, style="dim"), value)
    out.print(facts)
    if not about["options"]:
        out.print("It has no options beside those of every lab.", highlight=False)
        return
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("option", style="bold", no_wrap=True)
    for heading in ("type", "default", "unit", "meaning"):
        table.add_column(heading)
    for option in about["options"]:
        default = _text(option["default"])
        table.add_row(option["option"], option["type"], default, option["unit"], option["meaning"])
    out.print(table)


def _programs(scheme: Scheme) -> str:
    others = (f"{path} (tier '{tier}')" for tier, path in scheme.programs.others.items())
    return ", ".join((scheme.programs.main, *others))


def _switches(scheme: Scheme) -> str:
    return (
        "one"
        if scheme.limits.one_switch
        else f"one or several; default: {scheme.topology.describe()}"
    )


def _text(value: Any) -> str:
    match value:
        case None:
            return "left out"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case _:
            return str(value)
