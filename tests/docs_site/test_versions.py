"""Sites of several versions beside each other."""

from __future__ import annotations

import json
from pathlib import Path

from tests.docs_site.versions import add


def test_newest_release_is_first_and_where_visitors_are_led(tmp_path: Path) -> None:
    site, folder = tmp_path / "site", tmp_path / "pages"
    site.mkdir()
    for version in ("dev", "0.9.0", "0.10.0", "0.9.1", "dev"):
        (site / "index.html").write_text(version)
        add(folder, site, version)
    listed = json.loads((folder / "versions.json").read_text())
    assert [each["version"] for each in listed] == ["dev", "0.10.0", "0.9.1", "0.9.0"]
    assert [each["version"] for each in listed if each["aliases"]] == ["0.10.0"]
    assert "url=0.10.0/" in (folder / "index.html").read_text()
    assert (folder / "0.9.1/index.html").read_text() == "0.9.1"


def test_only_version_is_where_visitors_are_led(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    add(tmp_path / "pages", tmp_path / "site", "dev")
    assert "url=dev/" in (tmp_path / "pages/index.html").read_text()
