//! Goes over a graph from its beginning to its ends, and makes the nodes of its dependencies.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use netkv_ir::{Apply, Block, BlockId, Cfg, Expr, Op, Pattern, Program, Span, Terminator, Word};

use crate::dependencies::{Around, Edge, Node, NodeId};
use crate::effects::{self, Change, Effect, Kind};
use crate::facts::Facts;
use crate::flow::Flow;
use crate::held::State;
use crate::numbers::{Numbers, plain};
use crate::reads::{Read, steps};

/// What a walk has found.
pub(crate) struct Walked {
    pub(crate) nodes: Vec<Node>,
    /// What is known in each block.
    pub(crate) facts: Vec<Facts>,
    /// Nodes whose results are there at the end for those who come after, and where.
    pub(crate) left: Vec<NodeId>,
    pub(crate) outlive: BTreeSet<Word>,
    /// How much of a word is used, of those that are read.
    pub(crate) bits: HashMap<Word, u32>,
}

/// The nodes of a graph.
pub(crate) fn walk(program: &Program, cfg: &Cfg, flow: &Flow, around: &Around<'_>) -> Walked {
    let mut walk = Walk {
        program,
        cfg,
        around,
        numbers: Numbers::default(),
        enders: vec![None; cfg.blocks.len()],
        states: HashMap::new(),
        ways: HashMap::new(),
        found: Walked {
            nodes: Vec::new(),
            facts: vec![Facts::default(); cfg.blocks.len()],
            left: Vec::new(),
            outlive: BTreeSet::new(),
            bits: HashMap::new(),
        },
    };
    flow.order.iter().for_each(|block| walk.block(flow, *block));
    walk.found
}

pub(crate) struct Walk<'a> {
    pub(crate) program: &'a Program,
    cfg: &'a Cfg,
    around: &'a Around<'a>,
    pub(crate) numbers: Numbers,
    pub(crate) found: Walked,
    /// The node of each block's terminator.
    enders: Vec<Option<NodeId>>,
    /// At the end of each block, and how many still want it.
    states: HashMap<BlockId, (Rc<State>, usize)>,
    /// What is known on the way from one block to another.
    ways: HashMap<(BlockId, BlockId), Facts>,
}

