"""Named profiles agree with their sources."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from netkv.model.profile import StoreModel
from netkv.sim import profiles

US = 1e-6


def test_farreach_server_has_block_cache_and_rate_of_the_paper() -> None:
    """1 GiB in blocks of 4 KiB, one hot record each; 60,000 writes a second (section VI-B)."""
    server = profiles.get("farreach-testbed").server
    assert server.warm_records == (1 << 30) // 4096
    write = server.receive.mean + server.put.mean + server.send.mean
    assert 1 / (write * US) == pytest.approx(60_000, rel=0.01)
    assert server.warm_get is not None
    assert server.warm_get.mean < server.get.mean


def test_store_has_no_separate_cost_of_hot_writes() -> None:
    with pytest.raises(ValidationError, match="warm_put"):
        StoreModel.model_validate({"put": {"mean": 12.7}, "warm_put": {"mean": 9.5}})
