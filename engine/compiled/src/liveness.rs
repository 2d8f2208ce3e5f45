//! Which words a graph, or one after it, may still read at the start of each of its blocks.

use netkv_ir::{BlockId, Cfg, Op, Program};

use crate::words::{Words, read_by, read_by_terminator};

/// The live words at the start of each block of a graph without a cycle, whose blocks are given in
/// topological order. `after` are those at its exits.
pub(crate) fn live_words(
    program: &Program,
    cfg: &Cfg,
    order: &[BlockId],
    after: &Words,
) -> Vec<Words> {
    let mut live = vec![Words::empty(program); cfg.blocks.len()];
    for id in order.iter().rev() {
        let block = &cfg.blocks[*id as usize];
        let next = block.terminator.successors();
        let mut words = if next.is_empty() { after.clone() } else { Words::empty(program) };
        next.iter().for_each(|next| words.union(&live[*next as usize]));
        words.union(&read_by_terminator(program, &block.terminator));
        for op in block.ops.iter().rev() {
            if let Op::Assign { to, .. } = op {
                (to.word..to.word + to.words()).for_each(|word| words.remove(word));
            }
            words.union(&read_by(program, op));
        }
        live[*id as usize] = words;
    }
    live
}

#[cfg(test)]
mod tests {
    use crate::program_of::program_of;
    use netkv_dataplane::Graph;
    use netkv_ir::{Expr, Word};

    use super::*;
    use crate::block_order::topological_order;

    const SOURCE: &str = "
    #include <core.p4>
    #include <v1model.p4>
    header q_t { bit<8> op; bit<8> result; }
    struct headers_t { q_t q; }
    struct meta_t { bit<8> a; bit<8> b; }
    parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
        state start { p.extract(h.q); transition accept; }
    }
    control V(inout headers_t h, inout meta_t m) { apply { } }
    control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
    control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
        apply { m.a = 1; m.b = 2; BODY }
    }
    control C(inout headers_t h, inout meta_t m) { apply { } }
    control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
    V1Switch(P(), V(), I(), E(), C(), D()) main;
    ";

    /// Whether `a` and `b` are live at the start of each block after the first, in their order.
    fn live(body: &str, b_after: bool) -> Vec<[bool; 2]> {
        let source = SOURCE.replace("BODY", body);
        let program = program_of(&source);
        let egress = Graph::Egress.of(&program);
        let assigned = |number: u64| -> Word {
            let mut ops = egress.blocks.iter().flat_map(|block| &block.ops);
            let found = ops.find_map(|op| match op {
                Op::Assign { to, value: Expr::Const(value) } if value.words[0] == number => {
                    Some(to.word)
                }
                _ => None,
            });
            found.unwrap()
        };
        let (a, b) = (assigned(1), assigned(2));
        let mut after = Words::empty(&program);
        if b_after {
            after.add(b, 1);
        }
        let order = topological_order(egress).unwrap();
        let live = live_words(&program, egress, &order, &after);
        order[1..].iter().map(|id| [a, b].map(|word| live[*id as usize].contains(word))).collect()
    }

    #[test]
    fn a_word_is_live_until_it_is_read_or_assigned() {
        // The branch, both ends, and the block after them.
        let body = "if (h.q.op == 7) { h.q.result = m.a; } else { m.a = 3; h.q.result = m.a; }";
        let found = live(body, false);
        assert_eq!(found.iter().filter(|live| live[0]).count(), 1, "{found:?}");
        assert!(found.iter().all(|live| !live[1]), "{found:?}");
    }

    #[test]
    fn what_is_read_after_the_graph_is_live_to_its_end() {
        let found = live("if (h.q.op == 7) { h.q.result = 4; } else { h.q.result = 5; }", true);
        assert!(found.len() >= 2 && found.iter().all(|live| *live == [false, true]), "{found:?}");
    }
}
