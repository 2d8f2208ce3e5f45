"""Runs a test while a comparison in a P4 program or a control plane is broken."""

from __future__ import annotations

import functools
import io
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from netkv import _engine, resources
from netkv.schemes.edits import Edit, changed_code, program
from tests.schemes import traps

PATIENCE = 300
"""Seconds after which a test is given up: a mutant may wait for ever. It has not failed then."""


@contextmanager
def mutated(edit: Edit) -> Iterator[None]:
    """The edit is in force: for programs that ship, or for functions of Python. Tests run without
    mutants of their own, which concern the code that ships."""
    code: AbstractContextManager[Any] = nullcontext() if edit.is_program else changed_code(edit)
    compiler = mock.patch.object(_engine, "compile_p4", functools.partial(_compile, edit))
    with code, compiler, mock.patch.object(traps, "check", _check_right):
        _forget_programs()
        yield
    _forget_programs()


def _compile(edit: Edit, main: str, includes: list[str], *others: Any) -> bytes:
    """`_engine.compile_p4` with the edit, if it is of a program."""
    shipped = resources.path("p4")
    path = Path(main).resolve()
    if not path.is_relative_to(shipped.resolve()):
        pytest.skip("the program has a defect of the test")
    if edit.is_program:
        copy = program(edit, str(path.relative_to(shipped.resolve())))
        main, includes = str(copy), [str(copy.parent), *includes]
    compiled: bytes = _compile_p4(main, includes, *others)
    return compiled


_compile_p4 = _engine.compile_p4


def _check_right(script: Callable[[Any], str], right: Any, *_: Any) -> None:
    """`traps.check` without mutants."""
    assert script(right) == ""


def _forget_programs() -> None:
    """Programs that are kept were compiled without the edit, or with it."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("tests.", "netkv.")) and name != "netkv.schemes.edits":
            for each in _kept(vars(module).values(), name):
                each.cache_clear()


def _kept(values: Iterable[Any], module: str) -> Iterator[functools._lru_cache_wrapper[Any]]:
    """The functions that keep their results, among these values of a module and in its classes."""
    for each in list(values):
        if isinstance(each, functools._lru_cache_wrapper):
            yield each
        elif isinstance(each, type) and each.__module__ == module:
            yield from _kept(vars(each).values(), "")


class Failures:
    """A plugin of pytest: the tests that have failed, and a limit to the time of each."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.passed = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        def over(*_: object) -> None:
            pytest.skip(f"no end after {PATIENCE} s")

        before = signal.signal(signal.SIGALRM, over)
        signal.alarm(PATIENCE)
        try:
            return (yield)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.passed += report.passed
            self.failed += [report.nodeid] * report.failed


def run(tests: list[str]) -> Failures:
    """Runs tests in this process until one fails."""
    failures = Failures()
    options = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--no-summary", "--tb=no"]
    with redirect_stdout(io.StringIO()):
        pytest.main([*options, *tests], plugins=[failures])
    return failures
