"""How many keys of a cache are in flight: the scheme's own limit, or that of the driver."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from netkv import schemes
from netkv.control import base
from netkv.model.spec import WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from tests.sim.driving import started

ENTRIES = 300
OWN = 64
"""The limit that the schemes have themselves."""
CACHES = ("farreach", "distreach")
"""Those that recover their records from the controller, key by key."""


def most_in_flight(name: str, limit: int | None) -> int:
    """The most keys of a cache in flight while a rack fills its caches."""
    scheme, most = schemes.get(name), 0

    def limited(make: Callable[..., base.ControlPlane]) -> Callable[..., Any]:
        def made(*of: Any) -> base.ControlPlane:
            control = make(*of)
            assert isinstance(control, base.LimitsInFlight)
            if limit is not None:
                control.limit_in_flight(limit)
            handle = control.handle

            def handle_and_look(now: int, event: base.Event) -> list[base.Action]:
                nonlocal most
                actions = handle(now, event)
                most = max(most, control.statistics()["in_flight"])
                return actions

            control.handle = handle_and_look  # type: ignore[method-assign]
            return control

        return made

    if scheme.network_control_plane is None:
        scheme = replace(scheme, control_plane=limited(scheme.control_plane))
    else:
        scheme = replace(scheme, network_control_plane=limited(scheme.network_control_plane))
    spec = RackSpec(
        scheme=name,
        lab=LabSpec.model_validate({"servers": 4, "cache_entries": ENTRIES}),
        workload=WorkloadSpec(keys=10 * ENTRIES),
    )
    rack = started(spec, scheme=scheme)
    assert sum(each.cached_count for each in rack.controllers) >= ENTRIES
    # Several caches may admit keys at once, each up to the limit.
    return -(-most // len(rack.switches))


@pytest.mark.parametrize("name", CACHES)
def test_a_driver_may_change_how_many_keys_are_in_flight(name: str) -> None:
    assert most_in_flight(name, 3) <= 3
    assert 3 < most_in_flight(name, None) <= OWN
    assert most_in_flight(name, 10 * OWN) > OWN
