//! The condition of a regular register: verdicts equal those of its definition, and reads do not
//! influence each other.

use crate::common::generator::{LoadShape, history};
use crate::common::{Action, KEY, Op, assert_same_with_small_limits, id, replay};
use netkv_checker::{
    Answer, Checker, Condition, Observed, Verdict, ViolationKind, WriteId, WriteKind,
};
use netkv_workload::Random;

/// Whether a read may have its result, by the definition of [`Condition::Regular`].
fn permitted(exists: bool, ops: &[Op], read: &Op) -> bool {
    let Action::Read(observed) = read.action else { panic!("not a read: {read:?}") };
    // When those writes began that had ended before the read began.
    let before: Vec<u64> = ops
        .iter()
        .filter(|op| matches!(op.action, Action::Write(_)))
        .filter(|op| op.end.is_some_and(|end| end < read.begin))
        .map(|op| op.begin)
        .collect();
    let replaced = |end: Option<u64>| end.is_some_and(|end| before.iter().any(|it| *it > end));
    let returned = |op: &&Op| match observed {
        Observed::Value(id) => op.id == id && op.action == Action::Write(WriteKind::Put),
        _ => op.action == Action::Write(WriteKind::Delete),
    };
    let initial = match observed {
        Observed::Value(id) => id == WriteId::INITIAL && exists,
        _ => !exists,
    };
    initial && before.is_empty()
        || ops.iter().filter(returned).any(|op| op.begin < read.end.unwrap() && !replaced(op.end))
}

/// Compares all verdicts with the definition. Returns the numbers of permitted and other reads.
fn compare(exists: bool, ops: &[Op], what: &str) -> (usize, usize) {
    let mut checker = Checker::new().judging(Condition::Regular);
    let (mut right, mut wrong, mut verdicts) = (0, 0, Vec::new());
    replay(&mut checker, exists, ops, |op, verdict| {
        verdicts.push(verdict);
        assert_ne!(verdict, Verdict::Unchecked, "{what}: {op:?}");
        let expected = permitted(exists, ops, op);
        assert_eq!(verdict == Verdict::Fresh, expected, "{what}: {op:?} in {ops:?}");
        *(if expected { &mut right } else { &mut wrong }) += 1;
    });
    assert_same_with_small_limits(Condition::Regular, exists, ops, &verdicts);
    assert_eq!(checker.summary().violations, wrong as u64);
    (right, wrong)
}

#[test]
fn verdicts_equal_the_definition() {
    let mut random = Random::new(5, 6);
    let (mut right, mut wrong) = (0, 0);
    for seed in 0..20_000 {
        let shape = LoadShape {
            ops: [8, 40][seed as usize % 2],
            clients: 2 + seed % 5,
            writes: 0.4,
            deletes: [0.0, 0.4, 0.8][seed as usize % 3],
            lost: 0.05,
            late: 0.5,
            max_delay: 20,
            max_pause: 10,
        };
        let exists = seed % 2 == 0;
        let mut ops = history(exists, shape, seed);
        // A cache answers some reads with another value that was written before.
        for at in 0..ops.len() {
            let other = ops[random.below(ops.len() as u64) as usize];
            let read = &mut ops[at];
            let written = other.action == Action::Write(WriteKind::Put);
            if matches!(read.action, Action::Read(_))
                && written
                && read.end.is_some_and(|end| other.begin < end)
                && random.unit() < 0.6
            {
                read.action = Action::Read(Observed::Value(other.id));
            }
        }
        let found = compare(exists, &ops, &format!("seed {seed}"));
        (right, wrong) = (right + found.0, wrong + found.1);
    }
    assert!(right > 100_000 && wrong > 5_000, "{right} permitted, {wrong} not");
}

/// Two clients write at the same time. A cache has the first value and answers with it, after which
/// the server has the second one: the first write has not replaced it.
#[test]
fn a_read_from_a_cache_does_not_order_writes() {
    let history = |condition| {
        let mut checker = Checker::new().judging(condition);
        checker.begin_write(10, &KEY, id(1), WriteKind::Put, true);
        checker.begin_write(20, &KEY, id(2), WriteKind::Put, true);
        assert_eq!(checker.end_write(30, &KEY, id(1)), Some(10));
        assert_eq!(checker.end_write(40, &KEY, id(2)), Some(20));
        let mut read = |now: u64, writer: u32, last: bool| {
            let ticket = checker.begin_read(now, &KEY);
            let (reader, observed) = (id(now as u32), Observed::Value(id(writer)));
            let answer = Answer { reader, observed, exists: true, issued: true, last };
            checker.end_read(now + 5, &KEY, ticket, answer)
        };
        [read(50, 1, false), read(60, 2, false), read(70, 2, true)]
    };
    use Verdict::{Fresh, Stale};
    assert_eq!(history(Condition::Linearizable), [Fresh, Stale, Stale]);
    assert_eq!(history(Condition::Regular), [Fresh, Fresh, Fresh]);
}

/// The report has the two writes and the read, whatever other reads have returned.
#[test]
fn a_lost_write_is_reported_with_the_write_that_replaced_the_value() {
    let mut checker = Checker::new().judging(Condition::Regular);
    for (request, now) in [(1, 10), (2, 30), (3, 50)] {
        checker.begin_write(now, &KEY, id(request), WriteKind::Put, true);
        checker.end_write(now + 10, &KEY, id(request));
        let ticket = checker.begin_read(now + 12, &KEY);
        let answer = Answer {
            reader: id(10 + request),
            observed: Observed::Value(id(request)),
            exists: true,
            issued: true,
            last: false,
        };
        assert_eq!(checker.end_read(now + 15, &KEY, ticket, answer), Verdict::Fresh);
    }
    let ticket = checker.begin_read(70, &KEY);
    let observed = Observed::Value(id(2));
    let answer = Answer { reader: id(20), observed, exists: true, issued: true, last: true };
    assert_eq!(checker.end_read(80, &KEY, ticket, answer), Verdict::Stale);
    let [violation] = &checker.violations()[..] else { panic!("{:?}", checker.violations()) };
    assert_eq!(violation.kind, ViolationKind::LostWrite);
    let text = "Get 1/20 returned the value of put 1/2: the acknowledged put 1/3 is lost.";
    assert_eq!(violation.text, text);
    let requests: Vec<u32> = violation.operations.iter().map(|it| it.request).collect();
    assert_eq!(requests, [2, 3, 20]);
}
