"""Replies that a server sends at one moment are in the order of their keys. The order of a hash map
differs between processors, and the same seed must give the same result on each."""

from __future__ import annotations

import asyncio
import re
from itertools import groupby
from pathlib import Path

from netkv._engine import key_of_record
from netkv.scenarios import loader
from netkv.sim.rack import SimRack

SCENARIO = Path(__file__).parents[2] / "wheels/scenarios/two-layers.yaml"
_REPLY = re.compile(r"^ *([\d.]+ ms) +(server \d+) .* InstallReply \S+ key (\d+) NotCached")


def test_replies_after_a_start_are_in_the_order_of_keys() -> None:
    """The controller installs copies while servers that have just started wait for its list; all of
    these are answered when the list comes."""
    scenario = loader.load(SCENARIO, ["lab.cache_entries=300"])
    rack = SimRack(scenario.rack("distcache", seed=1))
    asyncio.run(rack.compile())
    rack.watch([], 10**6)
    rack.bring_up()
    replies = [found.groups() for line in rack.journal() if (found := _REPLY.match(line))]
    together = [
        [int(key) for *_, key in group] for _, group in groupby(replies, key=lambda it: it[:2])
    ]
    several = [keys for keys in together if len(keys) > 2]
    assert len(several) > 5
    assert all(keys == sorted(keys, key=key_of_record) for keys in several)
