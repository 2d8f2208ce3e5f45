//! Sentences about what a pipeline cannot do in one pass.

use std::collections::BTreeMap;

use netkv_ir::Program;

use crate::dependencies::{Graph, NodeId};
use crate::describe::Names;
use crate::effects::{Kind, Object};
use crate::report::{Position, Trouble, Warning};
use crate::target::Target;
use crate::units::{Knot, Units};
use crate::visits::{Clash, Visit, Why};

/// Operations one after the other that a stateful ALU does between reading and writing a cell.
const UPDATE_STEPS: u32 = 1;

/// All warnings about a graph, in the order of the program.
pub(crate) fn warnings(
    program: &Program,
    target: &Target,
    names: &Names<'_>,
    graph: &Graph,
    found: (&[Visit], &[Clash], &Units),
) -> Vec<Warning> {
    let (visits, clashes, units) = found;
    let mut warnings: Vec<(NodeId, Warning)> = twice(names, graph, clashes);
    warnings.extend(units.knots.iter().map(|knot| order(names, graph, knot)));
    let updates = visits.iter().filter(|visit| visit.updates);
    warnings.extend(updates.filter_map(|visit| update(program, target, names, graph, visit)));
    warnings.sort_by_key(|(node, _)| *node);
    warnings.into_iter().map(|(_, warning)| warning).collect()
}

/// A warning for each object and reason, with all places.
fn twice(names: &Names<'_>, graph: &Graph, clashes: &[Clash]) -> Vec<(NodeId, Warning)> {
    let mut grouped: BTreeMap<(Object, u8), Vec<&Clash>> = BTreeMap::new();
    for clash in clashes {
        let reason = match clash.why {
            Why::Index => 0,
            Why::Through(_) => 1,
            Why::Again => 2,
        };
        grouped.entry((clash.object, reason)).or_default().push(clash);
    }
    let warning = |((object, _), clashes): ((Object, u8), Vec<&Clash>)| {
        let first = clashes[0];
        let (message, help) = sentences(names, graph, first);
        let nodes = clashes.iter().flat_map(|clash| {
            let through = match clash.why {
                Why::Through(node) => Some(node),
                _ => None,
            };
            [Some(clash.first), through, Some(clash.second)].into_iter().flatten()
        });
        let warning = Warning {
            kind: Trouble::Twice,
            objects: vec![names.name(object).to_string()],
            message,
            help,
            at: positions(names, graph, nodes),
        };
        (first.first, warning)
    };
    grouped.into_iter().map(warning).collect()
}

fn sentences(names: &Names<'_>, graph: &Graph, clash: &Clash) -> (String, String) {
    let object = names.name(clash.object);
    match clash.why {
        Why::Index => (
            format!("Register array {object} is accessed twice in a pass, at two indices."),
            "It is in one stage, and a packet passes that once. One index, two arrays, or a second \
             pass would do."
                .to_string(),
        ),
        Why::Through(node) => (
            format!(
                "Register array {object} is accessed twice in a pass: what is read from it goes \
                 through {} before it comes back.",
                names.node(&graph.nodes[node])
            ),
            "A stateful ALU reads and writes a cell in one stage, with arithmetic and conditions \
             in between and nothing else."
                .to_string(),
        ),
        Why::Again => {
            let (is, help) = match clash.object {
                Object::Table(_) => ("Table", "is applied"),
                Object::Meter(_) => ("Meter", "is asked"),
                _ => ("Counter", "counts"),
            };
            (
                format!("{is} {object} {help} twice in a pass."),
                "It is in one stage, and a packet passes that once. Branches that exclude each \
                 other would do, or a second one."
                    .to_string(),
            )
        }
    }
}

fn order(names: &Names<'_>, graph: &Graph, knot: &Knot) -> (NodeId, Warning) {
    let titles: Vec<String> = knot.objects.iter().map(|object| names.title(*object)).collect();
    let message = format!("No order of stages suits all of {}.", titles.join(", "));
    let warning = Warning {
        kind: Trouble::Order,
        objects: knot.objects.iter().map(|object| names.name(*object).to_string()).collect(),
        message,
        help: "Each is needed before another one of them: on different ways through the program, \
               or because each changes by what the other holds."
            .to_string(),
        at: positions(names, graph, knot.accesses.iter().copied()),
    };
    (knot.accesses[0], warning)
}

/// What a stateful ALU is asked to compute, if it is too much.
fn update(
    program: &Program,
    target: &Target,
    names: &Names<'_>,
    graph: &Graph,
    visit: &Visit,
) -> Option<(NodeId, Warning)> {
    let Object::Register(register) = visit.object else { return None };
    let name = names.name(visit.object);
    let width = program.registers[register as usize].width;
    let steps = longest(graph, visit);
    let (message, help) = if width > target.update_bits {
        let most = target.update_bits;
        (
            format!(
                "What is written to register array {name} depends on what it holds, in cells of \
                 {width} bits; a stateful ALU computes with {most} at most."
            ),
            "Wider values can only be read, or written.".to_string(),
        )
    } else if steps > UPDATE_STEPS {
        (
            format!(
                "Register array {name} is updated by {steps} operations, one after the other; a \
                 stateful ALU does one, besides conditions."
            ),
            "What does not depend on the cell can be computed before.".to_string(),
        )
    } else {
        return None;
    };
    let warning = Warning {
        kind: Trouble::Update,
        objects: vec![name.to_string()],
        message,
        help,
        at: positions(names, graph, visit.accesses.iter().copied()),
    };
    Some((visit.accesses[0], warning))
}

/// The most operations between reading and writing that take the result of each other.
fn longest(graph: &Graph, visit: &Visit) -> u32 {
    let mut nodes: Vec<NodeId> = visit.accesses.iter().chain(&visit.within).copied().collect();
    nodes.sort_unstable();
    let mut chains: BTreeMap<NodeId, u32> = BTreeMap::new();
    for id in nodes {
        let node = &graph.nodes[id];
        // What is decided on does not become part of a value.
        let data = node.needs.iter().filter(|edge| graph.nodes[edge.node].kind != Kind::Branch);
        let before = data.filter_map(|edge| chains.get(&edge.node)).max().copied();
        let reads = matches!(node.kind, Kind::Fetch(_));
        // Only what comes from the cell is computed by its ALU.
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
