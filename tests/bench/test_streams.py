"""`python -m netkv.cli.bench_streams`: each stream gets each sample; wrong arguments are told."""

from __future__ import annotations

import subprocess
import sys

import pytest

from netkv.cli import bench_streams as streams


@pytest.mark.slow
def test_streams_get_all_samples_beside_one_that_is_not_read() -> None:
    found = streams.measure(8, 1, streams.scenario(3, service_rate=200))
    (only,) = found.rounds
    assert only.samples >= 3
    assert only.complete == 8
    assert only.alone_ops > 0
    assert only.watched_ops > 0
    assert found.ratio == only.watched_ops / only.alone_ops


@pytest.mark.parametrize("arguments", [["many"], ["1", "1", "1", "1"], ["0"], ["200"], ["1", "0"]])
def test_wrong_arguments_are_explained(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "netkv.cli.bench_streams", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert ended.stderr in (
        "error: Give the numbers of streams and of rounds, and a rate of the servers.\n",
        "error: Streams should be 1 to 199, rounds 1 to 100.\n",
    )
