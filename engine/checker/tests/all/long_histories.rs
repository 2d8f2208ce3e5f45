//! Long histories: no false violations, every injected fault is found, and memory is bounded.

use crate::common::generator::{LoadShape, history};
use crate::common::{
    Action, KEY, Op, assert_same_with_small_limits, events, exhaustive, id, offline, replay,
};
use netkv_checker::{
    Answer, Checker, Condition, MAX_COMPLETED_CLUSTERS, MAX_GIVEN_UP, Observed, Verdict, Violation,
    ViolationKind, WriteId, WriteKind,
};
use netkv_wire::Key;
use netkv_workload::{Random, key_of};

const USAGE: LoadShape = LoadShape {
    ops: 4000,
    clients: 8,
    writes: 0.3,
    deletes: 0.0,
    lost: 0.002,
    late: 0.5,
    max_delay: 30,
    max_pause: 40,
};

fn checked(exists: bool, ops: &[Op]) -> Checker {
    let mut checker = Checker::new();
    let mut verdicts = Vec::new();
    replay(&mut checker, exists, ops, |_, verdict| verdicts.push(verdict));
    assert_same_with_small_limits(Condition::Linearizable, exists, ops, &verdicts);
    checker
}

#[test]
fn a_linearizable_register_has_no_violations() {
    for seed in 0..60 {
        let usage = LoadShape {
            clients: [1, 3, 8, 40][seed as usize % 4],
            writes: [0.05, 0.5, 0.9][seed as usize % 3],
            deletes: [0.0, 0.1, 0.5, 1.0, 0.02][seed as usize % 5],
            lost: [0.0, 0.001, 0.05][seed as usize / 2 % 3],
            max_pause: [1, 40, 4000][seed as usize / 3 % 3],
            ..USAGE
        };
        let exists = seed % 2 == 0;
        let ops = history(exists, usage, seed);
        let summary = checked(exists, &ops).summary();
        assert_eq!(summary.violations, 0, "seed {seed} {usage:?}");
        let answered = ops.iter().filter(|op| op.end.is_some()).count() as u64;
        if summary.unchecked_keys == 0 {
            assert_eq!(summary.checked_ops, answered, "seed {seed}");
        }
        // With few concurrent deletes and few losses every read can be judged.
        if usage.clients <= 8 && usage.lost < 0.01 {
            assert_eq!(summary.linearizable(), Some(true), "seed {seed} {usage:?}");
        }
    }
}

/// A history that `netkv soak` found: clients that had waited for a switch got their replies one by
/// one. There are more concurrent deletes than witnesses, and the delete with the response at 105
/// is possible for both reads after it.
#[test]
fn two_reads_can_belong_to_one_delete_beyond_the_witness_limit() {
    let op = |begin: u64, action: Action, end: u64| Op {
        id: id(begin as u32),
        action,
        begin,
        end: Some(end),
    };
    let delete = |begin: u64, end: u64| op(begin, Action::Write(WriteKind::Delete), end);
    let put = |begin: u64, end: u64| op(begin, Action::Write(WriteKind::Put), end);
    let absent = |begin: u64, end: u64| op(begin, Action::Read(Observed::NotFound), end);
    let value =
        |begin: u64, put: u32, end: u64| op(begin, Action::Read(Observed::Value(id(put))), end);
    let ops = [
        delete(82, 105),
        put(83, 110),
        delete(84, 113),
        delete(85, 92),
        delete(86, 95),
        delete(87, 96),
        delete(88, 99),
        put(89, 102),
        delete(90, 91),
        absent(93, 94),
        absent(97, 98),
        absent(100, 101),
        value(103, 89, 104),
        absent(106, 107),
        absent(108, 109),
        value(111, 83, 112),
        absent(114, 115),
    ];
    assert!(exhaustive::linearizable(true, &ops));
    assert_eq!(checked(true, &ops).violations(), []);
}

/// There are more concurrent deletes and reads without a value than witnesses are kept.
#[test]
fn many_concurrent_deletes_cause_no_violation() {
    let mut unchecked = 0;
    for seed in 0..60 {
        let usage = LoadShape {
            ops: 600,
            clients: 20 + seed % 5 * 40,
            writes: [0.2, 0.5][seed as usize % 2],
            deletes: [0.2, 0.5, 0.8][seed as usize % 3],
            lost: 0.0,
            max_delay: 2000,
            ..USAGE
        };
        let ops = history(seed % 4 < 2, usage, seed);
        let checker = checked(seed % 4 < 2, &ops);
        assert_eq!(checker.violations(), [], "seed {seed} {usage:?}");
        unchecked += checker.summary().unchecked_keys;
    }
    assert!(unchecked > 5, "{unchecked} of 60 reached the limit");
}

