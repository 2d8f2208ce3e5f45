//! Whether some order of operations on one key explains what the clients saw.
//!
//! Every operation takes effect at one moment between its request and its answer; a write that
//! was never answered may take effect later, or not at all. All orders are tried, so the verdict
//! is exact; traps are short.

use std::collections::HashSet;

use netkv_roles::WriteId;

/// What a key holds: the value of a write, or nothing.
pub type Content = Option<WriteId>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Write(Content),
    Read(Content),
}

#[derive(Debug, Clone, Copy)]
struct Operation {
    action: Action,
    asked: u64,
    answered: u64,
}

const NEVER: u64 = u64::MAX;

/// The operations on a key that held its initial value at first.
#[derive(Debug, Default)]
pub struct Register {
    moment: u64,
    writes: Vec<(WriteId, Operation)>,
    reads: Vec<(WriteId, u64)>,
    over: Vec<Operation>,
}

impl Register {
    fn tick(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    /// A request leaves its client, for the first time or again. `content`: what it writes; none
    /// for a read.
    pub fn ask(&mut self, id: WriteId, content: Option<Content>) {
        let asked = self.tick();
        match content {
            Some(content) if !self.writes.iter().any(|(known, _)| *known == id) => {
                let action = Action::Write(content);
                self.writes.push((id, Operation { action, asked, answered: NEVER }));
            }
            None if !self.reads.iter().any(|(known, _)| *known == id) => {
                self.reads.push((id, asked));
            }
            _ => {}
        }
    }

    /// A write is acknowledged. Only the first answer counts.
    pub fn written(&mut self, id: WriteId) {
        let now = self.tick();
        let found = self.writes.iter_mut().find(|(known, _)| *known == id);
        if let Some((_, write)) = found {
            write.answered = write.answered.min(now);
        }
    }

    /// A read is answered. Only the first answer counts.
    pub fn read(&mut self, id: WriteId, content: Content) {
        let answered = self.tick();
        if let Some(read) = self.reads.iter_mut().find(|(known, _)| *known == id)
            && read.1 != NEVER
        {
            let asked = std::mem::replace(&mut read.1, NEVER);
            self.over.push(Operation { action: Action::Read(content), asked, answered });
        }
    }

    /// Whether one register can have given all these answers.
    pub fn is_explained(&self) -> bool {
        let writes = self.writes.iter().map(|(_, write)| *write);
        let mut all: Vec<Operation> = self.over.iter().copied().chain(writes).collect();
        all.sort_by_key(|operation| operation.answered);
        // How many of the first operations have taken effect, which others, and what is there.
        let mut states = vec![(0, Vec::new(), Some(WriteId::INITIAL))];
        let mut known = HashSet::new();
        while let Some((mut first, mut others, content)) = states.pop() {
            while let Some(at) = others.iter().position(|other| *other == first) {
                others.swap_remove(at);
                first += 1;
            }
            others.sort_unstable();
            if all.get(first).is_none_or(|next| next.answered == NEVER) {
                return true;
            }
            if !known.insert((first, others.clone(), content)) {
                continue;
            }
            // Whatever was asked before the next answer may be the next to take effect.
            let next = all.iter().enumerate().skip(first);
            for (at, operation) in next.filter(|(_, it)| it.asked < all[first].answered) {
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
    register.ask(id(request), Some(Some(id(request))));
    register.written(id(request));
}

fn read(register: &mut Register, request: u32, seen: u32) {
    register.ask(id(request), None);
    register.read(id(request), Some(id(seen)));
}

#[test]
fn what_was_overwritten_before_a_read_began_is_not_explained() {
    let mut register = Register::default();
    write(&mut register, 1);
    write(&mut register, 2);
    read(&mut register, 3, 2);
    assert!(register.is_explained());
    read(&mut register, 4, 1);
    assert!(!register.is_explained());
}

#[test]
fn concurrent_writes_have_one_order_for_all_reads() {
    let mut register = Register::default();
    register.ask(id(1), Some(Some(id(1))));
    register.ask(id(2), Some(Some(id(2))));
    register.written(id(1));
    register.written(id(2));
    read(&mut register, 3, 1);
    assert!(register.is_explained());
    read(&mut register, 4, 2);
    assert!(!register.is_explained(), "2 was last, or 1 was, but not both");
}

#[test]
fn a_write_without_answer_takes_effect_at_any_time_but_once() {
    let mut register = Register::default();
    register.ask(id(1), Some(Some(id(1))));
    write(&mut register, 2);
    read(&mut register, 3, 2);
    read(&mut register, 4, 1);
    assert!(register.is_explained());
    read(&mut register, 5, 2);
    assert!(!register.is_explained());
}
