"""What schemes with memcached's protocol share."""

ROLE = "memcached"
"""The role of servers and clients (engine/roles)."""
