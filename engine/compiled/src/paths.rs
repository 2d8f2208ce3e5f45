//! The common paths of packets through a program: what the fast function compiles.
//!
//! A path begins with frames that a parser treats alike: the same headers are valid, and mostly the
//! frames are the same kind of request. The rest of the program is then simpler. What a path knows at
//! the end of a graph, the next graph starts with.

use netkv_dataplane::Graph;
use netkv_ir::{Expr, Op, Program, Terminator};

use crate::known::Known;
use crate::plan::{Plan, Words};
use crate::prefetch::is_repeatable;
use crate::variants::{Distinguished, Variants};

/// Maximum number of paths.
const MAX_PATHS: usize = 12;

/// Maximum size of all paths together, as a multiple of the program's.
const MAX_SIZE: usize = 4;

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
    /// None after the deparser, and after paths of the parser that are left out.
    pub(crate) stage: Option<Stage>,
}

/// The parser, and the stages of the common paths. None if the parser cannot run twice for a packet,
/// if words of the packet are in memory, or if a graph has a cycle.
pub(crate) fn common_paths(program: &Program, plan: &Plan) -> Option<Stage> {
    if !is_repeatable(&program.parser) || plan.in_memory.iter().next().is_some() {
        return None;
    }
    let at_start = Known::of_packet(program);
    let parser = Variants::new(program, &program.parser, at_start, &parsed(program))?;
    let sizes = [Graph::VerifyChecksum, Graph::Ingress, Graph::Egress, Graph::ComputeChecksum];
    let size: usize = sizes.iter().map(|graph| graph_size(graph.of(program))).sum();
    let mut left = MAX_SIZE * size.max(100);
    let mut next: Vec<Next> = parser
        .exits
        .iter()
        .map(|(_, known)| Next { known: known.clone(), clone: None, stage: None })
        .collect();
    for at in parser.in_order_of_cases() {
        let stage = path(program, &next[at].known, size)?;
        match left.checked_sub(stage.size()) {
            Some(rest) => left = rest,
            None => continue,
        }
        next[at].stage = Some(stage);
    }
    Some(Stage { graph: Graph::Parser, variants: parser, next })
}

/// A path after the parser. It should not be larger than the program, so only a small one has
/// variants of blocks after the parser.
fn path(program: &Program, known: &Known, program_size: usize) -> Option<Stage> {
    let mut last = None;
    for limits in [[2, 2], [1, 2], [1, 1]] {
        let following = Following { program, limits, may_clone: true };
        let stage = following.stage(Graph::VerifyChecksum, known.clone())?;
        let small = stage.size() <= program_size;
        last = Some(stage);
        if small {
            break;
        }
    }
    last
}

/// The graphs after the parser.
#[derive(Debug, Clone, Copy)]
struct Following<'a> {
    program: &'a Program,
    /// Maximum number of variants of a block up to ingress, and from egress on.
    limits: [usize; 2],
    /// The packet is no clone itself.
    may_clone: bool,
}

impl Following<'_> {
    /// A graph and all that follow it.
    fn stage(self, graph: Graph, known: Known) -> Option<Stage> {
        let Self { program, limits, may_clone } = self;
        let up_to_ingress = matches!(graph, Graph::VerifyChecksum | Graph::Ingress);
        let limit = limits[usize::from(!up_to_ingress)];
        let variants = Variants::new(program, graph.of(program), known, &validity(program, limit))?;
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
            next.push(Next { known: known.clone(), clone, stage });
        }
        Some(Stage { graph, variants, next })
    }
}

impl Stage {
    fn size(&self) -> usize {
        let next = self.next.iter().flat_map(|next| next.stage.iter().chain(&next.clone));
        graph_size(&self.variants.cfg) + next.map(Stage::size).sum::<usize>()
    }
}

/// The number of operations and terminators of a graph.
fn graph_size(cfg: &netkv_ir::Cfg) -> usize {
    cfg.blocks.iter().map(|block| 1 + block.ops.len()).sum()
}

/// Variants by the validity of headers.
fn validity(program: &Program, limit: usize) -> Distinguished {
    let mut words = Words::empty(program);
    program.headers.iter().for_each(|header| words.add(header.valid, 1));
    Distinguished { words, limit, left_out: None }
}

