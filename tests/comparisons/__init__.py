"""Mutants of comparisons in P4 programs and control planes, and the tests that fail with each."""
