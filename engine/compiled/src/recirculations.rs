//! Recirculations: passes of a packet that begin with its fields, and not with its bytes.
//!
//! The deparser would write the headers, and the parser read them again. If it is known that the
//! parser extracts the headers that the deparser emits, the fields keep their values: the pass
//! needs the decisions of the parser only. Its payload stays where it is, so the headers must be as
//! long as those that the frame was received with. A pass may lead to itself, and is then a loop.

use netkv_dataplane::Graph;
use netkv_ir::{Cfg, Expr, HashAlgorithm, HeaderId, Op, Place, Program, Terminator, Value};

use crate::block_order::topological_order;
use crate::known::Known;
use crate::paths::{Arrival, Next, SMALL, Stage, Uses, parsed, path};
use crate::plan::Plan;
use crate::variants::{Distinguished, Variants};
use crate::words::{
    Words, accessed_in, read_by, read_by_terminator, words_of_op, words_of_terminator, written_by,
    written_in,
};

/// Maximum number of different recirculations that a function has code for. A packet may be
/// recirculated more often.
const MAX_RECIRCULATIONS: usize = 2;

/// A pass of a recirculated packet that begins with its fields.
#[derive(Debug)]
pub(crate) struct Recirculation {
    /// The headers of the packet, in the order of its frame.
    pub(crate) headers: Vec<HeaderId>,
    /// The words of their fields that the pass does not change.
    pub(crate) unchanged: Words,
    /// The words whose values at its start it may need.
    pub(crate) needed: Words,
    /// Whether the checksums that are computed after the pass before are only needed if the packet
    /// leaves the pass with its bytes: those that are computed next replace them.
    pub(crate) replaces_checksums: bool,
    /// Whether a packet that has passed it takes the same way through the parser again.
    pub(crate) repeats_parser: bool,
    /// What is known at its start.
    pub(crate) known: Known,
    /// From the checksums that are computed after the pass before. The parser that follows extracts
    /// nothing.
    pub(crate) checksums: Stage,
}

impl Recirculation {
    /// Its parser, and what follows.
    pub(crate) fn parser(&self) -> &Stage {
        self.checksums.next[0].stage.as_ref().expect("a recirculation has a parser")
    }
}

/// The recirculations of packets after these stages. The ends of egress that lead to
/// one of them get its number.
pub(crate) fn recirculations(
    program: &Program,
    plan: &Plan,
    stages: &mut Stage,
) -> Vec<Recirculation> {
    let mut recirculations = Vec::new();
    let Some(parser) = Fields::new(program, plan) else { return recirculations };
    for (valid, known) in starts(program, stages) {
        if recirculations.len() == MAX_RECIRCULATIONS {
            break;
        }
        let Some(mut recirculation) = parser.recirculation(&valid, known) else { continue };
        let number = Some(recirculations.len());
        for stages in [&mut *stages, &mut recirculation.checksums] {
            visit_ends(stages, &mut |next| {
                if validity_of(program, &next.known).as_ref() == Some(&valid) {
                    next.recirculation = number;
                }
            });
        }
        recirculations.push(recirculation);
    }
    recirculations
}

/// The combinations of valid headers with which packets may be recirculated, and what is known
/// then.
fn starts(program: &Program, stages: &mut Stage) -> Vec<(Vec<bool>, Known)> {
    let mut starts: Vec<(Vec<bool>, Known)> = Vec::new();
    visit_ends(stages, &mut |next| {
        let Some(valid) = validity_of(program, &next.known) else { return };
        match starts.iter_mut().find(|(other, _)| *other == valid) {
            Some((_, known)) => known.join(&next.known),
            None => starts.push((valid, next.known.clone())),
        }
    });
    starts
}

/// Which headers are valid. None if it is not known.
fn validity_of(program: &Program, known: &Known) -> Option<Vec<bool>> {
    let valid = program.headers.iter().map(|header| known.get(header.valid));
    valid.map(|valid| valid.map(|valid| valid != 0)).collect()
}

