//! The common paths of packets through a program: what the fast function compiles.
//!
//! A path begins with frames that a parser treats alike: the same headers are valid, and mostly the
//! frames are the same kind of request. The rest of the program is then simpler. What a path knows
//! at the end of a graph, the next graph starts with.

use netkv_dataplane::Graph;
use netkv_ir::{Cfg, Expr, Op, Program, Terminator};

use crate::groups::Weights;
use crate::known::Known;
use crate::plan::Plan;
use crate::prefetch::is_repeatable;
use crate::variants::{Distinguished, Variants};
use crate::words::{Words, accessed_in, read_by, read_by_terminator};

/// Maximum number of paths.
const MAX_PATHS: usize = 12;

/// Maximum size of all paths together, as a multiple of the program's.
const MAX_SIZE: usize = 4;

/// Up to this number of operations, code is compiled in a few milliseconds. So a path may have that
/// many, and all paths together may be as large as for a program of this size.
pub(crate) const SMALL: usize = 500;

/// Maximum of words of the state times operations. What is known of each word is followed through
/// each operation of each path, which would take seconds for a larger program.
const MAX_FOLLOWED: usize = 8_000_000;

/// A graph on a path, and what follows it.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) graph: Graph,
    pub(crate) variants: Variants,
    /// What follows each exit of the graph.
    pub(crate) next: Vec<Next>,
}

/// What follows a graph.
#[derive(Debug)]
pub(crate) struct Next {
    /// What is known after it.
    pub(crate) known: Known,
    /// The egress of the packet's clone, if egress can clone it.
    pub(crate) clone: Option<Stage>,
    /// The egress of copies of the packet, if ingress can multicast it.
    pub(crate) copy: Option<Stage>,
    /// None after the deparser, and after paths of the parser that are left out.
    pub(crate) stage: Option<Stage>,
    /// After egress: the number of the recirculation with which a packet can go on.
    pub(crate) recirculation: Option<usize>,
}

impl Next {
    /// An exit without anything that follows.
    pub(crate) fn nothing(known: &Known) -> Self {
        Self { known: known.clone(), clone: None, copy: None, stage: None, recirculation: None }
    }
}

/// How packets that a function processes enter the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// At a port.
    Received,
    /// From egress.
    Recirculated,
}

/// The parser, and the stages of the common paths. None if the parser cannot run twice for a
/// packet, if words of the packet are in memory, if a graph has a cycle, or if the program is too
/// large.
pub(crate) fn common_paths(program: &Program, plan: &Plan, arrival: Arrival) -> Option<Stage> {
    if !is_repeatable(&program.parser) || plan.in_memory.iter().next().is_some() {
        return None;
    }
    let operations: usize = Graph::ALL.iter().map(|graph| graph_size(graph.of(program))).sum();
    if program.state_words as usize * operations > MAX_FOLLOWED {
        return None;
    }
    let uses = Uses::new(program);
    let at_start = match arrival {
        Arrival::Received => Known::of_packet(program),
        Arrival::Recirculated => {
            Known::of_recirculated(program, plan.kept_by_recirculation.as_ref()?)
        }
    };
    let parser =
        Variants::new(program, &program.parser, at_start, &parsed(program, plan, &uses, arrival))?;
    let sizes = [Graph::VerifyChecksum, Graph::Ingress, Graph::Egress, Graph::ComputeChecksum];
    let size: usize = sizes.iter().map(|graph| graph_size(graph.of(program))).sum();
    // A large program recirculates rare packets, such as those for another pipeline.
    let multiple = if arrival == Arrival::Received { MAX_SIZE } else { 1 };
    let mut left = multiple * size.max(SMALL);
    let mut next: Vec<Next> = parser.exits.iter().map(|(_, known)| Next::nothing(known)).collect();
    for at in parser.in_order_of_cases() {
        let stage = path(program, plan, &uses, &program.verify_checksum, &next[at].known, size)?;
        match left.checked_sub(stage.size()) {
            Some(rest) => left = rest,
            None => continue,
        }
        next[at].stage = Some(stage);
    }
    Some(Stage { graph: Graph::Parser, variants: parser, next })
}

