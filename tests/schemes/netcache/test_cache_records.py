"""NetCache's records: their entries, and uniform random draws of cached records."""

from collections import Counter
from random import Random

import pytest

from netkv.kits.write_through.cache_records import Records
from netkv.kits.write_through.entries import Candidate, Record, State
from tests.schemes.netcache.measure_netcache import Script, burst, fill
from tests.schemes.scripted_rack import key_of


def cached(records: Records, generation: int, chunks: int = 8) -> Record:
    record = records.add(Candidate(key_of(generation)), generation)
    record.slot = records.slots.allocate(generation, chunks)
    records.set_state(record, State.CACHED)
    return record


@pytest.mark.parametrize("seed", range(5))
def test_only_cached_records_are_drawn(seed: int) -> None:
    random = Random(seed)
    records = Records(30, 30)
    states: dict[int, State] = {}
    for generation in range(1, 2000):
        if records.free_entries:
            cached(records, generation, chunks=random.randint(1, 8))
            states[generation] = State.CACHED
        other = random.choice(list(states))
        record = records.get(other)
        assert record is not None
        if random.random() < 0.5 and states[other] is State.CACHED:
            records.set_state(record, State.DELETING)
            states[other] = State.DELETING
        elif random.random() < 0.6:
            records.remove(record, entry=True, cells=True)
            del states[other]
        here = {each for each, state in states.items() if state is State.CACHED}
        assert records.cached == len(here)
        assert records.in_flight == len(states) - len(here)
        assert len(records) + records.free_entries == 30
        drawn = [each.generation for each in records.draw(random, 5, chunks=0)]
        assert len(set(drawn)) == len(drawn) == min(5, len(here))
        assert set(drawn) <= here


def test_every_cached_record_is_drawn_equally_often() -> None:
    records = Records(20, 20)
    for generation in range(1, 21):
        cached(records, generation)
    random = Random(0)
    drawn = Counter(
        record.generation for _ in range(5000) for record in records.draw(random, 4, chunks=0)
    )
    assert all(850 < drawn[generation] < 1150 for generation in range(1, 21))


def test_only_records_with_enough_cells_in_their_row_are_drawn() -> None:
    records = Records(100, 100)
    for generation in range(1, 101):
        cached(records, generation, chunks=8 if generation % 4 == 0 else 5)
    random = Random(0)
    for _ in range(50):
        drawn = records.draw(random, 4, chunks=8)
        assert drawn
        assert all(records.slots.room_without(each.generation) >= 8 for each in drawn)


def test_same_seed_draws_the_same() -> None:
    records = Records(50, 50)
    for generation in range(1, 51):
        cached(records, generation)
    draws = [[r.key for r in records.draw(Random(7), 8, chunks=0)] for _ in range(2)]
    assert draws[0] == draws[1]


def test_cost_of_a_hot_key_does_not_grow_with_the_cache() -> None:
    def micros(entries: int) -> float:
        script = Script(entries, iter(lambda: 128, None), rows=entries)
        fill(script)
        return min(burst(script, 100) for _ in range(5))

    # With a scan over the cache for each hot key the ratio was 11.
    assert micros(8000) < 4 * micros(100)
