"""`netkv soak`: random racks, loads and faults in virtual time, until a violation is found."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkv.cli import completion, places
from netkv.cli.output import Json, notify, print_json, write
from netkv.cli.places import On
from netkv.home import home

if TYPE_CHECKING:
    from netkv.events.random_faults import FaultKind
    from netkv.soak.campaign import Found, Search, Tally
    from netkv.soak.case import Case
    from netkv.soak.pool import Pool

_SEEDS = 100
"""Default number of cases."""


def soak(
    scheme: Annotated[
        str | None,
        typer.Argument(
            help="The scheme to search ('netkv scheme list').",
            autocompletion=completion.searchable_schemes,
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of seeds (default: 100, or --seconds).")
    ] = None,
    first: Annotated[int, typer.Option("--from", min=0, help="The first seed.")] = 0,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, help="Begin no further seed after this time.")
    ] = None,
    faults: Annotated[
        str,
        typer.Option(
            help="'all' (but 'client-crash'), 'none', or kinds of faults: 'kill,loss,partition'.",
            autocompletion=completion.fault_kinds,
        ),
    ] = "all",
    replay: Annotated[
        str | None,
        typer.Option(
            metavar="SEED|FILE", help="Show one seed, or a case from a file, event by event."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="With --replay: all events since the start of the rack.")
    ] = False,
    program: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.p4",
            help="Use this program instead of the scheme's P4 program.",
            autocompletion=completion.p4_files,
        ),
    ] = None,
    mutant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Break a rule of the scheme; the search should find it.",
            autocompletion=completion.mutants,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="File for a reduced case."),
    ] = None,
    patience: Annotated[
        float, typer.Option("--reduce", min=0.0, help="Seconds to spend on reducing a case.")
    ] = 60.0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes (default: all cores).")] = None,
    on: On = None,
    json: Json = False,
) -> None:
    """Search for bugs with random racks, loads and faults; the answers to clients are checked.

    Every seed is a rack in virtual time, a load and a schedule of faults (docs/use/soak.md). The
    first violation ends the search; the case is then reduced and written to a file that --replay
    takes. Exit status 1 on a violation.
    """
    from netkv.errors import UsageError

    kinds = _kinds(faults, scheme)
    if replay is not None:
        _replay(_case(replay, scheme, kinds, program, mutant), everything=everything, json=json)
        return
    if scheme is None:
        raise UsageError(
            "The scheme to search is missing: 'netkv soak SCHEME' ('netkv scheme list')."
        )
    if everything:
        raise UsageError("'--all' requires '--replay'.")
    _check(scheme, program, mutant)
    if seeds is None and seconds is None:
        seeds = _SEEDS
    if on is not None and program is not None:
        raise UsageError("'--program' is a file of this machine: it does not go with '--on'.")
    place = places.chosen(on, jobs, here=program is not None)
    from netkv.executors.processes import Processes
    from netkv.soak.campaign import Search
    from netkv.soak.pool import NICENESS, Pool

    wanted = Search(scheme, first, seeds, seconds, kinds, program and program.absolute(), mutant)
    here = Processes(jobs, niceness=NICENESS)  # starts none before it is used
    with here, places.opened(place) as there:
        _search(Pool(there or here), wanted, out, patience, json=json)


def _search(pool: Pool, wanted: Search, out: Path | None, patience: float, *, json: bool) -> None:
    from netkv.soak.campaign import Tally, search
    from netkv.steps import Steps

    so_far = Tally(following=wanted.first)
    note = Steps()

    def on_progress(now: Tally) -> None:
        nonlocal so_far
        so_far = now
        show(now)
        note(round(100 * _fraction(wanted, now)), 100, _tally(now))

    try:
        with _progress(wanted) as show:
            tally, found = search(pool, wanted, on_progress)
    except KeyboardInterrupt:
        notify(_interrupted(wanted, so_far))
        raise
    document: dict[str, Any] = {
        "ok": not found,
        "scheme": wanted.scheme,
        "seeds": tally.seeds,
        "operations": tally.operations,
        "faults": tally.faults,
        "unchecked_reads": tally.unchecked,
        "seconds": round(tally.elapsed, 3),
        "slow": [
            {"seed": each.seed, "seconds": round(each.seconds, 3), "times": round(each.times, 1)}
            for each in tally.slow
        ],
        "violations": [_violation(each) for each in found],
    }
    notify(_summary(tally, len(found)))
    for each in tally.slow:
        notify(
            f"Seed {each.seed} took {each.times:.0f} times the processor time of the median "
            f"({each.seconds:.3g} s)."
        )
    if found:
        smaller, file = _reduced(pool, found[0], out, patience)
        document["violations"][0]["reproduction"] = str(file)
        if not json:
            _print_found(found[0], smaller, file)
    elif not json:
        print(f"{wanted.scheme}: no violation in {_tally(tally)}.")
    if json:
        print_json(document)
    if found:
        raise typer.Exit(1)


def _reduced(pool: Pool, found: Found, out: Path | None, patience: float) -> tuple[Found, Path]:
    """The reduced case, and the file that it was written to."""
    from netkv.cli.progress import EVERY_S
    from netkv.soak import case as cases
    from netkv.soak.reduce import reduce

    name = f"{found.case.rack.scheme}-{found.case.seed}.json"
    file = out or home() / "soak" / name
    # Saved now, so that it can be replayed even if the reduction is interrupted.
    cases.save(found.case, file)
    notify(f"Seed {found.case.seed} shows a violation; reducing it (an interrupt ends that).")
    best = found
    shown_at = time.monotonic()

    def smaller(it: Found) -> None:
        nonlocal best, shown_at
        best = it
        if time.monotonic() - shown_at >= EVERY_S:
            shown_at = time.monotonic()
            notify(f"  {len(it.case.faults)} faults, {it.case.duration:g} s of load are left")

    try:
        best = reduce(pool, found, seconds=patience, on_progress=smaller)
    except KeyboardInterrupt:
        notify("The reduction was interrupted; this is the smallest case so far.")
    cases.save(best.case, file)
    return best, file


def _print_found(found: Found, smaller: Found, file: Path) -> None:
    from netkv.soak.text import case_lines, violation_lines

    assert smaller.outcome.violation is not None, "only cases with one are found"
    print(f"Seed {found.case.seed}, reduced:\n")
    for line in case_lines(smaller.case, smaller.outcome.load_began):
        write(line)
    print()
    for line in violation_lines(smaller.outcome.violation):
        write(line)
    write(f"\nEvent by event: netkv soak --replay {file}")
    words = ["netkv soak", found.case.rack.scheme]
    if found.case.program is not None:
        words.append(f"--program {found.case.program}")
    if found.case.mutant is not None:
        words.append(f"--mutant {found.case.mutant}")
    write(f"Not reduced: {' '.join(words)} --replay {found.case.seed}")


def _replay(case: Case, *, everything: bool, json: bool) -> None:
    from netkv.soak import replay
    from netkv.soak.text import case_lines, violation_lines

    it = replay.replay(case, everything=everything)
    violation = it.outcome.violation
    if json:
        print_json(
            {
                "scheme": case.rack.scheme,
                "seed": case.seed,
                "operations": it.outcome.operations,
                "faults": it.outcome.faults,
                "exact": it.exact,
                "fingerprint": it.outcome.fingerprint,
                "violations": [each.model_dump(mode="json") for each in it.outcome.violations],
                "lines": it.lines,
            }
        )
    else:
        for line in case_lines(case, it.outcome.load_began):
            write(line)
        print()
        for line in replay.text(it):
            write(line)
        print()
        if violation is None:
            print(f"No violation in {it.outcome.operations:,} operations.")
        else:
            for line in violation_lines(violation):
                write(line)
    if violation is not None:
        raise typer.Exit(1)


def _case(
    replay: str,
    scheme: str | None,
    kinds: tuple[FaultKind, ...],
    program: Path | None,
    mutant: str | None,
) -> Case:
    """The case of a seed, or from a file."""
    from netkv.errors import UsageError
    from netkv.soak import case as cases
    from netkv.soak.case_generator import generate

    if not replay.isdecimal():
        case = cases.load(Path(replay))
        _check(case.rack.scheme, case.program, case.mutant)
        return case
    if scheme is None:
        raise UsageError(f"A seed needs a scheme: 'netkv soak SCHEME --replay {replay}'.")
    _check(scheme, program, mutant)
    program = program and program.absolute()
    return generate(scheme, int(replay), kinds, program=program, mutant=mutant)


def _check(scheme: str, program: Path | None, mutant: str | None) -> None:
    """Raises `UsageError` for a scheme, program or mutant that does not exist, and for a scheme
    that cannot be searched."""
    from netkv import schemes
    from netkv.errors import UsageError
    from netkv.soak import searchable

    found = schemes.get(scheme)
    searchable.check(found)
    if mutant is not None:
        from netkv.soak import run

        run.mutant(found, mutant)
    if program is not None and not program.is_file():
        raise UsageError(f"There is no file {program}.")


def _kinds(faults: str, scheme: str | None) -> tuple[FaultKind, ...]:
    """The requested kinds; raises `UsageError` for those that the scheme does not support."""
    from netkv.errors import UsageError, suggest
    from netkv.events.catalogue import FAULT_KINDS, FAULTS
    from netkv.scenarios import event_validation
    from netkv.soak.case_generator import USUAL_KINDS

    if faults in ("all", "none"):
        return USUAL_KINDS if faults == "all" else ()
    names = [name.strip() for name in faults.split(",")]
    for name in names:
        if name not in FAULT_KINDS:
            known = ("all", "none", *FAULT_KINDS)
            raise UsageError(
                f"'{name}' is no kind of fault.\n  {suggest(name, known, label='Kinds')}"
            )
    try:
        found = [FAULTS[name][0].NEED for name in names]
        needs = [(need, ("faults",)) for need in found if need is not None]
        event_validation.check_schemes([scheme] if scheme else [], needs)
    except ValueError as wrong:
        raise UsageError(f"--faults {faults}: {wrong}.") from wrong
    return tuple(kind for kind in FAULT_KINDS if kind in names)


def _violation(found: Found) -> dict[str, Any]:
    violation = found.outcome.violation
    assert violation is not None, "only cases with one are found"
    return {
        "seed": found.case.seed,
        "kind": violation.kind,
        "key": violation.key,
        "text": violation.text,
    }


def _tally(tally: Tally) -> str:
    return (
        f"{tally.seeds:,} seeds, {tally.operations:,} operations and {tally.faults:,} faults, "
        f"{tally.elapsed:.0f} s, {tally.rate:,.0f} operations/s"
    )


def _summary(tally: Tally, found: int) -> str:
    outcome = f"{found} with a violation" if found else "no violation"
    return f"{_tally(tally)}: {outcome}."


def _interrupted(wanted: Search, tally: Tally) -> str:
    """The message for a search that was stopped."""
    text = f"Interrupted after {_tally(tally)}; nothing is stored."
    if tally.violations:
        seed = min(tally.violations)
        return (
            f"{text}\nSeed {seed} shows a violation: 'netkv soak {wanted.scheme} --replay {seed}'."
        )
    resume = f"netkv soak {wanted.scheme} --from {tally.following}"
    return f"{text}\nNo violation so far; '{resume}' continues."


@contextmanager
def _progress(wanted: Search) -> Iterator[Callable[[Tally], None]]:
    """A bar on a terminal, a line every `EVERY_S` elsewhere."""
    from netkv.cli.progress import EVERY_S, bars, how_far, left_text
    from netkv.steps import time_left

    if not sys.stderr.isatty():
        shown_at = time.monotonic()

        def show(tally: Tally) -> None:
            nonlocal shown_at
            if time.monotonic() - shown_at >= EVERY_S:
                shown_at = time.monotonic()
                fraction = _fraction(wanted, tally)
                left = time_left(fraction, tally.elapsed)
                notify(f"{how_far(fraction, left)}: {_tally(tally)}")

        yield show
        return
    with bars() as shown:
        task = shown.add_task(f"soaking {wanted.scheme}", total=1.0, left="", label="")

        def show(tally: Tally) -> None:
            fraction = _fraction(wanted, tally)
            left = time_left(fraction, tally.elapsed)
            figures = f"{tally.seeds:,} seeds, {tally.rate:,.0f} operations/s"
            shown.update(task, completed=fraction, left=left_text(left), label=figures)

        yield show


def _fraction(wanted: Search, tally: Tally) -> float:
    """How far the search is, 0 to 1."""
    of_seeds = tally.seeds / wanted.seeds if wanted.seeds else 0.0
    of_time = tally.elapsed / wanted.seconds if wanted.seconds else 0.0
    return min(max(of_seeds, of_time), 1.0)
