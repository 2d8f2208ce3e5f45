"""The output, the processes and the errors of `netkv soak`."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from netkv.soak import case as cases
from netkv.soak.case_generator import generate
from tests.cli.commands import CommandResult, Netkv, start_netkv
from tests.soak.planted import program_that_serves_deleted_values
from tests.waiting import PATIENCE_S, until


@pytest.mark.parametrize("scheme", ["nocache", "netcache", "distnocache"])
def test_shipped_schemes_have_no_violation(netkv: Netkv, scheme: str) -> None:
    result = netkv("soak", scheme, "--seeds", "25", "--json")
    assert result.status == 0, result.out
    document = result.document
    assert document["scheme"] == scheme
    assert document["seeds"] == 25
    assert document["operations"] > 25_000
    assert document["faults"] > 100
    assert document["violations"] == []
    assert document["unchecked_reads"] < document["operations"] / 50
    assert "25 seeds" in result.err


def test_planted_bug_is_found_reduced_and_replayed(netkv: Netkv, tmp_path: Path) -> None:
    program = program_that_serves_deleted_values(tmp_path)
    options = ("--program", str(program))
    file = tmp_path / "case.json"
    result = netkv(
        "soak", "netcache", "--seeds", "60", *options, "--out", str(file), "--reduce", "4", "--json"
    )
    assert result.status == 1, result.err
    (violation, *_) = result.document["violations"]
    assert violation["kind"] in ("stale-read", "not-linearizable", "lost-write")
    assert "Get " in violation["text"] or "get " in violation["text"]
    assert violation["reproduction"] == str(file)

    first, second = (netkv("soak", "--replay", str(file), "--json") for _ in range(2))
    assert first.status == 1
    assert first.document == second.document
    assert first.document["exact"]
    assert first.document["seed"] == violation["seed"]
    assert first.document["violations"][0]["kind"] == violation["kind"]
    assert first.document["lines"]

    text = netkv("soak", "--replay", str(file))
    assert text.status == 1
    assert f"!! {violation['kind']}" in text.out
    assert "client 1 → switch 0" in text.out

    seed = str(violation["seed"])
    whole = netkv("soak", "netcache", "--replay", seed, *options, "--json")
    assert whole.document["violations"][0]["text"] == violation["text"]
    assert whole.document["operations"] >= first.document["operations"]


def test_seed_without_a_violation_can_be_replayed(netkv: Netkv) -> None:
    result = netkv("soak", "nocache", "--replay", "4")
    assert result.status == 0
    assert "scheme   nocache" in result.out
    assert "** link" in result.out
    assert "No violation in" in result.out


def test_unknown_mutants_are_refused(netkv: Netkv) -> None:
    result = netkv("soak", "lake", "--mutant", "serve-pendin")
    assert result.status == 2
    assert "Did you mean 'serve-pending'?" in result.err
    result = netkv("soak", "nocache", "--replay", "4", "--mutant", "serve-pending")
    assert result.status == 2
    assert "The scheme 'nocache' has no mutant 'serve-pending'." in result.err


@pytest.mark.parametrize("arguments", [("emu",), ("emu", "--replay", "4")])
def test_a_scheme_that_loses_writes_by_design_is_refused(
    netkv: Netkv, arguments: tuple[str, ...]
) -> None:
    refused(netkv("soak", *arguments))


def test_a_case_of_a_scheme_that_loses_writes_is_refused(netkv: Netkv, tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    case = generate("memcached", 4)
    cases.save(
        case.model_copy(update={"rack": case.rack.model_copy(update={"scheme": "emu"})}), file
    )
    refused(netkv("soak", "--replay", str(file)))


def refused(result: CommandResult) -> None:
    assert result.status == 2
    assert "'emu' loses acknowledged writes by design. Of two keys in one line" in result.err
    assert "Schemes with the same clients and servers: memcached, lake, " in result.err
    assert not result.out


def test_client_crash_needs_clients_that_keep_values(netkv: Netkv) -> None:
    result = netkv("soak", "nocache", "--faults", "kill,client-crash")
    assert result.status == 2
    assert "clients of 'nocache' keep no records" in result.err


def test_only_requested_kinds_of_faults_occur(netkv: Netkv) -> None:
    result = netkv("soak", "nocache", "--seeds", "2", "--faults", "none", "--json")
    assert (result.status, result.document["faults"]) == (0, 0)
    shown = netkv("soak", "nocache", "--replay", "4", "--faults", "partition").out
    assert "** partition controller" in shown
    assert "** link" not in shown


def test_time_limit_ends_a_search(netkv: Netkv) -> None:
    result = netkv("soak", "nocache", "--seconds", "0.5", "--from", "7", "--json")
    assert result.status == 0
    assert result.document["seeds"] >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "The scheme to search is missing"),
        (("netcash",), "Did you mean 'netcache'?"),
        (("netcache", "--faults", "kill,los"), "'los' is no kind of fault"),
        (("netcache", "--program", "none.p4"), "There is no file none.p4"),
        (("--replay", "7"), "A seed needs a scheme: 'netkv soak SCHEME --replay 7'"),
        (("--replay", "none.json"), "none.json cannot be read"),
        (("--replay", "pyproject.toml"), "is not a case of 'netkv soak'"),
        (("netcache", "--all"), "'--all' requires '--replay'"),
        (("netcache", "--seeds", "0"), "--seeds"),
    ],
)
def test_wrong_usage_is_reported(netkv: Netkv, arguments: tuple[str, ...], message: str) -> None:
    result = netkv("soak", *arguments)
    assert result.status == 2
    assert message in result.err
    assert result.out == ""


def test_compile_error_is_reported(netkv: Netkv, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.p4"
    wrong.write_text("header h {")
    result = netkv("soak", "netcache", "--seeds", "2", "--program", str(wrong))
    assert result.status == 1
    assert "wrong.p4" in result.err
    assert "Traceback" not in result.err


def children(process: int) -> list[int]:
    """Those of all its threads."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for listed in tasks for child in listed.read_text().split()]


def workers(process: int) -> list[int]:
    """Waits for the processes that run cases; returns their ids."""

    def started() -> list[int]:
        return [
            child
            for child in children(process)
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()
            and "_engine.abi3" in Path(f"/proc/{child}/maps").read_text()
        ]

    return until(started, "a process runs cases", every_s=0.05)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.usefixtures("home")
def test_interrupt_ends_a_search_and_its_processes() -> None:
    process = start_netkv("soak", "netcache", "--seeds", "100000")
    running = workers(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert out == ""
    assert "Interrupted after" in err
    assert re.search(r"No violation so far; 'netkv soak netcache --from \d+' continues", err)
    assert not any(is_running(worker) for worker in running)


@pytest.mark.usefixtures("home")
def test_worker_processes_end_when_the_search_is_killed() -> None:
    process = start_netkv("soak", "netcache", "--seeds", "100000")
    running = workers(process.pid)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    until(lambda: not any(map(is_running, running)), "all workers have ended")


@pytest.mark.usefixtures("home")
def test_case_that_kills_its_process_is_a_crash(tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    command = ("soak", "netcache", "--seeds", "100000", "--jobs", "1")
    process = start_netkv(*command, "--out", str(file), "--json")
    os.kill(workers(process.pid)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, err
    assert '"kind": "crash"' in out, err
    assert "SIGKILL" in out
    assert file.is_file()
