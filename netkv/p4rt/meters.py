"""Configurations of meters (section 9.4)."""

from __future__ import annotations

from typing import TypeAlias

from finsy.proto import p4i, p4r

from netkv.p4rt.errors import invalid, unimplemented

Type: TypeAlias = "p4i.MeterSpec.Type.ValueType"

Rates = tuple[int, int, int, int]
"""cir, cburst, pir and pburst, in the unit of the meter."""


def rates_of(what: str, kind: Type, config: p4r.MeterConfig | None) -> Rates | None:
    """The engine's configuration of a meter; None, the default, marks every packet green.

    A single-rate meter is configured as a two-rate meter with equal rates.
    """
    if config is None:
        return None
    rates = (config.cir, config.cburst, config.pir, config.pburst)
    if min(*rates, config.eburst) < 0:
        raise invalid(f"{what}: rates and bursts cannot be negative, they are {rates}")
    if kind == p4i.MeterSpec.TWO_RATE_THREE_COLOR:
        if config.eburst:
            raise invalid(f"{what} is a two-rate three-colour meter and has no eburst")
        return rates
    if (config.pir, config.pburst) != (config.cir, config.cburst):
        raise invalid(
            f"{what} is a meter of a single rate: pir must equal cir, and pburst cburst; they are "
            f"{config.pir} and {config.cir}, {config.pburst} and {config.cburst}"
        )
    if config.eburst and kind == p4i.MeterSpec.SINGLE_RATE_TWO_COLOR:
        raise invalid(f"{what} is a single-rate two-colour meter and has no eburst")
    if config.eburst:
        raise unimplemented(f"{what}: an excess burst is not supported; leave eburst at 0")
    return rates


def config_of(rates: Rates) -> p4r.MeterConfig:
    """A configuration as a message."""
    cir, cburst, pir, pburst = rates
    return p4r.MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)
