//! Forward data-flow analysis of a graph: it makes the nodes of the dependency graph.
//!
//! The blocks are visited in topological order. At the entry of a block the reaching definitions
//! and the path conditions of its predecessors are joined; each operation then changes them (see
//! [`crate::transfer`]).

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use netkv_ir::{Apply, Block, BlockId, Cfg, Expr, Op, Pattern, Program, Span, Terminator, Word};

use crate::effects::{self, Change, Effect, Kind};
use crate::flow::Flow;
use crate::nodes::{Boundary, Edge, Node, NodeId};
use crate::path_conditions::PathConditions;
use crate::reaching_definitions::ReachingDefinitions;
use crate::reads::{Read, steps};
use crate::value_numbering::{ValueNumbering, significant_words};

/// The result of the analysis.
pub(crate) struct DataflowResult {
    pub(crate) nodes: Vec<Node>,
    /// Path conditions of each block.
    pub(crate) conditions: Vec<PathConditions>,
    /// Nodes that wrote a word that is live at an exit.
    pub(crate) live_out_writers: Vec<NodeId>,
    /// Words that the graph wrote and that are live at an exit.
    pub(crate) live_out: BTreeSet<Word>,
    /// For each word that is read, the number of its bits in use.
    pub(crate) bits: HashMap<Word, u32>,
}

/// Analyzes a graph.
pub(crate) fn analyze(
    program: &Program,
    cfg: &Cfg,
    flow: &Flow,
    boundary: &Boundary<'_>,
) -> DataflowResult {
    let mut dataflow = Dataflow {
        program,
        cfg,
        boundary,
        numbering: ValueNumbering::default(),
        terminator_nodes: vec![None; cfg.blocks.len()],
        states: HashMap::new(),
        edge_conditions: HashMap::new(),
        found: DataflowResult {
            nodes: Vec::new(),
            conditions: vec![PathConditions::default(); cfg.blocks.len()],
            live_out_writers: Vec::new(),
            live_out: BTreeSet::new(),
            bits: HashMap::new(),
        },
    };
    flow.order.iter().for_each(|block| dataflow.visit_block(flow, *block));
    dataflow.found
}

/// State of the analysis.
pub(crate) struct Dataflow<'a> {
    pub(crate) program: &'a Program,
    cfg: &'a Cfg,
    boundary: &'a Boundary<'a>,
    pub(crate) numbering: ValueNumbering,
    pub(crate) found: DataflowResult,
    /// The node of each block's terminator.
    terminator_nodes: Vec<Option<NodeId>>,
    /// The state at the end of each block, and the number of successors not visited yet.
    states: HashMap<BlockId, (Rc<ReachingDefinitions>, usize)>,
    /// Path conditions of the edge from one block to another.
    edge_conditions: HashMap<(BlockId, BlockId), PathConditions>,
}

