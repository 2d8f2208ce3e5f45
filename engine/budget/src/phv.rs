//! The packet header vector: which fields travel with a packet, and from where to where.

use std::collections::{BTreeMap, BTreeSet};

use netkv_ir::{Op, Place, Program, Word};

use crate::dependencies::{Around, Graph};
use crate::effects::Kind;
use crate::place::Schedule;
use crate::report::Phv;
use crate::units::Units;

/// Bits of a stack's count of elements, and of an array's word of which nothing better is known.
const COUNT_BITS: u32 = 8;
const WORD_BITS: u32 = 64;

/// What travels with a packet through a pipeline of so many stages.
pub(crate) fn phv(
    program: &Program,
    graph: &Graph,
    around: &Around<'_>,
    units: &Units,
    schedule: &Schedule,
    stages: u32,
) -> Phv {
    let headers = headers(program);
    let standard: BTreeMap<Word, u32> =
        program.standard_metadata.places().flat_map(parts).collect();
    let mut touched: BTreeSet<Word> = BTreeSet::new();
    // From after which stage until before which one a word is kept: 0 is what comes in, stage s
    // (from 0) is s + 1, and the last number is what comes after.
    let mut kept: BTreeMap<Word, (u32, u32)> = BTreeMap::new();
    let end = stages + 1;
    for id in graph.ids() {
        let node = &graph.nodes[id];
        let Some(unit) = units.of[id] else { continue };
        let stage = schedule.done[unit] + 1;
        let read = if node.kind == Kind::Signal { end } else { stage };
        for word in &node.uses {
            let span = kept.entry(*word).or_insert((end, 0));
            span.1 = span.1.max(read);
        }
        for word in &node.writes {
            let span = kept.entry(*word).or_insert((end, 0));
            span.0 = span.0.min(stage);
        }
        touched.extend(node.uses.iter().chain(&node.writes));
    }
    for word in 0..program.state_words {
        let arrives = !(around.zero)(word);
        if arrives && (around.read_later)(word) {
            kept.entry(word).or_insert((0, end)).1 = end;
        } else if graph.outlive.contains(&word) {
            kept.entry(word).or_insert((end, end)).1 = end;
        }
        if arrives && let Some(span) = kept.get_mut(&word) {
            span.0 = 0;
        }
    }
    let bits = widths(program, graph);
    let mut changes = vec![0i64; end as usize + 1];
    for (word, (from, until)) in kept {
        if from < until && !headers.words.contains(&word) && !standard.contains_key(&word) {
            let bits = i64::from(bits.get(&word).copied().unwrap_or(WORD_BITS));
            changes[from as usize] += bits;
            changes[until as usize] -= bits;
        }
    }
    let (mut now, mut most) = (0, 0);
    for change in changes {
        now += change;
        most = most.max(now);
    }
    let standard = touched.iter().filter_map(|word| standard.get(word)).copied().map(u64::from);
    Phv {
        header_bits: headers.bits,
        metadata_bits: most.unsigned_abs(),
        standard_bits: standard.sum(),
    }
}

/// Headers that come out of a packet or go into one.
struct Headers {
    words: BTreeSet<Word>,
    bits: u64,
}

fn headers(program: &Program) -> Headers {
    let mut ids: BTreeSet<u32> = BTreeSet::new();
    let graphs = [&program.parser, &program.deparser];
    for op in graphs.iter().flat_map(|graph| &graph.blocks).flat_map(|block| &block.ops) {
        match op {
            Op::Extract(header) | Op::ExtractVarbit { header, .. } | Op::Emit(header) => {
                ids.insert(*header);
            }
            Op::ExtractNext(stack) | Op::EmitStack(stack) => {
                let stack = &program.stacks[*stack as usize];
                ids.extend(stack.first..stack.first + stack.size);
            }
            _ => {}
        }
    }
    let mut found = Headers { words: BTreeSet::new(), bits: 0 };
    for id in ids {
        let header = &program.headers[id as usize];
        found.words.insert(header.valid);
        found.words.extend(header.base..header.base + header.words);
        let fields = header.fields.iter().map(|field| u64::from(field.place.width));
        found.bits += 1 + fields.sum::<u64>();
    }
    found
}

/// How much of each word is used.
fn widths(program: &Program, graph: &Graph) -> BTreeMap<Word, u32> {
    let mut bits: BTreeMap<Word, u32> = graph.bits.iter().map(|(w, bits)| (*w, *bits)).collect();
    bits.extend(program.vars.iter().flat_map(|var| parts(var.place)));
    bits.extend(program.headers.iter().map(|header| (header.valid, 1)));
    bits.extend(program.stacks.iter().map(|stack| (stack.next_index, COUNT_BITS)));
    bits
}

fn parts(place: Place) -> impl Iterator<Item = (Word, u32)> {
    (0..place.words()).map(move |at| (place.word + at, (place.width - 64 * at).min(64)))
}
