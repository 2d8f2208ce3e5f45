"""The output and the errors of `netkv bench redis`, not the measured speed."""

from __future__ import annotations

from pathlib import Path

from tests.cli.commands import Netkv


def test_document_has_redis_alone_and_through_netkv_side_by_side(netkv: Netkv) -> None:
    result = netkv("bench", "redis", "--seconds", "0.3", "--entries", "200", "--json")
    assert result.status == 0, result.err
    document = result.document
    rows = {(row["path"], row["program"]): row["pps"] for row in document["results"]}
    assert set(rows) == {
        *(("get", name) for name in ("redis-py", "back-end", "shim")),
        *(("put", name) for name in ("redis-py", "back-end")),
    }
    assert all(rate > 0 for rate in rows.values())
    assert set(document["ratios"]) == {
        "get_of_back_end_to_redis_py",
        "put_of_back_end_to_redis_py",
        "get_of_shim_to_redis_py",
    }


def test_missing_redis_server_is_reported(netkv: Netkv, tmp_path: Path) -> None:
    result = netkv("bench", "redis", PATH=str(tmp_path))
    assert result.status == 1
    assert "'apt-get install redis-server' installs it" in result.err
