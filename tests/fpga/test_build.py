"""Builds of designs: the cache, concurrent builds, and what is said when something is missing."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from netkv import library_cache
from netkv._engine import FpgaDesign
from netkv.errors import NetkvError
from netkv.fpga import build, tools, verilate
from netkv.fpga.build import Library, Progress
from netkv.model import manifest
from netkv.model.manifest import Manifest
from tests.fpga.conftest import write_manifest


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(place))
    monkeypatch.delenv(library_cache.FOLDER)
    return place


def test_second_build_is_cached(wire: Library) -> None:
    again = build.build(manifest.find("wire"))
    assert again.cached
    assert again.path == wire.path
    assert build.built([wire.manifest]) == {"wire": True}


def test_hash_follows_from_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "rtl"
    folder.mkdir()
    source = Path(__file__).parent / "rtl" / "faulty_top.sv"
    copy = folder / source.name
    copy.write_text(source.read_text())
    design = manifest.load(write_manifest(tmp_path, "mine", "faulty_top", str(folder)))
    wider = manifest.override(design, ["word_bytes=64"])
    keys = {build.key(each, trace=trace) for each in (design, wider) for trace in (False, True)}
    assert len(keys) == 4
    assert build.key(manifest.override(design, ["clock_mhz=250"]), trace=False) in keys
    copy.write_text(copy.read_text() + "\n")
    assert build.key(design, trace=False) not in keys
    if tools.is_gcc(tools.compiler()):
        quick = build.key(design, trace=False)
        monkeypatch.delenv(library_cache.QUICK)
        assert build.key(design, trace=False) != quick


@pytest.mark.slow
@pytest.mark.skipif(not tools.is_gcc(tools.compiler()), reason="only GCC gets counts")
def test_branches_are_counted_in_a_build(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not empty_home.exists()
    monkeypatch.delenv(library_cache.QUICK)
    counted, train = list[str](), build._train

    def watched(library: Path, design: Manifest) -> bool:
        done = train(library, design)
        counted.extend(each.stem for each in library.parent.glob("*.gcda"))
        return done

    monkeypatch.setattr(build, "_train", watched)
    found = build.build(manifest.find("wire"))
    assert {"harness", "Vtop"} <= set(counted)
    assert json.loads((found.path.parent / build.ABOUT).read_text())["trained"]
    assert sorted(each.name for each in found.path.parent.iterdir()) == sorted(
        [build.ABOUT, library_cache.LIBRARY]
    )


@pytest.mark.slow
def test_design_that_fails_under_the_load_is_built(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not empty_home.exists()
    monkeypatch.delenv(library_cache.QUICK)
    monkeypatch.setattr(build, "TRAINING", Path("no_such_training.py"))
    monkeypatch.setattr(build, "key", lambda *_args, **_kwargs: "untrained")
    found = build.build(manifest.find("wire"))
    assert not json.loads((found.path.parent / build.ABOUT).read_text())["trained"]
    assert FpgaDesign(str(found.path)).step(10) == 10


def test_concurrent_builds_are_one(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[int] = []
    labels: list[str] = []

    def slow(_design: Manifest, _trace: bool, folder: Path, _progress: Progress) -> None:
        began.append(threading.get_ident())
        time.sleep(0.3)
        (folder / library_cache.LIBRARY).write_bytes(b"")
        (folder / build.ABOUT).write_text('{"seconds": 0.3}')

    monkeypatch.setattr(build, "_build", slow)
    design, found = manifest.find("wire"), []

    def one() -> None:
        found.append(build.build(design, progress=lambda _at, _count, label: labels.append(label)))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(began) == 1
    assert sorted(each.cached for each in found) == [False, True, True, True]
    assert labels == ["waiting for another build of this design"] * 3
    assert empty_home.is_dir()


def test_wrong_rtl_is_reported_and_leaves_nothing(empty_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rtl"
    folder.mkdir()
    (folder / "mine_top.sv").write_text(
        "module mine_top(input logic clk);\n  wires x;\nendmodule\n"
    )
    design = manifest.load(write_manifest(tmp_path, "mine", "mine_top", str(folder)))
    with pytest.raises(verilate.BuildError, match=r"Verilator refuses 'mine':\n.*mine_top\.sv:2"):
        build.build(design)
    left = [each.name for each in (empty_home / "cache" / "fpga").iterdir()]
    assert all(each.endswith(".lock") for each in left), left


def test_module_without_the_ports_is_explained(home: Path, tmp_path: Path) -> None:
    assert home.is_dir()
    design = manifest.load(write_manifest(tmp_path, "portless", "portless_top"))
    with pytest.raises(verilate.BuildError) as refused:
        build.build(design)
    assert str(refused.value) == (
        "The module 'portless_top' does not have the ports of a design (docs/use/fpga.md): "
        "rst, seed, rx_valid, rx_ready, rx_data, rx_last, tx_valid, tx_ready, tx_data, tx_last, "
        "rx_meta_length, tx_meta_length, reg_address, reg_write, reg_wdata, reg_read, reg_rdata "
        "missing."
    )


def test_missing_verilator_is_a_sentence(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERILATOR_ROOT", str(empty_home))
    with pytest.raises(NetkvError, match="has no bin/verilator_bin"):
        build.build(manifest.find("wire"))


def test_missing_compiler_is_a_sentence(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(empty_home))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(NetkvError, match=r"A C\+\+ compiler is missing: .*apt install g\+\+"):
        build.build(manifest.find("wire"))


def test_missing_header_is_a_sentence() -> None:
    with pytest.raises(NetkvError, match=r"no_such\.h is missing: .*apt install zlib1g-dev"):
        tools.require_headers(["no_such.h"])
    tools.require_headers(["vector"])


def test_threads_may_compile_the_runtime_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(2, timeout=60)
    made: list[Path] = []

    def compile_both(words: list[str | Path]) -> None:
        target = Path(words[-1])
        together.wait()
        target.write_text("object")
        made.append(target)

    monkeypatch.setattr(verilate, "_run", compile_both)
    found: list[list[Path]] = []
    builds = [
        threading.Thread(target=lambda: found.append(verilate.runtime(tmp_path, flags=["-O1"])))
        for _ in range(2)
    ]
    for each in builds:
        each.start()
    for each in builds:
        each.join()
    assert len(found) == 2
    assert found[0] == found[1]
    assert all(each.read_text() == "object" for each in found[0])
    assert len(set(made)) == 2 * len(found[0])