/// Variants of a parser by the validity of headers, by constants that it assigns, and by the values
/// that a select compares. The validity of stacks is left out, since they are often parsed in a chain
/// of selects with many paths.
fn parsed(program: &Program) -> Distinguished {
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
    // The port of the control plane.
    let left_out = Some(program.standard_metadata.ingress_port.word);
    Distinguished { words, limit: MAX_PATHS, left_out }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use netkv_p4::{Options, compile_file, compile_source};

    use super::*;

    fn program(name: &str) -> Program {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
        let options = Options { include_dirs: vec![folder.clone()], ..Options::default() };
        let file = folder.join(format!("{name}/{name}.p4"));
        compile_file(&file, &options).unwrap_or_else(|errors| panic!("{errors}")).program
    }

    /// What is known of a packet on each path after the parser.
    fn known_after_parser(program: &Program) -> Vec<Known> {
        let paths = common_paths(program, &Plan::new(program)).unwrap();
        paths.next.into_iter().filter(|next| next.stage.is_some()).map(|next| next.known).collect()
    }

    fn field(program: &Program, name: &str) -> u32 {
        let (header, field) = name.split_once('.').unwrap();
        let header = program.headers.iter().find(|it| it.name == format!("hdr.{header}")).unwrap();
        header.fields.iter().find(|it| it.name == field).unwrap().place.word
    }

    fn valid(program: &Program, name: &str) -> u32 {
        program.headers.iter().find(|it| it.name == format!("hdr.{name}")).unwrap().valid
    }

    #[test]
    fn requests_have_paths_of_their_own() {
        let netcache = program("netcache");
        let paths = known_after_parser(&netcache);
        let [op, kv, metadata] =
            [field(&netcache, "kv.op"), valid(&netcache, "kv"), valid(&netcache, "cache_metadata")];
        let has = |wanted: [Option<u64>; 3]| {
            paths.iter().any(|path| [op, kv, metadata].map(|word| path.get(word)) == wanted)
        };
        assert!(has([Some(0), Some(1), Some(0)]), "a GET");
        assert!(has([None, Some(1), Some(0)]), "any other request");
        assert!(has([None, Some(1), Some(1)]), "a frame with cache metadata");

        let farreach = program("farreach");
        let last = valid(&farreach, "value[7]");
        let paths = known_after_parser(&farreach);
        assert!(paths.iter().any(|path| path.get(last) == Some(1)), "a value of 128 bytes");
        assert!(paths.iter().any(|path| path.get(last) == Some(0)), "a read");
    }

    #[test]
    fn paths_are_not_much_larger_than_the_program() {
        for name in ["nocache", "netcache", "farreach", "netmc"] {
            let program = program(name);
            let paths = common_paths(&program, &Plan::new(&program)).unwrap();
            let of_program: usize =
                Graph::ALL.iter().map(|graph| graph_size(graph.of(&program))).sum();
            let of_paths: usize =
                paths.next.iter().flat_map(|next| &next.stage).map(Stage::size).sum();
            assert!(of_paths > 0, "{name}");
            assert!(of_paths <= MAX_SIZE * of_program.max(100), "{name}: {of_paths}");
        }
    }

    #[test]
    fn frames_of_the_control_plane_are_on_no_path() {
        let netcache = program("netcache");
        let packet_out = valid(&netcache, "packet_out");
        let paths = known_after_parser(&netcache);
        assert!(paths.iter().all(|path| path.get(packet_out) == Some(0)));
    }

    #[test]
    fn a_parser_that_may_loop_has_no_paths() {
        let source = "
        #include <core.p4>
        #include <v1model.p4>
        header q_t { bit<8> more; }
        struct headers_t { q_t[4] q; }
        struct meta_t { }
        parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
            state start {
                p.extract(h.q.next);
                transition select(h.q.last.more) { 0: accept; default: start; }
            }
        }
        control V(inout headers_t h, inout meta_t m) { apply { } }
        control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
        control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
        control C(inout headers_t h, inout meta_t m) { apply { } }
        control D(packet_out p, in headers_t h) { apply { p.emit(h.q); } }
        V1Switch(P(), V(), I(), E(), C(), D()) main;
        ";
        let compiled = compile_source("loop.p4", source, &Options::default());
        let program = compiled.unwrap_or_else(|errors| panic!("{errors}")).program;
        assert!(common_paths(&program, &Plan::new(&program)).is_none());
    }
}
