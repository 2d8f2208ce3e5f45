"""The sources of the site: the documents with the links of the site, and the generated pages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netkv import __version__
from tests.docs.documents import DOCUMENTS, ROOT
from tests.docs_site import command_line, navigation, python_clients, rest_api, scoreboard
from tests.docs_site.links import rewritten, targets
from tests.docs_site.markdown import compatible
from tests.docs_site.navigation import INDEX, OTHERS, page
from tests.docs_site.scenario_pages import Pages

REFERENCE = {
    "reference/scenarios/index.md": "The scenarios that ship",
    "reference/scoreboard.md": "The papers' figures beside netkv's",
    "reference/command-line.md": "The command line",
    "reference/rest-api.md": "The REST API",
    "reference/rest-api-models.md": "Models of the REST API",
    "reference/python-clients.md": "The Python clients",
}
"""The generated pages that the index names as code, and their titles. They are not in docs/."""
_SCRIPTS = {
    "mermaid.tiny.js": "@mermaid-js/tiny/dist/mermaid.tiny.js",
    "iframe-worker.js": "iframe-worker/shim/index.js",
}
"""Files of packages of npm that pages would load from the network otherwise."""
_ASSETS = Path(__file__).parent / "assets"


@dataclass(frozen=True)
class Repository:
    """Where the files are that are not on the site; without a URL they are only named."""

    url: str
    commit: str

    def link(self, text: str, file: Path) -> str:
        """The Markdown for a link to a file of the repository."""
        if self.url:
            return f"[{text}]({self.url}/blob/{self.commit}/{file})"
        named = text.strip("`") in (str(file), file.name)
        return f"`{file}`" if named else f"{text} (`{file}`)"


def commit() -> str:
    """The commit of the checkout; empty outside of one."""
    command = ["git", "rev-parse", "HEAD"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def documents(repository: Repository) -> dict[str, str]:
    """The pages that are made of documents."""
    pages = {file: page(file) for file in DOCUMENTS}
    pages.update({image: str(image.relative_to(ROOT / "docs")) for image in images()})
    texts = {
        pages[file]: compatible(rewritten(file.read_text(), file, pages, repository.link))
        for file in DOCUMENTS
    }
    texts["index.md"] = _with_reference(texts["index.md"])
    return texts


def images() -> list[Path]:
    """The images that the documents show."""
    linked = {file for document in DOCUMENTS for file, _, _ in targets(document)}
    return sorted(it for it in linked if it.suffix in (".png", ".svg"))


def _with_reference(index: str) -> str:
    """The index with links to the generated pages, which it names as code."""
    for path, title in REFERENCE.items():
        index = index.replace(f"`{path}`", f"[{title}]({path})")
    return index


def generated(*, max_seconds: float) -> tuple[dict[str, str], dict[str, bytes]]:
    """The generated pages, and their images."""
    scenarios = Pages(max_seconds)
    pages = {
        "reference/scoreboard.md": scoreboard.markdown(),
        "reference/command-line.md": command_line.markdown(),
        "reference/rest-api.md": rest_api.operations(),
        "reference/rest-api-models.md": rest_api.models(),
        "reference/python-clients.md": python_clients.markdown(),
        **scenarios.pages,
    }
    return pages, scenarios.images


def nav(pages: Mapping[str, str]) -> list[Any]:
    """The navigation in the form of MkDocs."""
    found: list[Any] = [{"Documentation": "index.md"}]
    for title, groups in navigation.sections(INDEX.read_text()).items():
        listed: list[Any] = []
        for name, files in groups.items():
            below = [page(file) for file in files]
            listed += [{name: below}] if name else below
        found.append({title: listed})
    scenarios = [path for path in pages if re.match(r"reference/scenarios/.*\.md$", path)]
    rest = [path for path in REFERENCE if path in pages and path not in scenarios]
    found.append({"Reference": [{"Scenarios": scenarios}, *rest]})
    found.append({"Examples": [page(it) for it in OTHERS if "examples" in it.parts]})
    found.append({"Project": [page(it) for it in OTHERS if "examples" not in it.parts]})
    return found


def write(folder: Path, repository: Repository, *, max_seconds: float, versions: bool) -> None:
    """Writes the sources and the configuration of the generator into a folder.

    `versions`: the site is one of several versions beside each other (`tests.docs_site.versions`).
    """
    sources = folder / "docs"
    shutil.rmtree(sources, ignore_errors=True)
    pages, drawn = generated(max_seconds=max_seconds)
    pages = {**documents(repository), **pages}
    for path, text in pages.items():
        _file(sources / path).write_text(text)
    for path, content in drawn.items():
        _file(sources / path).write_bytes(content)
    for image in images():
        shutil.copy(image, _file(sources / image.relative_to(ROOT / "docs")))
    shutil.copytree(_ASSETS, sources / "assets")
    shutil.copy(ROOT / "web/icon.svg", sources / "assets/icon.svg")
    for name, script in _SCRIPTS.items():
        shutil.copy(ROOT / "tests/web/node_modules" / script, sources / "assets" / name)
    said = f"netkv {__version__}, commit {repository.commit[:12]}. Apache-2.0."
    if repository.url:
        # As `repo_url` each page would ask the forge how many stars it has.
        said += f' <a href="{repository.url}">Repository</a>'
    configuration: dict[str, Any] = {
        "INHERIT": "../../mkdocs.yml",
        "site_name": f"netkv {__version__}",
        "docs_dir": "docs",
        "site_dir": "site",
        "nav": nav(pages),
        "copyright": said,
    }
    if versions:
        configuration["extra"] = {"version": {"provider": "mike"}}
    # JSON is YAML.
    (folder / "mkdocs.yml").write_text(json.dumps(configuration, indent=1))


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
