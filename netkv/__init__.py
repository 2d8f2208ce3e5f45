"""netkv: a testbed for in-network acceleration of key-value stores."""

__version__ = "0.1.0"
