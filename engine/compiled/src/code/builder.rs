//! A function under construction: the words of the state area, calls of helpers, and blocks.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, AliasRegion, Block, InstBuilder, MemFlags, Signature, StackSlotData, StackSlotKind,
    Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use netkv_dataplane::Graph;
use netkv_ir::{Expr, Place, Program, Word};

use super::cells::CellWords;
use super::copy_loop::Copies;
use super::recirculation_start::Start;
use crate::context::Context;
use crate::plan::Plan;
use crate::position::Position;
use crate::shapes::Shapes;

/// Values of a packet that are not in the state area.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketVars {
    /// Bytes parsed.
    pub(super) cursor: Variable,
    pub(super) length: Variable,
    pub(super) flags: Variable,
    pub(super) clone_session: Variable,
    pub(super) clone_list: Variable,
    pub(super) resubmit_list: Variable,
    pub(super) recirculate_list: Variable,
    /// The same of the pass before.
    pub(super) list_before: Variable,
    pub(super) digest: Variable,
    pub(super) truncate: Variable,
    /// Bytes written to the output.
    pub(super) written: Variable,
    /// Remaining blocks that a graph with a cycle may run.
    pub(super) fuel: Variable,
}

/// A function under construction.
pub(super) struct Builder<'a> {
    pub(super) b: FunctionBuilder<'a>,
    pub(super) program: &'a Program,
    pub(super) plan: &'a Plan,
    pub(super) shapes: &'a Shapes,
    pub(super) context: Value,
    pub(super) frame: Value,
    pub(super) frame_length: Value,
    /// Where the payload of the frame is, and its first byte that is not in `frame`, if some are
    /// not.
    pub(super) payload: Value,
    pub(super) payload_start: Option<Value>,
    pub(super) out: Value,
    pub(super) state: Value,
    pub(super) vars: PacketVars,
    words: Vec<Variable>,
    /// The current graph, and the block that follows it after an error of the parser.
    pub(super) graph: Graph,
    pub(super) end: Block,
    /// The block that follows the graph if the current block ends it.
    pub(super) exit: Block,
    zero: Value,
    one: Value,
    /// Whether the packet is recirculated, and not sent.
    pub(super) recirculated: bool,
    /// Whether the function only computes slots to prefetch.
    pub(super) only_slot: bool,
    /// The copies of a multicast packet, of which the current one is compiled.
    pub(super) copies: Option<Copies>,
    /// Words of a copy that are read from the stack where they are needed.
    pub(super) in_slots: HashMap<Word, cranelift_codegen::ir::StackSlot>,
    /// The recirculations that packets can go on with, and whether the current pass is one.
    pub(super) recirculations: Vec<Start<'a>>,
    pub(super) in_recirculation: bool,
    /// The parser's position in the current block, as far as it is statically known.
    pub(super) position: Position,
    /// Values that are bits of the received frame: the first bit, and how many.
    pub(super) origins: HashMap<Value, (u32, u32)>,
    /// Values that are words of register cells.
    pub(super) cells: CellWords,
    /// Values of the headers that the deparser has emitted and that are not written yet, with their
    /// widths.
    pub(super) emitted: Vec<(Vec<Value>, u32)>,
    /// Flags of loads from the frame. In a parser with a loop they cannot be combined or moved.
    pub(super) frame_flags: MemFlags,
}

/// Registers, counters and tables.
pub(super) fn objects_memory() -> MemFlags {
    MemFlags::new().with_notrap().with_alias_region(Some(AliasRegion::Heap))
}

/// The context and the state area.
pub(super) fn context_memory() -> MemFlags {
    MemFlags::new().with_notrap().with_alias_region(Some(AliasRegion::Vmctx))
}

/// The sent frame.
pub(super) fn out_memory() -> MemFlags {
    MemFlags::new().with_notrap().with_alias_region(Some(AliasRegion::Table))
}

/// The received frame.
pub(super) fn frame_memory(movable: bool) -> MemFlags {
    let flags = MemFlags::new().with_notrap();
    if movable { flags.with_readonly().with_can_move() } else { flags }
}

/// Offset of a field of the context.
macro_rules! field {
    ($($field:ident).+) => {
        std::mem::offset_of!($crate::context::Context, $($field).+) as i32
    };
}
pub(super) use field;

