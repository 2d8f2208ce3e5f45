"""The reference of scenario options, as Markdown: docs/use/scenario-reference.md.

Everything in it is taken from the models of a scenario: names, types, ranges, defaults, units, and
the fields' descriptions. `make docs` writes the file.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from netkv import schemes
from netkv.events.event import TimelineEvent, form
from netkv.metrics import Metric
from netkv.model.hardware import GenericLab, TopologySpec
from netkv.model.option_rows import anchor, arms, option_row
from netkv.options import Spec
from netkv.scenarios import recovery
from netkv.scenarios.model import Scenario
from netkv.scenarios.option_paths import models
from netkv.scenarios.plot import Plot, drawable
from netkv.scenarios.sources import EXTENDS
from netkv.schemes import all_schemes
from netkv.schemes.spec import LabSpec

_HEAD = """\
# Every option of a scenario

`netkv scenario reference` prints this text, and `make docs` writes it here. It is generated from
the models that check scenario files. [scenarios.md](scenarios.md) describes how the options work
together, [a-scenario-explained.md](../learn/a-scenario-explained.md) explains one file line by
line.

An option is named by its path, as in `--set workload.zipf=0.9`. `N` stands for an index in a list,
from 0: `--set events.0.at=5`. A `required` option must be given if its parent is given. Shares and
probabilities are numbers from 0 to 1.
`netkv scenario reference --json` prints the same as a JSON schema, for editors.

