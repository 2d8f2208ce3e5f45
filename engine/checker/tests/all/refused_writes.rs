//! Refused writes: they change no verdict, and no read may return their values.

use crate::common::generator::{LoadShape, history};
use crate::common::{Action, KEY, Op, events, id};
use netkv_checker::{
    Answer, Checker, Observed, ReadTicket, Verdict, Violation, ViolationKind, WriteId, WriteKind,
};
use netkv_workload::Random;

const SHAPE: LoadShape = LoadShape {
    ops: 400,
    clients: 6,
    writes: 0.4,
    deletes: 0.2,
    lost: 0.01,
    late: 0.5,
    max_delay: 30,
    max_pause: 40,
};

/// Client of the refused writes.
const REFUSED: u16 = 2;

fn refused(request: u32) -> WriteId {
    WriteId { client: REFUSED, request }
}

/// The verdicts on all reads of a history. Writes of client 2 are refused.
fn verdicts(checker: &mut Checker, exists: bool, ops: &[Op]) -> Vec<Verdict> {
    let mut tickets: Vec<Option<ReadTicket>> = vec![None; ops.len()];
    let mut found = Vec::new();
    for (now, at, begins) in events(ops) {
        let op = &ops[at];
        match (op.action, begins) {
            (Action::Write(kind), true) => checker.begin_write(now, &KEY, op.id, kind, exists),
            (Action::Write(_), false) if op.id.client == REFUSED => {
                assert_eq!(checker.refuse_write(now, &KEY, op.id), Verdict::Fresh);
            }
            (Action::Write(_), false) => {
                checker.end_write(now, &KEY, op.id);
            }
            (Action::Read(_), true) => tickets[at] = Some(checker.begin_read(now, &KEY)),
            (Action::Read(observed), false) => {
                let reader = op.id;
                let answer = Answer { reader, observed, exists, issued: true, last: false };
                found.push(checker.end_read(now, &KEY, tickets[at].unwrap(), answer));
            }
        }
    }
    found
}

#[test]
fn refused_writes_without_reads_change_no_verdict() {
    let mut stale = 0;
    for seed in 0..200 {
        let exists = seed % 2 == 0;
        let mut ops = history(exists, SHAPE, seed);
        let mut random = Random::new(seed, 9);
        // Some reads return another write: then both histories have violations.
        for _ in 0..seed % 3 {
            let other = ops[random.below(ops.len() as u64) as usize];
            let at = random.below(ops.len() as u64) as usize;
            if matches!(ops[at].action, Action::Read(_))
                && other.action == Action::Write(WriteKind::Put)
            {
                ops[at].action = Action::Read(Observed::Value(other.id));
            }
        }
        let expected = verdicts(&mut Checker::new(), exists, &ops);
        stale += expected.iter().filter(|it| **it == Verdict::Stale).count();
        let span = ops.iter().filter_map(|op| op.end).max().unwrap_or(1);
        for request in 0..60 {
            let begin = random.below(span);
            let end = Some(begin + 1 + random.below(40));
            let action = Action::Write(WriteKind::Put);
            ops.push(Op { id: refused(request), action, begin, end });
        }
        for (active, idle) in [(4, 4), (0, 0)] {
            let found = verdicts(&mut Checker::with_limits(active, idle), exists, &ops);
            assert_eq!(found, expected, "seed {seed}");
        }
    }
    assert!(stale > 20, "{stale} stale reads");
}

fn read(checker: &mut Checker, (begin, end): (u64, u64), value: WriteId, request: u32) -> Verdict {
    let ticket = checker.begin_read(begin, &KEY);
    let (reader, observed) = (id(request), Observed::Value(value));
    let answer = Answer { reader, observed, exists: true, issued: true, last: false };
    checker.end_read(end, &KEY, ticket, answer)
}

fn only(checker: &Checker) -> Violation {
    let [violation] = &checker.violations()[..] else { panic!("{:?}", checker.violations()) };
    assert_eq!(checker.summary().linearizable(), Some(false));
    violation.clone()
}

#[test]
fn value_read_before_its_write_is_refused_is_a_violation() {
    let mut checker = Checker::new();
    checker.begin_write(1_000, &KEY, refused(5), WriteKind::Put, true);
    assert_eq!(read(&mut checker, (1_500, 2_000), refused(5), 7), Verdict::Fresh, "still pending");
    assert_eq!(checker.refuse_write(3_000, &KEY, refused(5)), Verdict::Phantom);
    let violation = only(&checker);
    assert_eq!(violation.kind, ViolationKind::RefusedValue);
    assert_eq!(violation.text, "Get 1/7 returned the value of put 2/5, which was refused.");
    let operations = serde_json::to_value(&violation.operations).unwrap();
    let expected = serde_json::json!([
        {"client": 2, "request": 5, "what": "put", "writer": {"client": 2, "request": 5},
         "result": "refused", "start_ns": 1_000, "end_ns": 3_000},
        {"client": 1, "request": 7, "what": "get", "writer": {"client": 2, "request": 5},
         "result": "value", "start_ns": 1_500, "end_ns": 2_000},
    ]);
    assert_eq!(operations, expected);
    // The history goes on with the value before.
    assert_eq!(read(&mut checker, (4_000, 5_000), WriteId::INITIAL, 8), Verdict::Fresh);
}

#[test]
fn value_read_and_overwritten_before_the_refusal_is_a_violation() {
    let mut checker = Checker::new();
    checker.begin_write(1_000, &KEY, refused(5), WriteKind::Put, true);
    assert_eq!(read(&mut checker, (1_500, 2_000), refused(5), 7), Verdict::Fresh);
    for request in 10..20 {
        let now = u64::from(request) * 1_000;
        checker.begin_write(now, &KEY, id(request), WriteKind::Put, true);
        checker.end_write(now + 500, &KEY, id(request));
    }
    assert_eq!(checker.refuse_write(30_000, &KEY, refused(5)), Verdict::Phantom);
    assert_eq!(only(&checker).kind, ViolationKind::RefusedValue);
    assert_eq!(read(&mut checker, (40_000, 41_000), id(19), 8), Verdict::Fresh);
}

#[test]
fn read_of_a_value_that_was_refused_before_is_a_violation() {
    // The second one is older than the history of its key.
    for early in [1_000, 2_500] {
        let mut checker = Checker::new();
        let ticket = checker.begin_read(early, &KEY);
        checker.begin_write(2_000, &KEY, refused(5), WriteKind::Put, true);
        assert_eq!(checker.refuse_write(3_000, &KEY, refused(5)), Verdict::Fresh);
        let observed = Observed::Value(refused(5));
        let answer = Answer { reader: id(7), observed, exists: true, issued: true, last: false };
        assert_eq!(checker.end_read(4_000, &KEY, ticket, answer), Verdict::Phantom);
        assert_eq!(only(&checker).kind, ViolationKind::RefusedValue);
    }
}
