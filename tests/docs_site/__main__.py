"""`python -m tests.docs_site check|write|finish`: the parts of `make docs-site` and `make lint`."""

from __future__ import annotations

import argparse
import shutil
import sys

from netkv import resources
from tests.docs.documents import DOCUMENTS, ROOT
from tests.docs_site.links import wrong
from tests.docs_site.navigation import omitted

BUILD = ROOT / ".cache/docs-site"


def _check() -> int:
    """Prints wrong links, and documents that the index does not list."""
    found = [f"wrong link in {it}" for file in DOCUMENTS for it in wrong(file)]
    found += [f"{path} is in no section of docs/README.md" for path in omitted()]
    print("".join(f"{line}\n" for line in found), end="", file=sys.stderr)
    return 1 if found else 0


def _finish() -> None:
    from tests.docs_site.finish import finish

    # `netkv serve` and `make wheel` take it from there.
    finish(BUILD / "site")
    site = resources.site()
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(BUILD / "site", site)
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    print(f"==> {site.relative_to(ROOT)}/index.html ({size / 1e6:.1f} MB); 'netkv serve' serves it")


def main() -> int:
    """Runs one part."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs_site", description=__doc__)
    parser.add_argument("part", choices=("check", "write", "finish"))
    parser.add_argument("--repository", default="", help="URL of the repository, for links")
    parser.add_argument("--versions", action="store_true", help="one of several versions")
    parser.add_argument(
        "--max-seconds", type=float, default=60.0, help="longest scenario that is simulated"
    )
    options = parser.parse_args()
    if options.part == "check":
        return _check()
    if options.part == "finish":
        _finish()
        return 0
    from tests.docs_site.sources import Repository, commit, write

    repository = Repository(options.repository.rstrip("/"), commit())
    write(BUILD, repository, max_seconds=options.max_seconds, versions=options.versions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
