//! Reports what bmv2 cannot run, as p4c does for v1model.
//!
//! The rules apply to the finished graphs: code that is never reached, and assignments that have no
//! effect, are not there any more.

use std::collections::{HashMap, HashSet};

use netkv_ir::{BlockId, Cfg, Expr, Op, Program, Span, TableId, Terminator};

use crate::diagnostics::Reporter;

/// `meters` are the positions of the declarations of [`Program::meters`].
pub(super) fn check(program: &Program, meters: &[Span], reporter: &mut Reporter) {
    check_parser(&program.parser, reporter);
    check_checksums(&program.verify_checksum, true, reporter);
    check_checksums(&program.compute_checksum, false, reporter);
    check_deparser(&program.deparser, reporter);
    for (graph, is_ingress) in [(&program.ingress, true), (&program.egress, false)] {
        check_pipeline(graph, is_ingress, reporter);
        check_tables(program, graph, reporter);
    }
    check_direct_meters(program, meters, reporter);
}

fn ops(graph: &Cfg) -> impl Iterator<Item = (&Op, Span)> {
    graph.blocks.iter().flat_map(|block| block.ops.iter().zip(block.spans.iter().copied()))
}

/// Name of the extern that an operation calls, if it is one that packet processing needs.
fn extern_name(op: &Op) -> Option<&'static str> {
    Some(match op {
        Op::RegisterRead { .. } | Op::RegisterWrite { .. } => "A register",
        Op::Count { .. } => "A counter",
        Op::ExecuteMeter { .. } | Op::ReadDirectMeter { .. } => "A meter",
        Op::Hash { .. } => "'hash'",
        Op::Random { .. } => "'random'",
        Op::VerifyChecksum { .. } => "'verify_checksum'",
        Op::UpdateChecksum { .. } => "'update_checksum'",
        Op::MarkToDrop => "'mark_to_drop'",
        Op::Clone { .. } => "'clone'",
        Op::Resubmit { .. } => "'resubmit'",
        Op::Recirculate { .. } => "'recirculate'",
        Op::Digest { .. } => "'digest'",
        Op::Truncate(_) => "'truncate'",
        _ => return None,
    })
}

fn check_parser(graph: &Cfg, reporter: &mut Reporter) {
    for (op, span) in ops(graph) {
        let name = match op {
            Op::Assert { .. } => Some("An assertion"),
            op => extern_name(op),
        };
        if let Some(name) = name {
            let message = format!(
                "{name} cannot be used in a parser of v1model; use it in a control, where the \
                 packet is already parsed."
            );
            reporter.error(span, message);
        }
    }
}

fn check_checksums(graph: &Cfg, verify: bool, reporter: &mut Reporter) {
    let (block, expected) = match verify {
        true => ("checksum verification", "'verify_checksum' and 'verify_checksum_with_payload'"),
        false => ("checksum computation", "'update_checksum' and 'update_checksum_with_payload'"),
    };
    let mut report =
        |span| reporter.error(span, format!("The {block} of v1model can only call {expected}."));
    for (op, span) in ops(graph) {
        match op {
            Op::VerifyChecksum { .. } if verify => {}
            Op::UpdateChecksum { .. } if !verify => {}
            _ => report(span),
        }
    }
    for block in &graph.blocks {
        if !matches!(block.terminator, Terminator::Jump(_) | Terminator::Exit) {
            report(block.terminator_span);
        }
    }
}

fn check_deparser(graph: &Cfg, reporter: &mut Reporter) {
    const MESSAGE: &str =
        "The deparser of v1model can only emit headers: do this in the egress control.";
    for (op, span) in ops(graph) {
        let allowed = match op {
            Op::Emit(_) | Op::EmitStack(_) | Op::Log { .. } | Op::Assert { .. } => true,
            // The declaration of a variable.
            Op::ZeroWords { .. } | Op::SetInvalid(_) => true,
            Op::Assign { value, .. } => matches!(value, Expr::Const(_)),
            Op::RegisterRead { .. } | Op::RegisterWrite { .. } | Op::Count { .. } => false,
            Op::ExecuteMeter { .. } => false,
            op => extern_name(op).is_some(),
        };
        if !allowed {
            reporter.error(span, MESSAGE);
        }
    }
    for block in &graph.blocks {
        if !matches!(block.terminator, Terminator::Jump(_) | Terminator::Exit) {
            reporter.error(block.terminator_span, MESSAGE);
        }
    }
}

