"""A p4c elsewhere: `docker/p4c.sh` with a stand-in for p4c, and netkv on the other side."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv import schemes
from netkv.errors import NetkvError
from netkv.live.bmv2 import compile_service, toolchain
from netkv.live.bmv2.compile_service import NotServedError
from netkv.live.bmv2.compiler import CompilerEndedError, compile_program, compile_scheme
from netkv.schemes.spec import LabSpec
from tests.lab import bmv2_standin
from tests.waiting import PATIENCE_S, until

PLAIN = schemes.all_schemes()[0]
SCRIPT = Path(__file__).parents[2] / "docker/p4c.sh"


class Service:
    """A folder, its service, and the p4c that only the service has."""

    def __init__(self, place: Path) -> None:
        self.folder = place / "shared"
        self.p4c = place / "bin/p4c-bm2-ss"
        bmv2_standin.install(place / "bin")
        (place / "bin/simple_switch_grpc").unlink()
        path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.process = subprocess.Popen(
            [SCRIPT, self.folder], env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL
        )
        until(self._starts, "the service has started")

    def _starts(self) -> bool:
        assert self.process.poll() is None, "the service has ended"
        return (self.folder / "alive").exists()

    def requests(self) -> list[Path]:
        return [each for each in self.folder.iterdir() if each.is_dir()]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_S)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    found = Service(tmp_path)
    monkeypatch.setenv(toolchain.CHOSEN, str(found.folder))
    yield found
    found.end()


def test_program_of_a_scheme_is_compiled_elsewhere(service: Service) -> None:
    compiled = compile_scheme(PLAIN, LabSpec())
    assert compiled.config.stat().st_size > 0
    assert compiled.p4info.stat().st_size > 0
    assert compiled.warnings == bmv2_standin.WARNING
    assert compile_scheme(PLAIN, LabSpec()).cached
    assert not service.requests(), "requests are removed"


@pytest.mark.usefixtures("service")
def test_program_with_sources_beside_it_and_in_other_folders_is_compiled(tmp_path: Path) -> None:
    program, includes = tmp_path / "a b/main.p4", tmp_path / "more"
    for file, text in (
        (program, '#include "beside.p4"\n#include "deep/other.p4"\n'),
        (program.with_name("beside.p4"), "const bit<8> BESIDE = 1;\n"),
        (includes / "deep/other.p4", PLAIN.program_path.read_text()),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    compiled = compile_program(program, "no hash", PLAIN.programs.defines(LabSpec()), [includes])
    assert not compiled.cached


def test_program_that_p4c_refuses_is_reported_with_its_text(service: Service) -> None:
    service.p4c.write_text("#!/bin/sh\necho 'x.p4(3): [--Werror] error: no' >&2; exit 1\n")
    with pytest.raises(NetkvError, match=r"does not compile(?s:.*)error: no"):
        compile_scheme(PLAIN, LabSpec())
    assert not service.requests()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("kill -9 $$", "Signal 9 has ended p4c"),
        # What `timeout` exits with at the limit of the service.
        ("exit 124", "p4c has reached its time limit"),
    ],
)
def test_p4c_that_is_ended_has_not_refused(service: Service, script: str, told: str) -> None:
    service.p4c.write_text(f"#!/bin/sh\n{script}\n")
    with pytest.raises(CompilerEndedError, match=told):
        compile_scheme(PLAIN, LabSpec())


def test_request_that_is_withdrawn_stops_no_service(service: Service) -> None:
    slow = service.p4c.read_text().replace("exec", "sleep 1; exec")
    service.p4c.write_text(slow)
    withdrawn = service.folder / "netkv-gone"
    withdrawn.mkdir()
    (withdrawn / "arguments").write_text("--version\n")
    until(lambda: (withdrawn / "output").exists(), "the request is taken")
    shutil.rmtree(withdrawn)
    assert not compile_scheme(PLAIN, LabSpec()).cached


def test_folder_without_a_service_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(toolchain.CHOSEN, str(tmp_path))
    with pytest.raises(NotServedError, match=rf"start 'docker/p4c.sh {tmp_path}'"):
        compile_scheme(PLAIN, LabSpec())


def test_service_that_has_stopped_is_noticed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_service, "_GONE_S", 0.5)
    service.end()
    with pytest.raises(NotServedError, match="has stopped"):
        compile_scheme(PLAIN, LabSpec())
    assert not service.requests()


def test_service_that_stops_while_it_compiles_is_noticed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_service, "_GONE_S", 2.0)
    # The service is the parent of `timeout`, and that of p4c.
    service.p4c.write_text(
        "#!/bin/sh\nread -r _ _ _ parent _ </proc/$PPID/stat; kill $parent\nsleep 9\n"
    )
    with pytest.raises(NotServedError, match="has stopped"):
        compile_scheme(PLAIN, LabSpec())
    service.process.wait(PATIENCE_S)
