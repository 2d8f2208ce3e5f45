//! What an operation reads and changes.

use netkv_ir::{
    CounterId, Expr, HashInput, HeaderId, MeterId, Op, Place, Program, RegisterId, StackId,
    TableId, Word,
};

use crate::reads::{Reads, is_wire, steps};

/// What has one place in the pipeline, and a packet passes once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Object {
    Register(RegisterId),
    Counter(CounterId),
    Meter(MeterId),
    Table(TableId),
}

/// What a node of the dependency graph is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An ALU computes a field.
    Compute,
    /// A field gets the value of another one.
    Move,
    /// A field gets a constant.
    Set,
    /// A condition.
    Branch,
    /// A table is applied.
    Apply(TableId),
    /// A register is read.
    Fetch(RegisterId),
    /// A register is written.
    Store(RegisterId),
    /// A counter counts.
    Count(CounterId),
    /// A meter is asked.
    Meter(MeterId),
    /// A hash, or a random number.
    Hash,
    /// Something happens behind the last stage: a clone, a digest.
    Signal,
}

impl Kind {
    pub(crate) fn object(self) -> Option<Object> {
        match self {
            Kind::Apply(table) => Some(Object::Table(table)),
            Kind::Fetch(register) | Kind::Store(register) => Some(Object::Register(register)),
            Kind::Count(counter) => Some(Object::Counter(counter)),
            Kind::Meter(meter) => Some(Object::Meter(meter)),
            _ => None,
        }
    }

    /// A stateful ALU can do it on the way from a cell to that cell.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Kind::Compute | Kind::Move | Kind::Set | Kind::Branch)
    }
}

/// How an operation changes the state area.
#[derive(Debug)]
pub(crate) enum Change<'a> {
    /// A place gets a value.
    Value(Place, &'a Expr),
    /// Words get what is in others.
    Copy { to: Word, from: Word, words: u32 },
    /// Words get zeros.
    Zero { to: Word, words: u32 },
    /// A word gets 1.
    One(Word),
    /// Words get something that is known only then.
    New { to: Word, words: u32 },
    /// A word tells how a table was applied; that is no field.
    Outcome(Word),
    /// Something of these words changes, or may change.
    Partly { to: Word, words: u32 },
    /// Fields of a header that has turned valid: nothing is done, but they may read otherwise.
    Forget { to: Word, words: u32 },
}

/// What an operation does.
pub(crate) struct Effect<'a> {
    pub(crate) kind: Kind,
    pub(crate) reads: Reads<'a>,
    pub(crate) changes: Vec<Change<'a>>,
    /// Of a register, counter or meter.
    pub(crate) index: Option<&'a Expr>,
    /// Additions and the like, one after the other.
    pub(crate) steps: u32,
}

impl<'a> Effect<'a> {
    pub(crate) fn new(program: &'a Program, kind: Kind) -> Self {
        Self { kind, reads: Reads::new(program), changes: Vec::new(), index: None, steps: 0 }
    }

    fn new_value(&mut self, place: Place) {
        self.changes.push(Change::New { to: place.word, words: place.words() });
    }

    fn header(&mut self, header: HeaderId) {
        let header = &self.reads.program.headers[header as usize];
        self.changes.push(Change::New { to: header.valid, words: 1 });
        self.changes.push(Change::New { to: header.base, words: header.words });
    }

    fn read_header(&mut self, header: HeaderId) {
        let header = &self.reads.program.headers[header as usize];
        self.reads.flag(header.valid);
        self.reads.words(header.base, header.words, 0);
    }

    /// A place in every element of a stack.
    fn elements(&mut self, stack: StackId, place: Place) {
        let stack = &self.reads.program.stacks[stack as usize];
        for element in 0..stack.size {
            let to = place.word + element * stack.stride;
            self.changes.push(Change::Partly { to, words: place.words() });
        }
    }

    fn whole_stack(&mut self, stack: StackId) {
        let stack = &self.reads.program.stacks[stack as usize];
        let (to, words) = (stack.next_index, 1 + stack.size * stack.stride);
        self.reads.words(to, words, 0);
        self.changes.push(Change::New { to, words });
    }

    fn inputs(&mut self, data: &[HashInput]) {
        for input in data {
            self.reads.ready(&input.value, 0);
            input.varbit_length.iter().for_each(|word| self.reads.words(*word, 1, 0));
            if let Some(header) = input.header {
                let valid = self.reads.program.headers[header as usize].valid;
                self.reads.flag(valid);
            }
        }
    }
}

