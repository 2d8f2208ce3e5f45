//! The generator draws what its configuration says.

use super::*;
use crate::record_number;

fn workload(popularity: Popularity, mix: Mix) -> Workload {
    Workload::new(WorkloadConfig { popularity, ..WorkloadConfig::new(1000, mix, 42) }).unwrap()
}

#[test]
fn a_seed_determines_operations_and_hot_keys() {
    let config = WorkloadConfig { streams: 2, ..WorkloadConfig::new(1000, Mix::YCSB_A, 1) };
    let draw = |config| {
        let mut workload = Workload::new(config).unwrap();
        (0..50).map(|_| workload.draw()).collect::<Vec<_>>()
    };
    assert_eq!(draw(config), draw(config));
    let other = WorkloadConfig { stream: 1, ..config };
    assert_ne!(draw(config), draw(other));
    let hottest = |config| Workload::new(config).unwrap().hottest(20).collect::<Vec<_>>();
    assert_eq!(hottest(config), hottest(other));
}

#[test]
fn operations_that_are_drawn_ahead_are_those_of_single_draws() {
    let mixes = [Mix::YCSB_C, Mix::YCSB_A, Mix::YCSB_D, Mix::YCSB_F, Mix::writes(0.3, 0.5)];
    for theta in [0.0, 0.7, 1.2] {
        let value_size = ValueSize::Uniform { min: 16, max: 300 };
        let popularity = Popularity::Zipf { theta };
        let config = WorkloadConfig::new(999, Mix::YCSB_A, 42);
        let config = WorkloadConfig { popularity, value_size, conditional: 0.3, ..config };
        let mut single = Workload::new(config).unwrap();
        let mut ahead = single.clone();
        let mut random = Random::new(9, 1);
        for _ in 0..3_000 {
            let change = random.below(100);
            let (some, mix) = (1 + random.below(50), mixes[random.below(5) as usize]);
            for workload in [&mut single, &mut ahead] {
                match change {
                    0 => workload.shift(Shift::HotIn { keys: some }).unwrap(),
                    1 => workload.shift(Shift::Random { keys: some, top: 100 }).unwrap(),
                    2 => workload.set_mix(mix).unwrap(),
                    3 => workload.set_value_size(ValueSize::Fixed(77)).unwrap(),
                    4 => workload.settle_insert(999),
                    _ => {}
                }
            }
            match change {
                5 => assert_eq!(single.random().bits(), ahead.random().bits()),
                6 => assert_eq!(single.draw(), ahead.draw()),
                _ => assert_eq!(single.draw(), ahead.draw_ahead()),
            }
        }
    }
}

#[test]
fn the_hottest_keys_get_the_predicted_share_after_shifts() {
    let mut workload = workload(Popularity::Zipf { theta: 0.99 }, Mix::YCSB_C);
    for _ in 0..3 {
        let top: std::collections::HashSet<Key> = workload.hottest(50).collect();
        let predicted = workload.mass(50);
        let hits = (0..100_000).filter(|_| top.contains(&workload.draw().key)).count();
        let found = hits as f64 / 1e5;
        assert!((found - predicted).abs() < 0.007, "{found} of {predicted}");
        workload.shift(Shift::HotIn { keys: 20 }).unwrap();
        workload.shift(Shift::Random { keys: 30, top: 100 }).unwrap();
    }
}

#[test]
fn read_latest_prefers_the_last_complete_inserts() {
    let mut workload = workload(Popularity::Latest { theta: 0.99 }, Mix::YCSB_D);
    let mut pending = Vec::new();
    let mut newest = 999;
    let mut hottest = 0;
    for _ in 0..20_000 {
        let operation = workload.draw();
        match operation.kind {
            OpKind::Insert => pending.push(operation.id),
            _ => {
                assert!(operation.id <= newest, "key {} is not inserted yet", operation.id);
                hottest += u32::from(operation.id == newest);
            }
        }
        // Inserts are completed three at a time and out of order.
        if pending.len() == 3 {
            newest = pending[2];
            for id in [pending[1], pending[2], pending[0]] {
                workload.settle_insert(id);
            }
            pending.clear();
        }
    }
    assert!(newest > 1800);
    assert!(hottest > 1900, "the newest key was read {hottest} times of 19,000");
}