/// Calls `visit` for the ends of egress at which a packet may be recirculated. Those of clones are
/// left out.
fn visit_ends(stage: &mut Stage, visit: &mut impl FnMut(&mut Next)) {
    let recirculates = match stage.graph {
        Graph::Egress => after_recirculation(&stage.variants),
        _ => Vec::new(),
    };
    for (at, next) in stage.next.iter_mut().enumerate() {
        if recirculates.get(at) == Some(&true) {
            visit(next);
        }
        for stage in next.stage.iter_mut().chain(&mut next.copy) {
            visit_ends(stage, visit);
        }
    }
}

/// For each exit of a graph, whether an operation before it recirculates the packet.
fn after_recirculation(variants: &Variants) -> Vec<bool> {
    let blocks = &variants.cfg.blocks;
    let recirculates = |op: &Op| matches!(op, Op::Recirculate { .. });
    let mut after: Vec<bool> = blocks.iter().map(|it| it.ops.iter().any(recirculates)).collect();
    for id in topological_order(&variants.cfg).unwrap_or_default() {
        for next in blocks[id as usize].terminator.successors() {
            after[next as usize] |= after[id as usize];
        }
    }
    variants.exits.iter().map(|(id, _)| after.get(*id as usize) == Some(&true)).collect()
}

/// What the recirculations of a program share.
struct Fields<'a> {
    program: &'a Program,
    plan: &'a Plan,
    uses: Uses,
    kept: &'a Words,
    /// The parser without reading.
    parser: Cfg,
}

impl<'a> Fields<'a> {
    /// None if the program recirculates no packet, or if ingress may need the bytes of a packet.
    fn new(program: &'a Program, plan: &'a Plan) -> Option<Self> {
        let kept = plan.kept_by_recirculation.as_ref()?;
        let needs_bytes = |op: &Op| matches!(op, Op::Clone { .. } | Op::Resubmit { .. });
        let mut of_headers = Words::empty(program);
        program.header_words().for_each(|(word, words)| of_headers.add(word, words));
        let parser = parser_of_fields(program);
        if program.ingress.blocks.iter().flat_map(|block| &block.ops).any(needs_bytes)
            || of_headers.meets(kept)
            || written_in(program, &parser).meets(kept)
        {
            return None;
        }
        Some(Self { program, plan, uses: Uses::new(program), kept, parser })
    }

    /// The pass of packets with these valid headers. None if it must begin with their bytes.
    fn recirculation(&self, valid: &[bool], mut known: Known) -> Option<Recirculation> {
        loop {
            let mut recirculation = self.recirculation_knowing(known.clone())?;
            let size = recirculation.checksums.size();
            let starts = starts(self.program, &mut recirculation.checksums);
            let mut joined = known.clone();
            starts.iter().filter(|it| it.0 == valid).for_each(|(_, again)| joined.join(again));
            if joined == known {
                return (size <= SMALL).then_some(recirculation);
            }
            known = joined;
        }
    }

    fn recirculation_knowing(&self, known: Known) -> Option<Recirculation> {
        let program = self.program;
        let checksums = &program.compute_checksum;
        let checksums =
            Variants::new(program, checksums, known.clone(), &Distinguished::none(program))?;
        let [(_, end)] = checksums.exits.as_slice() else { return None };
        let headers = emitted(program, end)?;
        let verify = not_verified(program, &checksums.cfg, &known, &headers);
        let fields = Words::of_fields(program, headers.iter().copied());
        let start = end.of_recirculated_fields(program, self.kept, &fields);
        let distinguished = parsed(program, self.plan, &self.uses, Arrival::Recirculated);
        let parser = Variants::new(program, &self.parser, start, &distinguished)?;
        let extracted = extracted(program, &parser.cfg)?;
        let mut next: Vec<Next> = parser.exits.iter().map(|it| Next::nothing(&it.1)).collect();
        for ((exit, known), next) in parser.exits.iter().zip(&mut next) {
            if extracted.get(*exit as usize) == Some(&headers) {
                next.stage = Some(path(program, self.plan, &self.uses, &verify, known, SMALL)?);
            }
        }
        next.iter().find(|next| next.stage.is_some())?;
        let parser = Stage { graph: Graph::Parser, variants: parser, next };
        let mut needed = fields.clone();
        needed.union(self.kept);
        needed.union(&accessed_in(program, &checksums.cfg));
        let mut unchanged = fields.clone();
        let mut written = written_in(program, &checksums.cfg);
        written.union(&written_after(program, &parser));
        written.iter().for_each(|word| unchanged.remove(word));
        let mut others = fields;
        unchanged.iter().for_each(|word| others.remove(word));
        others.union(self.kept);
        let computed = only_checksums(program, &checksums.cfg, &known, &headers);
        let replaced = computed.filter(|words| are_replaced(program, &parser, words, &headers));
        if let Some(words) = &replaced {
            words.iter().for_each(|word| needed.remove(word));
        }
        let ways = parser.next.iter().filter(|next| next.stage.is_some()).count();
        let repeats_parser =
            ways == 1 && !accessed_in(program, &parser.variants.cfg).meets(&others);
        let next = vec![Next { stage: Some(parser), ..Next::nothing(end) }];
        let checksums = Stage { graph: Graph::ComputeChecksum, variants: checksums, next };
        let replaces_checksums = replaced.is_some();
        Some(Recirculation {
            headers,
            unchanged,
            needed,
            replaces_checksums,
            repeats_parser,
            known,
            checksums,
        })
    }
}

