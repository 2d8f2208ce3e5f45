"""The client: a method for each thing that one does with a server."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from netkv.api_client.connection import Connection
from netkv.api_client.errors import ApiError, JobError, NoServerError
from netkv.api_client.stream import Message, parse

if TYPE_CHECKING:
    from pydantic import BaseModel

    from netkv.api.models.jobs import Job, Jobs
    from netkv.api.models.labs import Lab, LabSummary
    from netkv.api.models.runs import ComparedRuns, Runs, Series
    from netkv.runs import RunHead, RunRecord
    from netkv.scenarios.results import ScenarioResult

    Parsed = TypeVar("Parsed", bound=BaseModel)

Scenario: TypeAlias = str | Path | Mapping[str, Any]
"""A scenario: the name of one that ships, the text of a file (several lines), a file, or an object
with its options."""


class Changes(TypedDict, total=False):
    """Changes of a scenario for one run of it; what is left out stays."""

    schemes: Iterable[str]
    """The first is the baseline."""
    set: Iterable[str]
    """Values of options, each `path=value`."""
    mode: str | None
    seed: int | None
    repeat: int | None


_POLL = 0.5
"""Seconds for which the server waits with each answer about a job."""
_SILENCE = 45.0
"""Seconds without a byte after which a stream is opened again; the server sends every 15."""
_RETRY = 0.5
"""Seconds until the next attempt to reach a server that is gone."""


class Client:
    """A client of one server."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8400",
        token: str | None = None,
        *,
        cert: str | Path | None = None,
        timeout: float = 60.0,
    ) -> None:
        """Does not connect yet.

        `cert`: the certificate of the server, if no authority that this machine knows has signed
        it. `timeout`: seconds for each answer.
        """
        self._connection = Connection(url, token, cert, timeout)

    @classmethod
    def local(cls) -> Client:
        """The client of the server that this user runs on this machine; raises `NoServerError`."""
        from netkv.api import running, token

        found = running.find()
        if found is None:
            raise NoServerError("No server of netkv runs here. 'netkv serve' starts one.")
        return cls(found.url, token.read() if found.token else None, cert=found.cert)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return self._connection.url

    # ------------------------------------------------------------------ any request

    def get(self, path: str, **query: Any) -> Any:
        """The document at a path below `/api/v1`, such as `/labs`."""
        return self._connection.json("GET", path, query, None, self._connection.timeout)

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        """The answer to POST with a JSON body."""
        return self._connection.json("POST", path, query, body, self._connection.timeout)

    def delete(self, path: str, **query: Any) -> Any:
        """The answer to DELETE."""
        return self._connection.json("DELETE", path, query, None, self._connection.timeout)

    # ------------------------------------------------------------------ jobs

    def submit(
        self,
        scenario: Scenario,
        **changes: Unpack[Changes],
    ) -> Job:
        """Queue a scenario and return at once."""
        from netkv.api.models.jobs import Job

        request: dict[str, Any] = {**_source(scenario), **changes}
        for name in ("schemes", "set"):
            request[name] = list(request.get(name, ()))
        return _parsed(Job, self.post("/jobs", request))

    def run(
        self,
        scenario: Scenario,
        *,
        on_progress: Callable[[Job], object] | None = None,
        **changes: Unpack[Changes],
    ) -> ScenarioResult:
        """Run a scenario and return its result.

        `on_progress` is called with the job about twice a second. Raises `JobError` if the job
        fails or is cancelled. An interrupt leaves the job running: `cancel` stops it.
        """
        job = self.submit(scenario, **changes)
        return self.result(self.follow(job.id, on_progress))

    def follow(
        self,
        job_id: str,
        on_progress: Callable[[Job], object] | None = None,
        *,
        patience: float = 60.0,
    ) -> Job:
        """Wait for the end of a job. The server may be away for `patience` seconds meanwhile."""
        from netkv.api.models.jobs import ACTIVE

        away = _Away(patience)
        while True:
            try:
                job = self.job(job_id, wait=_POLL)
            except (NoServerError, ApiError) as error:
                away.wait(error)
                continue
            away.over()
            if on_progress is not None:
                on_progress(job)
            if job.state not in ACTIVE:
                return job

    def result(self, job: Job) -> ScenarioResult:
        """The result of a scenario that has ended; raises `JobError` if there is none."""
        from netkv.scenarios.results import ScenarioResult

        return _parsed(ScenarioResult, self.document(job))

    def document(self, job: Job) -> dict[str, Any]:
        """What the command of a job that has ended has printed, a benchmark's for example; raises
        `JobError` if there is nothing."""
        if job.state != "done":
            reason = f": {job.error}" if job.error else "."
            raise JobError(f"Job {job.id} is {job.state}{reason}", job)
        found: dict[str, Any] = self.get(f"/jobs/{_id(job.id)}/result")
        return found

    def submit_benchmark(self, name: str, **options: Any) -> Job:
        """Queue a benchmark and return at once. Its options are those of its command, with `_` for
        `-`: `submit_benchmark("e2e", value_size=[64])`."""
        from netkv.api.models.jobs import Job

        return _parsed(Job, self.post(f"/benchmarks/{_id(name)}", {"options": options}))

    def benchmark(
        self, name: str, on_progress: Callable[[Job], object] | None = None, **options: Any
    ) -> dict[str, Any]:
        """Run a benchmark and return the document that its command prints with `--json`.

        `on_progress` and errors are as of `run`.
        """
        job = self.submit_benchmark(name, **options)
        return self.document(self.follow(job.id, on_progress))

    def submit_tool(self, name: str, **options: Any) -> Job:
        """Queue a search for faults (`soak`, `p4-fuzz`), or `calibrate`, and return at once. The
        options are those of the command, with `_` for `-`: `submit_tool("p4-fuzz", seconds=60)`.
        `document` returns what it has printed."""
        from netkv.api.models.jobs import Job

        return _parsed(Job, self.post(f"/tools/{_id(name)}", {"options": options}))

    def jobs(self) -> Jobs:
        """The jobs that run or wait, and the newest that have ended."""
        from netkv.api.models.jobs import Jobs

        return _parsed(Jobs, self.get("/jobs"))

    def job(self, job_id: str, *, wait: float = 0.0) -> Job:
        """A job; with `wait`, when it has ended, or after so many seconds."""
        from netkv.api.models.jobs import Job

        return _parsed(Job, self._waited("GET", job_id, wait))

    def cancel(self, job_id: str, *, wait: float = 0.0) -> Job:
        """Cancel a job, as Ctrl-C does in a terminal."""
        from netkv.api.models.jobs import Job

        return _parsed(Job, self._waited("DELETE", job_id, wait))

    def log(self, job_id: str) -> str:
        """The end of the messages of a job."""
        text: str = self.get(f"/jobs/{_id(job_id)}/log")["text"]
        return text

    def _waited(self, method: str, job_id: str, wait: float) -> Any:
        query = {"wait": wait or None}
        timeout = self._connection.timeout + wait
        return self._connection.json(method, f"/jobs/{_id(job_id)}", query, None, timeout)

    # ------------------------------------------------------------------ runs

    def runs(self, **query: Any) -> list[RunHead]:
        """Stored runs, newest first; `query` has the parameters of `GET /runs`."""
        return self.run_page(**query).runs

    def run_page(self, **query: Any) -> Runs:
        """The same, with the number of runs on all pages (`total`)."""
        from netkv.api.models.runs import Runs

        return _parsed(Runs, self.get("/runs", **query))

    def run_record(self, run_id: str) -> RunRecord:
        """The complete record of a run."""
        from netkv.runs import RunRecord

        return _parsed(RunRecord, self.get(f"/runs/{_id(run_id)}"))

    def series(self, run_id: str, **query: Any) -> Series:
        """A run over time; `query` has the parameters of `GET /runs/ID/series`."""
        from netkv.api.models.runs import Series

        return _parsed(Series, self.get(f"/runs/{_id(run_id)}/series", **query))

    def compare(self, run_ids: Iterable[str], baseline: str | None = None) -> ComparedRuns:
        """A comparison of runs. `baseline`: a run, or a scheme; by default the first scheme."""
        from netkv.api.models.runs import ComparedRuns

        document = self.get("/compare", run=list(run_ids), baseline=baseline)
        return _parsed(ComparedRuns, document)

    # ------------------------------------------------------------------ labs

    def labs(self) -> list[LabSummary]:
        """The labs that are up, and the racks of live runs."""
        from netkv.api.models.labs import LabSummary

        return [_parsed(LabSummary, each) for each in self.get("/labs")]

    def lab(self, name: str) -> Lab:
        """A lab with its topology, nodes and links."""
        from netkv.api.models.labs import Lab

        return _parsed(Lab, self.get(f"/labs/{_id(name)}"))

    # ------------------------------------------------------------------ the stream

    def stream(
        self, last_event_id: str | None = None, *, patience: float = 60.0
    ) -> Generator[Message, None, None]:
        """New samples, events and changes of jobs, for ever.

        It begins behind the message with this id, without one now. If the connection is lost, it
        continues behind the last message. The server may be away for `patience` seconds.
        """
        last = last_event_id
        away = _Away(patience)
        while True:
            try:
                for message in self._messages(last):
                    away.over()
                    last = message.id or last
                    yield message
                raise NoServerError(f"{self.url} has ended the stream.")
            except (NoServerError, ApiError) as error:
                away.wait(error)

    def _messages(self, last: str | None) -> Iterator[Message]:
        """The messages of one connection, until it ends."""
        headers = {"Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = last
        opened = self._connection.opened("GET", "/stream", {}, None, headers, _SILENCE)
        with opened as answer:
            try:
                yield from parse(answer)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise NoServerError(f"The stream of {self.url} is broken.") from error


class _Away:
    """How long a server has been away."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since: float | None = None

    def over(self) -> None:
        """The server has answered."""
        self._since = None

    def wait(self, error: NoServerError | ApiError) -> None:
        """Waits for the next attempt; raises the error if that makes no sense."""
        if isinstance(error, ApiError) and error.status != 503:
            raise error
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if now - self._since >= self._patience:
            raise error
        time.sleep(_RETRY)


def _source(scenario: Scenario) -> dict[str, Any]:
    """The field of a request that has the scenario."""
    if isinstance(scenario, Mapping):
        return {"document": dict(scenario)}
    if isinstance(scenario, Path):
        from netkv.errors import UsageError

        try:
            return {"yaml": scenario.read_text(encoding="utf-8")}
        except (OSError, ValueError) as error:
            raise UsageError(f"{scenario}: cannot be read: {error}.") from error
    return {"yaml" if "\n" in scenario else "scenario": scenario}


def _id(text: str) -> str:
    return quote(text, safe="")


def _parsed(model: type[Parsed], document: Any) -> Parsed:
    from pydantic import ValidationError

    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise ApiError(
            "The answer of the server is not that of this version of netkv. Is it another version?"
        ) from error
