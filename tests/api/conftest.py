"""Makes the fixtures of other modules known to the tests of the API."""

from tests.api.live_lab import api, lab, load
from tests.api.serving import own_application, served, slow_runner, store
from tests.runs.postgresql import database, postgresql, server_url

__all__ = [
    "api",
    "database",
    "lab",
    "load",
    "own_application",
    "postgresql",
    "served",
    "server_url",
    "slow_runner",
    "store",
]
