"""The P4Info of a program equals that of p4c (recorded with p4c 1.2.5 in `p4c/`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

from netkv import _engine
from netkv.p4rt import p4info

RECORDED = sorted((Path(__file__).parent / "p4c").glob("*.p4info.txtpb"))
TESTS = Path(__file__).parents[1]


def program(recording: Path) -> Path:
    name = recording.name.removesuffix(".p4info.txtpb") + ".p4"
    (found,) = (
        path for folder in ("golden", "p4", "p4rt") if (path := TESTS / folder / name).is_file()
    )
    return found


def objects(info: p4i.P4Info) -> dict[str, dict[int, str]]:
    """Kind → id → text of each object, without annotations, which are not part of the interface."""
    result: dict[str, dict[int, str]] = {}
    for field, value in info.ListFields():
        if field.name in ("pkg_info", "type_info"):
            continue
        for item in value:
            item.preamble.ClearField("annotations")
            item.preamble.ClearField("structured_annotations")
            if field.name == "tables" and item.HasField("initial_default_action"):
                for argument in item.initial_default_action.arguments:
                    # p4c pads with zeros; the canonical form has no leading zeros.
                    argument.value = argument.value.lstrip(b"\0") or b"\0"
            result.setdefault(field.name, {})[item.preamble.id] = str(item)
    return result


@pytest.mark.parametrize("recording", RECORDED, ids=lambda path: path.name.split(".")[0])
def test_p4info_equals_that_of_p4c(recording: Path) -> None:
    ours = p4info.from_bundle(_engine.compile_p4(str(program(recording))))
    theirs = text_format.Parse(recording.read_text(), p4i.P4Info())
    assert objects(ours) == objects(theirs)


def test_there_are_recordings() -> None:
    assert len(RECORDED) >= 10