#[test]
fn online_verdicts_equal_the_offline_verdict() {
    let mut violations = 0;
    for seed in 0..400 {
        let usage = LoadShape { ops: 300, clients: 2 + seed % 12, writes: 0.5, ..USAGE };
        let mut ops = history(true, usage, seed);
        let mut random = Random::new(seed, 1);
        let reads: Vec<usize> =
            (0..ops.len()).filter(|at| matches!(ops[*at].action, Action::Read(_))).collect();
        // Two successive reads exchange their results, which may be legal or not.
        let first = random.below(reads.len() as u64 - 1) as usize;
        let (a, b) = (reads[first], reads[first + 1]);
        (ops[a].action, ops[b].action) = (ops[b].action, ops[a].action);
        let expected = offline::linearizable(&ops);
        let summary = checked(true, &ops).summary();
        assert_eq!(summary.linearizable(), Some(expected), "seed {seed}");
        violations += usize::from(!expected);
    }
    assert!((40..360).contains(&violations), "{violations} of 400 are wrong");
}

/// A long linearizable history with few concurrent operations.
fn quiet_history(exists: bool, deletes: f64, seed: u64) -> Vec<Op> {
    history(exists, LoadShape { clients: 4, deletes, lost: 0.0, max_pause: 100, ..USAGE }, seed)
}

fn only_violation(exists: bool, ops: &[Op], seed: u64) -> Violation {
    let checker = checked(exists, ops);
    let violations = checker.violations();
    assert!(!violations.is_empty(), "seed {seed}: the fault was not found");
    let violation = violations[0].clone();
    assert!(violation.operations.len() <= 4, "seed {seed}: {violation:#?}");
    assert!(violation.text.contains("1/"), "{}", violation.text);
    violation
}

/// A read in the second half, and the puts that precede it, youngest first.
fn random_read(ops: &[Op], random: &mut Random) -> (usize, Vec<WriteId>) {
    loop {
        let at = ops.len() / 2 + random.below(ops.len() as u64 / 2) as usize;
        if !matches!(ops[at].action, Action::Read(_)) || ops[at].end.is_none() {
            continue;
        }
        let mut puts: Vec<(u64, WriteId)> = ops
            .iter()
            .filter(|op| op.action == Action::Write(WriteKind::Put))
            .filter_map(|op| op.end.filter(|end| *end < ops[at].begin).map(|end| (end, op.id)))
            .collect();
        puts.sort_unstable();
        return (at, puts.into_iter().rev().map(|(_, id)| id).collect());
    }
}

#[test]
fn a_stale_read_is_found_and_reported_with_few_operations() {
    for seed in 0..40 {
        let mut random = Random::new(seed, 2);
        let mut ops = quiet_history(true, [0.0, 0.2][seed as usize % 2], seed);
        let (at, puts) = random_read(&ops, &mut random);
        // An overwritten value, whose write may be forgotten.
        let old = puts[(10 + random.below(300)) as usize];
        ops[at].action = Action::Read(Observed::Value(old));
        let violation = only_violation(true, &ops, seed);
        assert_eq!(violation.kind, ViolationKind::StaleRead);
        let read = violation.operations.iter().find(|it| it.request == ops[at].id.request);
        let writer = read.and_then(|it| it.writer).expect("the read is shown with whose value");
        assert_eq!(writer.request, old.request);
        assert!(violation.operations.iter().any(|it| it.request == old.request), "and its put");
    }
}

#[test]
fn a_value_that_no_client_wrote_is_a_phantom() {
    for (seed, observed) in [
        (1, Observed::Garbage),
        (2, Observed::Value(WriteId { client: 9, request: 77 })),
        (3, Observed::Value(WriteId::INITIAL)),
    ] {
        let mut ops = quiet_history(false, 0.2, seed);
        let (at, _) = random_read(&ops, &mut Random::new(seed, 3));
        ops[at].action = Action::Read(observed);
        let violation = only_violation(false, &ops, seed);
        assert_eq!(violation.kind, ViolationKind::PhantomValue);
        assert_eq!(violation.operations.len(), 1);
    }
}

