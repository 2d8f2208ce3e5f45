"""Makes the fixtures of `tests.labs` known to the tests of the examples."""

from tests.labs import bring_up, home

__all__ = ["bring_up", "home"]
