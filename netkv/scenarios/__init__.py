"""Scenarios: their model and checks, their runs, and the results."""
