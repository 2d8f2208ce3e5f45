//! The effect of an operation: what it reads, and how it changes the state area.

use netkv_ir::{
    CounterId, Expr, HashInput, HeaderId, MeterId, Op, Place, Program, RegisterId, StackId,
    TableId, Word,
};

use crate::reads::{Reads, is_wiring, steps};

/// An object with state or entries. It is in one stage, which a packet passes once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Object {
    Register(RegisterId),
    Counter(CounterId),
    Meter(MeterId),
    Table(TableId),
}

/// The kind of a node of the dependency graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An ALU computes a field.
    Compute,
    /// A field is copied.
    Move,
    /// A field is set to a constant.
    Set,
    /// A condition.
    Branch,
    /// A table is applied.
    Apply(TableId),
    /// A register is read.
    Fetch(RegisterId),
    /// A register is written.
    Store(RegisterId),
    /// A counter is incremented.
    Count(CounterId),
    /// A meter is executed.
    Meter(MeterId),
    /// A hash, or a random number.
    Hash,
    /// An effect after the last stage, such as a clone or a digest.
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

    /// Whether a stateful ALU can execute it between a read and a write of a cell.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Kind::Compute | Kind::Move | Kind::Set | Kind::Branch)
    }
}

/// How an operation changes the state area.
#[derive(Debug)]
pub(crate) enum Change<'a> {
    /// A place is set to the value of an expression.
    Value(Place, &'a Expr),
    /// Words are copied.
    Copy { to: Word, from: Word, words: u32 },
    /// Words are set to 0.
    Zero { to: Word, words: u32 },
    /// A word is set to 1.
    SetOne(Word),
    /// Words are set to values that are unknown to the analysis.
    Unknown { to: Word, words: u32 },
    /// A word is set to the outcome of a table. It is not a field.
    Outcome(Word),
    /// A part of the words changes, or all of them on some paths.
    Partial { to: Word, words: u32 },
    /// The validity of a header changes: its fields are not written, but may read differently.
    Reinterpret { to: Word, words: u32 },
}

/// The effect of an operation.
pub(crate) struct Effect<'a> {
    pub(crate) kind: Kind,
    pub(crate) reads: Reads<'a>,
    pub(crate) changes: Vec<Change<'a>>,
    /// The index into a register, counter or meter.
    pub(crate) index: Option<&'a Expr>,
    /// Length of the longest chain of ALU operations.
    pub(crate) steps: u32,
}

impl<'a> Effect<'a> {
    pub(crate) fn new(program: &'a Program, kind: Kind) -> Self {
        Self { kind, reads: Reads::new(program), changes: Vec::new(), index: None, steps: 0 }
    }

    fn new_value(&mut self, place: Place) {
        self.changes.push(Change::Unknown { to: place.word, words: place.words() });
    }

    fn header(&mut self, header: HeaderId) {
        let header = &self.reads.program.headers[header as usize];
        self.changes.push(Change::Unknown { to: header.valid, words: 1 });
        self.changes.push(Change::Unknown { to: header.base, words: header.words });
    }

    fn read_header(&mut self, header: HeaderId) {
        let header = &self.reads.program.headers[header as usize];
        self.reads.flag(header.valid);
        self.reads.words(header.base, header.words, 0);
    }

    /// Adds a partial change of a place in every element of a stack.
    fn elements(&mut self, stack: StackId, place: Place) {
        let stack = &self.reads.program.stacks[stack as usize];
        for element in 0..stack.size {
            let to = place.word + element * stack.stride;
            self.changes.push(Change::Partial { to, words: place.words() });
        }
    }

    fn whole_stack(&mut self, stack: StackId) {
        let stack = &self.reads.program.stacks[stack as usize];
        let (to, words) = (stack.next_index, 1 + stack.size * stack.stride);
        self.reads.words(to, words, 0);
        self.changes.push(Change::Unknown { to, words });
    }

    fn inputs(&mut self, data: &[HashInput]) {
        for input in data {
            self.reads.operand(&input.value, 0);
            input.varbit_length.iter().for_each(|word| self.reads.words(*word, 1, 0));
            if let Some(header) = input.header {
                let valid = self.reads.program.headers[header as usize].valid;
                self.reads.flag(valid);
            }
        }
    }
}

