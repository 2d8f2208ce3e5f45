"""The commands of docs/schemes/lake.md before a real memcached work as documented."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from netkv.fpga import build
from netkv.model import manifest
from tests.docs.documents import ROOT, blocks
from tests.switch.sandbox import Sandbox, skip_without
from tests.waiting import until

SHELL = [block.text for block in blocks("sh", ROOT / "docs/schemes/lake.md")]

pytestmark = pytest.mark.live


def script(beginning: str) -> str:
    """The block with this beginning, for the Python interpreter of the tests."""
    (found,) = [text for text in SHELL if text.startswith(beginning)]
    return found.replace(".venv/bin/python", sys.executable).replace("10000", "300")


def test_lake_before_memcached_answers_as_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without("ping", "memcached")
    home = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(home))
    build.build(manifest.find("lake"))
    with Sandbox(tmp_path) as sandbox:
        sandbox.run(script("ip netns add client"))
        log = tmp_path / "log"
        sandbox.start(script("netkv fpga run lake"), log)
        until(lambda: "runs as 'lake'" in log.read_text(), "the design runs")
        assert " 0% packet loss" in sandbox.run(script("ip -n client link set lo up"))
        for namespace, address in (("server", "10.9.0.2"), ("client", "127.0.0.1")):
            sandbox.start(
                script(f"ip netns exec {namespace} memcached"), tmp_path / f"{namespace}.log"
            )
            probe = f"ip netns exec client bash -c 'exec 3<>/dev/tcp/{address}/11211' 2>/dev/null"
            until(lambda: "yes" in sandbox.run(f"{probe} && echo yes || echo no"), "it listens")  # noqa: B023
        said = sandbox.run(script("ip netns exec client .venv"))
        counts = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
        assert counts["operations"] >= 300
        assert "hits" in said
