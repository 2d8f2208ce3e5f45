//! Generates a packet that takes a random path through a program's parser and ingress.
//!
//! The graphs are executed on a packet under construction. At each branch a successor is chosen,
//! and [`crate::solve`] sets the fields of the packet so that the program takes it.

use std::collections::{HashMap, HashSet};

use netkv_ir::{Apply, Block, Cfg, HeaderId, Op, Program, Terminator, Value, Word};

use crate::bits::BitString;
use crate::eval::eval;
use crate::path_builder::{Field, Origin, PathBuilder};
use crate::rng::Rng;
use crate::value_pool::ValuePool;

/// Maximum number of blocks of a path, since a parser may have a loop.
const MAX_BLOCKS: usize = 200;
/// Maximum number of bits of a generated packet, without payload.
const MAX_BITS: usize = 8 * 1400;

/// A packet with the positions of its fields, from which others are mutated.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Its ingress port, if it is significant.
    pub port: Option<u16>,
    /// Fields that the parser reads.
    pub fields: Vec<Field>,
    /// Number of bits that the parser reads.
    pub parsed: usize,
    /// Number of coverage features in a switch; 0 if it is not known.
    pub coverage: usize,
}

/// Generates a packet.
pub fn packet(program: &Program, pool: &mut ValuePool, rng: &mut Rng) -> Template {
    let port = pool.port(rng);
    build(program, port, None, pool, rng)
}

/// Finds the fields of a recorded packet.
pub fn recorded(
    program: &Program,
    port: u16,
    bytes: &[u8],
    pool: &mut ValuePool,
    rng: &mut Rng,
) -> Template {
    let mut template = build(program, port, Some(bytes), pool, rng);
    template.bytes = bytes.to_vec();
    template.fields.retain(|field| field.offset + field.width as usize <= bytes.len() * 8);
    template
}

fn build(
    program: &Program,
    port: u16,
    bytes: Option<&[u8]>,
    pool: &mut ValuePool,
    rng: &mut Rng,
) -> Template {
    let mut builder = PathBuilder {
        generates: bytes.is_none(),
        program,
        words: vec![0; program.state_words as usize],
        pool,
        rng,
        bits: bytes.map(BitString::of_bytes).unwrap_or_default(),
        cursor: 0,
        fields: Vec::new(),
        origins: HashMap::new(),
        fixed_bits: HashSet::new(),
    };
    let place = program.standard_metadata.ingress_port;
    builder.store(place.word, &Value::new(place.width, u128::from(port)));
    builder.run_graph(&program.parser);
    let parsed = builder.cursor;
    if builder.generates {
        let payload = match builder.rng.below(4) {
            0 => 0,
            1 => builder.rng.below(4),
            2 => builder.rng.below(40),
            _ => builder.rng.below(200),
        };
        builder.bits.pad();
        builder.bits.extend(&builder.rng.bytes(payload));
        let length = program.standard_metadata.packet_length;
        let bytes = builder.bits.bytes.len() as u128;
        builder.store(length.word, &Value::new(length.width, bytes));
        builder.run_graph(&program.ingress);
    }
    Template {
        bytes: builder.bits.bytes,
        port: Some(port),
        fields: builder.fields,
        parsed,
        coverage: 0,
    }
}