#[test]
fn a_lost_key_without_a_delete_is_found() {
    for seed in 0..20 {
        let mut ops = quiet_history(true, [0.0, 0.1][seed as usize % 2], seed);
        let mut random = Random::new(seed, 4);
        let at = loop {
            let (at, _) = random_read(&ops, &mut random);
            let begin = ops[at].begin;
            let delete = |op: &&Op| op.action == Action::Write(WriteKind::Delete);
            let last = ops.iter().filter(delete).map(|op| op.end.unwrap()).filter(|it| *it < begin);
            let under_way = |op: &Op| op.begin < ops[at].end.unwrap() && op.end.unwrap() > begin;
            let after = last.max().unwrap_or(0);
            let put = |op: &Op| op.action == Action::Write(WriteKind::Put) && op.begin > after;
            if ops.iter().any(|op| put(op) && op.end.unwrap() < begin)
                && !ops.iter().filter(delete).any(under_way)
            {
                break at;
            }
        };
        ops[at].action = Action::Read(Observed::NotFound);
        only_violation(true, &ops, seed);
    }
}

#[test]
fn two_reads_in_contradictory_order_are_found() {
    let mut found = 0;
    for seed in 0..40 {
        let mut ops = quiet_history(true, [0.0, 0.2][seed as usize % 2], seed);
        let mut random = Random::new(seed, 5);
        let (a, _) = random_read(&ops, &mut random);
        let later = |op: &Op| {
            matches!(op.action, Action::Read(Observed::Value(_)))
                && op.begin > ops[a].end.unwrap()
                && op.action != ops[a].action
        };
        let Some(b) = ops.iter().position(later) else { continue };
        if ops[b].end.is_none() || !matches!(ops[a].action, Action::Read(Observed::Value(_))) {
            continue;
        }
        (ops[a].action, ops[b].action) = (ops[b].action, ops[a].action);
        if seed % 2 == 0 && offline::linearizable(&ops) {
            continue;
        }
        let issued = ops.iter().any(|op| {
            ops[a].action == Action::Read(Observed::Value(op.id)) && op.begin < ops[a].end.unwrap()
        });
        let checker = checked(true, &ops);
        assert_eq!(checker.summary().linearizable(), Some(false), "seed {seed}");
        let violation = &checker.violations()[0];
        assert!(violation.operations.len() <= 4, "seed {seed}: {violation:#?}");
        found += 1;
        let phantom = violation.kind == ViolationKind::PhantomValue;
        assert_eq!(phantom, !issued, "seed {seed}: {violation:#?}");
    }
    assert!(found > 15, "{found} of 40 were wrong");
}

/// If a later read returns the write again, the first violation is a stale read.
#[test]
fn an_acknowledged_write_that_no_read_returns_again_is_lost() {
    for returns_again in [false, true] {
        let mut checker = Checker::new();
        let mut now = 0;
        for request in 1..=5 {
            checker.begin_write(now, &KEY, id(request), WriteKind::Put, true);
            now += 10;
            checker.end_write(now, &KEY, id(request));
        }
        let mut read = |writer: u32, last: bool, request: u32| {
            let ticket = checker.begin_read(now, &KEY);
            now += 10;
            let observed = Observed::Value(id(writer));
            let answer = Answer { reader: id(request), observed, exists: true, issued: true, last };
            checker.end_read(now, &KEY, ticket, answer)
        };
        assert_eq!(read(3, false, 10), Verdict::Stale);
        if returns_again {
            assert_eq!(read(5, false, 11), Verdict::Fresh);
        }
        assert_eq!(read(3, true, 12), Verdict::Stale);
        let violations = checker.violations();
        let kinds: Vec<ViolationKind> = violations.iter().map(|it| it.kind).collect();
        let first = if returns_again { ViolationKind::StaleRead } else { ViolationKind::LostWrite };
        assert_eq!(kinds, [first, ViolationKind::LostWrite]);
        let text = "Get 1/12 returned the value of put 1/3: the acknowledged put 1/5 is lost.";
        assert_eq!(violations[1].text, text);
        assert_eq!(violations[1].operations.len(), 3);
    }
}