/// The words that stages may write.
fn written_after(program: &Program, stage: &Stage) -> Words {
    let mut written = written_in(program, &stage.variants.cfg);
    stage.following().for_each(|next| written.union(&written_after(program, next)));
    written
}

/// The parser of a packet whose headers are in the state area: to extract one makes it valid. Paths
/// that read something else of the packet end.
fn parser_of_fields(program: &Program) -> Cfg {
    let mut parser = program.parser.clone();
    for op in parser.blocks.iter_mut().flat_map(|block| &mut block.ops) {
        match op {
            Op::Extract(header) => {
                let to = Place { word: program.headers[*header as usize].valid, width: 1 };
                *op = Op::Assign { to, value: Expr::Const(Value::new(1, 1)) };
            }
            Op::ExtractNext(_)
            | Op::ExtractVarbit { .. }
            | Op::Lookahead { .. }
            | Op::Advance(_)
            | Op::CheckStackLast(_) => *op = Op::Reject,
            _ => {}
        }
    }
    parser
}

/// The headers that such a parser has extracted at the end of each block, in order. None if their
/// order depends on the path, if the parser changes fields, or if it accesses some before it
/// extracts them.
fn extracted(program: &Program, parser: &Cfg) -> Option<Vec<Vec<HeaderId>>> {
    let all = || 0..program.headers.len() as HeaderId;
    let fields = Words::of_fields(program, all());
    let mut at: Vec<Option<Vec<HeaderId>>> = vec![None; parser.blocks.len()];
    at.first_mut()?.replace(Vec::new());
    let mut at_end = vec![Vec::new(); parser.blocks.len()];
    for id in topological_order(parser)? {
        let block = &parser.blocks[id as usize];
        let mut extracted = at[id as usize].take()?;
        let accesses_others = |words: &Words, extracted: &[HeaderId]| {
            words.meets(&Words::of_fields(program, all().filter(|it| !extracted.contains(it))))
        };
        for op in &block.ops {
            match extracts(program, op) {
                Some(header) => extracted.push(header),
                None if accesses_others(&words_of_op(program, op), &extracted)
                    || written_by(program, op).meets(&fields) =>
                {
                    return None;
                }
                None => {}
            }
        }
        if accesses_others(&words_of_terminator(program, &block.terminator), &extracted) {
            return None;
        }
        for next in block.terminator.successors() {
            let before = at[next as usize].get_or_insert_with(|| extracted.clone());
            if *before != extracted {
                return None;
            }
        }
        at_end[id as usize] = extracted;
    }
    Some(at_end)
}

/// The header that an operation of a parser of fields extracts.
fn extracts(program: &Program, op: &Op) -> Option<HeaderId> {
    let Op::Assign { to, value: Expr::Const(_) } = op else { return None };
    (0..).zip(&program.headers).find(|(_, header)| header.valid == to.word).map(|(id, _)| id)
}

