"""Exit statuses, output and error messages of all commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from netkv.cli import main
from netkv.runs import Store, StoreSink
from tests.cli.commands import NETKV, ROOT, Netkv, assert_wrong_usage
from tests.runs.recorded_runs import record_comparison, record_recovery, start
from tests.waiting import until

FORWARDING = "p4/forwarding/forwarding.p4"
SCENARIO = ("pydantic", "ruamel.yaml", "rich", "asyncio", "netkv._engine")
SIMULATION = (*SCENARIO, "sqlalchemy", "finsy", "grpc", "google.protobuf")
LARGE = (
    *("sqlalchemy", "fastapi", "plotly", "matplotlib", "numpy", "pydantic", "ruamel.yaml", "rich"),
    *("finsy", "grpc", "google.protobuf", "redis", "rocksdict", "asyncio", "netkv._engine"),
)


@pytest.fixture
def stored(home: Path) -> list[str]:
    """The ids of the runs in the store."""
    assert home
    with Store() as store:
        return record_comparison(store, repeats=2)


def test_help_names_every_command(netkv: Netkv) -> None:
    result = netkv("--help")
    assert result.status == 0
    for command in (
        *(
            "up",
            "down",
            "status",
            "logs",
            "node",
            "doctor",
            "scenario",
            "runs",
            "p4",
            "bench",
            "serve",
            "token",
            "jobs",
        ),
        "--version",
    ):
        assert command in result.out


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        ("--help", ()),
        ("--version", ()),
        ("scenario --help", ()),
        ("scenario run --help", ()),
        ("bench --help", ()),
        ("p4 fuzz --help", ()),
        ("soak --help", ()),
        ("scenario list", ("rich",)),
        ("scenario list --json", ()),
        ("scheme list", ("pydantic", "rich")),
        ("fpga list", ("pydantic", "rich")),
        ("status", ("pydantic", "rich", "asyncio")),
        ("scenario show zipf-sweep", SCENARIO),
        ("scenario run quickstart --mode sim --scheme nocache", SIMULATION),
    ],
)
def test_command_imports_only_the_large_libraries_it_needs(
    netkv: Netkv, home: Path, arguments: str, needed: Sequence[str]
) -> None:
    """Each of these libraries takes longer to load than the rest of the command."""
    if arguments.startswith("scenario list"):
        # The first list of scenarios reads them all and keeps what the next ones need.
        assert netkv(*arguments.split()).status == 0
    code = (
        f"import sys; from netkv.cli import main; main(sys.argv[1:]); "
        f"print(*[m for m in {LARGE} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()],
        cwd=ROOT,
        env={**os.environ, "NETKV_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stderr.splitlines()[-1].split()) <= set(needed)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["runs", "nonsense"],
        ["runs", "show"],
        ["runs", "show", "nope"],
        ["runs", "list", "--limit", "0"],
        ["runs", "list", "--status", "finished"],
        ["runs", "list", "--sort", "speed"],
        ["runs", "list", "--where", "workload.zipf"],
        ["runs", "export", "compared", "--csv", "--html"],
        ["runs", "export", "compared", "--csv", "--parquet"],
        ["runs", "plot", "nope"],
        ["runs", "plot", "nope", "--out", "figure.gif"],
        ["scenario", "run", "quickstart", "--plot", "figure.gif"],
        ["scenario", "run", "quickstart", "--plot", "no-such-directory/figure.svg"],
        ["scenario", "run", "quickstrat"],
        ["scenario", "run", "quickstart", "--scheme", "netcash"],
        ["scenario", "run", "quickstart", "--set", "workload.zipff=1"],
        ["scenario", "run", "quickstart", "--set", "nonsense"],
        ["scenario", "run", "quickstart", "--mode", "simm"],
        ["scenario", "run", "quickstart", "--repeat", "0"],
        ["scenario", "show", "/does/not/exist.yaml"],
        ["status", "no-such-lab"],
        ["logs", "no-such-lab"],
        ["up", "Not A Name"],
        ["p4", "check", "/does/not/exist.p4"],
        ["p4", "trace", FORWARDING, "nonsense"],
        ["p4", "trace", FORWARDING, "ffff"],
        ["p4", "trace", FORWARDING, "ff" * 60, "--setup", "no-such.stf"],
        ["p4", "stf", "tests/golden/arith.p4", "tests/golden/arith.stf", "--trace", "some"],
        ["p4", "check", FORWARDING, "--define", "1=2"],
        ["p4", "bench", "nocash"],
        ["p4", "bench", "--path", "read-hti"],
        ["p4", "bench", "--sweep", "colours"],
        ["p4", "bench", "--plot", "figures.txt"],
        ["serve", "--port", "70000"],
    ],
)
def test_wrong_usage_has_status_2_and_a_message(netkv: Netkv, arguments: list[str]) -> None:
    result = netkv(*arguments)
    assert result.status == 2, result.err
    assert result.out == ""
    assert "Traceback" not in result.err
    assert len(result.err) > 20


def test_error_suggests_the_nearest_name(netkv: Netkv) -> None:
    assert "Did you mean 'quickstart'?" in netkv("scenario", "run", "quickstrat").err
    result = netkv("scenario", "run", "quickstart", "--set", "workload.zipff=1")
    assert "Did you mean 'zipf'?" in result.err


def test_recoveries_are_shown_and_compared(netkv: Netkv) -> None:
    with Store() as store, StoreSink(store, group="grecovered") as sink:
        record_recovery(sink, start("crash", "netcache"), collect=0.5, restore=0.25)
    shown = netkv("runs", "show", "crash").out
    assert "switch was recovered at 6.0 s" in shown
    assert "recovered in 0.75 s" in shown, "in the list of events"
    compared = netkv("runs", "compare", "grecovered").out
    assert "collect" in compared
    assert "750.00 ms" in compared
    document = netkv("runs", "show", "crash", "--json").document
    assert [each["seconds"] for each in document["recoveries"]] == [0.75]


@pytest.mark.parametrize(
    "arguments",
    [
        ["runs", "list", "--json"],
        ["runs", "list", "--status", "failed", "--json"],
        ["runs", "tag", "gcompared", "--add", "paper", "--json"],
        ["runs", "note", "compared-netcache-1", "why?", "--json"],
        ["runs", "pin", "gcompared", "--json"],
        ["runs", "unpin", "gcompared", "--json"],
        ["runs", "show", "compared-netcache-1", "--json"],
        ["runs", "compare", "gcompared", "--json"],
        ["runs", "export", "gcompared"],
        ["runs", "delete", "gcompared", "--json"],
        ["scenario", "list", "--json"],
        ["scenario", "show", "quickstart", "--json"],
        ["status", "--json"],
        ["down", "--json"],
        ["p4", "check", "p4/netcache/netcache.p4", "--json"],
        ["p4", "info", "p4/netcache/netcache.p4", "--json"],
        ["p4", "trace", FORWARDING, "ff" * 60, "--json"],
        ["p4", "stf", "tests/golden/arith.p4", "tests/golden/arith.stf", "--json"],
    ],
)
@pytest.mark.usefixtures("stored")
def test_json_is_one_document_and_nothing_else(netkv: Netkv, arguments: list[str]) -> None:
    result = netkv(*arguments)
    assert result.status == 0, result.err
    assert isinstance(result.document, dict)
    assert result.err == ""


def test_runs_are_listed_shown_and_compared(netkv: Netkv, stored: list[str]) -> None:
    listed = netkv("runs", "list")
    assert all(run in listed.out for run in stored)
    assert [run["id"] for run in netkv("runs", "list", "-n", "1", "--json").document["runs"]] == [
        stored[-1]
    ]
    shown = netkv("runs", "show", stored[-1])
    for figure in ("48.1%", "4,968 ops/s", "servers-0 was killed.", "met"):
        assert figure in shown.out
    compared = netkv("runs", "compare", *stored, COLUMNS="80")
    assert compared.status == 0
    assert "2.60x" in compared.out
    assert max(map(len, compared.out.splitlines())) <= 80


def test_show_of_a_group_is_refused(netkv: Netkv, stored: list[str]) -> None:
    result = netkv("runs", "show", "gcompared")
    assert result.status == 2
    assert stored[0] in result.err


def test_runs_are_exported_to_files(netkv: Netkv, stored: list[str], tmp_path: Path) -> None:
    for kind, begin in (("--csv", "run,group"), ("--html", "<!doctype html>"), ("--json", "{")):
        file = tmp_path / f"export{kind}"
        result = netkv("runs", "export", "gcompared", kind, "-o", str(file))
        assert result.status == 0, result.err
        assert result.out == ""
        assert file.read_text(encoding="utf-8").startswith(begin)
    assert len(json.loads((tmp_path / "export--json").read_text())["runs"]) == len(stored)
    file = tmp_path / "runs.parquet"
    assert "Wrote 4 runs" in netkv("runs", "export", "gcompared", "--parquet", "-o", str(file)).err
    piped = subprocess.run(
        [*NETKV, "runs", "export", "gcompared", "--parquet"], capture_output=True, check=True
    )
    assert file.read_bytes() == piped.stdout
    assert piped.stdout.startswith(b"PAR1")
    result = netkv("runs", "export", "gcompared", "-o", str(tmp_path / "no" / "such" / "place"))
    assert result.status == 1
    assert "cannot be written" in result.err


def test_parquet_is_not_printed_on_a_terminal(
    netkv_in_process: Netkv, stored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stored
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    result = netkv_in_process("runs", "export", "gcompared", "--parquet")
    assert_wrong_usage(result, "Parquet is binary: name a file with --output")
    assert result.out == ""


def test_deleted_runs_are_not_listed(netkv: Netkv, stored: list[str]) -> None:
    assert netkv("runs", "delete", stored[0]).status == 0
    assert netkv("runs", "show", stored[0]).status == 2
    assert netkv("runs", "show", stored[1]).status == 0


def test_closed_pipe_is_no_error(home: Path, stored: list[str]) -> None:
    assert stored
    result = subprocess.run(
        f"{sys.executable} -m netkv runs export gcompared | head -c 100",
        shell=True,
        cwd=ROOT,
        env={**os.environ, "NETKV_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(result.stdout) == 100
    assert result.stderr == ""


def test_internal_error_is_one_sentence_and_a_log_file(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("of the test")

    monkeypatch.setattr(Store, "search", broken)
    assert main(["runs", "list"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "Traceback" not in output.err
    (log,) = (home / "logs").glob("fault-*.log")
    assert str(log) in output.err
    assert "of the test" in log.read_text()
    assert "Traceback" in log.read_text()


def test_unusable_store_is_reported(netkv: Netkv, tmp_path: Path) -> None:
    result = netkv("runs", "list", NETKV_STORE=f"sqlite:///{tmp_path}")
    assert result.status == 1
    assert "cannot be used: unable to open database file" in result.err
    assert netkv("runs", "list", NETKV_STORE="nonsense").status == 2


def test_p4_check_shows_line_and_place(netkv: Netkv, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.p4"
    source = (ROOT / "tests" / "golden" / "arith.p4").read_text()
    line = next(text for text in source.splitlines() if "transition accept;" in text)
    wrong.write_text(source.replace(line, line.replace("accept;", "acept;"), 1))
    result = netkv("p4", "check", str(wrong), FORWARDING)
    assert result.status == 1
    assert f"{wrong}:" in result.out
    assert "Did you mean 'accept'?" in result.out
    assert "^" in result.out
    assert "p4/forwarding/forwarding.p4: no errors" in result.out
    document = netkv("p4", "check", str(wrong), "--json").document
    assert not document["ok"]
    assert document["files"][0]["diagnostics"][0]["line"] > 1


def test_p4_stf_names_the_unexpected_packet(netkv: Netkv, tmp_path: Path) -> None:
    test = tmp_path / "wrong.stf"
    text = (ROOT / "tests" / "golden" / "arith.stf").read_text()
    lines = text.splitlines()
    index = next(i for i, line in enumerate(lines) if line.startswith("expect"))
    del lines[index]
    test.write_text("\n".join(lines) + "\n")
    result = netkv("p4", "stf", "tests/golden/arith.p4", str(test))
    assert result.status == 1
    assert result.out.strip()


def test_trace_names_the_pipelines_of_a_switch(netkv: Netkv) -> None:
    frame = "ff" * 12 + "0800"
    result = netkv("p4", "trace", FORWARDING, frame, "--port", "7", "--pipelines", "4")
    assert "ingress of pipeline 3, port 7" in result.out
    refused = netkv("p4", "trace", FORWARDING, frame, "--pipelines", "3")
    assert refused.status == 2
    assert "A switch has 1, 2 or 4 pipelines, not 3." in refused.err


def test_trace_shows_every_step(netkv: Netkv, tmp_path: Path) -> None:
    result = netkv("p4", "trace", FORWARDING, "ff" * 12 + "0800", "--port", "1")
    assert result.status == 0
    assert "parse_ethernet" in result.out
    assert "nothing leaves the switch" in result.out
    frame = tmp_path / "frame.hex"
    frame.write_text("ff" * 12 + "\n0800")
    assert netkv("p4", "trace", FORWARDING, str(frame), "--port", "1").out == result.out


def _check_times_of_logs(netkv: Netkv, created: float) -> None:
    """Lines have local time, the JSON document has seconds since the epoch."""
    only = ("logs", "trial", "--node", "supervisor")
    lines = netkv(*only, TZ="Asia/Tokyo").out.splitlines()
    messages = [line.split(" | ", 1)[1] for line in lines]
    times = [datetime.fromisoformat(message.split(" ", 1)[0]) for message in messages]
    assert all(time.utcoffset() == timedelta(hours=9) for time in times)
    document = netkv(*only, "--json").document
    assert document["lab"] == "trial"
    found = document["lines"]
    assert {line["node"] for line in found} == {"supervisor"}
    assert [line["time"] for line in found] == [time.timestamp() for time in times]
    assert [line["text"] for line in found] == [text.split(" ", 1)[1] for text in messages]
    assert all(created - 1 <= line["time"] <= time.time() for line in found)
    assert netkv("logs", "trial", "--json", "--follow").status == 2


def test_up_status_logs_and_down_leave_nothing_behind(netkv: Netkv, home: Path) -> None:
    sets = ["--set", "lab.servers=2", "--set", "workload.keys=1000"]
    up = netkv("up", "trial", *sets, "--json")
    assert up.status == 0, up.err
    assert up.document["state"] == "ready"
    again = netkv("up", "trial", *sets)
    assert again.status == 0
    assert "was up already" in again.err
    other = netkv("up", "trial", "--scheme", "nocache")
    assert other.status == 2
    status = netkv("status", "trial")
    assert status.status == 0
    assert "switch" in status.out
    logs = netkv("logs", "trial", "-n", "5")
    assert "supervisor" in logs.out
    assert netkv("logs", "trial", "--node", "swich").status == 2
    _check_times_of_logs(netkv, up.document["created"])
    pids = [node["pid"] for node in up.document["nodes"].values()]
    assert netkv("down", "trial").status == 0
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "no node is left")
    assert not list((home / "labs").iterdir())
    assert netkv("status").out == ""


@pytest.mark.parametrize(
    "chosen",
    [["--scheme", "nocache", "--topology", "spine-leaf"], ["--scheme", "distnocache"]],
    ids=["topology", "scheme"],
)
def test_status_shows_every_switch_of_a_lab(netkv: Netkv, chosen: list[str]) -> None:
    sets = [*chosen, "--set", "lab.servers=2", "--set", "workload.keys=1000"]
    up = netkv("up", "leaves", *sets, "--json")
    assert up.status == 0, up.err
    switches = {"edge-0", "spine-0", "spine-1", "leaf-0", "leaf-1"}
    assert switches < set(up.document["nodes"])
    known = up.document["controller"]["switches"]
    assert set(known) == switches
    shown = netkv("status", "leaves").out
    for name, switch in known.items():
        assert f"P4Runtime  {name}  {switch['p4runtime']}, device 1" in shown
    assert netkv("down", "leaves").status == 0


def test_topology_that_was_chosen_wins_over_that_of_the_scheme(netkv: Netkv) -> None:
    sets = ["--set", "lab.servers=2", "--set", "workload.keys=1000"]
    up = netkv("up", "one", "--scheme", "distnocache", "--topology", "rack", *sets, "--json")
    assert up.status == 0, up.err
    assert set(up.document["controller"]["switches"]) == {"switch"}
    assert netkv("down", "one").status == 0
