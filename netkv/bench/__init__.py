"""Benchmarks of netkv itself: its data plane in memory, and end to end over UDP."""
