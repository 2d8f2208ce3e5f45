"""The kits that sources use are found wherever the sources name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import kits, resources
from netkv.schemes import kits_used

KITS = Path(kits.__path__[0])


@pytest.mark.parametrize(
    "text",
    [
        "from netkv.kits.write_back.record import Record",
        "from netkv.kits import write_back",
        "import netkv.kits.write_back.record as record",
        "def control_plane():\n    from netkv.kits.write_back import record",
        "if TYPE_CHECKING:\n    from netkv.kits.write_back.record import Record",
    ],
)
def test_kit_that_a_module_imports_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    assert kits_used.of_python(tmp_path) == [KITS / "write_back"]
    assert kits_used.of_python(tmp_path / "mine.py") == [KITS / "write_back"]


def test_kit_that_is_only_named_in_a_text_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text('"""Like netkv.kits.write_back."""\nimport netkv.kitsch\n')
    assert kits_used.of_python(tmp_path) == []


def test_folders_of_included_files_are_found(tmp_path: Path) -> None:
    """A file beside the program comes before one in `p4/`."""
    (tmp_path / "mine.p4").write_text('#include <core.p4>\n#include "parts/entry.p4"\n')
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/entry.p4").write_text('#include "write_through/wire.p4"\n')
    found = kits_used.of_programs([tmp_path / "mine.p4"])
    assert found == [tmp_path, tmp_path / "parts", resources.path("p4") / "write_through"]


@pytest.mark.parametrize(
    "text",
    [
        "use crate::kits::plain::Plain;",
        "use crate::kits::{\n    a::b,\n    plain::{c, d},\n};",
        "fn role() { crate::kits::plain::role() }",
        "use crate::kits::other::Other;",
    ],
)
def test_kits_that_roles_use_are_found(tmp_path: Path, text: str) -> None:
    for kit in ("plain", "other", "not_used"):
        (tmp_path / "kits" / kit).mkdir(parents=True)
    (tmp_path / "kits/other/mod.rs").write_text("use crate::kits::plain;")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/mod.rs").write_text(f"//! Like `crate::kits::not_used`.\n{text}\n")
    found = kits_used.of_roles([tmp_path / "mine"], tmp_path / "kits")
    assert found[-1] == tmp_path / "kits/plain"
    assert tmp_path / "kits/not_used" not in found