/// The headers that the deparser emits, in order. None if they are not known, or if it does
/// anything else.
fn emitted(program: &Program, known: &Known) -> Option<Vec<HeaderId>> {
    let deparser = &program.deparser;
    let deparser = Variants::new(program, deparser, known.clone(), &Distinguished::none(program))?;
    let mut headers = Vec::new();
    for id in topological_order(&deparser.cfg)? {
        let block = &deparser.cfg.blocks[id as usize];
        if !matches!(block.terminator, Terminator::Jump(_) | Terminator::Exit) {
            return None;
        }
        for op in &block.ops {
            match op {
                Op::Emit(header) => headers.push(*header),
                Op::EmitStack(stack) => {
                    let stack = &program.stacks[*stack as usize];
                    headers.extend(stack.first..stack.first + stack.size);
                }
                _ => return None,
            }
        }
    }
    let valid = headers.into_iter().map(|header| {
        known.get(program.headers[header as usize].valid).map(|valid| (header, valid != 0))
    });
    let valid: Vec<(HeaderId, bool)> = valid.collect::<Option<_>>()?;
    Some(valid.into_iter().filter(|(_, valid)| *valid).map(|(header, _)| header).collect())
}

/// The graph that verifies checksums, without those that the pass before has just computed over the
/// same fields. `computed` is how it did that, knowing this of the packet, which has these
/// `headers`.
fn not_verified(program: &Program, computed: &Cfg, known: &Known, headers: &[HeaderId]) -> Cfg {
    let mut verify = program.verify_checksum.clone();
    let only_verifies = |op: &Op| matches!(op, Op::VerifyChecksum { .. });
    if verify.blocks.iter().flat_map(|block| &block.ops).all(only_verifies) {
        let right = right_checksums(program, computed, known, headers);
        for block in &mut verify.blocks {
            let (ops, spans) = (std::mem::take(&mut block.ops), std::mem::take(&mut block.spans));
            let left =
                ops.into_iter().zip(spans).filter(|(op, _)| !right.iter().any(|of| of.is(op)));
            (block.ops, block.spans) = left.unzip();
        }
    }
    verify
}

/// The words of checksums, if a graph that knows this of a packet computes them all over fields of
/// these headers, and does nothing else.
fn only_checksums(
    program: &Program,
    cfg: &Cfg,
    known: &Known,
    headers: &[HeaderId],
) -> Option<Words> {
    let right = right_checksums(program, cfg, known, headers);
    let operations: usize = cfg.blocks.iter().map(|block| block.ops.len()).sum();
    let mut words = Words::empty(program);
    right.iter().for_each(|of| words.place(of.to));
    (operations > 0 && right.len() == operations).then_some(words)
}

/// Whether the checksums in these words are computed again after a stage, before anything reads
/// them. What a packet knows on its path also holds if the switch continues with it.
fn are_replaced(program: &Program, stage: &Stage, words: &Words, headers: &[HeaderId]) -> bool {
    let reads = |op: &Op| read_by(program, op).meets(words) || matches!(op, Op::Clone { .. });
    let unread = stage.variants.cfg.blocks.iter().all(|block| {
        !block.ops.iter().any(reads) && !read_by_terminator(program, &block.terminator).meets(words)
    });
    let are_computed = |cfg: &Cfg, known: &Known| {
        only_checksums(program, cfg, known, headers)
            .is_some_and(|computed| words.iter().all(|word| computed.contains(word)))
    };
    unread
        && stage.next.iter().all(|next| {
            next.stage.iter().chain(&next.copy).all(|stage| match stage.graph {
                Graph::ComputeChecksum => are_computed(&stage.variants.cfg, &next.known),
                _ => are_replaced(program, stage, words, headers),
            })
        })
}

/// A checksum that is right.
struct RightChecksum<'a> {
    data: &'a [netkv_ir::HashInput],
    to: Place,
    /// The words of the data and of the checksum.
    words: Words,
}

impl RightChecksum<'_> {
    /// Whether an operation verifies it.
    fn is(&self, op: &Op) -> bool {
        matches!(
            op,
            Op::VerifyChecksum { data, checksum, algorithm: HashAlgorithm::Csum16, with_payload: false, .. }
                if data == self.data && *checksum == Expr::Load(self.to)
        )
    }
}

