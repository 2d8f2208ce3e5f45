"""The STF files are up to date with their scenarios. (The engine's tests run them on p4/.)"""

import pytest

from tests.p4programs import write


@pytest.mark.parametrize("name", [program.__name__ for program in write.PROGRAMS])
def test_packet_test_is_up_to_date_with_its_scenario(name: str) -> None:
    expected = getattr(write, name)()
    assert write.file_of(name).read_text() == expected, (
        f"{name}.stf differs from its scenario: python -m tests.p4programs.write"
    )
