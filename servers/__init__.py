"""Storage back ends."""
