"""What the answer of the guard table allows: every combination of inputs (docs/schemes/lake.md)."""

from __future__ import annotations

import itertools
from typing import Any

import cocotb
from cocotb.triggers import Timer
from packed import GUARD_RESPONSE

TOP = "freshness_rules"
PARAMETERS: list[dict[str, int]] = [{}]
FLAGS = ("of_get", "fills", "safe_writes", "quiet", "status_ok")
OUTPUTS = ("alone", "admits_get", "fill_allowed", "set_visible")
NEWEST = (1 << 24) - 1
"""The largest version; the next one is 0."""


async def allowed(dut: Any, *, enable: int, guard: dict[str, int], **inputs: int) -> dict[str, int]:
    dut.enable.value = enable
    dut.guard.value = GUARD_RESPONSE.pack(**guard)
    for name, value in inputs.items():
        getattr(dut, name).value = value
    await Timer(1, "ns")
    return {name: int(getattr(dut, name).value) for name in OUTPUTS}


def situations() -> Any:
    """Every combination of flags, with mutations on their way and versions around the wrap."""
    for values in itertools.product((0, 1), repeat=len(FLAGS)):
        flags = dict(zip(FLAGS, values, strict=True))
        for inflight, uncacheable in itertools.product((0, 1, 2, 255), (0, 1)):
            for version, now in ((7, 7), (7, 8), (NEWEST, NEWEST), (NEWEST, 0)):
                guard = {"version": now, "inflight": inflight, "uncacheable": uncacheable}
                yield flags, version, guard


@cocotb.test()
async def follows_the_rules(dut: Any) -> None:
    for flags, version, guard in situations():
        found = await allowed(dut, enable=1, guard=guard, version=version, **flags)
        # Rule 2: a GET has no mutation before it, a SET only itself. Rule 6: all are alone
        # without safe writes.
        others = guard["inflight"] - (0 if flags["of_get"] else 1)
        alone = not flags["safe_writes"] or others == 0
        unchanged = guard["version"] == version
        assert found == {
            "alone": alone,
            # Rule 4: nothing is admitted or filled while an unseen mutation may be on its way.
            "admits_get": alone and flags["quiet"],
            # Rule 5: a key that was given an expiry is not filled.
            "fill_allowed": flags["fills"]
            and flags["quiet"]
            and unchanged
            and not guard["uncacheable"],
            "set_visible": flags["status_ok"] and flags["quiet"] and unchanged,
        }, (flags, version, guard)


@cocotb.test()
async def allows_nothing_when_disabled(dut: Any) -> None:
    nothing = dict.fromkeys(OUTPUTS, 0)
    for flags, version, guard in situations():
        found = await allowed(dut, enable=0, guard=guard, version=version, **flags)
        assert found == nothing, (flags, version, guard)
