//! The largest values that words of the state area can have, whatever way a packet takes.
//!
//! A program often widens a small number, such as the index of an entry in a table, and keeps it in
//! metadata. If all values that it assigns to a word are in the range of a register array, so is
//! the word, and its index needs no test.

use netkv_dataplane::{Graph, mask};
use netkv_ir::{BinaryOp, Expr, Op, Program, Terminator, UnaryOp, Word};

use crate::words::{Words, accessed_by};

/// Maximum number of times that the program is gone through. A bound passes a chain of assignments
/// in as many steps as the chain has, at most.
const MAX_ROUNDS: usize = 16;

/// The bound of each word of the state area.
#[derive(Debug)]
pub(crate) struct Bounds(Vec<u64>);

impl Bounds {
    pub(crate) fn new(program: &Program) -> Self {
        let mut bounds = Self(vec![0; program.state_words as usize]);
        // Headers come from frames, and the switch sets standard metadata.
        let mut others = Words::empty(program);
        program.header_words().for_each(|(word, words)| others.add(word, words));
        program.standard_metadata.places().for_each(|place| others.place(place));
        others.iter().for_each(|word| bounds.0[word as usize] = u64::MAX);
        for _ in 0..MAX_ROUNDS {
            if !bounds.raise_all(program) {
                return bounds;
            }
        }
        bounds.0.fill(u64::MAX);
        bounds
    }

    /// Raises bounds to what the program assigns. Returns whether it has raised one.
    fn raise_all(&mut self, program: &Program) -> bool {
        let mut raised = false;
        for block in Graph::ALL.into_iter().flat_map(|graph| &graph.of(program).blocks) {
            for op in &block.ops {
                raised |= self.raise_by(program, op);
            }
            if let Terminator::Apply(apply) = &block.terminator {
                let params = apply.targets.iter().flat_map(|target| &target.params);
                for place in params {
                    let bound = if place.width <= 64 { mask(place.width) } else { u64::MAX };
                    for word in place.word..place.word + place.words() {
                        raised |= self.raise(word, bound);
                    }
                }
                raised |= self.raise(apply.hit, 1);
                raised |= self.raise(apply.action_run, u64::MAX);
            }
        }
        raised
    }

    fn raise_by(&mut self, program: &Program, op: &Op) -> bool {
        match op {
            Op::Assign { to, value } if to.width <= 64 => {
                self.raise(to.word, self.max_value(value))
            }
            Op::CopyWords { to, from, words } => {
                let mut raised = false;
                for at in 0..*words {
                    raised |= self.raise(to + at, self.0[(from + at) as usize]);
                }
                raised
            }
            Op::ZeroWords { .. } => false,
            _ => {
                let mut raised = false;
                for word in accessed_by(program, op).iter() {
                    raised |= self.raise(word, u64::MAX);
                }
                raised
            }
        }
    }

    fn raise(&mut self, word: Word, bound: u64) -> bool {
        let mine = &mut self.0[word as usize];
        let raised = bound > *mine;
        *mine = bound.max(*mine);
        raised
    }

    /// The maximum value of an expression. An expression of more than 64 bits has none.
    pub(crate) fn max_value(&self, expr: &Expr) -> u64 {
        let width = expr.width();
        if width > 64 {
            return u64::MAX;
        }
        let all = mask(width);
        let bound = match expr {
            Expr::Const(value) => value.words[0],
            Expr::Load(place) => self.0[place.word as usize],
            Expr::Unary { op: UnaryOp::ZeroExtend, arg, .. } => self.max_value(arg),
            Expr::Binary { op: BinaryOp::And, left, right, .. } => {
                self.max_value(left).min(self.max_value(right))
            }
            Expr::Mux { then, otherwise, .. } => {
                self.max_value(then).max(self.max_value(otherwise))
            }
            _ => all,
        };
        bound.min(all)
    }
}

#[cfg(test)]
mod tests {
    use crate::program_of::program_of;

    use super::*;

    const SOURCE: &str = "
    #include <core.p4>
    #include <v1model.p4>
    header q_t { bit<8> op; bit<32> index; }
    struct headers_t { q_t q; }
    struct meta_t { bit<32> index; bit<32> other; }
    parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
        state start { p.extract(h.q); transition accept; }
    }
    control V(inout headers_t h, inout meta_t m) { apply { } }
    control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
        register<bit<32>>(16) cells;
        action entry(bit<8> index) { m.index = (bit<32>) index; }
        action keep() { }
        table t { key = { h.q.op: exact; } actions = { entry; keep; } default_action = keep(); }
        apply { BODY cells.write(m.index, 1); }
    }
    control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
    control C(inout headers_t h, inout meta_t m) { apply { } }
    control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
    V1Switch(P(), V(), I(), E(), C(), D()) main;
    ";

    /// The bound of the index that the program writes to.
    fn bound(body: &str) -> u64 {
        let source = SOURCE.replace("BODY", body);
        let program = program_of(&source);
        let bounds = Bounds::new(&program);
        let blocks = &Graph::Ingress.of(&program).blocks;
        let mut indices = blocks.iter().flat_map(|block| &block.ops).filter_map(|op| match op {
            Op::RegisterWrite { index, .. } => Some(bounds.max_value(index)),
            _ => None,
        });
        indices.next().unwrap()
    }

    #[test]
    fn a_word_has_the_bound_of_what_is_assigned_to_it() {
        assert_eq!(bound(""), 0);
        assert_eq!(bound("t.apply();"), 0xff);
        assert_eq!(bound("m.index = (bit<32>) h.q.op; if (h.q.op == 0) { m.index = 300; }"), 300);
        assert_eq!(bound("m.index = h.q.index & 7;"), 7);
        assert_eq!(bound("m.index = (h.q.op == 0) ? 32w9 : 32w4;"), 9);
    }

    #[test]
    fn bounds_follow_copies() {
        let chain = "m.index = m.other; m.other = (bit<32>) h.q.op;";
        assert_eq!(bound(chain), 0xff, "whatever the order of the assignments");
    }

    #[test]
    fn other_words_have_the_bound_of_their_width() {
        let all = 0xffff_ffff;
        assert_eq!(bound("m.index = h.q.index;"), all);
        assert_eq!(bound("m.index = m.index + 1;"), all);
        assert_eq!(bound("m.index = s.packet_length;"), all);
        assert_eq!(bound("cells.read(m.index, 0);"), all);
        assert_eq!(bound("m.index[3:0] = 1;"), all);
        assert_eq!(bound("hash(m.index, HashAlgorithm.crc32, 32w0, { h.q.op }, 32w4);"), all);
    }
}
