"""Fixtures that serve a store of recorded runs, for tests of the API and of the dashboard."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn

from netkv.api import app
from netkv.api.access import Access
from netkv.api.app import create_app
from netkv.api.jobs import requests
from netkv.api.models.jobs import ScenarioRequest
from netkv.api.server import HOST, bound, configuration
from netkv.api.tls import Certificate
from netkv.labs import daemon
from netkv.live import state
from netkv.runs import Store
from netkv.sim import speed
from tests.waiting import until

RUNNER = "tests.api.slow_runner"


@dataclass
class Served:
    """A running server and the store behind it."""

    url: str
    store: Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """An empty run store in a state directory of its own."""
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    monkeypatch.delenv("NETKV_STORE", raising=False)
    monkeypatch.setattr(speed, "requests_per_core_s", lambda: 200_000.0)
    with Store() as opened:
        yield opened


@contextmanager
def serving(
    store: Store,
    access: Access | None = None,
    certificate: Certificate | None = None,
    closing: asyncio.Event | None = None,
) -> Iterator[Served]:
    """The API in a thread, as `netkv serve` runs it. `closing`: as of `create_app`."""
    with bound(0, access) as listener:
        config = configuration(create_app(store, closing, access), certificate)
        config.timeout_graceful_shutdown = 1
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        until(lambda: server.started, "the server listens")
        scheme = "http" if certificate is None else "https"
        try:
            yield Served(f"{scheme}://{HOST}:{listener.getsockname()[1]}", store)
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def serving_labs(home: Path) -> Iterator[Served]:
    """The API over this state directory; the labs that are up at the end are taken down."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETKV_HOME", str(home))
        patch.delenv("NETKV_STORE", raising=False)
        with Store() as store, serving(store) as served:
            try:
                yield served
            finally:
                for name in state.names():
                    daemon.down(name)


@pytest.fixture
def own_application(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of the test share no routes with others: they depend on what it has replaced."""
    monkeypatch.setattr(app, "application", app.application.__wrapped__)


@pytest.fixture
def served(store: Store) -> Iterator[Served]:
    """The API on 127.0.0.1, over `store`."""
    with serving(store) as running:
        yield running


@pytest.fixture
def slow_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of the API start a process that reports recorded runs (`slow_runner`), not a rack."""

    def command(request: ScenarioRequest, group: str, directory: Path) -> list[str]:
        name = request.scenario or str(directory / requests.OWN_FILE)
        length = str(request.repeat or 1)
        return [sys.executable, "-m", RUNNER, group, name, length, *request.schemes]

    monkeypatch.setattr(requests, "scenario_command", command)
