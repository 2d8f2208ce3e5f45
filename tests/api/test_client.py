"""`netkv.api_client`, and the commands that use it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from netkv.api import access, running, tls, token
from netkv.api.models.jobs import Job
from netkv.api_client import ApiError, Client, JobError, NoServerError
from netkv.cli import main
from netkv.errors import UsageError
from netkv.processes import identity
from netkv.runs import Store, StoreSink
from tests.api.serving import Served, serving
from tests.api.test_jobs import SERVER
from tests.api.test_security import certificate
from tests.runs.recorded_runs import record_comparison, samples, start
from tests.waiting import PATIENCE_S, until

__all__ = ["certificate"]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def client(served: Served) -> Client:
    return Client(served.url, timeout=PATIENCE_S)


@contextmanager
def server(*settings: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`netkv serve` in a process of its own, whose runs are recorded ones; and its URL."""
    text = SERVER.replace("server.run(0)", f"server.run({', '.join(settings) or '0'})")
    with subprocess.Popen(
        [sys.executable, "-c", text], stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        try:
            assert process.stderr is not None
            yield process, process.stderr.readline().split()[1]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)


# ---------------------------------------------------------------------- requests


@pytest.mark.usefixtures("slow_runner")
def test_scenario_runs_and_reports_its_progress(client: Client) -> None:
    seen: list[Job] = []
    result = client.run("quickstart", schemes=["nocache"], on_progress=seen.append)
    assert result.ok
    (run,) = result.runs
    assert {"running", "done"} <= {job.state for job in seen}
    assert client.run_record(run.id).scheme == "nocache"
    assert [head.id for head in client.runs(limit=1)] == [run.id]
    assert client.series(run.id).columns["time"]
    assert [job.id for job in client.jobs().ended] == [seen[0].id]


@pytest.mark.usefixtures("slow_runner")
def test_own_scenarios_are_text_files_or_objects(client: Client, tmp_path: Path) -> None:
    text = "name: mine\nschemes: [nocache]\nduration: 3\n"
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    for own in (text, file, {"name": "mine", "schemes": ["nocache"], "duration": 3}):
        job = client.submit(own, seed=7, repeat=2, mode="sim", set=["workload.zipf=0.9"])
        assert job.title == "mine"
        assert client.cancel(job.id, wait=PATIENCE_S).state == "cancelled"
    with pytest.raises(UsageError, match="cannot be read"):
        client.submit(tmp_path / "missing.yaml")


def test_runs_are_compared_with_a_baseline(served: Served, client: Client) -> None:
    first, second = record_comparison(served.store)
    assert client.compare([first, second]).baseline == "nocache"
    compared = client.compare([first, second], second)
    assert {row.relative_to for row in compared.rows} == {second}


def test_labs_are_listed(client: Client) -> None:
    assert client.labs() == []
    with pytest.raises(ApiError, match="There is no lab 'nope'"):
        client.lab("nope")


def test_refused_requests_name_the_fields(client: Client) -> None:
    with pytest.raises(ApiError, match="zipf") as refused:
        client.submit("quickstart", set=["workload.zipff=1"])
    assert refused.value.status == 422
    assert [each.field for each in refused.value.errors] == ["workload.zipff"]
    with pytest.raises(ApiError, match="There is no run 'nope'") as missing:
        client.run_record("nope")
    assert missing.value.status == 404


@pytest.mark.usefixtures("slow_runner")
def test_job_without_a_result_is_an_error(client: Client) -> None:
    with pytest.raises(JobError, match=r"is failed: .*port 9559 is in use") as failed:
        client.run("hot-in")
    assert "port 9559" in client.log(failed.value.job.id)


def test_missing_server_is_named() -> None:
    with pytest.raises(NoServerError, match=r"http://127\.0\.0\.1:1 does not answer: Connection"):
        Client("http://127.0.0.1:1").jobs()
    with pytest.raises(UsageError, match="should be the URL of a server"):
        Client("127.0.0.1:8400")
    with pytest.raises(UsageError, match="'netkv token' prints"):
        Client(token="a\r\nb: c")


