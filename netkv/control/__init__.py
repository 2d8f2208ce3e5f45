"""Control planes: a module per scheme, state machines without I/O and without a clock."""
