//! Generates histories of a linearizable register behind a network with delays and losses.

use netkv_checker::{Observed, WriteId, WriteKind};
use netkv_workload::Random;

use super::{Action, Op, id};

/// The load on the register.
#[derive(Debug, Clone, Copy)]
pub struct LoadShape {
    pub ops: u32,
    /// Number of clients; each has one operation at a time.
    pub clients: u64,
    pub writes: f64,
    /// Share of deletes among the writes.
    pub deletes: f64,
    /// Share of the operations whose reply is lost.
    pub lost: f64,
    /// Share of the lost operations that take effect long after they were given up, or never.
    pub late: f64,
    /// Maximum delay of a request and of a reply.
    pub max_delay: u64,
    /// Maximum pause of a client between operations.
    pub max_pause: u64,
}

/// A history in the order of invocations. All times differ.
pub fn history(exists: bool, usage: LoadShape, seed: u64) -> Vec<Op> {
    let mut random = Random::new(seed, 0x51e);
    let mut free: Vec<u64> = (0..usage.clients).map(|_| random.below(usage.max_pause)).collect();
    // (linearization point, operation)
    let mut points: Vec<(u64, usize)> = Vec::new();
    let mut ops: Vec<Op> = Vec::new();
    for request in 1..=usage.ops {
        let client = (0..free.len()).min_by_key(|at| free[*at]).unwrap();
        // Unique times: invocation, point and response modulo 4 are 0, 1 and 2.
        let at = ops.len() as u64;
        let begin = free[client];
        let point = begin + random.below(usage.max_delay);
        let end = point + random.below(usage.max_delay) + 1;
        free[client] = end + random.below(usage.max_pause) + 1;
        let write = random.unit() < usage.writes;
        let delete = write && random.unit() < usage.deletes;
        let lost = random.unit() < usage.lost;
        let action = match (write, delete) {
            (true, true) => Action::Write(WriteKind::Delete),
            (true, false) => Action::Write(WriteKind::Put),
            (false, _) => Action::Read(Observed::NotFound),
        };
        let spread = |time: u64, kind: u64| (time * (u64::from(usage.ops) + 1) + at) * 4 + kind;
        let late = lost && random.unit() < usage.late;
        if late {
            if random.unit() < 0.7 {
                points.push((spread(end + random.below(50 * usage.max_delay), 1), ops.len()));
            }
        } else {
            points.push((spread(point, 1), ops.len()));
        }
        let end = (!lost).then_some(spread(end, 2));
        ops.push(Op { id: id(request), action, begin: spread(begin, 0), end });
    }
    points.sort_unstable();
    let mut value = exists.then_some(WriteId::INITIAL);
    for (_, at) in points {
        match &mut ops[at].action {
            Action::Write(WriteKind::Put) => value = Some(ops[at].id),
            Action::Write(WriteKind::Delete) => value = None,
            Action::Read(observed) => *observed = value.map_or(Observed::NotFound, Observed::Value),
        }
    }
    ops.sort_unstable_by_key(|op| op.begin);
    ops
}