/// A path after the parser, with as many variants of its blocks as do not make it larger than the
/// program, unless both are small. `verify` is the graph that verifies checksums.
pub(crate) fn path(
    program: &Program,
    plan: &Plan,
    uses: &Uses,
    verify: &Cfg,
    known: &Known,
    program_size: usize,
) -> Option<Stage> {
    let path = |limits| {
        let following = Following { program, plan, uses, verify, limits, may_clone: true };
        following.stage(Graph::VerifyChecksum, known.clone())
    };
    let mut largest = path([1, 1])?;
    for limits in [[1, 2], [2, 2], [4, 4], [8, 8]] {
        let larger = path(limits)?;
        if larger.size() > program_size.max(SMALL) {
            break;
        }
        largest = larger;
    }
    Some(largest)
}

/// The graphs after the parser.
#[derive(Debug, Clone, Copy)]
struct Following<'a> {
    program: &'a Program,
    plan: &'a Plan,
    uses: &'a Uses,
    verify: &'a Cfg,
    /// Maximum number of variants of a block up to ingress, and from egress on.
    limits: [usize; 2],
    /// The packet is no clone itself.
    may_clone: bool,
}

impl Following<'_> {
    /// Variants of a graph by the validity of headers and by what its controls decide.
    fn decisions(self, graph: Graph) -> Distinguished {
        let Self { program, plan, limits, uses, .. } = self;
        let up_to_ingress = matches!(graph, Graph::VerifyChecksum | Graph::Ingress);
        let mut weights = Weights::none(program);
        for word in uses.decided.iter() {
            weights.add(word, uses.count[word as usize]);
        }
        let live_after = plan.read_after(program, graph);
        Distinguished {
            weights,
            live_after,
            limit: limits[usize::from(!up_to_ingress)],
            left_out: None,
        }
    }

    /// A graph and all that follow it.
    fn stage(self, graph: Graph, known: Known) -> Option<Stage> {
        let Self { program, verify, may_clone, .. } = self;
        let cfg = if graph == Graph::VerifyChecksum { verify } else { graph.of(program) };
        let variants = Variants::new(program, cfg, known, &self.decisions(graph))?;
        let clones = |op: &Op| matches!(op, Op::Clone { field_list: None, .. });
        let clones = graph == Graph::Egress
            && may_clone
            && variants.cfg.blocks.iter().flat_map(|block| &block.ops).any(clones);
        let mut next = Vec::new();
        for (_, known) in &variants.exits {
            let following = match graph {
                Graph::Parser => Some((Graph::VerifyChecksum, known.clone())),
                Graph::VerifyChecksum => Some((Graph::Ingress, known.clone())),
                Graph::Ingress => Some((Graph::Egress, known.clone().of_egress(program))),
                Graph::Egress => Some((Graph::ComputeChecksum, known.clone())),
                Graph::ComputeChecksum => Some((Graph::Deparser, known.clone())),
                Graph::Deparser => None,
            };
            let stage = match following {
                Some((graph, known)) => Some(self.stage(graph, known)?),
                None => None,
            };
            let clone = match clones {
                true => {
                    let clone = Self { may_clone: false, ..self };
                    Some(clone.stage(Graph::Egress, known.of_clone(program))?)
                }
                false => None,
            };
            let group = known.get(program.standard_metadata.mcast_grp.word);
            let copy = match graph == Graph::Ingress && group != Some(0) {
                true => Some(self.stage(Graph::Egress, known.clone().of_copy(program))?),
                false => None,
            };
            next.push(Next { clone, copy, stage, ..Next::nothing(known) });
        }
        Some(Stage { graph, variants, next })
    }
}

impl Stage {
    /// The words that this graph and those after it access, those of clones included.
    pub(crate) fn accessed(&self, program: &Program) -> Words {
        let mut accessed = accessed_in(program, &self.variants.cfg);
        let clones = self.next.iter().flat_map(|next| &next.clone);
        self.following().chain(clones).for_each(|next| accessed.union(&next.accessed(program)));
        accessed
    }

    /// The stages that follow, without the egress of clones.
    pub(crate) fn following(&self) -> impl Iterator<Item = &Stage> {
        self.next.iter().flat_map(|next| next.stage.iter().chain(&next.copy))
    }

    /// Without the egress of copies: a program that multicasts has as many paths as others.
    pub(crate) fn size(&self) -> usize {
        let next = self.next.iter().flat_map(|next| next.stage.iter().chain(&next.clone));
        graph_size(&self.variants.cfg) + next.map(Stage::size).sum::<usize>()
    }
}

/// The number of operations and terminators of a graph.
fn graph_size(cfg: &netkv_ir::Cfg) -> usize {
    cfg.blocks.iter().map(|block| 1 + block.ops.len()).sum()
}

