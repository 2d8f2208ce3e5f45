"""`netkv scheme new`: a scheme of one's own as a package, made of a kit.

The package begins as a copy of the first scheme with a control plane of this kit, under another
name: declaration, control plane and P4 program are there to be changed, and the kit is imported.
What belongs to the paper of that scheme is left out: testbeds, metrics, cases of the search.
"""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from netkv import kits, resources
from netkv.errors import UsageError, suggest
from netkv.schemes import registry
from netkv.schemes.scheme import Scheme

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LEFT_OUT = ("metrics", "mutants", "probes", "profiles", "soak")
"""Modules that are not copied (`netkv.schemes.parts`)."""

_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1"
dependencies = ["netkv"]

[project.entry-points."netkv.schemes"]
{name} = "{module}:SCHEME"

[tool.setuptools]
packages = ["{module}"]

[tool.setuptools.package-data]
{module} = ["*.p4"]
"""
_SCENARIO = """\
name: {name}
title: {title} beside a switch that only routes
schemes: [{baseline}, {name}]
lab: {{servers: 4, service_rate: 2000, cache_entries: 200}}
workload: {{keys: 10000, zipf: 0.99, writes: 0.05, arrivals: {{outstanding: 32}}}}
warmup: 1
duration: 4
expect:
  - {module}.throughput_ops >= 1.2 * {baseline}.throughput_ops
  - each.linearizable == 1
  - each.acked_writes_lost == 0
"""
_TESTS = '''\
"""{title} is faster than a switch that only routes, and loses no acknowledged write."""

import json
import subprocess
import sys
from pathlib import Path

SCENARIO = Path(__file__).parents[1] / "{name}.yaml"


def netkv(*arguments):
    """The document of a command that succeeds."""
    command = [sys.executable, "-m", "netkv", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def test_scenario_meets_its_expectations():
    runs = netkv("scenario", "run", str(SCENARIO), "--mode", "sim")["runs"]
    (own,) = (run for run in runs if run["scheme"] == "{name}")
    assert own["hit_ratio"] > 0.1


def test_search_for_bugs_finds_none():
    assert netkv("soak", "{name}", "--seeds", "3", "--jobs", "1")["violations"] == []
'''


def kits_of_control_planes() -> Mapping[str, Scheme]:
    """The kits that a new scheme can be made of, each with the scheme that it is a copy of."""
    found: dict[str, Scheme] = {}
    for folder in sorted(Path(path) for path in kits.__path__):
        for kit in sorted(each.name for each in folder.iterdir() if each.is_dir()):
            for scheme in registry.all_schemes():
                control_plane = _folder(scheme) / "control_plane.py"
                if (
                    control_plane.exists()
                    and f"{kits.__name__}.{kit}." in control_plane.read_text()
                ):
                    found.setdefault(kit, scheme)
    return found


def write(name: str, kit: str, into: Path) -> Path:
    """Writes the package of a new scheme into a folder; returns the folder of the package.

    Raises `UsageError` for a name that cannot be, a kit that does not exist, and a folder that
    exists or cannot be written.
    """
    _check_name(name)
    known = kits_of_control_planes()
    if kit not in known:
        raise UsageError(f"There is no kit '{kit}'.\n  {suggest(kit, known, label='Kits')}")
    place = into / name
    if place.exists():
        raise UsageError(f"{place} exists already.")
    try:
        for path, text in _files(name, known[kit]):
            file = place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{place} cannot be written: {error.strerror or error}.") from error
    return place


def _check_name(name: str) -> None:
    module = name.replace("-", "_")
    if not _NAME.fullmatch(name) or keyword.iskeyword(module):
        raise UsageError(
            f"'{name}' cannot be the name of a scheme: names begin with a small letter, and have "
            f"small letters, digits and single hyphens."
        )
    if name in registry.catalogue().schemes:
        raise UsageError(f"There is a scheme '{name}' already.")
    if module in sys.builtin_module_names or importlib.util.find_spec(module) is not None:
        raise UsageError(
            f"'{name}' cannot be the name of a scheme: Python has a module '{module}'."
        )


def _files(name: str, like: Scheme) -> Iterator[tuple[str, str]]:
    """Path and text of each file of the package."""
    module = name.replace("-", "_")
    title = "".join(part.capitalize() for part in name.split("-"))
    baseline = next(each.name for each in registry.all_schemes() if not each.traits.caches)
    values = {"name": name, "module": module, "title": title, "baseline": baseline}
    yield "pyproject.toml", _PROJECT.format(**values)
    yield f"{name}.yaml", _SCENARIO.format(**values)
    yield f"tests/test_{module}.py", _TESTS.format(**values)
    own = like.name.replace("-", "_")
    for file in sorted(_folder(like).glob("*.py")):
        if file.stem not in _LEFT_OUT:
            text = file.read_text(encoding="utf-8")
            if file.stem == "__init__":
                text = _declaration(text, like, name)
            text = text.replace(f"netkv.schemes.{own}", module).replace(like.about.title, title)
            yield f"{module}/{file.name}", text
    program = like.program_path
    for file in sorted(program.parent.glob("*.p4")):
        text = file.read_text(encoding="utf-8").replace(f'"{program.parent.name}/', '"')
        target = f"{module}.p4" if file == program else file.name
        yield f"{module}/{target}", text


def _declaration(text: str, like: Scheme, name: str) -> str:
    """The declaration of the new scheme, from that of the one it is like."""
    module = name.replace("-", "_")
    program = f'str(Path(__file__).with_name("{module}.p4"))'
    changes = (
        (re.escape(f'name="{like.name}"'), f'name="{name}"'),
        (r" +order=\d+,\n", ""),
        (re.escape(f'paper="{like.about.paper}"'), 'paper="None yet"'),
        (re.escape(f'"{like.programs.main}"'), program),
        (r"from [\w.]+\.metrics import METRICS\n", ""),
        (r" +metrics=METRICS,\n", ""),
        (r"\nfrom typing import", r"\nfrom pathlib import Path\nfrom typing import"),
    )
    for pattern, replacement in changes:
        text = re.sub(pattern, replacement, text, count=1)
    return text


def _folder(scheme: Scheme) -> Path:
    """The folder of a scheme that comes with netkv; of another, one without files."""
    return resources.package() / "schemes" / scheme.name.replace("-", "_")