#[test]
fn a_change_of_mix_or_size_applies_to_the_next_operation() {
    let mut workload = workload(Popularity::Uniform, Mix::YCSB_C);
    assert_eq!(workload.draw().kind, OpKind::Read);
    workload.set_mix(Mix::writes(1.0, 0.0)).unwrap();
    workload.set_value_size(ValueSize::Fixed(77)).unwrap();
    let write = workload.draw();
    assert_eq!((write.kind, write.size), (OpKind::Update, 77));
    assert!(workload.set_mix(Mix { read: 0.5, ..Mix::YCSB_A }).is_ok());
    assert!(workload.set_mix(Mix { read: 0.4, ..Mix::YCSB_A }).is_err());
    assert!(workload.set_value_size(ValueSize::Fixed(3)).is_err());
    assert_eq!(workload.draw().size % 77, 0, "a refused change changes nothing");
}

#[test]
fn only_updates_are_conditional() {
    let mix = Mix { read: 0.3, update: 0.3, insert: 0.1, read_modify_write: 0.2, delete: 0.1 };
    let config = WorkloadConfig { conditional: 0.4, ..WorkloadConfig::new(1000, mix, 42) };
    let mut workload = Workload::new(config).unwrap();
    let drawn: Vec<Operation> = (0..10_000).map(|_| workload.draw()).collect();
    let updates = |it: &&Operation| matches!(it.kind, OpKind::Update | OpKind::ReadModifyWrite);
    let conditional = drawn.iter().filter(|it| it.conditional).count();
    let share = conditional as f64 / drawn.iter().filter(updates).count() as f64;
    assert!((share - 0.4).abs() < 0.03, "{share}");
    assert_eq!(drawn.iter().filter(updates).filter(|it| it.conditional).count(), conditional);
    let config = WorkloadConfig { conditional: 1.1, ..config };
    assert!(Workload::new(config).unwrap_err().contains("0 to 1, not 1.1"));
}

#[test]
fn only_a_read_is_a_multiget_of_keys_by_popularity() {
    let config = WorkloadConfig {
        multiget: Some(MultigetSize::Fixed(7)),
        ..WorkloadConfig::new(1000, Mix::YCSB_A, 42)
    };
    let mut workload = Workload::new(config).unwrap();
    let top: std::collections::HashSet<Key> = workload.hottest(50).collect();
    let (mut ids, mut keys, mut hits) = (Vec::new(), 0, 0);
    for _ in 0..20_000 {
        let operation = workload.draw_keys(&mut ids);
        assert_eq!(ids.len(), if operation.kind == OpKind::Read { 7 } else { 1 });
        assert_eq!(ids[0], operation.id);
        keys += ids.len();
        hits += ids.iter().filter(|id| top.contains(&key_of(**id))).count();
    }
    let found = hits as f64 / keys as f64;
    assert!((found - workload.mass(50)).abs() < 0.01, "{found}");
    workload.set_mix(Mix::YCSB_F).unwrap();
    let sizes = |kind| move |it: &(OpKind, usize)| it.0 == kind && it.1 != 7;
    let drawn: Vec<(OpKind, usize)> =
        (0..100).map(|_| (workload.draw_keys(&mut ids).kind, ids.len())).collect();
    assert!(drawn.iter().any(sizes(OpKind::ReadModifyWrite)));
    assert!(!drawn.iter().any(sizes(OpKind::Read)));
}

#[test]
fn records_that_are_placed_as_ycsbs_are_the_same_for_every_seed() {
    let placed = |popularity, mix, seed| {
        let config = WorkloadConfig::new(1_000_000, mix, seed);
        Workload::new(WorkloadConfig { popularity, placement: Placement::Ycsb, ..config }).unwrap()
    };
    let zipf = Popularity::Zipf { theta: 0.99 };
    let mut workload = placed(zipf, Mix::YCSB_A, 1);
    let hottest: Vec<Key> = workload.hottest(20_000).collect();
    assert!(placed(zipf, Mix::YCSB_A, 2).hottest(20_000).eq(hottest.iter().copied()));
    let distinct: HashSet<&Key> = hottest.iter().collect();
    assert_eq!(distinct.len(), 20_000, "a record with two ranks is listed once");
    let mut ahead = workload.clone();
    let mut hits = 0;
    for _ in 0..50_000 {
        let operation = workload.draw();
        assert_eq!(operation, ahead.draw_ahead());
        assert!(record_number(operation.id) < 1_000_000);
        hits += u32::from(distinct.contains(&operation.key));
    }
    let found = f64::from(hits) / 50_000.0;
    assert!((found - workload.mass(20_000)).abs() < 0.02, "{found}");

    let latest = Popularity::Latest { theta: 0.99 };
    let mut workload = placed(latest, Mix::YCSB_D, 1);
    let mut inserted = 999_999;
    for _ in 0..1000 {
        let operation = workload.draw();
        let number = record_number(operation.id);
        if operation.kind == OpKind::Insert {
            inserted += 1;
            assert_eq!(number, inserted);
            workload.settle_insert(operation.id);
        } else {
            assert!(number <= inserted);
        }
    }
    assert_eq!(workload.key_at(0), key_of(Placement::Ycsb.id(inserted)));
    let uniform = placed(Popularity::Uniform, Mix::YCSB_C, 1).draw();
    assert!(record_number(uniform.id) < 1_000_000);
}

