"""A command that is interrupted reports its progress and what is stored."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from netkv.cli import soak
from netkv.runs import Store
from netkv.soak.campaign import Search, Tally
from tests.cli.commands import start_netkv
from tests.waiting import PATIENCE_S


def wait_for_line(process: subprocess.Popen[str], part: str) -> Iterator[str]:
    """The lines of stderr up to the one with this part."""
    assert process.stderr is not None
    for line in process.stderr:
        yield line
        if part in line:
            return
    pytest.fail(f"stderr has no line with '{part}'")


def interrupt(number: signal.Signals, after: str, *arguments: str) -> tuple[str, str, int]:
    """Runs a command and sends the signal after a line with `after` on stderr.

    Returns stdout, stderr and exit status.
    """
    with start_netkv(*arguments) as process:
        before = "".join(wait_for_line(process, after))
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    return out, before + err, process.returncode


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.usefixtures("home")
def test_stopped_benchmark_reports_no_result(number: signal.Signals, more: list[str]) -> None:
    out, err, status = interrupt(
        number, "[1/", *("p4", "bench", "nocache", "--sweep", "none", "--seconds", "5"), *more
    )
    assert status == 130
    assert out == ""
    assert "Interrupted at step 1 of " in err
    assert "nothing is stored" in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("home")
def test_stopped_simulation_reports_the_stored_run() -> None:
    options = ["--mode", "sim", "--set", "duration=600", "--scheme", "nocache", "--json"]
    out, err, status = interrupt(
        signal.SIGTERM, "warm-up", "scenario", "run", "quickstart", *options
    )
    assert status == 130
    assert out == ""
    with Store() as store:
        (head,) = store.heads()
    assert head.status == "cancelled"
    assert f"Run {head.id} was cancelled; it is stored with its samples so far." in err
    assert "Traceback" not in err


def test_stopped_search_names_the_next_seed_and_failed_ones() -> None:
    wanted = Search("netcache", 10, 100, None, ())
    clean = soak._interrupted(wanted, Tally(seeds=5, following=14))
    assert "'netkv soak netcache --from 14' continues" in clean
    failed = soak._interrupted(wanted, Tally(seeds=5, following=14, violations=[13, 11]))
    assert "Seed 11 shows a violation: 'netkv soak netcache --replay 11'." in failed


def test_interrupt_in_a_callback_of_a_freed_object_takes_effect() -> None:
    """Python drops it there; SQLAlchemy has such a callback for each row that it has read."""
    program = textwrap.dedent("""
        import signal, sys, time, weakref
        from netkv.cli import signals

        class Row:
            pass

        signals.install()
        row = Row()
        reference = weakref.ref(row, lambda _: signal.raise_signal(signal.SIGINT))
        try:
            del row
            print("dropped", flush=True)
            time.sleep(3600)
        except KeyboardInterrupt:
            sys.exit(130)
    """)
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("dropped\n", "", 130)