A file may also have `extends: NAME`, or `extends:` with the path of another file. Options that are
left out then have the values of that file; only `name` must be given
([scenarios.md](scenarios.md#a-scenario-that-extends-another)).
"""

_EXPECT = """\
## Figures

`expect` lines and plots name the figures of a run as follows.

A line of `expect` is one comparison (`<`, `<=`, `>`, `>=`, `==`, `!=`). Each side may have
numbers, `+`, `-`, `*`, `/`, parentheses, `abs`, `min`, `max`, and `SCHEME.FIGURE`; a dash in the
name of a scheme becomes `_`. `each.FIGURE` stands for every scheme that runs, and over a sweep a
line must hold at every point. Over repeats the mean counts or, where the table has it, the sum;
`linearizable` is 1 if all of them are. A line about a figure that a run does not have ("none")
does not hold. `recovery_time_PHASE` is the time of a phase of the longest recovery{phases}.

The column "plots" has the possible values of `x` in a plot: `scheme`, a path of the sweep, or
`time`; `any` means all three. Without an entry under `expect`, only plots can show the figure. The
column "schemes" names the schemes whose runs have the figure; without an entry, the runs of all
schemes may have it.
"""


def markdown() -> str:
    """The reference, with a newline at its end."""
    return "\n".join(
        [_HEAD, *_sections(Scenario), _EXPECT.format(phases=_phases()), *_figures(), ""]
    )


def schema() -> dict[str, Any]:
    """The options as a JSON schema.

    An option of `lab` that belongs to schemes has the keyword `schemes`, their names, and `own`:
    scheme → default, for those with a default of their own. Options of events have the keywords of
    `form`.
    """
    found = Scenario.model_json_schema()
    for name, keywords in form().items():
        found["$defs"][TimelineEvent.__name__]["properties"][name] |= keywords
    found["properties"][EXTENDS] = {
        "type": "string",
        "description": "Name or path of a scenario that has all options which are not given here.",
    }
    needed = [name for name in found["required"] if name != "name"]
    found["required"] = ["name"]
    found["anyOf"] = [{"required": [EXTENDS]}, {"required": needed}]
    for name, option in found["$defs"][LabSpec.__name__]["properties"].items():
        having = [each for each in schemes.all_schemes() if each.has_option(name)]
        if having and name not in GenericLab.model_fields:
            left_out = {each.name: each.options.left_out for each in having}
            option["schemes"] = list(left_out)
            option["own"] = {scheme: it[name] for scheme, it in left_out.items() if name in it}
    return found


def _sections(root: type[Spec]) -> Iterator[str]:
    described: dict[type[Spec], str] = {}
    waiting: list[tuple[str, list[type[Spec]]]] = [("", [root])]
    while waiting:
        path, candidates = waiting.pop(0)
        yield f"## {f'`{path}`' if path else 'The file as a whole'}\n"
        below: list[tuple[str, list[type[Spec]]]] = []
        for model in candidates:
            if model in described:
                yield f"As [`{described[model]}`](#{anchor(described[model])}).\n"
                continue
            described[model] = path
            yield f"{inspect.getdoc(model)}\n"
            yield from _table(path, GenericLab if issubclass(model, GenericLab) else model)
            if issubclass(model, GenericLab):
                yield from _scheme_options(path)
            below += [
                (_below(path, name, field.annotation), found)
                for name, field in model.model_fields.items()
                if (found := _inner_models(field.annotation))
            ]
        waiting[:0] = below


def _scheme_options(path: str) -> Iterator[str]:
    """The options of schemes, each once, with the schemes that have it."""
    yield f"### Options of schemes, below `{path}`\n"
    yield (
        "A value applies to the schemes of the scenario that have the option. If none has it, that "
        "is\nan error. `netkv scheme show NAME` prints the options of one scheme.\n"
    )
    yield "| option | schemes | type | default | unit | meaning |"
    yield "|---|---|---|---|---|---|"
    every = schemes.all_schemes()
    for name in LabSpec.model_fields:
        having = [f"`{each.name}`" for each in every if each.has_option(name)]
        if having:
            option = option_row(path, LabSpec, name)
            own = [
                f"`{each.options.left_out[name]:g}` for `{each.name}`"
                for each in every
                if name in each.options.left_out
            ]
            default = ", ".join(own) or option.default
            kind, unit, text = option.type, option.unit, option.meaning
            yield _row(option.path, ", ".join(having), kind, default, unit, text)
    yield ""


def _table(path: str, model: type[Spec]) -> Iterator[str]:
    yield "| option | type | default | unit | meaning |"
    yield "|---|---|---|---|---|"
    for name in model.model_fields:
        row = option_row(path, model, name)
        if model is TopologySpec:
            row = row._replace(default=_of_schemes(row.default, name))
        yield _row(*row)
    yield ""


def _of_schemes(default: str, name: str) -> str:
    """The default of an option of `lab.topology`, and that of each scheme with another one."""
    own = {each.name: f"`{getattr(each.topology, name)}`" for each in all_schemes()}
    others = [f"{value} for `{scheme}`" for scheme, value in own.items() if value != default]
    return ", ".join((default, *others))


def _phases() -> str:
    """An example of the time of a phase; empty if no scheme has phases."""
    for scheme in all_schemes():
        for phase in scheme.recovery_phases:
            return f", for example\n`{recovery.phase_metric(phase)}` of {scheme.about.title}"
    return ""


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _figures() -> Iterator[str]:
    yield "| figure | `expect` | plots | schemes | unit | meaning |"
    yield "|---|---|---|---|---|---|"
    for name, figure in drawable().items():
        expected = figure.repeats if isinstance(figure, Metric) and figure.of_runs else ""
        own = ", ".join(f"`{each.name}`" for each in all_schemes() if figure in each.metrics)
        cells = (f"`{name}`", expected, _drawn(name), own, figure.unit, figure.meaning)
        yield f"| {' | '.join(cells)} |"


def _drawn(name: str) -> str:
    """The possible values of `x` in a plot of a figure."""
    possible = []
    for x in ("scheme", "time", "workload.zipf"):
        try:
            Plot.model_validate({"y": name, "x": x})
        except ValidationError:
            continue
        possible.append(x)
    if len(possible) == 3:
        return "any"
    return "not `time`" if "workload.zipf" in possible else f"`{possible[0]}`"


def _inner_models(annotation: Any) -> list[type[Spec]]:
    """The models of an option's value, or of the elements of its list."""
    found = models(annotation)
    for kind, _ in arms(annotation, ()):
        if get_origin(kind) is list:
            found += models(get_args(kind)[0])
    return found


def _below(path: str, name: str, annotation: Any) -> str:
    own = f"{path}.{name}" if path else name
    return own if models(annotation) else f"{own}.N"
