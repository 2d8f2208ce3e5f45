"""The files for the engine's tests are what the scenarios say. (`test_udp_checksums.py` and the
engine's tests run them on p4/.)"""

from pathlib import Path

from tests.p4programs import write


def test_files_of_former_scenarios_are_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    write.write(folder)
    names = [program.__name__ for program in write.PROGRAMS]
    for name in names:
        (folder / f"{name}.stf").write_text("packet 1 00")
    write.write(folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        f"{name}.stf": write.text_of(name) for name in names
    }
