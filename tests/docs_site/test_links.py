"""Links between documents lead somewhere, also those that the site changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.documents import DOCUMENTS, ROOT
from tests.docs_site import links
from tests.docs_site.links import rewritten, wrong
from tests.docs_site.navigation import page
from tests.docs_site.sources import Repository

OF_NETCACHE = ROOT / "docs/schemes/netcache.md"
PAGES = {file: page(file) for file in DOCUMENTS}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda it: str(it.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(document: Path) -> None:
    assert wrong(document) == []


def test_wrong_links_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "ROOT", tmp_path)
    document = tmp_path / "a.md"
    document.write_text(
        "# The `first` title\n[a](#the-first-title) [b](#gone) [c](gone.md) [d](https://e.org/#f)\n"
        "```\n[in a block](gone.md)\n```\n"
    )
    assert wrong(document) == ["a.md: #gone", "a.md: gone.md"]


@pytest.mark.parametrize(
    ("link", "on_the_site"),
    [
        ("[a](netmc.md#words)", "[a](netmc.md#words)"),
        ("[a](../README.md)", "[a](../index.md)"),
        ("[a](../../CONTRIBUTING.md)", "[a](../project/contributing.md)"),
        ("[a](../../examples/write-around/README.md)", "[a](../examples/write-around.md)"),
        ("[a](#words) [b](https://x.org)", "[a](#words) [b](https://x.org)"),
        ("[p4/README.md](../../p4/README.md)", "`p4/README.md`"),
        ("[a file](../../p4/README.md)", "a file (`p4/README.md`)"),
        ("```\n[a](../README.md)\n```", "```\n[a](../README.md)\n```"),
    ],
)
def test_link_leads_to_the_page_of_a_document(link: str, on_the_site: str) -> None:
    assert rewritten(link, OF_NETCACHE, PAGES, Repository("", "").link) == on_the_site


def test_link_to_a_source_leads_to_the_repository() -> None:
    repository = Repository("https://forge.example/netkv", "abc")
    text = rewritten("[it](../../p4/README.md)", OF_NETCACHE, PAGES, repository.link)
    assert text == "[it](https://forge.example/netkv/blob/abc/p4/README.md)"
