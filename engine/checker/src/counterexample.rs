//! Counterexamples: a minimal part of a key's history that violates the condition.

use crate::cluster::{Cluster, ClusterKind};
use crate::condition::Condition;
use crate::event_clock::FORGOTTEN_INTERVAL;
use crate::operation::{Action, NEVER, Observed, Record, WriteId, WriteKind};
use crate::register::{Judgement, Register};

/// Maximum number of operations from which a counterexample is minimized.
const MAX_TRIED: usize = 320;
/// Maximum number of dropped clusters among them.
const MAX_DROPPED: usize = 32;

/// A set of operations that violates the condition, in the order of their invocations. It has the
/// `read` that `register` has just rejected, and the operations that it contradicts. `dropped` has
/// dropped clusters of the key, youngest first. If the kept operations are not sufficient, it has
/// the read, its dictating write and the last write.
pub(crate) fn counterexample(
    register: &Register,
    read: Record,
    dropped: &[Cluster],
    condition: Condition,
) -> Vec<Record> {
    let (mut dictating_cluster, unknown) = dictating_cluster(register, read, dropped);
    dictating_cluster.push(read);
    let others = completed_clusters(register, read);
    let by_others = |it: &Record| it.id != read.id && returned_not_found(it);

    let mut records = dictating_cluster.clone();
    if returned_not_found(&read) {
        let deletes = register.clusters.iter().filter(|it| it.kind == ClusterKind::Delete);
        records.extend(deletes.flat_map(Cluster::records));
    }
    records.extend(others.iter().take(if unknown { 1 } else { 8 }).flat_map(|it| it.records()));
    records.retain(|it| !by_others(it));
    if let Some(found) = minimized(register.initially_present, records, read, condition) {
        return found;
    }

    let mut records = dictating_cluster.clone();
    records.extend(register.clusters.iter().flat_map(Cluster::records));
    records.extend(dropped.iter().take(MAX_DROPPED).flat_map(Cluster::records));
    if register.log_complete {
        records.extend(&register.log);
    } else {
        records.retain(|it| !by_others(it));
    }
    if records.len() <= MAX_TRIED
        && let Some(found) = minimized(register.initially_present, records, read, condition)
    {
        return found;
    }
    dictating_cluster.extend(others.iter().take(1).flat_map(|it| it.records()));
    sort_and_filter(dictating_cluster, read)
}

/// The operations of the read's dictating cluster, and whether its times are forgotten. In that
/// case only one fact is certain: the last write was invoked after it.
fn dictating_cluster(
    register: &Register,
    read: Record,
    dropped: &[Cluster],
) -> (Vec<Record>, bool) {
    let Action::Read(Observed::Value(id)) = read.action else { return (Vec::new(), false) };
    let known = register.find(id).map(|at| &register.clusters[at]);
    let known = known.or_else(|| dropped.iter().find(|it| it.id == id));
    match known {
        Some(cluster) => (cluster.records().collect(), false),
        None if id == WriteId::INITIAL => (Vec::new(), false),
        None => {
            let (invocation, response) = FORGOTTEN_INTERVAL;
            (vec![Record { id, action: Action::Write(WriteKind::Put), invocation, response }], true)
        }
    }
}

fn returned_not_found(record: &Record) -> bool {
    record.action == Action::Read(Observed::NotFound)
}

/// The clusters with a response before the invocation of the read, the youngest first.
fn completed_clusters(register: &Register, read: Record) -> Vec<&Cluster> {
    let zones = &register.witnesses[0].0;
    let mut completed: Vec<_> = register
        .clusters
        .iter()
        .zip(zones)
        .filter(|(_, zone)| zone.min_response < read.invocation)
        .collect();
    completed.sort_unstable_by_key(|(_, zone)| std::cmp::Reverse(zone.max_invocation));
    completed.into_iter().map(|(cluster, _)| cluster).collect()
}

/// Sorts records by invocation, and removes duplicates and reads without their dictating write.
fn sort_and_filter(mut records: Vec<Record>, read: Record) -> Vec<Record> {
    records.sort_unstable_by_key(|it| it.invocation);
    records.dedup_by_key(|it| it.id);
    let all = records.clone();
    records.retain(|it| it.id == read.id || has_writer(&all, it));
    records
}

/// Whether the dictating write of a read is among the records.
fn has_writer(records: &[Record], record: &Record) -> bool {
    match record.action {
        Action::Read(Observed::Value(id)) if id != WriteId::INITIAL => {
            records.iter().any(|it| it.id == id && matches!(it.action, Action::Write(_)))
        }
        _ => true,
    }
}

/// Removes operations as long as the rest violates the condition. `None` if the records do not.
fn minimized(
    initially_present: bool,
    records: Vec<Record>,
    read: Record,
    condition: Condition,
) -> Option<Vec<Record>> {
    let mut kept = sort_and_filter(records, read);
    if is_satisfied(initially_present, &kept, condition) {
        return None;
    }
    loop {
        let before = kept.len();
        let mut at = 0;
        // The oldest are tried first: recent operations explain a violation best.
        while let Some(candidate) = kept.get(at).copied() {
            at += 1;
            if candidate.id == read.id
                || returned(&read, candidate)
                || !is_removable(&kept, &candidate)
            {
                continue;
            }
            let gone = |it: &Record| it.id == candidate.id || returned(it, candidate);
            let rest: Vec<Record> = kept.iter().copied().filter(|it| !gone(it)).collect();
            if !is_satisfied(initially_present, &rest, condition) {
                kept = rest;
                at -= 1;
            }
        }
        if kept.len() == before {
            return Some(kept);
        }
    }
}

fn returned(record: &Record, writer: Record) -> bool {
    matches!(writer.action, Action::Write(WriteKind::Put))
        && record.action == Action::Read(Observed::Value(writer.id))
}

/// Whether an operation may be removed. A delete must remain if a read that returned "not found"
/// can belong to it. It cannot if another write followed the delete and preceded the read.
fn is_removable(records: &[Record], candidate: &Record) -> bool {
    if candidate.action != Action::Write(WriteKind::Delete) {
        return true;
    }
    let replaced = |read: &Record| {
        records.iter().any(|it| {
            matches!(it.action, Action::Write(_))
                && candidate.response < it.invocation
                && it.response < read.invocation
        })
    };
    let mut reads = records.iter().filter(|it| returned_not_found(it));
    reads.all(|read| candidate.invocation > read.response || replaced(read))
}

/// Whether these operations satisfy the condition, as far as it can be decided.
pub(crate) fn is_satisfied(
    initially_present: bool,
    records: &[Record],
    condition: Condition,
) -> bool {
    let begins = records.iter().map(|it| (it.invocation, true, it));
    let ends = records.iter().filter(|it| it.response != NEVER).map(|it| (it.response, false, it));
    let mut events: Vec<_> = begins.chain(ends).collect();
    events.sort_unstable_by_key(|(time, ..)| *time);
    let mut register = Register::new(initially_present, 0);
    for (time, begins, record) in events {
        match (record.action, begins) {
            (Action::Write(kind), true) => register.begin_write(time, record.id, kind),
            (Action::Write(_), false) => {
                register.end_write(time, record.id);
            }
            // It is never part of a counterexample.
            (Action::Refused, _) => {}
            (Action::Read(_), true) => register.begin_read(time),
            (Action::Read(observed), false) => {
                register.end_read(record.invocation);
                let judgement = register.judge(*record, observed, true, condition);
                if !matches!(judgement, Judgement::Legal | Judgement::Unchecked) {
                    return false;
                }
            }
        }
    }
    true
}
