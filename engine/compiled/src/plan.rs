//! What is settled about a program before code is made for it: where each word of the state area
//! lives, and which words each graph touches.

use netkv_ir::{Cfg, Expr, HashInput, Op, Place, Program, Terminator, Word};

use netkv_dataplane::Graph;

/// A set of words of the state area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words(Vec<bool>);

impl Words {
    fn none(program: &Program) -> Self {
        Self(vec![false; program.state_words as usize])
    }

    pub(crate) fn contains(&self, word: Word) -> bool {
        self.0[word as usize]
    }

    fn add(&mut self, word: Word, words: u32) {
        self.0[word as usize..(word + words) as usize].fill(true);
    }

    fn place(&mut self, place: Place) {
        self.add(place.word, place.words());
    }

    /// The words in it, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Word> {
        (0..).zip(&self.0).filter(|(_, inside)| **inside).map(|(word, _)| word)
    }

    pub(crate) fn union(&mut self, other: &Words) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine |= other;
        }
    }
}

/// What is settled about a program.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Words that live in memory, because code reaches them by a run-time index or a helper does;
    /// all others are values of the code.
    pub(crate) in_memory: Words,
    /// Words that a graph mentions at all, by graph.
    pub(crate) touched: Vec<Words>,
    /// Words that the switch itself reads or writes between graphs.
    pub(crate) outside: Words,
    /// Bytes that the headers may take on the wire together.
    pub(crate) header_bytes: usize,
    /// Most words of the keys of a table or select, of a digest, and bytes of a hash's input.
    pub(crate) key_words: usize,
    pub(crate) digest_words: usize,
    pub(crate) hash_bytes: usize,
}

impl Plan {
    pub(crate) fn new(program: &Program) -> Self {
        let mut plan = Self {
            in_memory: in_memory(program),
            touched: Vec::new(),
            outside: outside(program),
            header_bytes: 0,
            key_words: 1,
            digest_words: 1,
            hash_bytes: 8,
        };
        for graph in Graph::ALL {
            let mut touched = Words::none(program);
            let mut visit = Visit { program, touched: &mut touched };
            visit.cfg(graph.of(program));
            plan.touched.push(touched);
            plan.buffers(graph.of(program));
        }
        // A header may be emitted more than once.
        for block in &program.deparser.blocks {
            for op in &block.ops {
                plan.header_bytes += match op {
                    Op::Emit(header) => header_bytes(program, *header),
                    Op::EmitStack(stack) => {
                        let stack = &program.stacks[*stack as usize];
                        (stack.first..stack.first + stack.size)
                            .map(|header| header_bytes(program, header))
                            .sum()
                    }
                    _ => 0,
                };
            }
        }
        plan
    }

    /// Words that matter to what comes after ingress or egress has ended early.
    pub(crate) fn kept(&self) -> Words {
        let mut kept = self.outside.clone();
        for graph in [Graph::Egress, Graph::ComputeChecksum, Graph::Deparser] {
            kept.union(&self.touched[graph as usize]);
        }
        kept
    }

    fn buffers(&mut self, cfg: &Cfg) {
        let words = |exprs: &[Expr]| -> usize {
            exprs.iter().map(|expr| expr.width().div_ceil(64) as usize).sum()
        };
        let bytes = |data: &[HashInput]| -> usize {
            data.iter().map(|input| input.value.width().div_ceil(8) as usize).sum()
        };
        for block in &cfg.blocks {
            for op in &block.ops {
                match op {
                    Op::Digest { values, .. } => {
                        self.digest_words = self.digest_words.max(words(values));
                    }
                    Op::Hash { data, .. }
                    | Op::VerifyChecksum { data, .. }
                    | Op::UpdateChecksum { data, .. } => {
                        self.hash_bytes = self.hash_bytes.max(bytes(data) + crate::context::SLACK);
                    }
                    _ => {}
                }
            }
            let keys = match &block.terminator {
                Terminator::Select { keys, .. } => keys.as_slice(),
                Terminator::Apply(apply) => &apply.keys,
                _ => &[],
            };
            self.key_words = self.key_words.max(words(keys));
            self.hash_bytes = self.hash_bytes.max(8 * words(keys) + crate::context::SLACK);
        }
    }
}