impl Dataflow<'_> {
    fn visit_block(&mut self, flow: &Flow, id: BlockId) {
        let predecessors = &flow.predecessors[id as usize];
        let states: Vec<Rc<ReachingDefinitions>> =
            predecessors.iter().map(|from| self.take_state(*from)).collect();
        let mut state = ReachingDefinitions::join(&mut self.numbering, id, &states);
        drop(states);
        let mut incoming =
            predecessors.iter().filter_map(|from| self.edge_conditions.remove(&(*from, id)));
        let mut conditions = incoming.next().unwrap_or_default();
        incoming.for_each(|other| conditions.merge(&other));
        let control_dependences = &flow.control_dependences[id as usize];
        let block: &Block = &self.cfg.blocks[id as usize];
        for (op, span) in block.ops.iter().zip(&block.spans) {
            if let Some(effect) = effects::of(self.program, op)
                && !self.skip_initial_zero(&mut state, op)
            {
                let node = self.add_node(&state, id, *span, control_dependences, &effect);
                effect.changes.iter().for_each(|change| self.change(&mut state, node, change));
            }
        }
        self.add_terminator(&mut state, id, block, control_dependences);
        let next = &flow.successors[id as usize];
        self.propagate_conditions(&state, id, block, &conditions);
        self.found.conditions[id as usize] = conditions;
        if next.is_empty() {
            self.record_live_out(&state);
        } else {
            self.states.insert(id, (Rc::new(state), next.len()));
        }
    }

    /// The state at the end of a block. It is dropped when its last successor has it.
    fn take_state(&mut self, block: BlockId) -> Rc<ReachingDefinitions> {
        let Some((state, pending)) = self.states.get_mut(&block) else { return Rc::default() };
        let state = Rc::clone(state);
        *pending -= 1;
        if *pending == 0 {
            self.states.remove(&block);
        }
        state
    }

    /// Whether an operation only sets words to zero that are zero at the entry. It needs no node
    /// then; the state is updated.
    fn skip_initial_zero(&mut self, state: &mut ReachingDefinitions, op: &Op) -> bool {
        let (to, words) = match op {
            Op::ZeroWords { to, words } => (*to, *words),
            Op::Assign { to, value: Expr::Const(value) } if significant_words(value).is_empty() => {
                (to.word, to.words())
            }
            _ => return false,
        };
        let zero = |word| state.get(word).is_none() && (self.boundary.zero_at_entry)(word);
        if !(to..to + words).all(zero) {
            return false;
        }
        let number = self.numbering.zero();
        (to..to + words).for_each(|word| state.set_constant(word, number, None));
        true
    }

    fn add_node(
        &mut self,
        state: &ReachingDefinitions,
        block: BlockId,
        span: Span,
        control_dependences: &[BlockId],
        effect: &Effect<'_>,
    ) -> NodeId {
        let reads = &effect.reads.found;
        let index = effect.index.map(|index| state.expr(&mut self.numbering, index));
        let mut node = Node {
            kind: effect.kind,
            block,
            span,
            earliest: reads.iter().map(|read| read.depth).max().unwrap_or(0),
            dependencies: Vec::new(),
            dependents: Vec::new(),
            overwrites: Vec::new(),
            uses: Vec::new(),
            writes: Vec::new(),
            index,
            steps: effect.steps,
        };
        for read in reads {
            self.found.bits.entry(read.word).or_insert(read.bits);
            match state.get(read.word) {
                None => node.uses.push(read.word),
                Some(word_value) => {
                    node.uses.extend(word_value.originals.iter());
                    for from in word_value.producers.iter() {
                        let distance = self.distance(*from, &node, *read);
                        node.dependencies.push(Edge { node: *from, distance });
                    }
                }
            }
        }
        let control_dependences =
            control_dependences.iter().filter_map(|block| self.terminator_nodes[*block as usize]);
        node.dependencies.extend(control_dependences.map(|node| Edge { node, distance: 0 }));
        keep_longest(&mut node.dependencies);
        self.found.nodes.push(node);
        self.found.nodes.len() - 1
    }

    /// Distance in stages from a result to a node that reads it.
    fn distance(&self, from: NodeId, to: &Node, read: Read) -> u32 {
        let producer = &self.found.nodes[from];
        let same_stage = match producer.kind {
            Kind::Apply(_) => {
                // The action reads its data in the stage of its table. A branch on the outcome
                // (hit or selected action) is decided there, too.
                producer.writes.contains(&read.word)
                    || (to.kind == Kind::Branch && self.is_outcome(producer.block, read.word))
            }
            // The node that computes a value can also write its copy.
            _ => to.kind == Kind::Move && producer.block == to.block,
        };
        // A signal takes its fields after the last stage.
        let same_stage = same_stage || to.kind == Kind::Signal;
        u32::from(!same_stage) + read.depth
    }

    fn is_outcome(&self, block: BlockId, word: Word) -> bool {
        match &self.cfg.blocks[block as usize].terminator {
            Terminator::Apply(apply) => [apply.hit, apply.action_run].contains(&word),
            _ => false,
        }
    }

    /// Adds the node of a block's terminator and applies its changes.
    fn add_terminator(
        &mut self,
        state: &mut ReachingDefinitions,
        id: BlockId,
        block: &Block,
        control_dependences: &[BlockId],
    ) {
        let mut effect = Effect::new(self.program, Kind::Branch);
        match &block.terminator {
            Terminator::Branch { cond, .. } => {
                effect.reads.condition(cond, 0);
                effect.steps = steps(cond);
            }
            Terminator::Select { keys, .. } => {
                keys.iter().for_each(|key| effect.reads.operand(key, 0));
            }
            Terminator::Apply(apply) => {
                effect.kind = Kind::Apply(apply.table);
                apply.keys.iter().for_each(|key| effect.reads.operand(key, 0));
                apply_changes(apply, &mut effect.changes);
            }
            Terminator::Jump(_) | Terminator::Exit => return,
        }
        let node = self.add_node(state, id, block.terminator_span, control_dependences, &effect);
        effect.changes.iter().for_each(|change| self.change(state, node, change));
        self.terminator_nodes[id as usize] = Some(node);
    }

    /// Derives the path conditions of each edge that leaves a block.
    fn propagate_conditions(
        &mut self,
        state: &ReachingDefinitions,
        id: BlockId,
        block: &Block,
        conditions: &PathConditions,
    ) {
        let mut outgoing: Vec<(BlockId, PathConditions)> = Vec::new();
        let numbering = &mut self.numbering;
        match &block.terminator {
            Terminator::Jump(to) => outgoing.push((*to, conditions.clone())),
            Terminator::Branch { cond, then, otherwise } => {
                let cond = state.expr(numbering, cond);
                for (to, truth) in [(*then, true), (*otherwise, false)] {
                    let mut conditions = conditions.clone();
                    conditions.assume(numbering, cond, truth);
                    outgoing.push((to, conditions));
                }
            }
            Terminator::Select { keys, cases, default } => {
                let key = match keys.as_slice() {
                    [key] => Some(state.expr(numbering, key)),
                    _ => None,
                };
                let mut remaining = conditions.clone();
                for case in cases {
                    let mut taken = remaining.clone();
                    if let (Some(key), [Pattern::Value(value)]) = (key, case.patterns.as_slice()) {
                        taken.constrain(key, true, significant_words(value));
                        remaining.constrain(key, false, significant_words(value));
                    }
                    outgoing.push((case.target, taken));
                }
                outgoing.push((*default, remaining));
            }
            Terminator::Apply(apply) => {
                let run = state.number(numbering, apply.action_run);
                for (action, target) in apply.targets.iter().enumerate() {
                    let mut conditions = conditions.clone();
                    let value = if action == 0 { Vec::new() } else { vec![action as u64] };
                    conditions.constrain(run, true, value);
                    outgoing.push((target.block, conditions));
                }
            }
            Terminator::Exit => {}
        }
        for (to, conditions) in outgoing {
            self.edge_conditions
                .entry((id, to))
                .and_modify(|other| other.merge(&conditions))
                .or_insert(conditions);
        }
    }

    /// Records the words that are live at an exit of the graph.
    fn record_live_out(&mut self, state: &ReachingDefinitions) {
        for (word, word_value) in state.all() {
            if (self.boundary.live_at_exit)(word) {
                self.found.live_out_writers.extend(word_value.writers.iter());
                self.found.live_out.insert(word);
            }
        }
    }
}

/// The changes by a table: its outcome and the data of its actions.
fn apply_changes(apply: &Apply, changes: &mut Vec<Change<'_>>) {
    changes.extend([Change::Outcome(apply.hit), Change::Outcome(apply.action_run)]);
    for place in apply.targets.iter().flat_map(|target| &target.params) {
        changes.push(Change::Unknown { to: place.word, words: place.words() });
    }
}

/// Keeps the longest edge to each node.
fn keep_longest(edges: &mut Vec<Edge>) {
    edges.sort_unstable_by_key(|edge| (edge.node, std::cmp::Reverse(edge.distance)));
    edges.dedup_by_key(|edge| edge.node);
}