impl Walk<'_> {
    fn block(&mut self, flow: &Flow, id: BlockId) {
        let before = &flow.before[id as usize];
        let states: Vec<Rc<State>> = before.iter().map(|from| self.leave(*from)).collect();
        let mut state = State::join(&mut self.numbers, id, &states);
        drop(states);
        let mut known = before.iter().filter_map(|from| self.ways.remove(&(*from, id)));
        let mut facts = known.next().unwrap_or_default();
        known.for_each(|other| facts.meet(&other));
        let deciders = &flow.deciders[id as usize];
        let block: &Block = &self.cfg.blocks[id as usize];
        for (op, span) in block.ops.iter().zip(&block.spans) {
            if let Some(effect) = effects::of(self.program, op)
                && !self.idle(&mut state, op)
            {
                let node = self.node(&state, id, *span, deciders, &effect);
                effect.changes.iter().for_each(|change| self.change(&mut state, node, change));
            }
        }
        self.end(&mut state, id, block, deciders);
        let next = &flow.next[id as usize];
        self.know(&state, id, block, &facts);
        self.found.facts[id as usize] = facts;
        if next.is_empty() {
            self.exit(&state);
        } else {
            self.states.insert(id, (Rc::new(state), next.len()));
        }
    }

    /// The state at the end of a block; the last one who asks takes it away.
    fn leave(&mut self, block: BlockId) -> Rc<State> {
        let Some((state, wanted)) = self.states.get_mut(&block) else { return Rc::default() };
        let state = Rc::clone(state);
        *wanted -= 1;
        if *wanted == 0 {
            self.states.remove(&block);
        }
        state
    }

    /// Zeros for words that hold nothing yet: so a packet begins anyway.
    fn idle(&mut self, state: &mut State, op: &Op) -> bool {
        let (to, words) = match op {
            Op::ZeroWords { to, words } => (*to, *words),
            Op::Assign { to, value: Expr::Const(value) } if plain(value).is_empty() => {
                (to.word, to.words())
            }
            _ => return false,
        };
        let zero = |word| state.get(word).is_none() && (self.around.zero)(word);
        if !(to..to + words).all(zero) {
            return false;
        }
        let number = self.numbers.zero();
        (to..to + words).for_each(|word| state.put_constant(word, number, None));
        true
    }

    fn node(
        &mut self,
        state: &State,
        block: BlockId,
        span: Span,
        deciders: &[BlockId],
        effect: &Effect<'_>,
    ) -> NodeId {
        let reads = &effect.reads.found;
        let index = effect.index.map(|index| state.expr(&mut self.numbers, index));
        let mut node = Node {
            kind: effect.kind,
            block,
            span,
            earliest: reads.iter().map(|read| read.depth).max().unwrap_or(0),
            needs: Vec::new(),
            feeds: Vec::new(),
            replaces: Vec::new(),
            uses: Vec::new(),
            writes: Vec::new(),
            index,
            steps: effect.steps,
        };
        for read in reads {
            self.found.bits.entry(read.word).or_insert(read.bits);
            match state.get(read.word) {
                None => node.uses.push(read.word),
                Some(held) => {
                    node.uses.extend(held.homes.iter());
                    for from in held.made_by.iter() {
                        let distance = self.distance(*from, &node, *read);
                        node.needs.push(Edge { node: *from, distance });
                    }
                }
            }
        }
        let deciders = deciders.iter().filter_map(|block| self.enders[*block as usize]);
        node.needs.extend(deciders.map(|node| Edge { node, distance: 0 }));
        strongest(&mut node.needs);
        self.found.nodes.push(node);
        self.found.nodes.len() - 1
    }

    /// Stages from a result to who reads it.
    fn distance(&self, from: NodeId, to: &Node, read: Read) -> u32 {
        let made = &self.found.nodes[from];
        let same_stage = match made.kind {
            Kind::Apply(_) => {
                // Action data, which only the action itself reads, and the outcome as a condition.
                made.writes.contains(&read.word)
                    || (to.kind == Kind::Branch && self.is_outcome(made.block, read.word))
            }
            // What makes a value can write it to where it is copied.
            _ => to.kind == Kind::Move && made.block == to.block,
        };
        // What leaves behind the last stage is taken from there.
        let same_stage = same_stage || to.kind == Kind::Signal;
        u32::from(!same_stage) + read.depth
    }

    fn is_outcome(&self, block: BlockId, word: Word) -> bool {
        match &self.cfg.blocks[block as usize].terminator {
            Terminator::Apply(apply) => [apply.hit, apply.action_run].contains(&word),
            _ => false,
        }
    }

    /// The node of a block's terminator, and what it changes.
    fn end(&mut self, state: &mut State, id: BlockId, block: &Block, deciders: &[BlockId]) {
        let mut effect = Effect::new(self.program, Kind::Branch);
        match &block.terminator {
            Terminator::Branch { cond, .. } => {
                effect.reads.decided(cond, 0);
                effect.steps = steps(cond);
            }
            Terminator::Select { keys, .. } => {
                keys.iter().for_each(|key| effect.reads.ready(key, 0));
            }
            Terminator::Apply(apply) => {
                effect.kind = Kind::Apply(apply.table);
                apply.keys.iter().for_each(|key| effect.reads.ready(key, 0));
                outcome(apply, &mut effect.changes);
            }
            Terminator::Jump(_) | Terminator::Exit => return,
        }
        let node = self.node(state, id, block.terminator_span, deciders, &effect);
        effect.changes.iter().for_each(|change| self.change(state, node, change));
        self.enders[id as usize] = Some(node);
    }

    /// What is known on each way out of a block.
    fn know(&mut self, state: &State, id: BlockId, block: &Block, facts: &Facts) {
        let mut ways: Vec<(BlockId, Facts)> = Vec::new();
        let numbers = &mut self.numbers;
        match &block.terminator {
            Terminator::Jump(to) => ways.push((*to, facts.clone())),
            Terminator::Branch { cond, then, otherwise } => {
                let cond = state.expr(numbers, cond);
                for (to, truth) in [(*then, true), (*otherwise, false)] {
                    let mut facts = facts.clone();
                    facts.assume(numbers, cond, truth);
                    ways.push((to, facts));
                }
            }
            Terminator::Select { keys, cases, default } => {
                let key = match keys.as_slice() {
                    [key] => Some(state.expr(numbers, key)),
                    _ => None,
                };
                let mut left = facts.clone();
                for case in cases {
                    let mut taken = left.clone();
                    if let (Some(key), [Pattern::Value(value)]) = (key, case.patterns.as_slice()) {
                        taken.add(key, true, plain(value));
                        left.add(key, false, plain(value));
                    }
                    ways.push((case.target, taken));
                }
                ways.push((*default, left));
            }
            Terminator::Apply(apply) => {
                let run = state.number(numbers, apply.action_run);
                for (action, target) in apply.targets.iter().enumerate() {
                    let mut facts = facts.clone();
                    let value = if action == 0 { Vec::new() } else { vec![action as u64] };
                    facts.add(run, true, value);
                    ways.push((target.block, facts));
                }
            }
            Terminator::Exit => {}
        }
        for (to, facts) in ways {
            self.ways.entry((id, to)).and_modify(|other| other.meet(&facts)).or_insert(facts);
        }
    }

    /// The graph ends here: who comes after sees what is left.
    fn exit(&mut self, state: &State) {
        for (word, held) in state.all() {
            if (self.around.read_later)(word) {
                self.found.left.extend(held.put_by.iter());
                self.found.outlive.insert(word);
            }
        }
    }
}

/// What a table writes: its outcome, and the data of its actions.
fn outcome(apply: &Apply, changes: &mut Vec<Change<'_>>) {
    changes.extend([Change::Outcome(apply.hit), Change::Outcome(apply.action_run)]);
    for place in apply.targets.iter().flat_map(|target| &target.params) {
        changes.push(Change::New { to: place.word, words: place.words() });
    }
}

/// One edge for each node: the longest.
fn strongest(edges: &mut Vec<Edge>) {
    edges.sort_unstable_by_key(|edge| (edge.node, std::cmp::Reverse(edge.distance)));
    edges.dedup_by_key(|edge| edge.node);
}
