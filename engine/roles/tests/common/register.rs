//! Checks whether the history of one key is linearizable, by trying all orders of its operations.
//!
//! Every operation takes effect at one time between its request and its answer; a write that was
//! never answered may take effect later, or not at all. The verdict is exact; the histories of
//! traps are short.

use std::collections::HashSet;

use netkv_roles::WriteId;

/// The content of a key: the value of a write, or nothing.
pub type Content = Option<WriteId>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Write(Content),
    Read(Content),
}

#[derive(Debug, Clone, Copy)]
struct Operation {
    action: Action,
    invocation: u64,
    response: u64,
}

const NEVER: u64 = u64::MAX;

/// The operations on a key that held its initial value at first.
#[derive(Debug, Default)]
pub struct Register {
    clock: u64,
    writes: Vec<(WriteId, Operation)>,
    reads: Vec<(WriteId, u64)>,
    completed_reads: Vec<Operation>,
}

impl Register {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// A request leaves its client, for the first time or again. `content` is the content that it
    /// writes; none for a read.
    pub fn begin(&mut self, id: WriteId, content: Option<Content>) {
        let invocation = self.tick();
        match content {
            Some(content) if !self.writes.iter().any(|(known, _)| *known == id) => {
                let action = Action::Write(content);
                self.writes.push((id, Operation { action, invocation, response: NEVER }));
            }
            None if !self.reads.iter().any(|(known, _)| *known == id) => {
                self.reads.push((id, invocation));
            }
            _ => {}
        }
    }

    /// A write is acknowledged. Later answers are ignored.
    pub fn written(&mut self, id: WriteId) {
        let now = self.tick();
        let found = self.writes.iter_mut().find(|(known, _)| *known == id);
        if let Some((_, write)) = found {
            write.response = write.response.min(now);
        }
    }

    /// A read is answered. Later answers are ignored.
    pub fn read(&mut self, id: WriteId, content: Content) {
        let response = self.tick();
        if let Some(read) = self.reads.iter_mut().find(|(known, _)| *known == id)
            && read.1 != NEVER
        {
            let invocation = std::mem::replace(&mut read.1, NEVER);
            self.completed_reads.push(Operation {
                action: Action::Read(content),
                invocation,
                response,
            });
        }
    }

    /// Whether one register can have returned all these answers.
    pub fn is_linearizable(&self) -> bool {
        let writes = self.writes.iter().map(|(_, write)| *write);
        let mut all: Vec<Operation> = self.completed_reads.iter().copied().chain(writes).collect();
        all.sort_by_key(|operation| operation.response);
        // The number of first operations that have taken effect, the others that have, and the
        // content.
        let mut states = vec![(0, Vec::new(), Some(WriteId::INITIAL))];
        let mut known = HashSet::new();
        while let Some((mut first, mut others, content)) = states.pop() {
            while let Some(at) = others.iter().position(|other| *other == first) {
                others.swap_remove(at);
                first += 1;
            }
            others.sort_unstable();
            if all.get(first).is_none_or(|next| next.response == NEVER) {
                return true;
            }
            if !known.insert((first, others.clone(), content)) {
                continue;
            }
            // Any operation invoked before the next response may be the next to take effect.
            let next = all.iter().enumerate().skip(first);
            for (at, operation) in next.filter(|(_, it)| it.invocation < all[first].response) {
                let after = match operation.action {
                    Action::Write(written) => written,
                    Action::Read(seen) if seen == content => content,
                    Action::Read(_) => continue,
                };
                if !others.contains(&at) {
                    let with = others.iter().copied().chain([at]).collect();
                    states.push((first, with, after));
                }
            }
        }
        false
    }
}

fn id(request: u32) -> WriteId {
    WriteId { client: 1, request }
}

fn write(register: &mut Register, request: u32) {
    register.begin(id(request), Some(Some(id(request))));
    register.written(id(request));
}

fn read(register: &mut Register, request: u32, seen: u32) {
    register.begin(id(request), None);
    register.read(id(request), Some(id(seen)));
}

#[test]
fn a_read_of_an_overwritten_value_is_not_linearizable() {
    let mut register = Register::default();
    write(&mut register, 1);
    write(&mut register, 2);
    read(&mut register, 3, 2);
    assert!(register.is_linearizable());
    read(&mut register, 4, 1);
    assert!(!register.is_linearizable());
}

#[test]
fn concurrent_writes_have_one_order_for_all_reads() {
    let mut register = Register::default();
    register.begin(id(1), Some(Some(id(1))));
    register.begin(id(2), Some(Some(id(2))));
    register.written(id(1));
    register.written(id(2));
    read(&mut register, 3, 1);
    assert!(register.is_linearizable());
    read(&mut register, 4, 2);
    assert!(!register.is_linearizable(), "either write was the last one, but not both");
}

#[test]
fn a_write_without_answer_takes_effect_at_any_time_but_once() {
    let mut register = Register::default();
    register.begin(id(1), Some(Some(id(1))));
    write(&mut register, 2);
    read(&mut register, 3, 2);
    read(&mut register, 4, 1);
    assert!(register.is_linearizable());
    read(&mut register, 5, 2);
    assert!(!register.is_linearizable());
}
