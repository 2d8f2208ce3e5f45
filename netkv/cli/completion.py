"""Completion of words in shells: scenarios, schemes, runs, labs, nodes, options, programs.

Rules
-----
1. A completer yields words that begin with the typed text. After an error it yields nothing: it
   never fails and prints nothing on stderr.
2. It imports modules when it is called, and only those it needs, because the user waits.
3. Bash splits words at `=`, so `workload.mix=y` arrives as three words. `joined` puts them
   together, and the completions are cut behind the `=`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import typer

VARIABLE = "_NETKV_COMPLETE"
"""Environment variable that the shell sets to request completions."""
_MAX_RUNS = 200
"""Maximum number of runs, newest first."""

Completer: TypeAlias = Callable[[typer.Context, str], Iterable[str]]


def _safe(complete: Completer) -> Callable[[typer.Context, str], list[str]]:
    """Wraps a completer: keeps matching words in order, without duplicates; none after an error."""

    @functools.wraps(complete)
    def safely(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            found = list(complete(ctx, incomplete))
        except Exception:
            return []
        return [each for each in dict.fromkeys(found) if each.startswith(incomplete)]

    # typer identifies the parameters by their annotations, which are strings here.
    safely.__annotations__ = {"ctx": typer.Context, "incomplete": str, "return": list[str]}
    return safely


@_safe
def scenarios(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """The scenarios that ship, and .yaml files."""
    from netkv import resources

    names = resources.scenarios()
    yield from names
    if not any(name.startswith(incomplete) for name in names):
        yield from _files(incomplete, (".yaml", ".yml"))


@_safe
def evaluations(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """The papers and experiments that `netkv reproduce` takes, and .yaml files."""
    import re

    from netkv import resources

    files = sorted(resources.path("papers").glob("*.yaml"))
    names = ["all", *(file.stem for file in files)]
    for file in files:
        # Read as text: the user waits, and a parser of YAML takes longer than all the rest.
        names += re.findall(r"^  - name: (\S+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    yield from names
    if not any(name.startswith(incomplete) for name in names):
        yield from _files(incomplete, (".yaml", ".yml"))


@_safe
def schemes(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """Every scheme."""
    from netkv.schemes import all_schemes

    return (scheme.name for scheme in all_schemes())


@_safe
def kits(ctx: typer.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    """The kits of `netkv scheme new`."""
    from netkv.schemes.new import kits_of_control_planes

    return kits_of_control_planes()


@_safe
def searchable_schemes(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """The schemes that `netkv soak` takes."""
    from netkv.soak import searchable

    return (scheme.name for scheme in searchable.schemes())


@_safe
def designs(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """The designs for FPGAs that ship, and .toml files."""
    from netkv import resources

    names = sorted(file.stem for file in (resources.path("fpga") / "designs").glob("*.toml"))
    yield from names
    if not any(name.startswith(incomplete) for name in names):
        yield from _files(incomplete, (".toml",))


@_safe
def runs(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """The newest runs of the store, and their groups."""
    from netkv.runs import default_store

    found = default_store.newest(_MAX_RUNS)
    yield from (run for run, _ in found)
    yield from (group for _, group in found)


@_safe
def statuses(ctx: typer.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    """Every status of a stored run."""
    from netkv.runs.query import STATUSES

    return STATUSES


@_safe
def sort_keys(ctx: typer.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    """The names that runs can be sorted by."""
    from netkv.runs.query import sortable

    return sortable()


@_safe
def labs(ctx: typer.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    """All existing labs."""
    from netkv.live import state

    return state.names()


@_safe
def jobs(ctx: typer.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    """The jobs of the server, newest first."""
    from netkv.home import home

    return sorted(file.parent.name for file in (home() / "jobs").glob("*/job.json"))[::-1]


@_safe
def nodes(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """The nodes of the lab on the command line, or of the default lab."""
    from netkv.live import state

    if (lab := state.load(_lab_of(ctx))) is not None:
        yield from lab.nodes
        yield "controller"


@_safe
def logs(ctx: typer.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    """The logs of a lab."""
    from netkv.live import state

    # If an option still lacks its value, the words before it are in `ctx.args`.
    lab = next(iter(ctx.args), None) or _lab_of(ctx)
    return sorted(file.stem for file in (state.labs() / lab / "logs").glob("*.log"))


@_safe
def changes(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """For `--set`: paths of options; after `=`, the values of options that have few."""
    from netkv.scenarios import option_paths

    path, equals, _ = incomplete.partition("=")
    fitting = [each for each in option_paths.leaves() if each.name.startswith(path)]
    if equals:
        fitting = [each for each in fitting if each.name == path]
    elif len(fitting) != 1:
        yield from (f"{each.name}=" for each in fitting)
        return
    for each in fitting:
        if not equals:
            # A second word with this prefix: the shell appends a blank to a single one.
            yield f"{each.name}="
        values = _profiles() if each.name == "lab.profile" else each.values
        yield from (f"{each.name}={value}" for value in values)


def option(path: str) -> Callable[[typer.Context, str], list[str]]:
    """The values of the option of a scenario at a path."""

    @_safe
    def values(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
        from netkv.scenarios import option_paths

        return (
            value for each in option_paths.leaves() if each.name == path for value in each.values
        )

    return values


@_safe
def fault_kinds(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """For `--faults`: all, none, or kinds with commas between them."""
    from netkv.events.catalogue import FAULT_KINDS

    before, comma, _ = incomplete.rpartition(",")
    given = before.split(",")
    if not comma:
        yield from ("all", "none")
    yield from (f"{before}{comma}{kind}" for kind in FAULT_KINDS if kind not in given)


@_safe
def p4_files(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """P4 programs."""
    return _files(incomplete, (".p4",))


@_safe
def mutants(ctx: typer.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG001
    """Mutants of the scheme."""
    from netkv import schemes
    from netkv.schemes import parts

    return parts.mutants(schemes.get(str(ctx.params.get("scheme"))))


@_safe
def stf_files(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """Packet tests."""
    return _files(incomplete, (".stf",))


@_safe
def benchmarked(ctx: typer.Context, incomplete: str) -> Iterator[str]:  # noqa: ARG001
    """Programs that `p4 bench` knows by name, and files."""
    from netkv import _engine

    names = list(_engine.bench_paths())
    yield from names
    if not any(name.startswith(incomplete) for name in names):
        yield from _files(incomplete, (".p4",))


def requested() -> bool:
    """Whether a shell requests completions."""
    return VARIABLE in os.environ


def complete(run: Callable[[], object]) -> int:
    """Prints the completions for the shell; `run` is the application. Returns the exit status."""
    cut = ""
    if os.environ[VARIABLE] == "complete_bash":
        try:
            words = shlex.split(os.environ["COMP_WORDS"])
            words, at, cut = joined(words, int(os.environ["COMP_CWORD"]))
        except (KeyError, ValueError):
            # An open quote, or a missing variable: there are no completions.
            return 1
        os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = shlex.join(words), str(at)
    output = io.StringIO()
    status = 0
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        try:
            run()
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        except Exception:
            status = 1
    for line in filter(None, output.getvalue().splitlines()):
        print(line.removeprefix(cut))
    return status


def joined(words: list[str], at: int) -> tuple[list[str], int, str]:
    """Joins the words that bash has split at `=`.

    `at` is the index of the word to complete. Returns words and index, and the text up to the last
    `=` of the value, which must be cut from the completions.
    """
    whole: list[str] = []
    glue = False
    index = 0
    for number, word in enumerate([*words, ""] if at == len(words) else words):
        if whole and (glue or word == "="):
            whole[-1] += word
        else:
            whole.append(word)
        glue = word == "="
        if number == at:
            index = len(whole) - 1
            break
    value = whole[index] if index < len(whole) else ""
    if value.startswith("--"):
        value = value.partition("=")[2]
    head, equals, _ = value.rpartition("=")
    return whole, index, f"{head}{equals}"


def _lab_of(ctx: typer.Context) -> str:
    from netkv.live import state

    return str(ctx.params.get("lab") or state.DEFAULT_LAB)


def _profiles() -> Iterable[str]:
    from netkv.sim import profiles

    return profiles.names()


def _files(incomplete: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Files with these endings, and directories. A single directory is replaced by its content."""
    folder, _, begin = incomplete.rpartition("/")
    prefix = f"{folder}/" if "/" in incomplete else ""
    found = [
        entry
        for entry in sorted(Path(prefix or ".").expanduser().iterdir())
        if entry.name.startswith(begin) and (begin or not entry.name.startswith("."))
    ]
    found = [entry for entry in found if entry.is_dir() or entry.name.endswith(endings)]
    if len(found) == 1 and found[0].is_dir():
        yield from _files(f"{prefix}{found[0].name}/", endings)
        return
    for entry in found:
        yield f"{prefix}{entry.name}{'/' if entry.is_dir() else ''}"
