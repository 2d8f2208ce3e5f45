"""The benchmarks of netkv, found by their modules in `netkv.bench.benchmarks`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from netkv.bench import benchmarks
from netkv.bench.benchmark import Benchmark


def all_benchmarks() -> list[Benchmark]:
    """In the order of lists: the data plane, then what is built on it."""
    modules = pkgutil.iter_modules(benchmarks.__path__, f"{benchmarks.__name__}.")
    found: list[Benchmark] = [import_module(module.name).BENCHMARK for module in modules]
    return sorted(found, key=lambda each: (each.order, each.name))


def get(name: str) -> Benchmark:
    """The benchmark with this command, below `netkv`; raises `KeyError`."""
    return {each.name: each for each in all_benchmarks()}[name]


def in_suite() -> list[Benchmark]:
    """Those that `netkv bench` runs."""
    return [each for each in all_benchmarks() if each.in_suite]
