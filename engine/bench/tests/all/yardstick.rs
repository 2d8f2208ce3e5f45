//! The yardstick: its variants, and the handwritten pipeline compared with the engine.

use std::sync::Arc;

use netkv_bench::{
    Arrivals, Case, Contender, Executor, Shape,
    handwritten::{CacheRead, Counts, Pipeline},
    measure, subject, variant_source,
};
use netkv_dataplane::{Output, Random, Switch};
use netkv_p4::{Compiled, Options, compile_source};

const YARDSTICK: &str = include_str!("../../programs/cache_read.p4");

fn compiled(text: &str) -> Compiled {
    compile_source("cache_read.p4", text, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn the_copy_equals_the_program_that_was_measured_on_bmv2() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/cache_read.p4");
    assert_eq!(std::fs::read_to_string(golden).unwrap(), YARDSTICK);
}

#[test]
fn the_default_variant_has_the_tokens_of_the_yardstick() {
    let variant = compiled(&variant_source(Shape::default()));
    assert_eq!(variant.source_hash, compiled(YARDSTICK).source_hash);
}

/// The contenders with all executors for one case.
fn contenders(case: &Case) -> Vec<Contender> {
    let subject = subject(&case.program).unwrap();
    let source = subject.source(case).unwrap().unwrap();
    let program = Arc::new(compiled(&source).program);
    let make = |executor: &Executor| Contender::new(*executor, case, subject, &program).unwrap();
    Executor::ALL.iter().filter_map(make).collect()
}

fn counts(contender: &mut Contender) -> Counts {
    contender.counts(subject("cache_read").unwrap()).unwrap()
}

/// The frames of all kinds.
fn all_kinds(case: &Case) -> Vec<Vec<u8>> {
    let arrivals = subject(&case.program).unwrap().all_kinds(case);
    let frames = |each: &Arrivals| {
        each.frames.slices().iter().map(|frame| frame.to_vec()).collect::<Vec<_>>()
    };
    arrivals.iter().flat_map(frames).collect()
}

#[test]
fn the_handwritten_pipeline_equals_the_engine_on_all_frames() {
    let case = Case { entries: 300, ..Case::new("cache_read", "read-hit") };
    let mut all = contenders(&case);
    assert_eq!(all.len(), 3);
    let mut hits = 0;
    let others = all_kinds(&case);
    for path in subject("cache_read").unwrap().paths() {
        let case = Case { path: (*path).to_owned(), ..case.clone() };
        let traffic = subject("cache_read").unwrap().traffic(&case).unwrap();
        let others = others.iter().map(Vec::as_slice);
        for frame in traffic.frames.slices().iter().copied().chain(others) {
            let mut answers = all.iter_mut().map(|contender| {
                let mut out = Output::new();
                contender.process(0, traffic.port, &[frame], &mut out);
                out.frames().map(|(port, frame)| (port, frame.to_vec())).collect::<Vec<_>>()
            });
            let expected = answers.next().unwrap();
            hits += usize::from(expected.iter().any(|(_, reply)| reply.len() == frame.len() + 128));
            assert!(answers.all(|answer| answer == expected), "{frame:02x?}");
        }
    }
    let expected = counts(&mut all[0]);
    let [(_, read_counts)] = expected.as_slice() else { panic!("{expected:?}") };
    assert_eq!(read_counts.iter().sum::<u64>(), hits as u64);
    assert!(hits > 4_096 && read_counts[..300].iter().all(|count| *count > 0));
    assert!(all.iter_mut().all(|contender| counts(contender) == expected));
}

#[test]
fn the_handwritten_pipeline_handles_invalid_entries_and_drops() {
    let case = Case { entries: 8, ..Case::new("cache_read", "read-hit") };
    let mut switch = contenders(&case).swap_remove(0);
    let mut hand = CacheRead::<16, 128>::new(65_536);
    let engine: &mut Switch = switch.switch().unwrap();
    let program = Arc::clone(engine.program());
    let id = |name: &str| {
        let mut registers = program.registers.iter();
        registers.find(|register| register.identity.name == name).unwrap().identity.id
    };
    for number in 0..8u32 {
        let valid = number % 2;
        let mut value = [0; 128];
        for (i, chunk) in value.chunks_mut(16).enumerate() {
            let cell = engine.read_register(id(&format!("I.r{i}")), Some(number)).unwrap();
            chunk.copy_from_slice(&cell[0].1.to_bytes());
        }
        engine
            .write_register(
                id("I.valid"),
                Some(number),
                &netkv_ir::Value::new(1, u128::from(valid)),
            )
            .unwrap();
        hand.cache(u128::from(number).to_be_bytes(), number);
        hand.set(number, valid == 1, value);
    }
    let table = program.tables.iter().find(|table| table.identity.name == "I.route").unwrap();
    let forward = program.actions.iter().find(|action| action.identity.name == "I.fwd").unwrap();
    for (last, port) in [(0, 7), (3, 511), (4, 9)] {
        let address = [10, 0, 0, last];
        engine
            .insert_entry(netkv_dataplane::TableEntry {
                table_id: table.identity.id,
                matches: vec![(
                    1,
                    netkv_ir::Match::Exact(netkv_ir::Value::from_bytes(32, &address)),
                )],
                action: netkv_dataplane::EntryAction::Direct {
                    action_id: forward.identity.id,
                    params: vec![netkv_ir::Value::new(9, port)],
                },
                priority: 0,
                metadata: Vec::new(),
                controller_metadata: 0,
                idle_timeout_ns: 0,
            })
            .unwrap();
        hand.route(address, port as u16);
    }
    hand.route([10, 0, 0, 1], 1);
    hand.route([10, 0, 0, 2], 2);
    let (mut dropped, mut random) = (0, Random::new(3));
    for mut frame in all_kinds(&case) {
        if frame.len() > 34 {
            frame[29] = random.between(0, 4) as u8;
        }
        let (mut expected, mut found) = (Output::new(), Output::new());
        switch.process(0, 1, &[&frame], &mut expected);
        hand.process_batch(1, &[&frame], &mut found);
        dropped += usize::from(expected.is_empty());
        assert!(expected.frames().eq(found.frames()), "{frame:02x?}");
    }
    assert!(dropped > 20, "{dropped}");
    assert_eq!(hand.counts(), counts(&mut switch));
}

#[test]
fn variants_of_every_size_take_the_path() {
    let case = Case { entries: 50, ..Case::new("cache_read", "read-hit") };
    let mut cases = vec![Case { entries: 70_000, ..case.clone() }];
    cases
        .extend([16, 32, 64, 256, 512, 1024].map(|size| Case { value_size: size, ..case.clone() }));
    cases.extend([32, 64, 256, 512].map(|bits| Case { key_width: bits, ..case.clone() }));
    for case in cases {
        let results =
            measure(&case, &Executor::ALL, 0.0).unwrap_or_else(|e| panic!("{case:?}: {e}"));
        assert_eq!(results.len(), 3, "{case:?}");
        assert!(results.iter().all(|result| result.pps > 0.0 && result.ns_p99 >= result.ns_p50));
    }
}

#[test]
fn impossible_yardstick_sizes_are_refused_with_the_limits() {
    let case = Case::new("cache_read", "read-hit");
    let error = |case: Case| measure(&case, &Executor::ALL, 0.0).unwrap_err().to_string();
    assert!(error(Case { value_size: 100, ..case.clone() }).contains("16, 32"));
    assert!(error(Case { key_width: 48, ..case.clone() }).contains("32, 64, 128"));
    assert!(error(Case { entries: 0, ..case.clone() }).contains("1 to 1,048,576"));
    assert!(error(Case::new("cache_read", "fly")).contains("read-hit, read-miss, write"));
    assert!(error(Case::new("nothing", "fly")).contains("it knows cache_read"));
}