impl<'a> Builder<'a> {
    /// Starts a function; its entry block is the current one.
    pub(super) fn new(
        mut b: FunctionBuilder<'a>,
        program: &'a Program,
        plan: &'a Plan,
        shapes: &'a Shapes,
    ) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let context = b.block_params(entry)[0];
        let words = (0..program.state_words).map(|_| b.declare_var(types::I64)).collect();
        let mut var = || b.declare_var(types::I64);
        let vars = PacketVars {
            cursor: var(),
            length: var(),
            flags: var(),
            clone_session: var(),
            clone_list: var(),
            resubmit_list: var(),
            recirculate_list: var(),
            list_before: var(),
            digest: var(),
            truncate: var(),
            written: var(),
            fuel: var(),
        };
        let constant = MemFlags::new().with_notrap().with_readonly().with_can_move();
        let mut load = |offset| b.ins().load(types::I64, constant, context, offset);
        let (frame, frame_length) = (load(field!(frame)), load(field!(frame_length)));
        let (out, state) = (load(field!(out)), load(field!(state)));
        let [zero, one] = [0, 1].map(|value| b.ins().iconst(types::I64, value));
        Self {
            context,
            frame,
            frame_length,
            payload: frame,
            payload_start: None,
            out,
            state,
            vars,
            words,
            graph: Graph::Parser,
            end: entry,
            exit: entry,
            recirculated: false,
            only_slot: false,
            copies: None,
            in_slots: HashMap::new(),
            recirculations: Vec::new(),
            in_recirculation: false,
            zero,
            one,
            position: Position::default(),
            frame_flags: frame_memory(true),
            origins: HashMap::new(),
            cells: CellWords::default(),
            emitted: Vec::new(),
            b,
            program,
            plan,
            shapes,
        }
    }

    /// A constant. 0 and 1 are each one value in the whole function, so that they remain constants
    /// where paths with the same constant meet.
    pub(super) fn constant(&mut self, value: u64) -> Value {
        match value {
            0 => self.zero,
            1 => self.one,
            _ => self.b.ins().iconst(types::I64, value as i64),
        }
    }

    /// Whether a value is the constant 0.
    pub(super) fn is_zero(&self, value: Value) -> bool {
        self.b.func.dfg.resolve_aliases(value) == self.zero
    }

    /// Whether a value is the constant 1.
    pub(super) fn is_one(&self, value: Value) -> bool {
        self.b.func.dfg.resolve_aliases(value) == self.one
    }

    /// The conjunction of two values of one bit.
    pub(super) fn and(&mut self, one: Value, other: Value) -> Value {
        if self.is_zero(one) || self.is_one(other) {
            one
        } else if self.is_zero(other) || self.is_one(one) {
            other
        } else {
            self.b.ins().band(one, other)
        }
    }

    /// `then` if `cond` is not 0.
    pub(super) fn either(&mut self, cond: Value, then: Value, otherwise: Value) -> Value {
        if self.is_zero(cond) {
            otherwise
        } else if self.is_one(cond) {
            then
        } else {
            self.b.ins().select(cond, then, otherwise)
        }
    }

    /// A field of the context.
    pub(super) fn context_load(&mut self, offset: i32) -> Value {
        self.b.ins().load(types::I64, context_memory(), self.context, offset)
    }

    pub(super) fn context_store(&mut self, offset: i32, value: Value) {
        self.b.ins().store(context_memory(), value, self.context, offset);
    }

    /// A field of the context that is constant during the call.
    pub(super) fn context_constant(&mut self, offset: i32) -> Value {
        let flags = MemFlags::new().with_notrap().with_readonly().with_can_move();
        self.b.ins().load(types::I64, flags, self.context, offset)
    }

    /// Reads the address of the frame again, at the start of a loop. Cranelift then reads its
    /// fields where they are needed, and not before the loop.
    pub(super) fn reload_frame(&mut self) {
        let frame = self.context_load(field!(frame));
        self.set_frame(frame);
    }

    /// Sets the address of the frame; a payload that is in it moves with it.
    pub(super) fn set_frame(&mut self, frame: Value) {
        if self.payload == self.frame {
            self.payload = frame;
        }
        self.frame = frame;
    }

    fn offset(word: Word) -> i32 {
        // The front end limits programs to 2^22 words.
        word as i32 * 8
    }

    /// A word of the state area.
    pub(super) fn get(&mut self, word: Word) -> Value {
        if self.plan.in_memory.contains(word) {
            self.b.ins().load(types::I64, context_memory(), self.state, Self::offset(word))
        } else if let Some(slot) = self.in_slots.get(&word) {
            self.b.ins().stack_load(types::I64, *slot, 0)
        } else {
            self.b.use_var(self.words[word as usize])
        }
    }

    /// Sets a word of the state area.
    pub(super) fn set(&mut self, word: Word, value: Value) {
        if self.plan.in_memory.contains(word) {
            self.b.ins().store(context_memory(), value, self.state, Self::offset(word));
        } else {
            self.in_slots.remove(&word);
            self.b.def_var(self.words[word as usize], value);
        }
    }

    pub(super) fn load(&mut self, place: Place) -> Vec<Value> {
        (place.word..place.word + place.words()).map(|word| self.get(word)).collect()
    }

    pub(super) fn store(&mut self, place: Place, value: &[Value]) {
        for (word, value) in (place.word..).zip(value) {
            self.set(word, *value);
        }
    }

    /// Sets a place to a number, truncated to its width.
    pub(super) fn store_number(&mut self, place: Place, value: Value) {
        let low = self.truncate_to(value, place.width.min(64));
        self.set(place.word, low);
        self.zero(place.word + 1, place.words() - 1);
    }

    pub(super) fn store_constant(&mut self, place: Place, value: u64) {
        let value = self.constant(value);
        self.store_number(place, value);
    }

    pub(super) fn zero(&mut self, first: Word, words: u32) {
        if words > 0 {
            let zero = self.constant(0);
            (first..first + words).for_each(|word| self.set(word, zero));
        }
    }

    /// Loads words that are SSA values from the state area of a packet in memory.
    pub(super) fn load_words(&mut self, words: impl Iterator<Item = Word>) {
        for word in words {
            if !self.plan.in_memory.contains(word) {
                let offset = Self::offset(word);
                let value = self.b.ins().load(types::I64, context_memory(), self.state, offset);
                self.b.def_var(self.words[word as usize], value);
            }
        }
    }

    /// Stores words that are SSA values to the state area.
    pub(super) fn store_words(&mut self, words: impl Iterator<Item = Word>) {
        for word in words {
            if !self.plan.in_memory.contains(word) {
                let value = self.get(word);
                let offset = Self::offset(word);
                self.b.ins().store(context_memory(), value, self.state, offset);
            }
        }
    }

    /// Stores a value to a word of a state area in memory, also if the word is an SSA value.
    pub(super) fn store_word(&mut self, state: Value, word: Word, value: Value) {
        self.b.ins().store(context_memory(), value, state, Self::offset(word));
    }

    /// The element at an index: its distance in bytes from element 0, and whether it exists. If the
    /// index is out of range, the distance is 0.
    pub(super) fn element(&mut self, stack: u32, index: &Expr) -> (Value, Value) {
        let stack = &self.program.stacks[stack as usize];
        let index = self.saturated(index);
        let inside = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, index, i64::from(stack.size));
        let distance = self.b.ins().imul_imm(index, i64::from(stack.stride) * 8);
        let zero = self.constant(0);
        (self.b.ins().select(inside, distance, zero), inside)
    }

    /// The place in the element at a constant index; none if the index depends on the packet.
    pub(super) fn constant_element(
        &self,
        stack: u32,
        index: &Expr,
        place: Place,
    ) -> Option<Element> {
        let Expr::Const(index) = index else { return None };
        let stack = &self.program.stacks[stack as usize];
        let high = index.words[1..].iter().any(|word| *word != 0);
        if high || index.words[0] >= u64::from(stack.size) {
            return Some(Element::Nowhere);
        }
        let word = place.word + index.words[0] as u32 * stack.stride;
        Some(Element::At(Place { word, ..place }))
    }

    pub(super) fn load_element(&mut self, stack: u32, index: &Expr, place: Place) -> Vec<Value> {
        match self.constant_element(stack, index, place) {
            Some(Element::At(place)) => return self.load(place),
            Some(Element::Nowhere) => {
                return vec![self.constant(0); place.words() as usize];
            }
            None => {}
        }
        let (distance, inside) = self.element(stack, index);
        let at = self.b.ins().iadd(self.state, distance);
        let zero = self.constant(0);
        (place.word..place.word + place.words())
            .map(|word| {
                let offset = Self::offset(word);
                let value = self.b.ins().load(types::I64, context_memory(), at, offset);
                self.b.ins().select(inside, value, zero)
            })
            .collect()
    }

    /// Stores to a place in the element at `distance` bytes, which must exist.
    pub(super) fn store_at(&mut self, distance: Value, word: Word, value: &[Value]) {
        let at = self.b.ins().iadd(self.state, distance);
        for (word, value) in (word..).zip(value) {
            self.b.ins().store(context_memory(), *value, at, Self::offset(word));
        }
    }

    /// Loads a word of the element at `distance` bytes.
    pub(super) fn load_at(&mut self, distance: Value, word: Word) -> Value {
        let at = self.b.ins().iadd(self.state, distance);
        self.b.ins().load(types::I64, context_memory(), at, Self::offset(word))
    }

    /// Calls a helper: the context, then `args`. Returns its result if it has one.
    pub(super) fn call(
        &mut self,
        helper: *const (),
        args: &[Value],
        result: bool,
    ) -> Option<Value> {
        let mut all = vec![self.context];
        all.extend_from_slice(args);
        self.call_without_context(helper, &all, result)
    }

    /// As [`Builder::call`], for a helper that needs no context.
    pub(super) fn call_without_context(
        &mut self,
        helper: *const (),
        args: &[Value],
        result: bool,
    ) -> Option<Value> {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params = vec![AbiParam::new(types::I64); args.len()];
        if result {
            signature.returns.push(AbiParam::new(types::I64));
        }
        let signature = self.b.import_signature(signature);
        let address = self.constant(helper as u64);
        let call = self.b.ins().call_indirect(signature, address, args);
        self.b.inst_results(call).first().copied()
    }

    /// As [`Builder::call`], for a helper with a result.
    pub(super) fn call_for_result(&mut self, helper: *const (), args: &[Value]) -> Value {
        self.call(helper, args, true).expect("the helper was declared with a result")
    }

    /// Stores words on the stack for a helper. Returns their address.
    pub(super) fn spill(&mut self, words: &[Value]) -> Value {
        let size = words.len() as u32 * 8;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3);
        let slot = self.b.create_sized_stack_slot(data);
        for (i, word) in words.iter().enumerate() {
            self.b.ins().stack_store(*word, slot, i as i32 * 8);
        }
        self.b.ins().stack_addr(types::I64, slot, 0)
    }

    pub(super) fn reload(&mut self, at: Value, words: usize) -> Vec<Value> {
        let flags = MemFlags::new().with_notrap();
        (0..words).map(|i| self.b.ins().load(types::I64, flags, at, i as i32 * 8)).collect()
    }

    /// Creates a block.
    pub(super) fn new_block(&mut self) -> Block {
        self.b.create_block()
    }

    /// Makes a block the current one. No further jump to it may be added.
    pub(super) fn enter(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
    }

    /// Runs `body` only if `cond` is not 0.
    pub(super) fn emit_if(&mut self, cond: Value, body: impl FnOnce(&mut Self)) {
        if self.is_zero(cond) {
            return;
        }
        if self.is_one(cond) {
            body(self);
            return;
        }
        let (then, after) = (self.new_block(), self.new_block());
        self.b.ins().brif(cond, then, &[], after, &[]);
        self.enter(then);
        body(self);
        self.b.ins().jump(after, &[]);
        self.enter(after);
    }

    /// Runs one of two bodies.
    pub(super) fn emit_if_else(
        &mut self,
        cond: Value,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        match self.number(cond) {
            Some(0) => return otherwise(self),
            Some(_) => return then(self),
            None => {}
        }
        let (yes, no, after) = (self.new_block(), self.new_block(), self.new_block());
        self.b.ins().brif(cond, yes, &[], no, &[]);
        self.enter(yes);
        then(self);
        self.b.ins().jump(after, &[]);
        self.enter(no);
        otherwise(self);
        self.b.ins().jump(after, &[]);
        self.enter(after);
    }

    /// Adds 1 to a count at `offset` in the memory that a field of the context points to.
    pub(super) fn count(&mut self, field: i32, offset: usize) {
        let counts = self.context_constant(field);
        let (flags, offset) = (objects_memory(), offset as i32);
        let value = self.b.ins().load(types::I64, flags, counts, offset);
        let value = self.b.ins().iadd_imm(value, 1);
        self.b.ins().store(flags, value, counts, offset);
    }
}

/// The place of an element at a constant index.
pub(super) enum Element {
    At(Place),
    /// Out of range.
    Nowhere,
}

// Offsets must fit into the 32 bits of an instruction.
const _: () = assert!(size_of::<Context>() < 4096);
