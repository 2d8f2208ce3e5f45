"""The API over a store that is damaged or read-only: its errors are sentences."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from netkv.runs import Store
from tests.api.serving import Served, serving
from tests.runs.recorded_runs import record_comparison
from tests.waiting import PATIENCE_S


def test_damage_of_the_store_names_its_repair(served: Served, tmp_path: Path) -> None:
    ids = record_comparison(served.store)
    served.store.close()
    with (tmp_path / "runs.db").open("r+b") as opened:
        opened.write(bytes(4096))
    for path in ("runs", f"runs/{ids[0]}", f"runs/{ids[0]}/series"):
        answer = httpx.get(f"{served.url}/api/v1/{path}", timeout=PATIENCE_S)
        assert answer.status_code == 503
        assert "'netkv runs repair' saves" in answer.json()["detail"]


def test_read_only_store_is_shown(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = record_comparison(store)
    of_system = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda path, mode, **more: Path(path).name != "runs.db" and of_system(path, mode, **more),
    )
    with Store(f"sqlite:///{tmp_path / 'runs.db'}") as read_only, serving(read_only) as served:
        runs = f"{served.url}/api/v1/runs"
        assert httpx.get(runs, timeout=PATIENCE_S).json()["total"] == 2
        assert httpx.get(f"{runs}/{ids[0]}", timeout=PATIENCE_S).status_code == 200
        for refused in (
            httpx.patch(f"{runs}/{ids[0]}", json={"pinned": True}, timeout=PATIENCE_S),
            httpx.post(
                f"{served.url}/api/v1/jobs",
                json={"scenario": "quickstart"},
                timeout=PATIENCE_S,
            ),
        ):
            assert refused.status_code == 503, refused.text
            assert "cannot be written: its file is read-only" in refused.json()["detail"]
