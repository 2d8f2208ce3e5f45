"""Labs on the target `bmv2`, with stand-ins for p4c and simple_switch_grpc (`bmv2_standin`)."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from netkv import schemes
from netkv.errors import NetkvError
from netkv.live.bmv2.compiler import CompilerEndedError, compile_scheme
from netkv.live.rack import LiveRack
from netkv.model.report import COMPILER
from netkv.schemes.spec import LabSpec
from tests.lab import bmv2_standin
from tests.lab.racks import running, sampled, serves, spec, verify
from tests.waiting import until, until_async

PLAIN = schemes.all_schemes()[0]


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts both stand-ins on PATH. Returns a file with a line for each compiled program."""
    bmv2_standin.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    file = tmp_path / "compiled"
    monkeypatch.setenv("STANDIN_COMPILED", str(file))
    return file


def on_bmv2(scheme: str, tmp_path: Path) -> LiveRack:
    return LiveRack(spec(scheme, target="bmv2"), tmp_path / "rack")


@pytest.mark.slow
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("scheme", ["nocache", "netcache", "farreach"])
async def test_scheme_serves_requests_on_bmv2(tmp_path: Path, scheme: str) -> None:
    async with running(on_bmv2(scheme, tmp_path)) as rack:
        await serves(rack)
        if rack.scheme.traits.caches:
            await sampled(rack, "the switch answers reads", lambda it: it.client.hits > 0)
        assert (await verify(rack)).client_statistics["stale_reads"] == 0
        assert rack.failed is None
        assert any(event.node == COMPILER for event in rack.events), "p4c's warning is shown"


@pytest.mark.usefixtures("compiled")
async def test_switch_that_restarts_is_set_up_again(tmp_path: Path) -> None:
    async with running(on_bmv2(PLAIN.name, tmp_path)) as rack:
        await serves(rack)
        await rack.switch_nodes[0].kill()
        await rack.switch_nodes[0].start()
        await serves(rack)


@pytest.mark.usefixtures("compiled")
async def test_killed_bmv2_is_a_failure_of_the_switch(tmp_path: Path) -> None:
    async with running(on_bmv2(PLAIN.name, tmp_path)) as rack:
        os.kill(bmv2_of(rack), signal.SIGKILL)
        await until_async(lambda: rack.failed, "the rack reports the failure")
        assert rack.failed is not None
        assert rack.failed.node == "switch"
        assert "was killed by signal 9" in rack.failed.text


@pytest.mark.usefixtures("compiled")
async def test_bmv2_ends_with_its_node(tmp_path: Path) -> None:
    async with running(on_bmv2(PLAIN.name, tmp_path)) as rack:
        process = bmv2_of(rack)
        await rack.switch_nodes[0].kill()
        until(lambda: not Path(f"/proc/{process}/cmdline").exists(), "bmv2 has ended")


def bmv2_of(rack: LiveRack) -> int:
    """The process of bmv2, the only child of the switch's node."""
    assert rack.switch_nodes[0].process is not None
    assert rack.switch_nodes[0].process.identity is not None
    node = rack.switch_nodes[0].process.identity.pid
    (child,) = Path(f"/proc/{node}/task/{node}/children").read_text().split()
    return int(child)


@pytest.mark.usefixtures("compiled")
async def test_impaired_link_loses_frames_on_bmv2(tmp_path: Path) -> None:
    async with running(on_bmv2(PLAIN.name, tmp_path)) as rack:
        await serves(rack)
        await rack.client.impair("from", {"loss": 1.0})
        lost = await sampled(rack, "frames are lost", lambda it: it.switch["links_lost"] > 10)
        assert lost.client.completed == 0 or lost.switch["links_lost"] > 0
        await rack.client.impair("from", {})
        await serves(rack)


def test_program_is_compiled_once(compiled: Path) -> None:
    first, second = (compile_scheme(PLAIN, LabSpec()) for _ in range(2))
    assert (first.cached, second.cached) == (False, True)
    assert len(compiled.read_text().splitlines()) == 1
    assert first.config == second.config
    assert second.warnings == bmv2_standin.WARNING, "warnings are cached with the program"


def test_programs_with_other_macros_are_compiled_again(compiled: Path) -> None:
    scheme = schemes.get("netmc")
    made = {compile_scheme(scheme, LabSpec(servers=count)).config for count in (2, 4)}
    assert len(made) == 2
    assert len(compiled.read_text().splitlines()) == 2


async def test_missing_programs_are_named_with_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    rack = on_bmv2(PLAIN.name, tmp_path)
    with pytest.raises(NetkvError, match=r"needs 'simple_switch_grpc' on PATH.*\n.*p4lang-bmv2"):
        await rack.start()


def test_p4c_that_ends_by_a_signal_has_not_refused(compiled: Path) -> None:
    program = compiled.parent / "bin/p4c-bm2-ss"
    program.write_text("#!/bin/sh\n[ $1 = --version ] && exit\nkill -9 $$\n")
    with pytest.raises(CompilerEndedError, match="Signal 9 has ended p4c"):
        compile_scheme(PLAIN, LabSpec())


async def test_program_that_p4c_refuses_is_reported(compiled: Path, tmp_path: Path) -> None:
    program = compiled.parent / "bin/p4c-bm2-ss"
    program.write_text(
        "#!/bin/sh\n[ $1 = --version ] && exit\necho 'x.p4(3): [--Werror] error: no' >&2; exit 1\n"
    )
    rack = on_bmv2(PLAIN.name, tmp_path)
    refused = re.escape("x.p4(3): [--Werror] error: no")
    with pytest.raises(NetkvError, match=rf"does not compile for bmv2 (?s:.*){refused}"):
        await rack.start()
