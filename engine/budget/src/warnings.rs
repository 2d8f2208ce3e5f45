//! Warnings about constructs that a pipeline cannot execute in one pass.

use std::collections::BTreeMap;

use netkv_ir::Program;

use crate::access_groups::{AccessGroup, Conflict, ConflictReason};
use crate::dependencies::Graph;
use crate::describe::Names;
use crate::effects::{Kind, Object};
use crate::nodes::NodeId;
use crate::report::{Position, Warning, WarningKind};
use crate::target::Target;
use crate::units::{Cycle, Units};

/// Maximum chain of operations of a stateful ALU between the read and the write of a cell.
const UPDATE_STEPS: u32 = 1;

/// All warnings for a graph, in the order of the program.
pub(crate) fn warnings(
    program: &Program,
    target: &Target,
    names: &Names<'_>,
    graph: &Graph,
    found: (&[AccessGroup], &[Conflict], &Units),
) -> Vec<Warning> {
    let (groups, conflicts, units) = found;
    let mut warnings: Vec<(NodeId, Warning)> = double_accesses(names, graph, conflicts);
    warnings.extend(units.cycles.iter().map(|cycle| cyclic_order(names, graph, cycle)));
    let updates = groups.iter().filter(|group| group.updates);
    warnings.extend(
        updates.filter_map(|group| update_too_complex(program, target, names, graph, group)),
    );
    warnings.sort_by_key(|(node, _)| *node);
    warnings.into_iter().map(|(_, warning)| warning).collect()
}

/// A warning for each object and reason, with the positions of all conflicting accesses.
fn double_accesses(
    names: &Names<'_>,
    graph: &Graph,
    conflicts: &[Conflict],
) -> Vec<(NodeId, Warning)> {
    let mut grouped: BTreeMap<(Object, u8), Vec<&Conflict>> = BTreeMap::new();
    for conflict in conflicts {
        let reason = match conflict.reason {
            ConflictReason::DifferentIndex => 0,
            ConflictReason::ThroughNode(_) => 1,
            ConflictReason::NotARegister => 2,
        };
        grouped.entry((conflict.object, reason)).or_default().push(conflict);
    }
    let warning = |((object, _), conflicts): ((Object, u8), Vec<&Conflict>)| {
        let first = conflicts[0];
        let (message, help) = sentences(names, graph, first);
        let nodes = conflicts.iter().flat_map(|conflict| {
            let through = match conflict.reason {
                ConflictReason::ThroughNode(node) => Some(node),
                _ => None,
            };
            [Some(conflict.first), through, Some(conflict.second)].into_iter().flatten()
        });
        let warning = Warning {
            kind: WarningKind::Twice,
            objects: vec![names.name(object).to_string()],
            message,
            help,
            at: positions(names, graph, nodes),
        };
        (first.first, warning)
    };
    grouped.into_iter().map(warning).collect()
}

fn sentences(names: &Names<'_>, graph: &Graph, conflict: &Conflict) -> (String, String) {
    let object = names.name(conflict.object);
    match conflict.reason {
        ConflictReason::DifferentIndex => (
            format!("Register array {object} is accessed twice in a pass, at two indices."),
            "A register array is in one stage, and a packet passes a stage once. Use the same index, \
             or two arrays, or recirculate the packet."
                .to_string(),
        ),
        ConflictReason::ThroughNode(node) => (
            format!(
                "Register array {object} is accessed twice in a pass: a value that is read from it \
                 passes {} before it is written back.",
                names.node(&graph.nodes[node])
            ),
            "A stateful ALU reads and writes a cell in one stage. Between the two it has only \
             arithmetic and conditions."
                .to_string(),
        ),
        ConflictReason::NotARegister => {
            let (what, used) = match conflict.object {
                Object::Table(_) => ("table", "applied"),
                Object::Meter(_) => ("meter", "executed"),
                _ => ("counter", "incremented"),
            };
            (
                format!("The {what} {object} is {used} twice in a pass."),
                format!(
                    "A {what} is in one stage, and a packet passes a stage once. Put the two into \
                     branches that exclude each other, or add a second {what}."
                ),
            )
        }
    }
}

fn cyclic_order(names: &Names<'_>, graph: &Graph, cycle: &Cycle) -> (NodeId, Warning) {
    let titles: Vec<String> = cycle.objects.iter().map(|object| names.title(*object)).collect();
    let message =
        format!("No order of stages satisfies the dependencies between {}.", titles.join(", "));
    let warning = Warning {
        kind: WarningKind::Order,
        objects: cycle.objects.iter().map(|object| names.name(*object).to_string()).collect(),
        message,
        help: "Each of them must come before another one: on different paths of the program, or \
               because the new value of each depends on the value of the other."
            .to_string(),
        at: positions(names, graph, cycle.accesses.iter().copied()),
    };
    (cycle.accesses[0], warning)
}

/// A warning if an update is too complex for a stateful ALU.
fn update_too_complex(
    program: &Program,
    target: &Target,
    names: &Names<'_>,
    graph: &Graph,
    group: &AccessGroup,
) -> Option<(NodeId, Warning)> {
    let Object::Register(register) = group.object else { return None };
    let name = names.name(group.object);
    let width = program.registers[register as usize].width;
    let steps = longest_chain(graph, group);
    let (message, help) = if width > target.update_bits {
        let limit = target.update_bits;
        (
            format!(
                "The value written to register array {name} depends on its old value of {width} \
                 bits. A stateful ALU computes with at most {limit} bits."
            ),
            "A wider cell can be read or overwritten, but not updated.".to_string(),
        )
    } else if steps > UPDATE_STEPS {
        (
            format!(
                "The update of register array {name} is a chain of {steps} operations. A stateful ALU \
                 has conditions and one operation."
            ),
            "Compute what does not depend on the cell in an earlier stage.".to_string(),
        )
    } else {
        return None;
    };
    let warning = Warning {
        kind: WarningKind::Update,
        objects: vec![name.to_string()],
        message,
        help,
        at: positions(names, graph, group.accesses.iter().copied()),
    };
    Some((group.accesses[0], warning))
}

/// Length of the longest chain of operations between the reads and the writes of a group.
fn longest_chain(graph: &Graph, group: &AccessGroup) -> u32 {
    let mut nodes: Vec<NodeId> = group.accesses.iter().chain(&group.internal).copied().collect();
    nodes.sort_unstable();
    let mut chains: BTreeMap<NodeId, u32> = BTreeMap::new();
    for id in nodes {
        let node = &graph.nodes[id];
        // A condition is not part of the value.
        let data =
            node.dependencies.iter().filter(|edge| graph.nodes[edge.node].kind != Kind::Branch);
        let before = data.filter_map(|edge| chains.get(&edge.node)).max().copied();
        let reads = matches!(node.kind, Kind::Fetch(_));
        // Only operations that depend on the cell are computed by its ALU.
        if let Some(before) = before.or(reads.then_some(0)) {
            chains.insert(id, before + if reads { 0 } else { node.steps });
        }
    }
    chains.into_values().max().unwrap_or(0)
}

fn positions(
    names: &Names<'_>,
    graph: &Graph,
    nodes: impl Iterator<Item = NodeId>,
) -> Vec<Position> {
    let mut found: Vec<Position> = Vec::new();
    let mut nodes: Vec<NodeId> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    for node in nodes {
        let position = names.position(&graph.nodes[node]);
        if !found.contains(&position) {
            found.push(position);
        }
    }
    found
}
