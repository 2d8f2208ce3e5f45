"""Mutants of LaKe: the simulated design with one safety rule broken, to test tests and checkers.

One build has them all. `REGISTER` chooses one at run time; with 0 the design is LaKe as it is.
In the RTL, `mutant_pkg::ID == n` is the place of mutant n. Synthesised hardware has none of them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from netkv.fpga import manifest, sources
from netkv.fpga.manifest import Manifest, Register

REGISTER = 0xFFFC
"""Its address."""

UNIT_BITS = 7
"""A unit of the registers of times has 2 to the power of this cycles."""


class Mutant(NamedTuple):
    """A deliberate defect."""

    number: int
    name: str
    rule: str
    """The rule of docs/lake.md, "Rules of freshness", that it breaks."""


MUTANTS = (
    Mutant(1, "no-bucket-order", "1"),
    Mutant(2, "fill-after-mutation", "2"),
    Mutant(3, "fill-during-mutation", "2"),
    Mutant(4, "fill-before-lifetime", "4"),
    Mutant(5, "fill-of-expiring", "5"),
    Mutant(6, "visible-though-refused", "2"),
    Mutant(7, "visible-during-mutation", "2"),
    Mutant(8, "serve-pending", "2"),
    Mutant(9, "serve-old-epoch", "4"),
    Mutant(10, "serve-after-delayed-flush", "4"),
    Mutant(11, "serve-beyond-max-age", "5"),
    Mutant(12, "no-invalidation", "2"),
    Mutant(13, "fill-ambiguous", "3"),
    Mutant(14, "forget-untracked-tags", "3"),
    Mutant(15, "mix-up-clients", "3"),
    Mutant(16, "fill-of-part", "replies in several datagrams never fill"),
    Mutant(17, "fill-of-refusal", "replies with a status other than 0 never fill"),
    Mutant(18, "no-key-compare", "a hit has the key that was asked for"),
    Mutant(19, "first-operation-only", "2"),
    Mutant(20, "ignore-malformed", "4"),
    Mutant(21, "ignore-flush", "4"),
    Mutant(22, "store-conditional", "6"),
    Mutant(23, "store-expiring", "5"),
    Mutant(24, "ignore-opaque-frames", "4"),
    Mutant(25, "ignore-fragments", "4"),
    Mutant(26, "keep-when-switched-on", "4"),
    Mutant(27, "ignore-long-frames", "4"),
    Mutant(28, "forget-unanswered", "2"),
)


def design() -> Manifest:
    """The design `lake` with its mutants; `netkv.fpga.build` builds it as any other."""
    lake = manifest.find("lake")
    choice = Register(
        name="mutant",
        address=REGISTER,
        access="wo",
        kind="setting",
        description="Number of the mutant; 0: none.",
    )
    idle = lake.idle.model_copy(update={"unit_cycles": 1 << UNIT_BITS})
    return lake.model_copy(
        update={
            "idle": idle,
            "name": "lake-mutants",
            "title": "LaKe with a safety rule broken, for tests",
            "top": "lake_mutants",
            "rtl": [sources.folder() / "mutants"],
            "parameters": {"PRESCALE": UNIT_BITS},
            "registers": [*lake.registers, choice],
        }
    )


def places() -> set[int]:
    """The numbers of mutants in the RTL."""
    text = "".join(
        each.read_text(encoding="utf-8") for each in sources.folder().glob("rtl/**/*.sv")
    )
    return {int(number) for number in re.findall(r"mutant_pkg::ID [!=]= (\d+)", text)}
