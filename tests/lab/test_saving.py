"""The save file of a controller is replaced atomically, also on errors and after late writes."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netkv.control import base
from netkv.control.base import MAX_SAVES
from netkv.errors import NetkvError
from netkv.live.saving import SaveFile, Saver
from tests.waiting import PATIENCE_S, until_async


@contextmanager
def no_room(limit: int) -> Iterator[None]:
    """No file of this process may grow above `limit` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_newest_save_is_found_and_no_other_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "data" / "saved"
    assert SaveFile(path).read() is None
    SaveFile(path).write(b"one")
    SaveFile(path).write(b"")
    assert SaveFile(path).read() == b""
    assert os.listdir(path.parent) == ["saved"]


def test_full_disk_keeps_the_earlier_save_and_is_reported(tmp_path: Path) -> None:
    file = SaveFile(tmp_path / "saved")
    file.write(b"before")
    with (
        no_room(4096),
        pytest.raises(NetkvError, match=r"100,000 bytes could not be saved in .*: "),
    ):
        file.write(bytes(100_000))
    assert file.read() == b"before"
    assert os.listdir(tmp_path) == ["saved"]
    file.write(b"after")
    assert file.read() == b"after"


def test_late_save_of_an_ended_controller_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "saved"
    writing, go_on = threading.Event(), threading.Event()
    real = os.fsync

    def slow(descriptor: int) -> None:
        if threading.current_thread() is thread:
            writing.set()
            assert go_on.wait(PATIENCE_S)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    ended = SaveFile(path)
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(ended.write(b"of the ended")))
    thread.start()
    assert writing.wait(PATIENCE_S)
    ended.close()
    SaveFile(path).write(b"of the next")
    go_on.set()
    thread.join(PATIENCE_S)
    assert results == [False]
    assert path.read_bytes() == b"of the next"
    assert os.listdir(tmp_path) == ["saved"]


def test_unreadable_save_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    with pytest.raises(NetkvError, match="cannot be read: Is a directory"):
        SaveFile(tmp_path / "saved").read()


async def test_saves_that_wait_are_limited_and_each_is_answered(tmp_path: Path) -> None:
    answers: list[base.Saved] = []
    saver = Saver(SaveFile(tmp_path / "saved"), answers.append)
    for number in range(MAX_SAVES + 2):
        saver.save(base.Save(number, b"%d" % number))
    assert [(answer.save, answer.ok) for answer in answers] == [
        (MAX_SAVES, False),
        (MAX_SAVES + 1, False),
    ]
    running = asyncio.create_task(saver.run())
    await until_async(lambda: len(answers) == MAX_SAVES + 2, "all saves are answered")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [answer.save for answer in answers[2:]] == list(range(MAX_SAVES))
    assert all(answer.ok for answer in answers[2:])