fn header_bytes(program: &Program, header: u32) -> usize {
    let fields = &program.headers[header as usize].fields;
    fields.iter().map(|field| field.place.width as usize).sum::<usize>().div_ceil(8)
}

/// Stacks with run-time indices, and headers with a varbit.
fn in_memory(program: &Program) -> Words {
    let mut memory = Words::none(program);
    let stack = |memory: &mut Words, id: u32| {
        let stack = &program.stacks[id as usize];
        for header in &program.headers[stack.first as usize..(stack.first + stack.size) as usize] {
            memory.add(header.valid, 1);
            memory.add(header.base, header.words);
        }
    };
    for header in &program.headers {
        if header.fields.iter().any(|field| field.varbit_length.is_some()) {
            memory.add(header.valid, 1);
            memory.add(header.base, header.words);
        }
    }
    let mut by_index = Vec::new();
    for graph in Graph::ALL {
        for block in &graph.of(program).blocks {
            for op in &block.ops {
                match op {
                    Op::StoreElement { stack, index, .. }
                    | Op::SetValidElement { stack, index, .. }
                        if !matches!(index, Expr::Const(_)) =>
                    {
                        by_index.push(*stack);
                    }
                    Op::ExtractNext(stack) => by_index.push(*stack),
                    _ => {}
                }
                op_exprs(op, &mut |expr| indexed(expr, &mut by_index));
            }
            terminator_exprs(&block.terminator, &mut |expr| indexed(expr, &mut by_index));
        }
    }
    by_index.into_iter().for_each(|id| stack(&mut memory, id));
    memory
}

fn indexed(expr: &Expr, stacks: &mut Vec<u32>) {
    if let Expr::LoadElement { stack, index, .. } = expr
        && !matches!(**index, Expr::Const(_))
    {
        stacks.push(*stack);
    }
}

fn outside(program: &Program) -> Words {
    let mut words = Words::none(program);
    let standard = &program.standard_metadata;
    let own = [standard.checksum_error, standard.priority]; // only programs write and read them
    for place in standard.places().filter(|place| !own.contains(place)) {
        words.place(place);
    }
    for list in &program.field_lists {
        list.places.iter().for_each(|place| words.place(*place));
        list.regions.iter().for_each(|(word, count)| words.add(*word, *count));
    }
    words
}

/// Calls `visit` for every expression of an operation, parts included.
fn op_exprs(op: &Op, visit: &mut impl FnMut(&Expr)) {
    match op {
        Op::Assign { value, .. } | Op::AssignSlice { value, .. } => all(value, visit),
        Op::StoreElement { index, value, .. } | Op::RegisterWrite { index, value, .. } => {
            all(index, visit);
            all(value, visit);
        }
        Op::SetValidElement { index, .. }
        | Op::RegisterRead { index, .. }
        | Op::Count { index, .. }
        | Op::ExecuteMeter { index, .. } => all(index, visit),
        Op::ExtractVarbit { bits, .. } | Op::Advance(bits) | Op::Truncate(bits) => all(bits, visit),
        Op::Verify { cond, error } => {
            all(cond, visit);
            all(error, visit);
        }
        Op::Hash { base, data, max, .. } => {
            all(base, visit);
            all(max, visit);
            data.iter().for_each(|input| all(&input.value, visit));
        }
        Op::Random { low, high, .. } => {
            all(low, visit);
            all(high, visit);
        }
        Op::VerifyChecksum { cond, data, checksum, .. } => {
            all(cond, visit);
            all(checksum, visit);
            data.iter().for_each(|input| all(&input.value, visit));
        }
        Op::UpdateChecksum { cond, data, .. } => {
            all(cond, visit);
            data.iter().for_each(|input| all(&input.value, visit));
        }
        Op::Clone { session, .. } => all(session, visit),
        Op::Digest { values, .. } => values.iter().for_each(|value| all(value, visit)),
        Op::Assert(cond) => all(cond, visit),
        _ => {}
    }
}

fn terminator_exprs(terminator: &Terminator, visit: &mut impl FnMut(&Expr)) {
    match terminator {
        Terminator::Branch { cond, .. } => all(cond, visit),
        Terminator::Select { keys, .. } => keys.iter().for_each(|key| all(key, visit)),
        Terminator::Apply(apply) => apply.keys.iter().for_each(|key| all(key, visit)),
        Terminator::Jump(_) | Terminator::Exit => {}
    }
}

