//! The size of the packet header vector (PHV): the fields that travel with a packet, and the
//! stages across which each of them is live.

use std::collections::{BTreeMap, BTreeSet};

use netkv_ir::{Op, Place, Program, Word};

use crate::dependencies::Graph;
use crate::effects::Kind;
use crate::nodes::Boundary;
use crate::placement::Placement;
use crate::report::Phv;
use crate::units::Units;

/// Bits of the element count of a header stack.
const COUNT_BITS: u32 = 8;
/// Bits of a word without a declared width.
const WORD_BITS: u32 = 64;

/// The PHV of a pipeline with this number of stages.
pub(crate) fn phv(
    program: &Program,
    graph: &Graph,
    boundary: &Boundary<'_>,
    units: &Units,
    placement: &Placement,
    stages: u32,
) -> Phv {
    let headers = headers(program);
    let standard: BTreeMap<Word, u32> =
        program.standard_metadata.places().flat_map(parts).collect();
    let mut used: BTreeSet<Word> = BTreeSet::new();
    // Live range of each word: (defined at, last used at). Position 0 is the input of the pipeline,
    // s + 1 is stage s (from 0), and `end` is the output.
    let mut live_ranges: BTreeMap<Word, (u32, u32)> = BTreeMap::new();
    let end = stages + 1;
    for id in graph.ids() {
        let node = &graph.nodes[id];
        let Some(unit) = units.unit_of[id] else { continue };
        let stage = placement.finish_stage[unit] + 1;
        let read = if node.kind == Kind::Signal { end } else { stage };
        for word in &node.uses {
            let range = live_ranges.entry(*word).or_insert((end, 0));
            range.1 = range.1.max(read);
        }
        for word in &node.writes {
            let range = live_ranges.entry(*word).or_insert((end, 0));
            range.0 = range.0.min(stage);
        }
        used.extend(node.uses.iter().chain(&node.writes));
    }
    for word in 0..program.state_words {
        let arrives = !(boundary.zero_at_entry)(word);
        if arrives && (boundary.live_at_exit)(word) {
            live_ranges.entry(word).or_insert((0, end)).1 = end;
        } else if graph.live_out.contains(&word) {
            live_ranges.entry(word).or_insert((end, end)).1 = end;
        }
        if arrives && let Some(range) = live_ranges.get_mut(&word) {
            range.0 = 0;
        }
    }
    let bits = widths(program, graph);
    let mut deltas = vec![0i64; end as usize + 1];
    for (word, (from, until)) in live_ranges {
        if from < until && !headers.words.contains(&word) && !standard.contains_key(&word) {
            let bits = i64::from(bits.get(&word).copied().unwrap_or(WORD_BITS));
            deltas[from as usize] += bits;
            deltas[until as usize] -= bits;
        }
    }
    let (mut now, mut peak) = (0, 0);
    for delta in deltas {
        now += delta;
        peak = peak.max(now);
    }
    let standard = used.iter().filter_map(|word| standard.get(word)).copied().map(u64::from);
    Phv {
        header_bits: headers.bits,
        metadata_bits: peak.unsigned_abs(),
        standard_bits: standard.sum(),
    }
}

/// Headers that the parser extracts or the deparser emits.
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

/// The number of bits in use of each word.
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
