"""The data model of a figure of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema, PydanticCustomError

from netkv.errors import FieldError, suggest
from netkv.metrics import Metric
from netkv.options import InWords, Spec
from netkv.schemes import metric_table


@dataclass(frozen=True)
class Composite:
    """A figure with many values for each run. Plots can show it, but it is no metric."""

    label: str
    meaning: str
    unit: str


COMPOSITES = {
    "latency_us": Composite(
        "Latency",
        "All percentiles: from the intended send time to the reply, retries included.",
        "µs",
    ),
    "served_by": Composite(
        "Throughput",
        "Throughput, split into the operations of the servers and of the cache.",
        "operations/s",
    ),
    "server_load": Composite("Load", "Operations that each server completed.", "operations/s"),
}
STACKED = ("served_by", "recovery_time")
"""Figures whose bars are stacked: cache and servers, phases of a recovery."""


def drawable() -> dict[str, Composite | Metric]:
    """Everything that a plot can show, by name."""
    return {**{metric.name: metric for metric in metric_table.all_metrics()}, **COMPOSITES}


class _Drawable(InWords):
    """Marks an option that names something `drawable`."""

    @staticmethod
    def __get_pydantic_json_schema__(schema: CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        return {**handler(schema), "enum": list(drawable())}


def _known(name: str) -> str:
    names = drawable()
    if name not in names:
        listed = ", ".join(f"'{each}'" for each in names)
        raise PydanticCustomError("drawable", "Input should be {names}", {"names": listed})
    return name


DRAWABLE = _Drawable("a [figure](#figures)")
Kind = Literal["bars", "lines", "stacked", "distribution"]


class Baseline(Spec):
    """The baseline of relative values: a scheme, a sweep point, or both."""

    scheme: str | None = None
    """This scheme, at the same sweep point or at `point`."""
    point: dict[str, Any] = Field(default_factory=dict)
    """Path of the sweep → value: the run of each scheme, or of `scheme`, at this point."""

    @model_validator(mode="after")
    def _something(self) -> Baseline:
        if self.scheme is None and not self.point:
            raise FieldError("a baseline has a 'scheme', a 'point' of the sweep, or both")
        return self


class Plot(Spec):
    """One figure of the report."""

    y: Annotated[str, AfterValidator(_known), DRAWABLE] = "throughput_ops"
    """The y axis, a metric of the list below. `latency_us` shows all percentiles, `served_by` the
    throughput of cache and servers separately, `recovery_time` the phases of the longest recovery.
    """
    x: str = "scheme"
    """The x axis: `scheme`, `time`, or a path of the sweep."""
    kind: Kind | None = None
    """Left out: lines over time and over numbers, stacked bars for `served_by` and `recovery_time`,
    bars otherwise."""
    relative_to: Baseline | None = None
    """Show ratios to this instead of values."""
    log: list[Literal["x", "y"]] | None = None
    """Logarithmic axes; left out: an axis of lines that spans more than two powers of ten."""
    title: str = ""
    """Title of the figure, and the name of its files."""

    @model_validator(mode="after")
    def _possible(self) -> Plot:
        if (objection := _contradiction(self)) is not None:
            option, text = objection
            raise FieldError(text, option)
        return self


def _contradiction(plot: Plot) -> tuple[str, str] | None:
    """A contradiction between options of a plot: an option, and a message without a full stop."""
    y, x, kind = plot.y, plot.x, plot.kind
    if (kind == "stacked") != (y in STACKED) and kind is not None:
        return "kind", (
            f"kind 'stacked' is for 'served_by' and 'recovery_time'; this is '{y}' as '{kind}'"
        )
    if kind == "distribution" and y != "latency_us":
        return "kind", f"only 'latency_us' can be drawn as a distribution, not '{y}'"
    if y in ("latency_us", "server_load") and x != "scheme":
        instead = "latency_p99_us" if y == "latency_us" else "load_imbalance"
        return "x", (
            f"'{y}' has many values for each run, so x is 'scheme'; over '{x}' use '{instead}'"
        )
    if y in ("latency_us", "server_load") and kind == "lines":
        return "kind", f"'{y}' is drawn as bars, not as lines"
    shown = drawable()[y]
    if x == "time" and not (isinstance(shown, Metric) and shown.time is not None):
        return "x", f"'{y}' exists only for whole runs, not over time"
    if (x, kind) == ("time", "bars"):
        return "kind", "over time there are lines, not bars"
    if (x, kind) == ("scheme", "lines"):
        return "kind", "schemes have no order, so there are bars over them, not lines"
    if kind == "distribution" and plot.relative_to is not None:
        return "relative_to", "a distribution cannot be relative to another"
    if plot.log and "x" in plot.log and (x == "time" or kind in ("bars", "stacked")):
        return "log", "a logarithmic x axis needs lines over the numbers of a sweep"
    if plot.log and "x" in plot.log and x == "scheme" and kind != "distribution":
        return "log", "a logarithmic x axis needs lines over the numbers of a sweep"
    if plot.log and "y" in plot.log and y in STACKED:
        return "log", "a stacked bar cannot have a logarithmic axis"
    return None


def misfit(
    plot: Plot, schemes: Sequence[str], sweep: Mapping[str, Sequence[Any]]
) -> tuple[str, str] | None:
    """A scheme or sweep that a plot needs and the scenario lacks: the option, and a message."""
    if plot.x not in ("scheme", "time") and plot.x not in sweep:
        return "x", (
            f"'{plot.x}' is not swept, so nothing can be drawn over it.\n"
            f"  {suggest(plot.x, ['scheme', 'time', *sweep], label='Possible')}"
        )
    if plot.log and "x" in plot.log and plot.x in sweep:
        for value in sweep[plot.x]:
            if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
                return "log", f"a logarithmic axis cannot show {value!r} of '{plot.x}'."
    if plot.relative_to is None:
        return None
    scheme = plot.relative_to.scheme
    if scheme is not None and scheme not in schemes:
        return "relative_to", (
            f"'{scheme}' is not a scheme of this scenario.\n"
            f"  {suggest(scheme, schemes, label='Schemes')}"
        )
    for path, value in plot.relative_to.point.items():
        if path not in sweep:
            swept = suggest(path, sweep, label="Swept") if sweep else "It has no sweep."
            return "relative_to", f"'{path}' is not swept.\n  {swept}"
        if value not in sweep[path]:
            values = ", ".join(str(each) for each in sweep[path])
            return "relative_to", f"{value!r} is not a value of '{path}' in the sweep: {values}."
    return None