fn all(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    visit(expr);
    match expr {
        Expr::Const(_) | Expr::Load(_) | Expr::PacketLength => {}
        Expr::LoadElement { index: arg, .. }
        | Expr::Unary { arg, .. }
        | Expr::Slice { arg, .. } => all(arg, visit),
        Expr::Binary { left, right, .. } | Expr::Concat(left, right) => {
            all(left, visit);
            all(right, visit);
        }
        Expr::Mux { cond, then, otherwise } => {
            all(cond, visit);
            all(then, visit);
            all(otherwise, visit);
        }
    }
}

/// Collects the words that a graph mentions.
struct Visit<'a> {
    program: &'a Program,
    touched: &'a mut Words,
}

impl Visit<'_> {
    fn cfg(&mut self, cfg: &Cfg) {
        for block in &cfg.blocks {
            for op in &block.ops {
                op_exprs(op, &mut |expr| self.expr(expr));
                self.op(op);
            }
            terminator_exprs(&block.terminator, &mut |expr| self.expr(expr));
            if let Terminator::Apply(apply) = &block.terminator {
                self.touched.add(apply.hit, 1);
                self.touched.add(apply.action_run, 1);
                let params = apply.targets.iter().flat_map(|target| &target.params);
                params.for_each(|place| self.touched.place(*place));
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Load(place) => self.touched.place(*place),
            Expr::LoadElement { stack, .. } => self.stack(*stack),
            _ => {}
        }
    }

    fn header(&mut self, header: u32) {
        let header = &self.program.headers[header as usize];
        self.touched.add(header.valid, 1);
        self.touched.add(header.base, header.words);
    }

    fn stack(&mut self, stack: u32) {
        let stack = &self.program.stacks[stack as usize];
        self.touched.add(stack.next_index, 1);
        (stack.first..stack.first + stack.size).for_each(|header| self.header(header));
    }

    fn inputs(&mut self, data: &[HashInput]) {
        for input in data {
            input.varbit_length.iter().for_each(|word| self.touched.add(*word, 1));
            input.header.iter().for_each(|header| self.header(*header));
        }
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Assign { to, .. }
            | Op::AssignSlice { to, .. }
            | Op::Lookahead { to, .. }
            | Op::RegisterRead { to, .. }
            | Op::ExecuteMeter { to, .. }
            | Op::ReadDirectMeter { to, .. }
            | Op::Random { to, .. } => self.touched.place(*to),
            Op::StoreElement { stack, .. }
            | Op::SetValidElement { stack, .. }
            | Op::PushFront { stack, .. }
            | Op::PopFront { stack, .. }
            | Op::ExtractNext(stack)
            | Op::CheckStackLast(stack)
            | Op::EmitStack(stack) => self.stack(*stack),
            Op::CopyHeader { to, from } => {
                self.header(*to);
                self.header(*from);
            }
            Op::CopyWords { to, from, words } => {
                self.touched.add(*to, *words);
                self.touched.add(*from, *words);
            }
            Op::ZeroWords { to, words } => self.touched.add(*to, *words),
            Op::SetValid(header)
            | Op::SetInvalid(header)
            | Op::Extract(header)
            | Op::ExtractVarbit { header, .. }
            | Op::Emit(header) => self.header(*header),
            Op::Hash { to, data, .. } => {
                self.touched.place(*to);
                self.inputs(data);
            }
            Op::VerifyChecksum { data, .. } => {
                self.inputs(data);
                self.touched.place(self.program.standard_metadata.checksum_error);
            }
            Op::UpdateChecksum { data, to, header, .. } => {
                self.touched.place(*to);
                self.inputs(data);
                header.iter().for_each(|header| self.header(*header));
            }
            Op::MarkToDrop => {
                self.touched.place(self.program.standard_metadata.egress_spec);
                self.touched.place(self.program.standard_metadata.mcast_grp);
            }
            Op::Advance(_)
            | Op::Verify { .. }
            | Op::Reject
            | Op::RegisterWrite { .. }
            | Op::Count { .. }
            | Op::Clone { .. }
            | Op::Resubmit { .. }
            | Op::Recirculate { .. }
            | Op::Digest { .. }
            | Op::Truncate(_)
            | Op::Log { .. }
            | Op::Assert(_) => {}
        }
    }
}