#[test]
fn servers_that_take_turns_get_the_operations_that_they_get_anyway() {
    for mix in [Mix::YCSB_A, Mix::INSERT] {
        let mut workload = workload(Popularity::Zipf { theta: 0.9 }, mix);
        let mut all = workload.clone();
        let turn = Turn { servers: 8, first: 3, other: 5 };
        workload.set_turn(Some(turn)).unwrap();
        for _ in 0..1000 {
            let expected = std::iter::repeat_with(|| all.draw()).find(|it| turn.has(&it.key));
            assert_eq!(Some(workload.draw_ahead()), expected);
        }
        workload.set_turn(None).unwrap();
        assert_eq!(workload.draw_ahead(), all.draw());
        let refused = workload.set_turn(Some(Turn { other: 8, ..turn })).unwrap_err();
        assert!(refused.contains("no server 8"), "{refused}");
    }
    let config = WorkloadConfig::new(1, Mix::YCSB_C, 1);
    let mut workload = Workload::new(config).unwrap();
    let of_other = (0..8).find(|first| {
        workload.set_turn(Some(Turn { servers: 8, first: *first, other: 0 })).is_err()
    });
    assert!(of_other.is_some(), "one key has one owner");
}

#[test]
fn keys_must_be_long_enough_to_be_unique() {
    let config =
        |keys, key_size, mix| WorkloadConfig { key_size, ..WorkloadConfig::new(keys, mix, 1) };
    assert!(Workload::new(config(1 << 32, 4, Mix::YCSB_A)).is_ok());
    let refuse = |config| Workload::new(config).unwrap_err();
    assert!(refuse(config((1 << 32) + 1, 4, Mix::YCSB_A)).contains("4294967296 keys"));
    assert!(refuse(config(1 << 32, 4, Mix::INSERT)).contains("2147483648 keys"));
    assert!(refuse(config(10, 3, Mix::YCSB_A)).contains("4 to 64"));
    assert!(refuse(config(10, 65, Mix::YCSB_A)).contains("4 to 64"));
}

#[test]
fn inserts_of_several_generators_never_collide() {
    let mut seen = std::collections::HashSet::new();
    for stream in 0..3 {
        let config =
            WorkloadConfig { stream, streams: 3, ..WorkloadConfig::new(10, Mix::INSERT, 1) };
        let mut workload = Workload::new(config).unwrap();
        for _ in 0..100 {
            let id = workload.draw().id;
            assert!(id >= 10 && seen.insert(id));
        }
    }
}

#[test]
fn impossible_settings_are_refused_with_the_limits() {
    let good = WorkloadConfig::new(1000, Mix::YCSB_A, 1);
    let refuse = |config| Workload::new(config).unwrap_err();
    assert!(refuse(WorkloadConfig { keys: 0, ..good }).contains("1 to 100000000"));
    let popularity = Popularity::Zipf { theta: 1.3 };
    assert!(refuse(WorkloadConfig { popularity, ..good }).contains("0 to 1.2"));
    let popularity = Popularity::Zipf { theta: 1.0 };
    let ycsb = WorkloadConfig { placement: Placement::Ycsb, ..good };
    assert!(refuse(WorkloadConfig { popularity, ..ycsb }).contains("below 1, not 1"));
    assert!(refuse(WorkloadConfig { key_size: 20, ..ycsb }).contains("16 bytes, not 20"));
    assert!(refuse(WorkloadConfig { stream: 1, ..good }).contains("generator 1"));
    let mut latest = workload(Popularity::Latest { theta: 0.5 }, Mix::YCSB_D);
    assert!(latest.shift(Shift::HotIn { keys: 1 }).unwrap_err().contains("read-latest"));
}
