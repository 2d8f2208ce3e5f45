"""What is left to do on the pages that the generator has made."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_SHIM = "https://unpkg.com/iframe-worker/shim"
"""What lets pages search that are opened as files. The generator's theme has only this address."""
_MERMAID = re.compile(r'\s*<script src="[^"]*mermaid\.tiny\.js"></script>')
"""2.5 MB, which only pages with diagrams need."""
_FOREIGN = re.compile(r"<(?:script|link|img)\b[^>]*?\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")


def finish(site: Path) -> None:
    """Moves scripts into files of the site; raises `ValueError` if a page loads from elsewhere.

    The server of netkv allows no inline scripts (`netkv/api/headers.py`).
    """
    for page in sorted(site.rglob("*.html")):
        up = "../" * len(page.parent.relative_to(site).parts)
        text = page.read_text().replace(_SHIM, f"{up}assets/iframe-worker.js")
        if 'class="mermaid"' not in text:
            text = _MERMAID.sub("", text)
        if foreign := _FOREIGN.search(text):
            raise ValueError(f"{page}: loads from another server: {foreign[0]}")

        def moved(found: re.Match[str], up: str = up) -> str:
            name = f"{hashlib.sha256(found[1].encode()).hexdigest()[:12]}.js"
            file = site / "assets/inline" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(found[1])
            return f'<script src="{up}assets/inline/{name}"></script>'

        page.write_text(_INLINE.sub(moved, text))
