"""What in a scenario's text does not fit its schemes and its sweep any more.

When a scheme is taken out of a scenario, expectations about it, plots relative to it, and options
that only it has become errors. A form removes them with the scheme.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from netkv import schemes
from netkv.errors import UsageError
from netkv.scenarios import scheme_options, thresholds
from netkv.scenarios.editing import Change
from netkv.scenarios.plot import Plot, misfit


def misfits(data: Mapping[str, Any]) -> Iterator[Change]:
    """Changes that remove them. Parts of the data that are wrong otherwise are left alone."""
    known = [each.name for each in schemes.all_schemes()]
    written = data.get("schemes")
    chosen = [name for name in written if name in known] if isinstance(written, list) else []
    if not chosen:
        return
    sweep = data.get("sweep")
    swept = dict(sweep) if isinstance(sweep, Mapping) else {}
    for path in [path for path in swept if not _fits(path, known, chosen)]:
        del swept[path]
        yield Change(("sweep", path), remove=True)
    lab = data.get("lab")
    for option in lab if isinstance(lab, Mapping) else ():
        if not _fits(f"lab.{option}", known, chosen):
            yield Change(("lab", option), remove=True)
    for name, fits in (("expect", _expected), ("plots", _drawn)):
        entries = data.get(name)
        if isinstance(entries, list):
            # From the last one, so that the indices of the others stay.
            for index in reversed(range(len(entries))):
                if not fits(entries[index], known, chosen, swept):
                    yield Change((name, index), remove=True)


def _fits(path: str, known: list[str], chosen: list[str]) -> bool:
    """Whether an option belongs to every lab, to a chosen scheme, or to nothing that is known."""
    section, _, option = path.partition(".")
    option = option.split(".")[0]
    having = any(schemes.get(name).has_option(option) for name in known)
    return section != "lab" or not having or scheme_options.applies(option, chosen)


def _expected(text: Any, known: list[str], chosen: list[str], _swept: Mapping[str, Any]) -> bool:
    try:
        return thresholds.schemes_in(thresholds.compile_expression(text, known)) <= set(chosen)
    except (UsageError, TypeError, AttributeError):
        return True


def _drawn(plot: Any, _known: list[str], chosen: list[str], swept: Mapping[str, Any]) -> bool:
    try:
        return misfit(Plot.model_validate(plot), chosen, swept) is None
    except (ValidationError, TypeError):
        return True
