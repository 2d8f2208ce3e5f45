"""A command that is interrupted reports its progress and what is stored."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from netkv.cli import soak, stored
from netkv.runs import Store, StoreSink
from netkv.soak.campaign import Search, Tally
from tests.cli.commands import start_netkv
from tests.waiting import PATIENCE_S, until


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
        number, "[1/", *("p4", "bench", "forwarding", "--sweep", "none", "--seconds", "5"), *more
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


@pytest.mark.usefixtures("home")
def test_stopped_scenario_names_its_failed_runs() -> None:
    with Store() as store:
        sink = StoreSink(store, group="g1")
        sink.finished, sink.failed, sink.cancelled = ["r1", "r2"], ["r2"], ["r3"]
        text = stored._interrupted(sink, 4)
    assert "Run r2 failed: 'netkv runs show r2' has the reason." in text
    assert "2 of 4 runs had ended before and are stored.\n1 of 4 runs did not begin." in text


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


def stuck(ignoring: str, before: str = "") -> subprocess.Popen[str]:
    """A command whose shutdown never ends: its main thread and another one are stuck."""
    program = textwrap.dedent(f"""
        import asyncio, signal, threading, time
        from netkv.cli import signals

        # `nohup` ignores it, and netkv respects that.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        {before or "pass"}
        signals.install()

        def work():
            while True:
                pass

        threading.Thread(target=work).start()
        {ignoring}
    """)
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


BLOCKING = """
        try:
            print("ready", flush=True)
            time.sleep(3600)
        except BaseException:
            print("stopping", flush=True)
            while True:
                try:
                    time.sleep(3600)
                except BaseException:
                    pass
"""
CANCELLING = """
        async def main():
            print("ready", flush=True)
            try:
                await asyncio.sleep(3600)
            except BaseException:
                print("stopping", flush=True)
                await asyncio.to_thread(work)

        asyncio.run(main())
"""


@pytest.mark.parametrize("command", [BLOCKING, CANCELLING], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_second_signal_ends_a_command_that_is_stuck(
    command: str, first: signal.Signals, second: signal.Signals
) -> None:
    process = stuck(command)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(first)
        assert process.stdout.readline() == "stopping\n"

        def ended() -> bool:
            # The same signal at once is the same: so it is sent until it is another one.
            process.send_signal(second)
            return process.poll() is not None

        until(ended, "the process has ended", every_s=0.1)
        # SIGTERM becomes SIGINT too, and Python itself ends so after an interrupt of its shutdown.
        ends = (second, signal.SIGINT)
        assert process.returncode in [*(128 + each for each in ends), *(-each for each in ends)]
    finally:
        process.kill()
        process.communicate()


def test_one_signal_that_arrives_twice_stops_in_order() -> None:
    """As from a terminal and from a program that starts netkv and passes signals on."""
    program = textwrap.dedent("""
        import os, signal, sys, time
        from netkv.cli import signals

        signals._SAME_SECONDS = 3600  # whatever the load of this machine
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` ignores it
        signals.install()
        try:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
                try:
                    os.kill(os.getpid(), number)
                    time.sleep(3600)
                except KeyboardInterrupt:
                    pass
        finally:
            print("in order", flush=True)
            time.sleep(1)
    """)
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("in order\n", "", 0)


def test_signal_that_arrives_twice_in_a_task_is_no_trace_back(home: Path) -> None:
    """The second one ends the task of the scenario; asyncio reports tasks that ended so."""
    program = textwrap.dedent("""
        import asyncio, gc, os, signal, sys, time
        from netkv import cli
        from netkv.cli import signals
        from netkv.scenarios import runner

        async def run():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.sleep(3600)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(3600)

        async def interrupted(*_, **__):
            async with asyncio.TaskGroup() as group:
                group.create_task(run())

        signals._SAME_SECONDS = 3600  # whatever the load of this machine
        runner.run_scenario = interrupted
        status = cli.main(["scenario", "run", "quickstart", "--mode", "sim"])
        gc.collect()
        sys.exit(status)
    """)
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NETKV_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "nothing is stored" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 130


STUCK_SERVER = """
import sys, time
from netkv.api.sandbox import Sandbox

def run(*_: object) -> None:
    print("stuck", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.01)

Sandbox.run = run
from netkv.cli import main

sys.exit(main(["serve", "--port", "0"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("home")
def test_second_signal_ends_a_server_with_a_stuck_request(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK_SERVER], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = next(it for it in wait_for_line(process, "Dashboard:") if "Dashboard:" in it)
            url = line.split()[1]
            body = {"scenario": "quickstart"}
            with pytest.raises(httpx.TimeoutException):
                httpx.post(f"{url}/api/v1/scenarios/check", json=body, timeout=5)
            assert any("stuck" in it for it in wait_for_line(process, "stuck"))

            def ended() -> bool:
                process.send_signal(number)
                return process.poll() is not None

            until(ended, "the server has ended", every_s=0.5)
            assert process.returncode == 128 + number
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("home")
def test_first_signal_ends_a_server_in_order(number: signal.Signals) -> None:
    with start_netkv("serve", "--port", "0") as process:
        "".join(wait_for_line(process, "Dashboard:"))
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (err, process.returncode) == ("", 0)
