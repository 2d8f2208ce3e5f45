"""Scenarios: what to run, how it is checked, and what comes out."""