#[test]
fn a_violation_has_the_requests_and_times_of_its_operations() {
    let mut checker = Checker::new();
    let key = key_of(3);
    checker.begin_write(1_000, &key, id(1), WriteKind::Put, true);
    checker.end_write(2_000, &key, id(1));
    let ticket = checker.begin_read(3_000, &key);
    let observed = Observed::Value(WriteId::INITIAL);
    let reader = WriteId { client: 2, request: 9 };
    let answer = Answer { reader, observed, exists: true, issued: false, last: false };
    checker.end_read(4_000, &key, ticket, answer);
    let expected = serde_json::json!([{
        "key": key.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        "kind": "stale-read",
        "text": "Get 2/9 returned the initial value, although put 1/1 had replaced it before the \
                 get began.",
        "operations": [
            {"client": 1, "request": 1, "what": "put", "writer": {"client": 1, "request": 1},
             "result": "ok", "start_ns": 1_000, "end_ns": 2_000},
            {"client": 2, "request": 9, "what": "get", "writer": {"client": 0, "request": 0},
             "result": "initial value", "start_ns": 3_000, "end_ns": 4_000},
        ],
    }]);
    assert_eq!(serde_json::to_value(checker.violations()).unwrap(), expected);
}

#[test]
fn kept_writes_are_bounded_by_pending_operations_and_keys() {
    let usage = LoadShape { ops: 100_000, lost: 0.0, deletes: 0.05, ..USAGE };
    let ops = history(true, usage, 1);
    let mut checker = Checker::new();
    let mut most = 0;
    let mut tickets = vec![None; ops.len()];
    for (now, at, begins) in events(&ops) {
        let op = &ops[at];
        match (op.action, begins) {
            (Action::Write(kind), true) => checker.begin_write(now, &KEY, op.id, kind, true),
            (Action::Write(_), false) => {
                checker.end_write(now, &KEY, op.id);
            }
            (Action::Read(_), true) => tickets[at] = Some(checker.begin_read(now, &KEY)),
            (Action::Read(observed), false) => {
                let (reader, exists) = (op.id, true);
                let answer = Answer { reader, observed, exists, issued: true, last: false };
                checker.end_read(now, &KEY, tickets[at].unwrap(), answer);
            }
        }
        most = most.max(checker.kept_writes());
    }
    assert_eq!(checker.summary().linearizable(), Some(true));
    assert!(most <= 64, "{most} writes remembered with 8 clients");

    let mut checker = Checker::new();
    let keys = 100_000;
    for number in 0..keys {
        for request in 1..=3 {
            checker.begin_write(number, &key_of(number), id(request), WriteKind::Put, true);
            checker.end_write(number, &key_of(number), id(request));
        }
    }
    let most = keys as usize * 6 / 5;
    assert!(checker.kept_writes() < most, "{} for {keys} keys", checker.kept_writes());
}

#[test]
fn a_write_without_times_is_reported_without_them() {
    let mut checker = Checker::with_limits(0, 0);
    let write = |checker: &mut Checker, key: &Key, request: u32| {
        checker.begin_write(u64::from(request) * 10, key, id(request), WriteKind::Put, true);
        checker.end_write(u64::from(request) * 10 + 5, key, id(request));
    };
    write(&mut checker, &KEY, 1);
    write(&mut checker, &KEY, 2);
    (3..20).for_each(|request| write(&mut checker, &key_of(u64::from(request)), request));
    for (writer, reader) in [(1, 30), (0, 31)] {
        let ticket = checker.begin_read(u64::from(reader) * 10, &KEY);
        let observed = match writer {
            0 => Observed::Value(WriteId::INITIAL),
            _ => Observed::Value(id(writer)),
        };
        let reader = id(reader);
        let answer = Answer { reader, observed, exists: true, issued: true, last: false };
        assert_eq!(
            checker.end_read(u64::from(reader.request) * 10 + 5, &KEY, ticket, answer),
            Verdict::Stale
        );
    }
    let violations = checker.violations();
    assert_eq!(
        violations[0].text,
        "Get 1/30 returned the value of put 1/1, although put 1/2 had replaced it before the get \
         began."
    );
    for violation in violations {
        let operations = violation.operations;
        let last = &operations[operations.len() - 2..];
        assert_eq!((last[0].request, last[0].result, last[0].start_ns), (2, "ok", None));
        assert_eq!(last[1].start_ns, Some(u64::from(last[1].request) * 10));
    }
}