fn check_pipeline(graph: &Cfg, is_ingress: bool, reporter: &mut Reporter) {
    for (op, span) in ops(graph) {
        let message = match op {
            Op::VerifyChecksum { .. } => {
                "'verify_checksum' can only be called in the checksum verification of V1Switch."
            }
            Op::UpdateChecksum { .. } => {
                "'update_checksum' can only be called in the checksum computation of V1Switch."
            }
            Op::Resubmit { .. } if !is_ingress => "'resubmit' can only be called in the ingress.",
            Op::Clone { ingress: true, .. } if !is_ingress => {
                "A clone of the ingress (CloneType.I2E) can only be made in the ingress; the egress \
                 clones with CloneType.E2E."
            }
            Op::Clone { ingress: false, .. } if is_ingress => {
                "A clone of the egress (CloneType.E2E) can only be made in the egress; the ingress \
                 clones with CloneType.I2E."
            }
            Op::Recirculate { .. } if is_ingress => {
                "'recirculate' can only be called in the egress."
            }
            _ => continue,
        };
        reporter.error(span, message);
    }
}

/// bmv2 has one node for each table, so no path may apply a table twice.
fn check_tables(program: &Program, graph: &Cfg, reporter: &mut Reporter) {
    let mut sites: HashMap<TableId, Vec<BlockId>> = HashMap::new();
    for (id, block) in graph.blocks.iter().enumerate() {
        if let Terminator::Apply(apply) = &block.terminator {
            sites.entry(apply.table).or_default().push(id as BlockId);
        }
    }
    for (table, blocks) in sites {
        let again = blocks.iter().copied().find(|from| {
            let mut seen = HashSet::new();
            let mut open = graph.blocks[*from as usize].terminator.successors();
            while let Some(at) = open.pop() {
                if seen.insert(at) {
                    open.extend(graph.blocks[at as usize].terminator.successors());
                }
            }
            blocks.iter().any(|block| seen.contains(block))
        });
        if let Some(from) = again {
            let name = &program.tables[table as usize].identity.name;
            let message = format!(
                "Table '{name}' is applied again on a path after this. v1model applies a table once \
                 to a packet in each pipeline."
            );
            reporter.error(graph.blocks[from as usize].terminator_span, message);
        }
    }
}

/// A direct meter that is read has a table, and of a table that is applied an action reads it.
fn check_direct_meters(program: &Program, meters: &[Span], reporter: &mut Reporter) {
    let mut read = HashSet::new();
    let applied: HashSet<TableId> = [&program.ingress, &program.egress]
        .iter()
        .flat_map(|graph| &graph.blocks)
        .filter_map(|block| match &block.terminator {
            Terminator::Apply(apply) => Some(apply.table),
            _ => None,
        })
        .collect();
    for (op, span) in ops(&program.ingress).chain(ops(&program.egress)) {
        let Op::ReadDirectMeter { meter, .. } = op else { continue };
        let info = &program.meters[*meter as usize];
        read.insert(*meter);
        if info.direct.is_none() {
            let message = format!(
                "Direct meter '{}' belongs to no table: one must have it as 'meters'.",
                info.identity.name
            );
            reporter.error(span, message);
        }
    }
    for ((id, meter), span) in (0..).zip(&program.meters).zip(meters) {
        if let Some(table) = meter.direct
            && applied.contains(&table)
            && !read.contains(&id)
        {
            let message = format!(
                "Table '{}' has the direct meter '{}', but no action of it reads the meter.",
                program.tables[table as usize].identity.name, meter.identity.name
            );
            reporter.error(*span, message);
        }
    }
}
