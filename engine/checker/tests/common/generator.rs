//! Histories of a register that is linearizable, seen through a network with delays, retries and
//! losses.

use netkv_checker::{Observed, WriteId, WriteKind};
use netkv_workload::Random;

use super::{Do, Op, id};

/// How the register is used.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    pub ops: u32,
    /// Clients that each have one operation under way.
    pub clients: u64,
    pub writes: f64,
    /// Share of the writes that delete.
    pub deletes: f64,
    /// Share of the operations whose answer is lost.
    pub lost: f64,
    /// Share of the lost writes that take effect long after they were given up, or never.
    pub late: f64,
    /// Longest time of an operation, and of the pause before the next.
    pub longest: u64,
    pub pause: u64,
}

/// A history, in the order in which operations begin; all times differ.
pub fn history(exists: bool, usage: Usage, seed: u64) -> Vec<Op> {
    let mut random = Random::new(seed, 0x51e);
    let mut free: Vec<u64> = (0..usage.clients).map(|_| random.below(usage.pause)).collect();
    // (point, op): when each takes effect.
    let mut points: Vec<(u64, usize)> = Vec::new();
    let mut ops: Vec<Op> = Vec::new();
    for request in 1..=usage.ops {
        let client = (0..free.len()).min_by_key(|at| free[*at]).unwrap();
        // All events at times of their own: begin, point and end modulo 4 are 0, 1 and 2.
        let at = ops.len() as u64;
        let begin = free[client];
        let point = begin + random.below(usage.longest);
        let end = point + random.below(usage.longest) + 1;
        free[client] = end + random.below(usage.pause) + 1;
        let write = random.unit() < usage.writes;
        let delete = write && random.unit() < usage.deletes;
        let lost = random.unit() < usage.lost;
        let act = match (write, delete) {
            (true, true) => Do::Write(WriteKind::Delete),
            (true, false) => Do::Write(WriteKind::Put),
            (false, _) => Do::Read(Observed::NotFound),
        };
        let spread = |time: u64, kind: u64| (time * (u64::from(usage.ops) + 1) + at) * 4 + kind;
        let late = lost && random.unit() < usage.late;
        if late {
            if random.unit() < 0.7 {
                points.push((spread(end + random.below(50 * usage.longest), 1), ops.len()));
            }
        } else {
            points.push((spread(point, 1), ops.len()));
        }
        let end = (!lost).then_some(spread(end, 2));
        ops.push(Op { id: id(request), act, begin: spread(begin, 0), end });
    }
    points.sort_unstable();
    let mut value = exists.then_some(WriteId::INITIAL);
    for (_, at) in points {
        match &mut ops[at].act {
            Do::Write(WriteKind::Put) => value = Some(ops[at].id),
            Do::Write(WriteKind::Delete) => value = None,
            Do::Read(observed) => *observed = value.map_or(Observed::NotFound, Observed::Value),
        }
    }
    ops.sort_unstable_by_key(|op| op.begin);
    ops
}
