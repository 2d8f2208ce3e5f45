"""The table of the RTL's comparisons in docs/internals/traps.md, for `tests.tables`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from netkv.schemes.client_cache import mutants as client_cache
from netkv.schemes.lake import mutants as lake
from tests.fpga.bench_mutants import BENCH_MUTANTS
from tests.fpga.comparisons import COMPARISONS, Comparison
from tests.schemes.client_cache.test_client_cache_mutants import BENCHES
from tests.schemes.lake.test_lake_mutants import FOUND_BY, FOUND_BY_CORRUPTION, FOUND_BY_SERVERS


def cases() -> dict[int, tuple[str, str]]:
    """The name of each mutant by its number, and the case that finds it."""
    found = {
        each.number: (each.name, f"`bench_{each.module}`: `{each.case}`") for each in BENCH_MUTANTS
    }
    for each in client_cache.MUTANTS:
        (module,) = (bench for bench, names in BENCHES.items() if each.name in names)
        found[each.number] = (each.name, f"`bench_{module}`: `{BENCHES[module][each.name]}`")
    tests: dict[str, Callable[..., None]] = {**FOUND_BY, **FOUND_BY_CORRUPTION, **FOUND_BY_SERVERS}
    for each in lake.MUTANTS:
        test = tests[each.name]
        function = test.func if isinstance(test, partial) else test
        found[each.number] = (each.name, f"`{function.__name__}`")
    return found


def table() -> str:
    """The comparisons that have mutants, then the others with their reasons."""
    found = cases()
    with_mutants = [each for each in COMPARISONS if each.mutants]
    rows = [f"| `{each.file}` | {each.what} | {_mutants(each, found)} |" for each in with_mutants]
    reasons: dict[str, list[Comparison]] = {}
    for each in COMPARISONS:
        if each.reason:
            reasons.setdefault(each.reason, []).append(each)
    others = [f"| {reason} | {_places(places)} |" for reason, places in reasons.items()]
    return "\n".join(
        [
            "| file | compares | mutants, and the case that finds each |",
            "|---|---|---|",
            *rows,
            "",
            "| no mutant, since it | comparisons |",
            "|---|---|",
            *others,
            "",
        ]
    )


def _mutants(comparison: Comparison, found: dict[int, tuple[str, str]]) -> str:
    return "; ".join(
        f"{number} `{found[number][0]}`: {found[number][1]}" for number in comparison.mutants
    )


def _places(places: list[Comparison]) -> str:
    return "; ".join(f"`{each.file}`: `{_escaped(each.text)}`" for each in places)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