/// The checksums that are right after this graph, over fields of these headers.
fn right_checksums<'a>(
    program: &Program,
    cfg: &'a Cfg,
    known: &Known,
    headers: &[HeaderId],
) -> Vec<RightChecksum<'a>> {
    let (mut known, mut right) = (known.clone(), Vec::new());
    let fields = Words::of_fields(program, headers.iter().copied());
    let valid = |known: &Known, header: HeaderId| {
        headers.contains(&header) && known.get(program.headers[header as usize].valid) == Some(1)
    };
    for id in topological_order(cfg).unwrap_or_default() {
        let block = &cfg.blocks[id as usize];
        if !matches!(block.terminator, Terminator::Jump(_) | Terminator::Exit) {
            return Vec::new();
        }
        for op in &block.ops {
            let written = written_by(program, op);
            right.retain(|of: &RightChecksum<'_>| !written.meets(&of.words));
            if let Op::UpdateChecksum {
                cond,
                data,
                to,
                header,
                algorithm: HashAlgorithm::Csum16,
                with_payload: false,
            } = op
                && known.value(cond) == Some(1)
                && to.width == 16
                && header.is_none_or(|header| valid(&known, header))
                && data.iter().all(|it| it.header.is_none_or(|header| valid(&known, header)))
            {
                let mut words = Words::empty(program);
                for input in data {
                    words.union(&words_of_expr(program, &input.value));
                }
                let own = written.meets(&words);
                words.union(&written);
                if !own && words.iter().all(|word| fields.contains(word)) {
                    right.push(RightChecksum { data, to: *to, words });
                }
            }
            known.run(program, op);
        }
    }
    right
}

/// The words that an expression reads.
fn words_of_expr(program: &Program, expr: &Expr) -> Words {
    let cond = Terminator::Branch { cond: expr.clone(), then: 0, otherwise: 0 };
    words_of_terminator(program, &cond)
}

#[cfg(test)]
mod tests {
    use crate::program_of::program_of;

    use super::*;
    use crate::paths::common_paths;