/// What the graphs after the parser do with each word.
#[derive(Debug)]
pub(crate) struct Uses {
    /// How often they read it.
    count: Vec<u32>,
    /// Validity of headers, and metadata to which they assign constants: what they decide.
    decided: Words,
}

impl Uses {
    pub(crate) fn new(program: &Program) -> Self {
        let mut uses =
            Self { count: vec![0; program.state_words as usize], decided: Words::empty(program) };
        let graphs = Graph::ALL.into_iter().filter(|graph| *graph != Graph::Parser);
        for block in graphs.flat_map(|graph| &graph.of(program).blocks) {
            let reads = block.ops.iter().map(|op| read_by(program, op));
            for words in reads.chain([read_by_terminator(program, &block.terminator)]) {
                words.iter().for_each(|word| uses.count[word as usize] += 1);
            }
            for op in &block.ops {
                if let Op::Assign { to, value: Expr::Const(_) } = op
                    && to.width <= 64
                {
                    uses.decided.place(*to);
                }
            }
        }
        program.header_words().for_each(|(word, words)| {
            (word..word + words).for_each(|word| uses.decided.remove(word));
        });
        program.headers.iter().for_each(|header| uses.decided.add(header.valid, 1));
        uses
    }
}

/// Variants of a parser by the validity of headers, by constants that it assigns, and by the values
/// that a select compares. The validity of stacks is left out, since they are often parsed in a
/// chain of selects with many paths.
pub(crate) fn parsed(
    program: &Program,
    plan: &Plan,
    uses: &Uses,
    arrival: Arrival,
) -> Distinguished {
    let mut words = Words::empty(program);
    for block in &program.parser.blocks {
        if let Terminator::Select { keys, .. } = &block.terminator {
            for key in keys {
                if let Expr::Load(place) = key {
                    words.place(*place);
                }
            }
        }
        for op in &block.ops {
            if let Op::Assign { to, .. } = op {
                words.place(*to);
            }
        }
    }
    for (id, header) in (0..).zip(&program.headers) {
        let mut stacks = program.stacks.iter();
        if !stacks.any(|stack| (stack.first..stack.first + stack.size).contains(&id)) {
            words.add(header.valid, 1);
        }
    }
    // The port of the control plane. All recirculated packets have the same port.
    let left_out = match arrival {
        Arrival::Received => Some(program.standard_metadata.ingress_port.word),
        Arrival::Recirculated => None,
    };
    let mut weights = Weights::none(program);
    words.iter().for_each(|word| weights.add(word, 1 + uses.count[word as usize]));
    let live_after = plan.read_after(program, Graph::Parser);
    Distinguished { weights, live_after, limit: MAX_PATHS, left_out }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use netkv_p4::{Options, compile_file};

    use super::*;
    use crate::program_of::program_of;

    /// The programs that ship, by file.
    fn programs() -> Vec<(PathBuf, Program)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
        let options = Options { include_dirs: vec![folder.clone()], ..Options::default() };
        let files = |folder: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
        };
        let all = files(&folder).into_iter().filter(|it| it.is_dir()).flat_map(|it| files(&it));
        let whole = all.filter(|file| {
            // Programs of one folder may include their switch.
            let text = std::fs::read_to_string(file).unwrap();
            text.contains("V1Switch(") || text.contains("switch.p4\"")
        });
        whole
            .map(|file| {
                let compiled = compile_file(&file, &options);
                let program = compiled.unwrap_or_else(|errors| panic!("{errors}")).program;
                (file, program)
            })
            .collect()
    }

    /// What is known of a packet on each path after the parser.
    fn known_after_parser(program: &Program) -> Vec<Known> {
        let paths = common_paths(program, &Plan::new(program), Arrival::Received).unwrap();
        paths.next.into_iter().filter(|next| next.stage.is_some()).map(|next| next.known).collect()
    }

    fn validity_of(program: &Program, header: &str) -> u32 {
        program.headers.iter().find(|it| it.name == header).unwrap().valid
    }

    const SOURCE: &str = "
    #include <core.p4>
    #include <v1model.p4>
    header request_t { bit<8> op; bit<8> chunks; }
    header chunk_t { bit<32> data; }
    struct headers_t { request_t q; chunk_t key; chunk_t[2] value; }
    struct meta_t { bit<8> role; }
    parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
        state start {
            transition select(s.ingress_port) { 510: accept; default: request; }
        }
        state request {
            p.extract(h.q);
            transition select(h.q.op) { 1: read; 2: write; 3: write; default: accept; }
        }
        state read { m.role = 7; transition key; }
        state write {
            m.role = 8;
            transition select(h.q.chunks) { 1: one; 2: two; default: key; }
        }
        state one { p.extract(h.value[0]); transition key; }
        state two { p.extract(h.value[0]); p.extract(h.value[1]); transition key; }
        state key { p.extract(h.key); transition accept; }
    }
    control V(inout headers_t h, inout meta_t m) { apply { } }
    control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
        apply { if (m.role == 7) { s.egress_spec = 1; } else { s.egress_spec = 2; } }
    }
    control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
    control C(inout headers_t h, inout meta_t m) { apply { } }
    control D(packet_out p, in headers_t h) {
        apply { p.emit(h.q); p.emit(h.value); p.emit(h.key); }
    }
    V1Switch(P(), V(), I(), E(), C(), D()) main;
    ";

    #[test]
    fn kinds_of_requests_have_paths_of_their_own() {
        let program = program_of(SOURCE);
        let place = |name: &str| {
            let fields = program
                .headers
                .iter()
                .flat_map(|header| header.fields.iter().map(move |field| (header, field)));
            let named = fields.map(|(header, field)| {
                (format!("{}.{}", header.name, field.name), field.place.word)
            });
            named.into_iter().find(|(found, _)| found == name).unwrap().1
        };
        let words = [
            place("h.q.op"),
            validity_of(&program, "h.key"),
            validity_of(&program, "h.value[0]"),
            validity_of(&program, "h.value[1]"),
        ];
        let mut paths: Vec<[Option<u64>; 4]> = known_after_parser(&program)
            .iter()
            .map(|known| words.map(|word| known.get(word)))
            .collect();
        paths.sort_unstable();
        let writes = [2, 3].into_iter().flat_map(|op| {
            [[0, 0], [1, 0], [1, 1]]
                .map(|[first, second]| [Some(op), Some(1), Some(first), Some(second)])
        });
        let mut expected: Vec<[Option<u64>; 4]> = writes.collect();
        expected.push([Some(1), Some(1), Some(0), Some(0)]);
        expected.push([None, Some(0), Some(0), Some(0)]);
        expected.sort_unstable();
        assert_eq!(paths, expected);
    }

    #[test]
    fn programs_that_ship_have_paths_that_are_not_much_larger() {
        let programs = programs();
        assert!(programs.len() >= 8, "{}", programs.len());
        for (file, program) in programs {
            let paths = common_paths(&program, &Plan::new(&program), Arrival::Received).unwrap();
            let of_program: usize =
                Graph::ALL.iter().map(|graph| graph_size(graph.of(&program))).sum();
            let of_paths: usize =
                paths.next.iter().flat_map(|next| &next.stage).map(Stage::size).sum();
            assert!(of_paths > 0, "{}", file.display());
            assert!(of_paths <= MAX_SIZE * of_program.max(SMALL), "{}: {of_paths}", file.display());
        }
    }

    #[test]
    fn frames_of_the_control_plane_are_on_no_path() {
        for (file, program) in programs() {
            let packet_out = validity_of(&program, "hdr.packet_out");
            for known in known_after_parser(&program) {
                assert_eq!(known.get(packet_out), Some(0), "{}", file.display());
            }
        }
    }

    #[test]
    fn a_program_with_too_much_state_has_no_paths() {
        let program = |fields: usize| {
            let fields: String = (0..fields).map(|i| format!("bit<2048> w{i}; ")).collect();
            let more = "h.q.chunks = h.q.chunks + h.q.op; ".repeat(100);
            let source = SOURCE.replace("bit<8> role; }", &format!("bit<8> role; {fields}}}"));
            program_of(&source.replace("apply { if", &format!("apply {{ {more} if")))
        };
        let [usual, large] = [10, 8_000].map(|fields| {
            let program = program(fields);
            common_paths(&program, &Plan::new(&program), Arrival::Received).is_some()
        });
        assert!(usual && !large);
    }

    #[test]
    fn a_parser_that_may_loop_has_no_paths() {
        let looping = SOURCE.replace(
            "default: accept; }\n        }\n        state read",
            "default: request; }\n        }\n        state read",
        );
        assert_ne!(looping, SOURCE);
        let program = program_of(&looping);
        assert!(common_paths(&program, &Plan::new(&program), Arrival::Received).is_none());
    }
}