#[test]
fn written_keys_are_listed_once_in_portions() {
    for (active, idle) in [(0, 0), (50, 500), (100_000, 100_000)] {
        let mut checker = Checker::with_limits(active, idle);
        let mut random = Random::new(3, 1);
        let mut all: Vec<Key> = (0..30_000).map(|_| key_of(random.below(20_000))).collect();
        all.extend([KEY, [0; 16], [255; 16]]);
        for (number, key) in all.iter().enumerate() {
            checker.begin_write(number as u64, key, id(number as u32), WriteKind::Put, true);
            checker.end_write(number as u64, key, id(number as u32));
        }
        all.sort_unstable();
        all.dedup();
        let (mut operations, mut bound) = (Vec::new(), None);
        loop {
            let (keys, end) = checker.written_below(bound.as_ref(), 1000);
            assert!(keys.is_sorted());
            operations.extend(keys.into_iter().rev());
            bound = end;
            if end.is_none() {
                break;
            }
        }
        operations.reverse();
        assert!(operations == all, "with room for {active} and {idle}");
        assert_eq!(checker.written(), all.len());
    }
}

#[test]
fn too_many_lost_writes_cause_unchecked_reads_and_no_violation() {
    for kind in [WriteKind::Put, WriteKind::Delete] {
        let mut checker = Checker::new();
        for request in 1..=1000 {
            checker.begin_write(u64::from(request), &KEY, id(request), kind, true);
            checker.give_up_write(&KEY, id(request));
        }
        assert!(checker.kept_writes() <= MAX_GIVEN_UP + 1);
        checker.begin_write(2000, &KEY, id(2000), WriteKind::Put, true);
        checker.end_write(2000, &KEY, id(2000));
        let mut read = |observed| {
            let ticket = checker.begin_read(3000, &KEY);
            let reader = id(5000);
            let answer = Answer { reader, observed, exists: true, issued: true, last: false };
            checker.end_read(3000, &KEY, ticket, answer)
        };
        let forgotten = match kind {
            WriteKind::Put => Observed::Value(id(1)),
            WriteKind::Delete => Observed::NotFound,
        };
        assert_eq!(read(forgotten), Verdict::Unchecked);
        if kind == WriteKind::Put {
            assert_eq!(read(Observed::Value(id(1000))), Verdict::Fresh, "the last ones are known");
        }
        assert_eq!(read(Observed::Value(WriteId::INITIAL)), Verdict::Stale, "write 2000 had ended");
        assert_eq!(checker.summary().unchecked_keys, 1);
    }
}

#[test]
fn a_long_read_keeps_a_limited_number_of_clusters() {
    let mut checker = Checker::new();
    let write = |checker: &mut Checker, request: u32| {
        checker.begin_write(0, &KEY, id(request), WriteKind::Put, true);
        checker.end_write(0, &KEY, id(request));
        assert!(checker.kept_writes() <= 2 * MAX_COMPLETED_CLUSTERS + 2);
    };
    write(&mut checker, 1);
    let slow = checker.begin_read(0, &KEY);
    (2..100).for_each(|request| write(&mut checker, request));
    let answer = |writer: u32| Answer {
        reader: id(50_000),
        observed: Observed::Value(id(writer)),
        exists: true,
        issued: true,
        last: false,
    };
    assert_eq!(checker.end_read(0, &KEY, slow, answer(50)), Verdict::Fresh);
    let slow = checker.begin_read(0, &KEY);
    (100..10_000).for_each(|request| write(&mut checker, request));
    assert_eq!(checker.end_read(0, &KEY, slow, answer(150)), Verdict::Unchecked);
    let next = checker.begin_read(0, &KEY);
    assert_eq!(checker.end_read(0, &KEY, next, answer(9999)), Verdict::Fresh);
}

#[test]
fn reads_of_keys_without_writes_keep_no_history() {
    let mut checker = Checker::new();
    for number in 0..10_000 {
        let key = key_of(number);
        let ticket = checker.begin_read(number, &key);
        let reader = id(number as u32);
        let observed = Observed::Value(WriteId::INITIAL);
        let answer = Answer { reader, observed, exists: true, issued: false, last: false };
        assert_eq!(checker.end_read(number, &key, ticket, answer), Verdict::Fresh);
    }
    assert_eq!((checker.written(), checker.summary().checked_ops), (0, 10_000));
    // A lost initial value and a value that no client wrote are violations.
    for (observed, exists, expected) in [
        (Observed::NotFound, true, Verdict::Stale),
        (Observed::NotFound, false, Verdict::Fresh),
        (Observed::Value(WriteId::INITIAL), false, Verdict::Phantom),
        (Observed::Garbage, true, Verdict::Phantom),
    ] {
        let ticket = checker.begin_read(0, &KEY);
        let answer = Answer { reader: id(1), observed, exists, issued: false, last: false };
        assert_eq!(checker.end_read(0, &KEY, ticket, answer), expected, "{observed:?} {exists}");
    }
}
