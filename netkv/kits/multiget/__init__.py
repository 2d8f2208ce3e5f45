"""Requests for several keys of different servers: checks of loads, and metrics."""