    const SOURCE: &str = "
    #include <core.p4>
    #include <v1model.p4>
    header a_t { bit<8> kind; bit<8> left; bit<16> sum; }
    header b_t { bit<32> data; }
    struct headers_t { a_t a; b_t b; }
    struct meta_t { @field_list(1) bit<8> kept; bit<8> kind; }
    parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
        state start {
            p.extract(h.a);
            m.kind = h.a.kind;
            transition select(m.kind) { 1: more; default: accept; }
        }
        state more { p.extract(h.b); transition accept; }
    }
    control V(inout headers_t h, inout meta_t m) {
        apply { verify_checksum(true, { h.a.kind, h.a.left }, h.a.sum, HashAlgorithm.csum16); }
    }
    control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
        apply { s.egress_spec = 1; }
    }
    control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
        apply {
            if (h.a.left != 0) {
                h.a.left = h.a.left - 1;
                recirculate_preserving_field_list(1);
            }
        }
    }
    control C(inout headers_t h, inout meta_t m) {
        apply { update_checksum(true, { h.a.kind, h.a.left }, h.a.sum, HashAlgorithm.csum16); }
    }
    control D(packet_out p, in headers_t h) { apply { p.emit(h.a); p.emit(h.b); } }
    V1Switch(P(), V(), I(), E(), C(), D()) main;
    ";

    /// The recirculations after the received frame, those with the most headers first, with
    /// replaced parts of the program.
    fn recirculations_with(replaced: &[(&str, &str)]) -> (Program, Vec<Recirculation>) {
        let mut source = SOURCE.to_owned();
        for (from, to) in replaced {
            assert!(source.contains(from), "{from}");
            source = source.replace(from, to);
        }
        let program = program_of(&source);
        let plan = Plan::new(&program);
        let mut paths = common_paths(&program, &plan, Arrival::Received).unwrap();
        let mut recirculations = recirculations(&program, &plan, &mut paths);
        recirculations.sort_by_key(|recirculation| std::cmp::Reverse(recirculation.headers.len()));
        (program, recirculations)
    }

    /// The headers of each recirculation, whether it repeats the parser, and the checksums that it
    /// verifies.
    fn found(replaced: &[(&str, &str)]) -> Vec<(Vec<HeaderId>, bool, usize)> {
        let (_, recirculations) = recirculations_with(replaced);
        let found = recirculations.iter().map(|recirculation| {
            let verify = recirculation.parser().following().next().unwrap();
            let verified = verify.variants.cfg.blocks.iter().map(|block| block.ops.len()).sum();
            (recirculation.headers.clone(), recirculation.repeats_parser, verified)
        });
        found.collect()
    }

    #[test]
    fn each_list_of_headers_has_a_pass() {
        assert_eq!(found(&[]), [(vec![0, 1], true, 0), (vec![0], true, 0)]);
    }

    #[test]
    fn fields_that_no_pass_changes_are_known() {
        let (program, recirculations) = recirculations_with(&[]);
        let words = |header: usize| {
            let fields = &program.headers[header].fields;
            fields.iter().map(|field| field.place.word).collect::<Vec<_>>()
        };
        let expected = [words(0)[0], words(1)[0]];
        assert_eq!(recirculations[0].unchanged.iter().collect::<Vec<_>>(), expected);
        assert_eq!(
            recirculations[0].known.get(words(0)[0]),
            Some(1),
            "the parser compares a copy of it"
        );
        let once = ("h.a.left = h.a.left - 1;", "h.a.kind = m.kept; h.a.left = 3;");
        let (_, recirculations) = recirculations_with(&[once]);
        assert!(
            recirculations
                .iter()
                .all(|recirculation| !recirculation.unchanged.contains(words(0)[0]))
        );
    }

    #[test]
    fn the_parser_is_repeated_unless_its_fields_change() {
        let changes = ("h.a.left = h.a.left - 1;", "h.a.left = h.a.left - 1; h.a.kind = h.a.left;");
        assert!(found(&[changes]).iter().all(|(_, repeats, _)| !repeats));
        let reads = ("m.kind = h.a.kind;", "m.kind = h.a.kind + m.kept;");
        assert!(found(&[reads]).iter().all(|(_, repeats, _)| !repeats));
    }

    #[test]
    fn checksums_are_verified_unless_they_were_just_computed() {
        let computed =
            "update_checksum(true, { h.a.kind, h.a.left }, h.a.sum, HashAlgorithm.csum16);";
        let if_left = computed.replace("true", "h.a.left == 0");
        let other = computed.replace("h.a.kind, h.a.left", "h.a.left, h.a.kind");
        let crc = computed.replace("csum16", "crc16");
        let overwritten = format!("{computed} {crc}");
        let metadata = computed.replace("h.a.kind, h.a.left", "m.kind, h.a.left");
        for other in ["", &if_left, &other, &crc, &overwritten, &metadata] {
            let found = found(&[(computed, other)]);
            assert!(!found.is_empty(), "{other}");
            assert!(found.iter().all(|(_, _, verified)| *verified == 1), "{other}");
        }
        let both = [("{ h.a.kind, h.a.left }, h.a.sum", "{ m.kind, h.a.left }, h.a.sum")];
        assert!(found(&both).iter().all(|(_, _, verified)| *verified == 1), "metadata is lost");
    }

    #[test]
    fn a_pass_begins_with_bytes_if_its_parser_may_need_them() {
        for replaced in [
            ("p.emit(h.a); p.emit(h.b);", "p.emit(h.b); p.emit(h.a);"),
            ("m.kind = h.a.kind;", "m.kind = p.lookahead<bit<8>>();"),
            ("m.kind = h.a.kind;", "m.kind = h.a.kind; h.b.data = 1;"),
            ("p.extract(h.a);\n", "m.kept = h.b.data[7:0]; p.extract(h.a);\n"),
            ("s.egress_spec = 1;", "s.egress_spec = 1; clone(CloneType.I2E, 1);"),
            ("recirculate_preserving_field_list(1);", ""),
        ] {
            assert!(found(&[replaced]).iter().all(|it| it.0 == [0]), "{replaced:?}");
        }
        let only_first = ("1: more;", "1: more; 2: reject;");
        assert_eq!(found(&[only_first]).len(), 2);
    }
}
