"""Makes the fixtures of `serving` known to the tests of the API."""

from tests.api.serving import served, slow_runner, store

__all__ = ["served", "slow_runner", "store"]
