//! The smallest part of a key's history that has no explanation.

use crate::cluster::{Cluster, ClusterKind};
use crate::moments::FORGOTTEN;
use crate::operation::{Action, NEVER, Observed, Record, WriteId, WriteKind};
use crate::register::{Judgement, Register};

/// Operations that are tried one by one.
const MAX_TRIED: usize = 320;
/// Dropped clusters among them.
const MAX_PAST: usize = 32;

/// Operations, in the order in which they began, that cannot all have been as they were: the
/// `read` that `register` has just refused, and what it contradicts. `past` has clusters of the
/// key that were dropped, youngest first. If what is remembered is not enough, it is the read, what
/// it saw and what was written last.
pub(crate) fn evidence(register: &Register, read: Record, past: &[Cluster]) -> Vec<Record> {
    let (mut own, unknown) = own(register, read, past);
    own.push(read);
    let others = ranked(register, read);
    let anybodys = |it: &Record| it.id != read.id && saw_nothing(it);

    let mut few = own.clone();
    if saw_nothing(&read) {
        let deletes = register.clusters.iter().filter(|it| it.kind == ClusterKind::Delete);
        few.extend(deletes.flat_map(Cluster::records));
    }
    few.extend(others.iter().take(if unknown { 1 } else { 8 }).flat_map(|it| it.records()));
    few.retain(|it| !anybodys(it));
    if let Some(found) = reduced(register.existed, few, read) {
        return found;
    }

    let mut all = own.clone();
    all.extend(register.clusters.iter().flat_map(Cluster::records));
    all.extend(past.iter().take(MAX_PAST).flat_map(Cluster::records));
    if register.log_whole {
        all.extend(&register.log);
    } else {
        all.retain(|it| !anybodys(it));
    }
    if all.len() <= MAX_TRIED
        && let Some(found) = reduced(register.existed, all, read)
    {
        return found;
    }
    own.extend(others.iter().take(1).flat_map(|it| it.records()));
    tidy(own, read)
}

/// What belongs to the write that the read saw, and whether its times are not known any more, only
/// that the youngest write of all began after it.
fn own(register: &Register, read: Record, past: &[Cluster]) -> (Vec<Record>, bool) {
    let Action::Read(Observed::Value(id)) = read.action else { return (Vec::new(), false) };
    let known = register.find(id).map(|at| &register.clusters[at]);
    let known = known.or_else(|| past.iter().find(|it| it.id == id));
    match known {
        Some(cluster) => (cluster.records().collect(), false),
        None if id == WriteId::INITIAL => (Vec::new(), false),
        None => {
            let (begun, ended) = FORGOTTEN;
            (vec![Record { id, action: Action::Write(WriteKind::Put), begun, ended }], true)
        }
    }
}

fn saw_nothing(record: &Record) -> bool {
    record.action == Action::Read(Observed::NotFound)
}

/// Clusters that were over for certain when the read began, the youngest first.
fn ranked(register: &Register, read: Record) -> Vec<&Cluster> {
    let spans = &register.worlds[0].0;
    let mut over: Vec<_> =
        register.clusters.iter().zip(spans).filter(|(_, span)| span.end < read.begun).collect();
    over.sort_unstable_by_key(|(_, span)| std::cmp::Reverse(span.start));
    over.into_iter().map(|(cluster, _)| cluster).collect()
}

/// In order, each once, and without reads whose write is not there.
fn tidy(mut records: Vec<Record>, read: Record) -> Vec<Record> {
    records.sort_unstable_by_key(|it| it.begun);
    records.dedup_by_key(|it| it.id);
    let all = records.clone();
    records.retain(|it| it.id == read.id || wrote(&all, it));
    records
}

/// Whether what a record saw is there.
fn wrote(records: &[Record], record: &Record) -> bool {
    match record.action {
        Action::Read(Observed::Value(id)) if id != WriteId::INITIAL => {
            records.iter().any(|it| it.id == id && matches!(it.action, Action::Write(_)))
        }
        _ => true,
    }
}

/// Removes operations as long as the rest has no explanation; `None` if it has one to begin with.
fn reduced(existed: bool, records: Vec<Record>, read: Record) -> Option<Vec<Record>> {
    let mut kept = tidy(records, read);
    if explained(existed, &kept) {
        return None;
    }
    loop {
        let before = kept.len();
        let mut at = 0;
        // What is older goes first: what a reader knows last is the best proof.
        while let Some(victim) = kept.get(at).copied() {
            at += 1;
            if victim.id == read.id || saw(&read, victim) || !needless(&kept, &victim) {
                continue;
            }
            let gone = |it: &Record| it.id == victim.id || saw(it, victim);
            let rest: Vec<Record> = kept.iter().copied().filter(|it| !gone(it)).collect();
            if !explained(existed, &rest) {
                kept = rest;
                at -= 1;
            }
        }
        if kept.len() == before {
            return Some(kept);
        }
    }
}

fn saw(record: &Record, writer: Record) -> bool {
    matches!(writer.action, Action::Write(WriteKind::Put))
        && record.action == Action::Read(Observed::Value(writer.id))
}

/// Whether it proves nothing to leave this out: a delete must stay as long as there are reads
/// that may have seen it. One that another write had replaced before they began they have not.
fn needless(records: &[Record], victim: &Record) -> bool {
    if victim.action != Action::Write(WriteKind::Delete) {
        return true;
    }
    let replaced = |read: &Record| {
        records.iter().any(|it| {
            matches!(it.action, Action::Write(_))
                && victim.ended < it.begun
                && it.ended < read.begun
        })
    };
    let mut reads = records.iter().filter(|it| saw_nothing(it));
    reads.all(|read| victim.begun > read.ended || replaced(read))
}

/// Whether these operations have an explanation, as far as can be told.
pub(crate) fn explained(existed: bool, records: &[Record]) -> bool {
    let begins = records.iter().map(|it| (it.begun, true, it));
    let ends = records.iter().filter(|it| it.ended != NEVER).map(|it| (it.ended, false, it));
    let mut events: Vec<_> = begins.chain(ends).collect();
    events.sort_unstable_by_key(|(moment, ..)| *moment);
    let mut register = Register::new(existed, 0);
    for (moment, begins, record) in events {
        match (record.action, begins) {
            (Action::Write(kind), true) => register.begin_write(moment, record.id, kind),
            (Action::Write(_), false) => register.end_write(moment, record.id),
            (Action::Read(_), true) => register.begin_read(moment),
            (Action::Read(observed), false) => {
                register.end_reading(record.begun);
                let judgement = register.judge(*record, observed, true);
                if !matches!(judgement, Judgement::Legal | Judgement::Unchecked) {
                    return false;
                }
            }
        }
    }
    true
}