/// The effect of an operation; None if it has none on a switch.
pub(crate) fn of<'a>(program: &'a Program, op: &'a Op) -> Option<Effect<'a>> {
    let mut effect = Effect::new(program, Kind::Compute);
    let reads = &mut effect.reads;
    let standard = &program.standard_metadata;
    match op {
        Op::Assign { to, value } => {
            reads.result(value, 0);
            effect.steps = steps(value);
            effect.changes.push(Change::Value(*to, value));
            effect.kind = match value {
                Expr::Const(_) => Kind::Set,
                value if is_wiring(value) => Kind::Move,
                _ => Kind::Compute,
            };
        }
        Op::AssignSlice { to, value, .. } => {
            reads.result(value, 0);
            effect.steps = steps(value);
            effect.changes.push(Change::Partial { to: to.word, words: to.words() });
            effect.kind = if is_wiring(value) { Kind::Move } else { Kind::Compute };
        }
        Op::StoreElement { stack, index, place, value } => {
            reads.operand(index, 0);
            reads.result(value, 0);
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
            effect.changes.push(Change::SetOne(header.valid));
            effect.changes.push(Change::Reinterpret { to: header.base, words: header.words });
        }
        Op::SetInvalid(header) => {
            let header = &program.headers[*header as usize];
            effect.kind = Kind::Set;
            effect.changes.push(Change::Zero { to: header.valid, words: 1 });
            effect.changes.push(Change::Reinterpret { to: header.base, words: header.words });
        }
        Op::SetValidElement { stack, index, .. } => {
            reads.operand(index, 0);
            let first = program.stacks[*stack as usize].first;
            let word = program.headers[first as usize].valid;
            effect.elements(*stack, Place { word, width: 1 });
        }
        Op::PushFront { stack, .. } | Op::PopFront { stack, .. } => effect.whole_stack(*stack),
        Op::Extract(header) => effect.header(*header),
        Op::ExtractVarbit { header, bits } => {
            reads.operand(bits, 0);
            effect.header(*header);
        }
        Op::ExtractNext(stack) => effect.whole_stack(*stack),
        Op::CheckStackLast(stack) => {
            reads.words(program.stacks[*stack as usize].next_index, 1, 0);
        }
        Op::Lookahead { to, .. } => effect.new_value(*to),
        Op::Advance(value) => reads.operand(value, 0),
        Op::Verify { cond, error } => {
            reads.condition(cond, 0);
            reads.operand(error, 0);
            effect.new_value(standard.parser_error);
        }
        Op::Reject | Op::Log { .. } | Op::Assert { .. } => return None,
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
            reads.operand(index, 0);
            effect.index = Some(index);
            effect.kind = Kind::Fetch(*register);
            effect.new_value(*to);
        }
        Op::RegisterWrite { register, index, value } => {
            reads.operand(index, 0);
            reads.result(value, 0);
            effect.steps = steps(value);
            effect.index = Some(index);
            effect.kind = Kind::Store(*register);
        }
        Op::Count { counter, index } => {
            reads.operand(index, 0);
            effect.index = Some(index);
            effect.kind = Kind::Count(*counter);
        }
        Op::ExecuteMeter { meter, index, to } => {
            reads.operand(index, 0);
            effect.index = Some(index);
            effect.kind = Kind::Meter(*meter);
            effect.new_value(*to);
        }
        // A direct meter is executed with the table; its colour needs no index.
        Op::ReadDirectMeter { to, .. } => effect.new_value(*to),
        Op::Hash { to, base, data, max, .. } => {
            reads.operand(base, 0);
            reads.operand(max, 0);
            effect.kind = Kind::Hash;
            effect.inputs(data);
            effect.new_value(*to);
        }
        Op::Random { to, low, high } => {
            reads.operand(low, 0);
            reads.operand(high, 0);
            effect.kind = Kind::Hash;
            effect.new_value(*to);
        }
        Op::VerifyChecksum { cond, data, checksum, .. } => {
            reads.condition(cond, 0);
            reads.operand(checksum, 0);
            effect.inputs(data);
            effect.new_value(standard.checksum_error);
        }
        Op::UpdateChecksum { cond, data, to, header, .. } => {
            reads.condition(cond, 0);
            if let Some(header) = header {
                reads.flag(program.headers[*header as usize].valid);
            }
            effect.inputs(data);
            effect.changes.push(Change::Partial { to: to.word, words: to.words() });
        }
        Op::MarkToDrop => {
            effect.kind = Kind::Set;
            effect.new_value(standard.egress_spec);
            effect.new_value(standard.mcast_grp);
        }
        Op::Clone { session, .. } => {
            reads.operand(session, 0);
            effect.kind = Kind::Signal;
        }
        Op::Resubmit { .. } | Op::Recirculate { .. } => effect.kind = Kind::Signal,
        Op::Digest { values, .. } => {
            values.iter().for_each(|value| reads.operand(value, 0));
            effect.kind = Kind::Signal;
        }
        Op::Truncate(bytes) => {
            reads.operand(bytes, 0);
            effect.kind = Kind::Signal;
        }
    }
    Some(effect)
}
