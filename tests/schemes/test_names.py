"""Shared code names no scheme: code of a scheme is in its folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from netkv import schemes

ROOT = Path(__file__).parents[2]
SHARED = (
    "netkv/**/*.py",
    "netkv/*.pyi",
    "servers/**/*.py",
    "web/*.html",
    "web/js/**/*.js",
    "engine/*/src/**/*.rs",
)
OWN = ("netkv/schemes/{}/", "engine/roles/src/{}/")
"""Folders of a scheme, with its name."""
EXCEPTIONS = (
    # The list of schemes with roles in Rust.
    "engine/roles/src/lib.rs",
    # Frames of which a switch of NetMC rewrites some fields.
    "engine/wire/src/multiget/",
)
PROTOCOLS = ("memcached",)
"""Schemes with the name of a protocol and a program, which shared code may name."""
PENDING = (
    # Code that still names schemes. Do not add entries.
    # The benchmark of the data plane measures programs that it names.
    "engine/bench/src/programs/",
)


def shared_files() -> Iterator[Path]:
    """The source files outside the folders of schemes."""
    names = [each.name.replace("-", "_") for each in schemes.all_schemes()]
    own = tuple(folder.format(name) for folder in OWN for name in names)
    for pattern in SHARED:
        for file in sorted(ROOT.glob(pattern)):
            if not file.relative_to(ROOT).as_posix().startswith((*own, *EXCEPTIONS, *PENDING)):
                yield file


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Line and word of each name or title of a scheme, also within identifiers."""
    named = [each for each in schemes.all_schemes() if each.name not in PROTOCOLS]
    words = {word for each in named for word in (each.name, each.about.title)}
    # "emulate" is no scheme.
    forms = [re.escape(word) + ("(?!l)" if len(word) == 3 else "") for word in sorted(words)]
    pattern = re.compile(rf"(?<![a-z])({'|'.join(forms)})", re.IGNORECASE)
    for number, line in enumerate(text.splitlines(), start=1):
        for match in pattern.finditer(line):
            yield number, match[0]


def test_shared_code_names_no_scheme() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {word}"
        for file in shared_files()
        for line, word in names_in(file.read_text(encoding="utf-8"))
    ]
    assert not found, "shared code names a scheme:\n" + "\n".join(found)


def test_search_finds_names_in_identifiers_and_text() -> None:
    found = list(names_in("x = NetMcOptions()\n# as FarReach does\n_netcache = 1\nfollowing = 2"))
    assert found == [(1, "NetMc"), (2, "FarReach"), (3, "netcache")]


def test_pending_files_still_name_schemes() -> None:
    """Otherwise the entry must be removed from the list."""
    for name in PENDING:
        found = [ROOT / name, *(ROOT / name).rglob("*")]
        files = [file for file in found if file.suffix in (".py", ".rs")]
        assert files, name
        texts = [file.read_text(encoding="utf-8") for file in files]
        assert any(list(names_in(text)) for text in texts), f"remove {name}: it names no scheme"