/// What an operation does; None if nothing of it is left on a switch.
pub(crate) fn of<'a>(program: &'a Program, op: &'a Op) -> Option<Effect<'a>> {
    let mut effect = Effect::new(program, Kind::Compute);
    let reads = &mut effect.reads;
    let standard = &program.standard_metadata;
    match op {
        Op::Assign { to, value } => {
            reads.made(value, 0);
            effect.steps = steps(value);
            effect.changes.push(Change::Value(*to, value));
            effect.kind = match value {
                Expr::Const(_) => Kind::Set,
                value if is_wire(value) => Kind::Move,
                _ => Kind::Compute,
            };
        }
        Op::AssignSlice { to, value, .. } => {
            reads.made(value, 0);
            effect.steps = steps(value);
            effect.changes.push(Change::Partly { to: to.word, words: to.words() });
            effect.kind = if is_wire(value) { Kind::Move } else { Kind::Compute };
        }
        Op::StoreElement { stack, index, place, value } => {
            reads.ready(index, 0);
            reads.made(value, 0);
            effect.elements(*stack, *place);
        }
        Op::CopyHeader { to, from } => {
            let (to, from) = (&program.headers[*to as usize], &program.headers[*from as usize]);
            reads.flag(from.valid);
            reads.words(from.base, from.words, 0);
            effect.kind = Kind::Move;
            effect.changes.push(Change::Copy { to: to.valid, from: from.valid, words: 1 });
            let words = to.words.min(from.words);
            effect.changes.push(Change::Copy { to: to.base, from: from.base, words });
        }
        Op::CopyWords { to, from, words } => {
            reads.words(*from, *words, 0);
            effect.kind = Kind::Move;
            effect.changes.push(Change::Copy { to: *to, from: *from, words: *words });
        }
        Op::ZeroWords { to, words } => {
            effect.kind = Kind::Set;
            effect.changes.push(Change::Zero { to: *to, words: *words });
        }
        Op::SetValid(header) => {
            let header = &program.headers[*header as usize];
            effect.kind = Kind::Set;
            effect.changes.push(Change::One(header.valid));
            effect.changes.push(Change::Forget { to: header.base, words: header.words });
        }
        Op::SetInvalid(header) => {
            let header = &program.headers[*header as usize];
            effect.kind = Kind::Set;
            effect.changes.push(Change::Zero { to: header.valid, words: 1 });
            effect.changes.push(Change::Forget { to: header.base, words: header.words });
        }
        Op::SetValidElement { stack, index, .. } => {
            reads.ready(index, 0);
            let first = program.stacks[*stack as usize].first;
            let word = program.headers[first as usize].valid;
            effect.elements(*stack, Place { word, width: 1 });
        }
        Op::PushFront { stack, .. } | Op::PopFront { stack, .. } => effect.whole_stack(*stack),
        Op::Extract(header) => effect.header(*header),
        Op::ExtractVarbit { header, bits } => {
            reads.ready(bits, 0);
            effect.header(*header);
        }
        Op::ExtractNext(stack) => effect.whole_stack(*stack),
        Op::CheckStackLast(stack) => {
            reads.words(program.stacks[*stack as usize].next_index, 1, 0);
        }
        Op::Lookahead { to, .. } => effect.new_value(*to),
        Op::Advance(value) => reads.ready(value, 0),
        Op::Verify { cond, error } => {
            reads.decided(cond, 0);
            reads.ready(error, 0);
            effect.new_value(standard.parser_error);
        }
        Op::Reject | Op::Log { .. } | Op::Assert(_) => return None,
        Op::Emit(header) => {
            effect.kind = Kind::Signal;
            effect.read_header(*header);
        }
        Op::EmitStack(stack) => {
            effect.kind = Kind::Signal;
            let stack = &program.stacks[*stack as usize];
            (stack.first..stack.first + stack.size).for_each(|header| effect.read_header(header));
        }
        Op::RegisterRead { register, index, to } => {
            reads.ready(index, 0);
            effect.index = Some(index);
            effect.kind = Kind::Fetch(*register);
            effect.new_value(*to);
        }
        Op::RegisterWrite { register, index, value } => {
            reads.ready(index, 0);
            reads.made(value, 0);
            effect.steps = steps(value);
            effect.index = Some(index);
            effect.kind = Kind::Store(*register);
        }
        Op::Count { counter, index } => {
            reads.ready(index, 0);
            effect.index = Some(index);
            effect.kind = Kind::Count(*counter);
        }
        Op::ExecuteMeter { meter, index, to } => {
            reads.ready(index, 0);
            effect.index = Some(index);
            effect.kind = Kind::Meter(*meter);
            effect.new_value(*to);
        }
        // The colour comes with the hit.
        Op::ReadDirectMeter { to, .. } => effect.new_value(*to),
        Op::Hash { to, base, data, max, .. } => {
            reads.ready(base, 0);
            reads.ready(max, 0);
            effect.kind = Kind::Hash;
            effect.inputs(data);
            effect.new_value(*to);
        }
        Op::Random { to, low, high } => {
            reads.ready(low, 0);
            reads.ready(high, 0);
            effect.kind = Kind::Hash;
            effect.new_value(*to);
        }
        Op::VerifyChecksum { cond, data, checksum, .. } => {
            reads.decided(cond, 0);
            reads.ready(checksum, 0);
            effect.inputs(data);
            effect.new_value(standard.checksum_error);
        }
        Op::UpdateChecksum { cond, data, to, header, .. } => {
            reads.decided(cond, 0);
            if let Some(header) = header {
                reads.flag(program.headers[*header as usize].valid);
            }
            effect.inputs(data);
            effect.changes.push(Change::Partly { to: to.word, words: to.words() });
        }
        Op::MarkToDrop => {
            effect.kind = Kind::Set;
            effect.new_value(standard.egress_spec);
            effect.new_value(standard.mcast_grp);
        }
        Op::Clone { session, .. } => {
            reads.ready(session, 0);
            effect.kind = Kind::Signal;
        }
        Op::Resubmit { .. } | Op::Recirculate { .. } => effect.kind = Kind::Signal,
        Op::Digest { values, .. } => {
            values.iter().for_each(|value| reads.ready(value, 0));
            effect.kind = Kind::Signal;
        }
        Op::Truncate(bytes) => {
            reads.ready(bytes, 0);
            effect.kind = Kind::Signal;
        }
    }
    Some(effect)
}
