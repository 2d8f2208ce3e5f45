"""The sources of the site are complete; what the generator makes of them loads nothing."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from netkv import evaluation, resources
from tests.docs.documents import DOCUMENTS, ROOT
from tests.docs_site import navigation, scenario_pages
from tests.docs_site.finish import finish
from tests.docs_site.links import anchor
from tests.docs_site.markdown import compatible
from tests.docs_site.navigation import omitted, page
from tests.docs_site.rest_api import description
from tests.docs_site.sources import REFERENCE, Repository, documents, generated, images, nav

_LINK = re.compile(r"\]\((?!https?:)([\w./-]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    """All pages, without simulated figures; figures are empty files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenario_pages, "draw", lambda *_: b"")
        made, drawn = generated(max_seconds=0)
    shown = [str(it.relative_to(ROOT / "docs")) for it in images()]
    return {**documents(Repository("", "")), **made, **dict.fromkeys([*drawn, *shown], "")}


def listed(entries: object) -> list[str]:
    """The pages of a navigation."""
    match entries:
        case str(path):
            return [path]
        case dict():
            return [path for each in entries.values() for path in listed(each)]
        case list():
            return [path for each in entries for path in listed(each)]
    return []


def test_every_page_is_once_in_the_navigation(pages: Mapping[str, str]) -> None:
    found = listed(nav(pages))
    assert len(found) == len(set(found))
    assert set(found) == {path for path in pages if path.endswith(".md")}
    assert omitted() == []


def test_document_that_the_index_does_not_list_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    new = ROOT / "docs" / "new.md"
    monkeypatch.setattr(navigation, "DOCUMENTS", [*DOCUMENTS, new])
    assert omitted() == [str(new.relative_to(ROOT))]


def test_links_between_pages_lead_to_pages(pages: Mapping[str, str]) -> None:
    broken = [
        (path, target)
        for path, text in pages.items()
        for target in _LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
        if posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) not in pages
    ]
    assert broken == []


def test_first_page_leads_to_what_newcomers_do(pages: Mapping[str, str]) -> None:
    """One click to a scheme or scenario of one's own, and two to a figure of a paper."""
    first = set(_LINK.findall(pages["index.md"]))
    scenarios = "reference/scenarios/index.md"
    assert {"extend/add-a-scheme.md", "use/scenarios.md", scenarios, *REFERENCE} <= first
    assert "netcache.md" in _LINK.findall(pages[scenarios])
    assert "](netcache-skew-1.svg)" in pages["reference/scenarios/netcache.md"]


def test_reference_has_every_command_operation_and_scenario(pages: Mapping[str, str]) -> None:
    commands = pages["reference/command-line.md"]
    assert all(f"## `netkv {it}`" in commands for it in ("scenario run", "up", "fpga synth"))
    operations = pages["reference/rest-api.md"]
    assert all(f"`{path}`" in operations for path in description()["paths"])
    models = pages["reference/rest-api-models.md"]
    assert all(f"## {name}\n" in models for name in description()["components"]["schemas"])
    scenarios = "".join(text for path, text in pages.items() if "reference/scenarios/" in path)
    assert all(f"\n## {name}\n" in scenarios for name in resources.scenarios())
    clients = pages["reference/python-clients.md"]
    assert all(f"def {name}(" in clients for name in ("multiget", "submit", "follow"))


def test_ledgers_are_complete_and_lead_to_tables_of_their_page(pages: Mapping[str, str]) -> None:
    found = pages["reference/scoreboard.md"]
    entries = [it for name in evaluation.names() for it in evaluation.load(name).ledger]
    assert all(f" {it.source} " in found.replace("*", " ") for it in entries)
    assert found.count("not shown: ") == sum(it.missing is not None for it in entries)
    headings = {anchor(it) for it in re.findall(r"^#+ (.*)$", found, re.MULTILINE)}
    shown = {name for it in entries for name in it.shown_by or []}
    assert shown <= headings
    assert set(re.findall(r"\]\(#([^)]*)\)", found)) <= headings


def test_pages_of_the_dashboards_links_exist(pages: Mapping[str, str]) -> None:
    linked = re.findall(r'docs: "([^"]+)"', (ROOT / "web/js/main.js").read_text())
    assert len(linked) == 7
    assert {f"{it}.md" for it in linked} <= set(pages)


def test_lists_are_those_of_the_generators_dialect() -> None:
    text = "text:\n- a\n- b\n  more\n\n1. c\n   - d\n\n```\n- e\n  f\n```\n"
    assert compatible(text) == (
        "text:\n\n- a\n- b\n    more\n\n1. c\n    - d\n\n```\n- e\n  f\n```\n"
    )


def test_scripts_of_pages_become_files(tmp_path: Path) -> None:
    html = '<script>go()</script><script type="application/json">{}</script>'
    (tmp_path / "use").mkdir()
    (tmp_path / "use/a.html").write_text(html)
    finish(tmp_path)
    (script,) = (tmp_path / "assets/inline").iterdir()
    assert script.read_text() == "go()"
    page = tmp_path / "use/a.html"
    assert page.read_text() == (
        f'<script src="../assets/inline/{script.name}"></script>'
        '<script type="application/json">{}</script>'
    )


def test_only_pages_with_diagrams_load_what_draws_them(tmp_path: Path) -> None:
    script = '<script src="../assets/mermaid.tiny.js"></script>'
    for name, html in (("a.html", '<pre class="mermaid">'), ("b.html", "<pre>")):
        (tmp_path / name).write_text(f"{html}\n{script}")
    finish(tmp_path)
    assert [script in (tmp_path / name).read_text() for name in ("a.html", "b.html")] == [
        True,
        False,
    ]


def test_page_that_loads_from_another_server_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<link rel="stylesheet" href="https://fonts.example/a.css">')
    with pytest.raises(ValueError, match="loads from another server"):
        finish(tmp_path)


def test_pages_of_documents_keep_their_folders() -> None:
    assert page(ROOT / "docs/README.md") == "index.md"
    assert page(ROOT / "docs/use/p4.md") == "use/p4.md"
    assert page(ROOT / "examples/README.md") == "examples/index.md"
