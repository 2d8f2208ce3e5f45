"""Runs of a case: equal results for equal cases, and reported violations."""

from __future__ import annotations

from pathlib import Path

from netkv.schemes.netcache.control_plane import NetCache
from netkv.sim.rack import SimRack
from netkv.soak.case import Case, load
from netkv.soak.case_generator import generate
from netkv.soak.run import Hooks, Outcome, play
from tests.soak.planted import Crashes, ForgetsRestarts, scheme_with


def history(case: Case) -> tuple[list[str], Outcome]:
    """Every frame on every link, and the outcome."""
    racks: list[SimRack] = []

    def watch(rack: SimRack) -> None:
        rack.watch([], 2_000_000)
        racks.append(rack)

    outcome = play(case, Hooks(on_rack=watch))
    return racks[0].journal(), outcome


def test_runs_of_a_seed_are_equal_frame_by_frame() -> None:
    for seed in (4, 7, 15):  # the last one has several switches
        case = generate("netcache", seed)
        frames, outcome = history(case)
        assert len(frames) > 1000
        assert (frames, outcome) == history(case)
        assert outcome == play(case), "recording the frames has no effect"


def test_a_run_without_a_violation_has_run_all_faults() -> None:
    for scheme in ("nocache", "netcache"):
        case = generate(scheme, 3)
        outcome = play(case)
        assert outcome.violations == ()
        assert outcome.faults == len(case.faults)
        assert outcome.operations > 500


def test_copies_of_a_corrupted_frame_are_no_violation() -> None:
    """The switch forwards a corrupted reply, and the link of the client copies it (500935)."""
    racks: list[SimRack] = []
    case = load(Path(__file__).parent / "cases" / "memcached-copied-corruption.json")
    outcome = play(case, Hooks(on_rack=racks.append))
    assert racks[0].statistics["corrupted"] == 1
    assert racks[0].statistics["duplicated"] > 0
    assert outcome.violations == ()


def test_other_faults_give_another_fingerprint() -> None:
    case = generate("netcache", 3)
    assert case.faults
    without = case.model_copy(update={"faults": ()})
    assert play(case).fingerprint != play(without).fingerprint


def first_violation(control_plane: type[NetCache], seeds: int) -> Outcome:
    for seed in range(seeds):
        outcome = play(generate("netcache", seed), scheme=scheme_with(control_plane))
        if outcome.violations:
            return outcome
    raise AssertionError(f"{control_plane.__name__} was not found in {seeds} seeds")


def test_exception_of_a_control_plane_is_a_crash_with_its_line() -> None:
    violation = first_violation(Crashes, 10).violation
    assert violation is not None
    assert violation.kind == "crash"
    assert "RuntimeError: planted (planted.py:" in violation.text


def test_a_rack_that_stops_serving_is_reported_as_stuck() -> None:
    violation = first_violation(ForgetsRestarts, 20).violation
    assert violation is not None
    assert violation.kind == "stuck"
