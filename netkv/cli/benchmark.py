"""The command of a benchmark, made from its declaration (`netkv.bench.benchmark`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from netkv.bench.benchmark import Benchmark, Outcome
from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json, stdout
from netkv.cli.plotting import Plots, destinations, write

Written = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the table into a Markdown document.")
]


def command(benchmark: Benchmark) -> Callable[..., None]:
    """The function of the command of a benchmark, with its options as typer declares them."""
    parameters = [
        *_options(benchmark),
        *([_option("plot", Plots, None)] if benchmark.report else []),
        *([_option("write", Written, None)] if benchmark.marker else []),
        _option("json", Json, False),
    ]

    def run(**given: Any) -> None:
        json, to = given.pop("json"), destinations(given.pop("plot", None))
        file = given.pop("write", None)
        found = _run(benchmark, benchmark.plan(**given))
        if file is not None:
            _write_table(benchmark, found, file)
        _show(benchmark, found, json)
        if to:
            report = import_module(benchmark.report)
            write(to, report.figures(found.result), lambda: report.render(found.result))

    run.__doc__ = type(benchmark).__doc__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _run(benchmark: Benchmark, plan: Any) -> Outcome:
    from netkv.cli.progress import steps

    with steps() as progress:
        found = benchmark.run(plan, progress)
    for sentence in (*found.left_out, *found.remarks):
        notify(sentence)
    return found


def _show(benchmark: Benchmark, found: Outcome, json: bool) -> None:
    if json:
        print_json(found.document)
        return
    from netkv.report import benchmark as report

    special = import_module(benchmark.report).shown(found.result) if benchmark.report else ()
    for each in (*special, *map(report.rendered, found.shown)):
        stdout().print(each, highlight=False)


def _write_table(benchmark: Benchmark, found: Outcome, file: Path) -> None:
    from netkv.cli.documents import write_tables
    from netkv.report import benchmark as report

    write_tables(file, {benchmark.marker: report.markdown(benchmark, found)})


def _options(benchmark: Benchmark) -> list[inspect.Parameter]:
    """The options of a benchmark, in the order of its dataclass."""
    hints = get_type_hints(benchmark.plan, include_extras=True)
    declared = inspect.signature(benchmark.plan).parameters
    for name, function in benchmark.completes.items():
        get_args(hints[name])[1].autocompletion = getattr(completion, function)
    return [_option(name, hint, declared[name].default) for name, hint in hints.items()]


def _option(name: str, hint: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=hint, default=default)
