"""Parts of control planes: state machines without I/O and without a clock."""