impl PathBuilder<'_> {
    /// Executes a graph along a random path, to its end or to a parser error.
    fn run_graph(&mut self, graph: &Cfg) {
        let mut at = 0;
        for _ in 0..MAX_BLOCKS {
            let Some(block) = graph.blocks.get(at as usize) else { return };
            if !self.run_operations(block) || self.bits.len() > MAX_BITS {
                return;
            }
            match self.run_terminator(&block.terminator) {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    /// Extends the packet to at least `end` bits.
    fn grow(&mut self, end: usize) {
        while self.bits.len() < end {
            let width = (end - self.bits.len()).min(64) as u32;
            let value = self.pool.value(self.rng, width, None);
            self.bits.append(&value);
        }
    }

    /// Reads a field at the cursor; missing bits of the packet are generated.
    fn field(&mut self, word: Word, width: u32) {
        let offset = self.cursor;
        if self.bits.len() == offset {
            let value = self.pool.value(self.rng, width, Some(word));
            self.bits.append(&value);
        } else {
            self.grow(offset + width as usize);
        }
        let value = self.bits.value(offset, width);
        self.store(word, &value);
        self.origins.insert(word, Origin::new(offset, width));
        self.fields.push(Field { offset, width, word });
        self.cursor += width as usize;
    }

    fn extract(&mut self, header: HeaderId, varbit: u32) {
        let program = self.program;
        let header = &program.headers[header as usize];
        self.words[header.valid as usize] = 1;
        for field in &header.fields {
            match field.varbit_length {
                None => self.field(field.place.word, field.place.width),
                Some(length) => {
                    self.words[length as usize] = u64::from(varbit);
                    self.grow(self.cursor + varbit as usize);
                    self.cursor += varbit as usize;
                }
            }
        }
    }

    /// Executes a block's operations. Returns false if the parser would stop.
    fn run_operations(&mut self, block: &Block) -> bool {
        let program = self.program;
        for op in &block.ops {
            match op {
                Op::Extract(header) => self.extract(*header, 0),
                Op::ExtractNext(stack) => {
                    let stack = &program.stacks[*stack as usize];
                    let next = self.words[stack.next_index as usize];
                    if next >= u64::from(stack.size) {
                        return false;
                    }
                    self.words[stack.next_index as usize] = next + 1;
                    self.extract(stack.first + next as u32, 0);
                }
                Op::ExtractVarbit { header, bits } => {
                    let max_bits = program.headers[*header as usize].fields.iter();
                    let max_bits =
                        max_bits.filter(|f| f.varbit_length.is_some()).map(|f| f.place.width);
                    let max_bits = u64::from(max_bits.max().unwrap_or(0));
                    match eval(program, &self.words, bits) {
                        Some(bits) if bits <= max_bits => self.extract(*header, bits as u32),
                        _ => return false,
                    }
                }
                Op::Lookahead { to, skip, need } => {
                    self.grow(self.cursor + *need as usize);
                    let offset = self.cursor + *skip as usize;
                    let value = self.bits.value(offset, to.width);
                    self.store(to.word, &value);
                    self.origins.insert(to.word, Origin::new(offset, to.width));
                }
                Op::Advance(bits) => {
                    let bits = eval(program, &self.words, bits).unwrap_or(0).min(2048) as usize;
                    self.cursor += bits;
                    self.grow(self.cursor);
                }
                Op::Assign { to, value } => self.copy(to.word, to.width, value),
                Op::CopyWords { to, from, words } => {
                    let (from, to, count) = (*from as usize, *to as usize, *words as usize);
                    self.words.copy_within(from..from + count, to);
                }
                Op::SetValid(header) => {
                    self.words[program.headers[*header as usize].valid as usize] = 1;
                }
                Op::SetInvalid(header) => {
                    let header = &program.headers[*header as usize];
                    self.words[header.valid as usize] = 0;
                }
                Op::ZeroWords { to, words } => {
                    for word in *to..*to + *words {
                        self.words[word as usize] = 0;
                        self.origins.remove(&word);
                    }
                }
                Op::RegisterRead { to, .. } => {
                    let value = self.pool.value(self.rng, to.width, None);
                    self.store(to.word, &value);
                    self.origins.remove(&to.word);
                }
                Op::Verify { cond, .. } => {
                    if self.rng.chance(90) {
                        self.satisfy(cond, true);
                    }
                    self.fix_bits(cond);
                    if self.eval(cond) == Some(0) {
                        return false;
                    }
                }
                Op::Reject => return false,
                _ => {}
            }
        }
        true
    }

    fn run_terminator(&mut self, terminator: &Terminator) -> Option<u32> {
        match terminator {
            Terminator::Jump(block) => Some(*block),
            Terminator::Branch { cond, then, otherwise } => {
                if self.rng.chance(70) {
                    let truth = self.rng.chance(50);
                    self.satisfy(cond, truth);
                }
                self.fix_bits(cond);
                let holds = match self.eval(cond) {
                    Some(value) => value == 1,
                    None => self.rng.chance(50),
                };
                Some(if holds { *then } else { *otherwise })
            }
            Terminator::Select { keys, cases, default } => {
                if let Some(case) = cases.get(self.rng.below(cases.len() + 1)) {
                    self.satisfy_case(keys, case);
                }
                keys.iter().for_each(|key| self.fix_bits(key));
                let taken = cases.iter().find(|case| self.matches(keys, case));
                Some(taken.map_or(*default, |case| case.target))
            }
            Terminator::Apply(apply) => self.apply(apply),
            Terminator::Exit => None,
        }
    }

    /// Applies a table: mostly sets the keys to those of an entry, and selects a random action with
    /// data.
    fn apply(&mut self, apply: &Apply) -> Option<u32> {
        let hits = self.rng.chance(70);
        for key in &apply.keys {
            if hits {
                let value = self.pool.sample(self.rng, key);
                self.assign(key, &value);
            }
            self.fix_bits(key);
        }
        let action = self.rng.below(apply.targets.len());
        let target = apply.targets.get(action)?;
        self.store(apply.hit, &Value::new(1, u128::from(hits)));
        self.store(apply.action_run, &Value::new(32, action as u128));
        for param in &target.params {
            let value = self.pool.value(self.rng, param.width, None);
            self.store(param.word, &value);
            self.origins.remove(&param.word);
        }
        Some(target.block)
    }
}