def test_proxy_of_the_environment_is_not_used(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert client.runs() == []


def test_client_sends_the_token(store: Store) -> None:
    with serving(store, access.of("0.0.0.0")) as served:
        with pytest.raises(ApiError, match="needs its token") as refused:
            Client(served.url).runs()
        assert refused.value.status == 401
        assert Client(served.url, token.read()).runs() == []


def test_client_trusts_the_certificate_it_is_given(
    store: Store, certificate: tls.Certificate
) -> None:
    other = certificate.cert.with_name("other.pem")
    with serving(store, access.of("0.0.0.0"), certificate) as served:
        assert Client(served.url, token.read(), cert=certificate.cert).runs() == []
        for wrong in (None, other):
            with pytest.raises(NoServerError, match="certificate is not trusted"):
                Client(served.url, token.read(), cert=wrong).runs()


# ---------------------------------------------------------------------- the stream


def test_stream_continues_when_the_server_is_started_again(store: Store) -> None:
    """The second server has the port of the first one, which was killed."""
    run = start("live", "netcache")
    written = list(samples(run))
    with StoreSink(store) as sink:
        sink.begin(run)
        with server() as (first, url):
            stream = Client(url).stream(patience=PATIENCE_S)
            assert next(stream).kind == "jobs"
            sink.sample(run.id, written[0])
            seen = [next(each for each in stream if each.kind == "sample")]
            first.kill()
            first.wait()
        for sample in written[1:5]:
            sink.sample(run.id, sample)
        with server(url.rpartition(":")[2]) as (_, again):
            assert again == url
            while len(seen) < 5:
                message = next(stream)
                seen += [message] if message.kind == "sample" else []
        stream.close()
    assert [message.data["sample"]["time"] for message in seen] == [
        sample.time for sample in written[:5]
    ]


def test_stream_begins_behind_a_message(served: Served, client: Client) -> None:
    run = start("live", "netcache")
    written = list(samples(run))[:4]
    with StoreSink(served.store) as sink:
        sink.begin(run)
        for sample in written:
            sink.sample(run.id, sample)
    found = [message for message, _ in zip(client.stream("0.0"), range(3), strict=False)]
    assert [message.kind for message in found] == ["jobs", "sample", "sample"]
    resumed = client.stream(found[1].id)
    message = next(each for each in resumed if each.kind == "sample")
    assert message == found[2]


# ---------------------------------------------------------------------- the local server


def test_local_server_is_found_while_it_runs(store: Store, tmp_path: Path) -> None:
    assert store.url
    with pytest.raises(NoServerError, match="'netkv serve' starts one"):
        Client.local()
    with server() as (process, url):
        found = until(lambda: running.find(), "the server has written its file")
        assert found.url == url
        assert found.process == identity(process.pid)
        assert Client.local().runs() == []
        with server() as (second, _):
            assert second.poll() is None
            assert running.find() == found, "the first server stays"
        assert running.find() == found
        process.kill()
        process.wait()
        assert (tmp_path / "server.json").exists()
        with pytest.raises(NoServerError):
            Client.local()


def test_local_client_knows_token_and_certificate(
    store: Store, certificate: tls.Certificate
) -> None:
    assert store.url
    files = f"cert=Path({str(certificate.cert)!r})", f"key=Path({str(certificate.key)!r})"
    with server("0", "host='0.0.0.0'", *files):
        until(running.find, "the server has written its file")
        client = Client.local()
        assert client.url.startswith("https://127.0.0.1:")
        assert client.runs() == []


# ---------------------------------------------------------------------- commands


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("command", ["jobs list", "jobs show x", "scenario run quickstart --queue"])
def test_commands_without_a_server_say_so(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 1
    assert "No server of netkv runs here. 'netkv serve' starts one." in capfd.readouterr().err


@pytest.mark.usefixtures("store")
def test_wrong_options_of_the_queue_are_explained(capfd: pytest.CaptureFixture[str]) -> None:
    for options, text in (("--detach", "is for '--queue'"), ("--queue --jobs 2", "not for")):
        assert main(["scenario", "run", "quickstart", *options.split()]) == 2
        assert text in capfd.readouterr().err


def test_queued_file_has_the_options_of_the_file_that_it_extends(
    store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert store.url
    (tmp_path / "base.yaml").write_text("extends: quickstart\nlab: {servers: 3}\n")
    file = tmp_path / "mine.yaml"
    file.write_text("extends: base.yaml\nname: mine\n")
    with server() as (_, url):
        until(running.find, "the server has written its file")
        assert main(["scenario", "run", str(file), "--queue", "--detach"]) == 0
        job = Client(url).job(capfd.readouterr().out.strip())
        assert job.request is not None
        sent = job.request["yaml"]
        assert "  servers: 3\n" in sent
        assert "  service_rate: 500\n" in sent
        assert "extends" not in sent
        Client(url).cancel(job.id)


def test_queued_scenario_is_followed_and_reported(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    assert store.url
    with server():
        until(running.find, "the server has written its file")
        assert main(["scenario", "run", "quickstart", "--queue"]) == 0
        shown = capfd.readouterr()
        assert "netcache" in shown.out
        assert "running" in shown.err
        assert main(["scenario", "run", "quickstart", "--queue", "--detach"]) == 0
        job = capfd.readouterr().out.strip()
        assert main(["jobs", "list"]) == 0
        assert job in capfd.readouterr().out
        assert main(["jobs", "cancel", job]) == 0
        assert f"Job {job} is cancelled." in capfd.readouterr().err
        assert main(["jobs", "show", job]) == 0
        assert "cancelled" in capfd.readouterr().out
        assert main(["jobs", "log", job]) == 0


def test_ctrl_c_of_a_script_cancels_its_job(store: Store, tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    with server():
        until(running.find, "the server has written its file")
        with subprocess.Popen(
            [sys.executable, "-m", "netkv", "scenario", "run", "quickstart", "--queue"],
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        ) as command:
            client = Client.local()
            (job,) = until(lambda: client.jobs().active, "the job is queued")
            until(partial(is_running, client, job), "the job runs")
            command.send_signal(signal.SIGINT)
            assert command.wait(PATIENCE_S) == 130
            assert command.stderr is not None
            assert f"Job {job.id} is cancelled." in command.stderr.read()
        assert client.job(job.id).state == "cancelled"
    assert store.url


def test_terminal_asks_before_it_cancels(store: Store, tmp_path: Path) -> None:
    (tmp_path / "hold").touch()
    with server():
        until(running.find, "the server has written its file")
        client = Client.local()
        for answer, state in (("n\n", "running"), ("y\n", "cancelled")):
            with terminal("scenario", "run", "quickstart", "--queue") as (command, keys):
                (job,) = until(lambda: client.jobs().active, "the job is queued")
                until(partial(is_running, client, job), "the job runs")
                command.send_signal(signal.SIGINT)
                keys.wait_for("[y/N]")
                keys.write(answer)
                assert command.wait(PATIENCE_S) == 130
            assert client.job(job.id).state == state
            if state == "running":
                client.cancel(job.id, wait=PATIENCE_S)
    assert store.url


def is_running(client: Client, job: Job) -> bool:
    return client.job(job.id).state == "running"


class Keys:
    """The keyboard and the screen of a command."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._text = ""
        threading.Thread(target=self._read, daemon=True).start()

    def write(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def wait_for(self, part: str) -> None:
        until(lambda: part in self._text, f"the terminal shows {part!r}")

    def _read(self) -> None:
        try:
            while part := os.read(self._descriptor, 4096):
                self._text += part.decode(errors="replace")
        except OSError:
            return


@contextmanager
def terminal(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Keys]]:
    """The command in a terminal."""
    mine, its = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "netkv", *arguments],
        stdin=its,
        stdout=its,
        stderr=its,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm"},
    ) as command:
        os.close(its)
        try:
            yield command, Keys(mine)
        finally:
            command.kill()
            os.close(mine)
