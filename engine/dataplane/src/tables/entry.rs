//! Table entries and their actions.

use netkv_ir::{ActionId, Match, Program, Value};

use crate::counters::CounterData;
use crate::meters::Meter;

/// An action with its action data, checked against the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoundAction {
    pub(crate) action: ActionId,
    /// Concatenated words of the control-plane parameters, which a packet can copy without one
    /// pointer per parameter.
    pub(crate) words: Box<[u64]>,
}

impl BoundAction {
    /// Binds an action to values with the widths of its parameters.
    pub(crate) fn new(action: ActionId, params: &[Value]) -> Self {
        Self { action, words: params.iter().flat_map(|value| value.words.clone()).collect() }
    }

    /// The parameters as values.
    pub(crate) fn params(&self, program: &Program) -> Vec<Value> {
        let mut words = self.words.iter().copied();
        let params = program.actions[self.action as usize].params.iter();
        params
            .map(|param| Value {
                width: param.width,
                words: words.by_ref().take(param.width.div_ceil(64) as usize).collect(),
            })
            .collect()
    }
}

/// The action of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Direct(BoundAction),
    /// Member of the table's action profile.
    Member(u32),
    /// Group of the table's action selector.
    Group(u32),
    /// One-shot selector: actions in the entry itself, with their weights.
    OneShot(Vec<(BoundAction, u32)>),
}

/// An entry.
#[derive(Debug)]
pub(crate) struct Entry {
    /// One match per key.
    pub(crate) matches: Vec<Match>,
    pub(crate) priority: u32,
    pub(crate) kind: EntryKind,
    pub(crate) metadata: Vec<u8>,
    pub(crate) controller_metadata: u64,
    pub(crate) idle_timeout_ns: u64,
    pub(crate) last_hit_ns: u64,
    pub(crate) counter: CounterData,
    pub(crate) meter: Meter,
}

impl Entry {
    pub(crate) fn new(matches: Vec<Match>, priority: u32, kind: EntryKind) -> Self {
        Self {
            matches,
            priority,
            kind,
            metadata: Vec::new(),
            controller_metadata: 0,
            idle_timeout_ns: 0,
            last_hit_ns: 0,
            counter: CounterData::default(),
            meter: Meter::default(),
        }
    }
}

/// The canonical form of a match in P4Runtime: value bits outside of the mask or prefix are 0.
pub(super) fn canonical(one: &Match) -> Match {
    let under = |value: &Value, mask: &[u64]| Value {
        width: value.width,
        words: value.words.iter().zip(mask).map(|(value, mask)| value & mask).collect(),
    };
    match one {
        Match::Ternary(value, mask) => Match::Ternary(under(value, &mask.words), mask.clone()),
        Match::Lpm(value, length) => {
            let mut mask = vec![0; value.words.len()];
            crate::wide::set_bits(&mut mask, value.width - length, value.width);
            Match::Lpm(under(value, &mask), *length)
        }
        other => other.clone(),
    }
}
