"""Mutants: a simulated design with one of its rules broken, to test tests and checkers.

One build has all mutants of a design. `REGISTER` chooses one at run time; with 0 the design is as
it is. In the RTL, `mutant_pkg::ID == n` is the place of mutant n. Synthesised hardware has none of
them.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from netkv import resources
from netkv.model.manifest import Manifest, Register

REGISTER = 0xFFFC
"""The address of the register that chooses a mutant."""

UNIT_BITS = 7
"""A unit of the registers of times has 2 to the power of this cycles."""


class Mutant(NamedTuple):
    """A deliberate defect."""

    number: int
    name: str
    rule: str
    """The rule of the design's document that it breaks."""


NONE = Mutant(0, "none", "the same build without a defect")


def design(of: Manifest, top: str, parameters: dict[str, Any]) -> Manifest:
    """A design with its mutants, which `netkv.fpga.build` builds as any other.

    `top`: the module in `fpga/mutants` around its top level, with its other parameters.
    """
    choice = Register(
        name="mutant",
        address=REGISTER,
        access="wo",
        kind="setting",
        description="Number of the mutant; 0: none.",
    )
    return Manifest.model_validate(
        of.model_dump()
        | {
            "idle": of.idle.model_dump() | {"time_unit_cycles": 1 << UNIT_BITS},
            "name": f"{of.name}-mutants",
            "title": f"{of.title}, with a rule broken for tests",
            "top": top,
            "rtl": [resources.path("fpga") / "mutants"],
            "parameters": {**parameters, "PRESCALE": UNIT_BITS},
            "registers": [*of.registers, choice],
        }
    )


def places() -> set[int]:
    """The numbers of mutants in the RTL of all designs."""
    text = "".join(
        each.read_text(encoding="utf-8") for each in resources.path("fpga").glob("rtl/**/*.sv")
    )
    return {int(number) for number in re.findall(r"mutant_pkg::ID [!=]= (\d+)", text)}
