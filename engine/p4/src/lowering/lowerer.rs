//! The state of the lowering, and how it adds to the graph at hand.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use netkv_ir::{ActionId, HeaderId, Op, Program, Span, StackId, Terminator, Word};

use super::graph_builder::GraphBuilder;
use super::inlined_call::{Caller, InlinedCall};
use super::objects::Object;
use super::storage::Storage;
use super::values::RValue;
use crate::diagnostics::Reporter;
use crate::hir::{DeclId, HExpr, HKey, Hir};
use crate::p4info_details::{P4InfoDetails, TypeCollector};
use crate::p4info_ids;

/// Maximum number of operations, blocks and instances of a program after inlining.
const MAX_SIZE: usize = 1_000_000;

/// The state of the lowering.
pub(super) struct Lowerer<'a> {
    pub(super) hir: &'a Hir,
    pub(super) reporter: &'a mut Reporter,
    pub(super) program: Program,
    /// Current value of each variable. Each inlining of a body replaces those of its variables.
    pub(super) env: HashMap<DeclId, RValue>,
    pub(super) objects: HashMap<DeclId, Object>,
    pub(super) graph: GraphBuilder,
    pub(super) inlined_calls: Vec<InlinedCall>,
    /// Successors of `break` and `continue` in each enclosing loop.
    pub(super) loops: Vec<(netkv_ir::BlockId, netkv_ir::BlockId)>,
    pub(super) caller: Caller,
    pub(super) in_deparser: bool,
    /// First words of temporaries, which are written once.
    pub(super) temps: HashSet<Word>,
    /// Members of each header, by their position in the header type.
    pub(super) header_members: HashMap<HeaderId, Rc<[Storage]>>,
    /// For each header of a header union: the others.
    pub(super) union_headers: HashMap<HeaderId, Rc<[HeaderId]>>,
    /// For each stack of headers in a stack of header unions: the others.
    pub(super) union_stacks: HashMap<StackId, Rc<[StackId]>>,
    /// Header whose field starts at a word.
    pub(super) header_of: HashMap<Word, HeaderId>,
    pub(super) details: P4InfoDetails,
    pub(super) types: TypeCollector<'a>,
    /// Actions by declaration and control-plane name.
    pub(super) actions: HashMap<(usize, String), ActionId>,
    /// Kind and control-plane name of all objects.
    pub(super) names: HashSet<(&'static str, String)>,
    /// Positions of the declarations of the program's meters.
    pub(super) meter_spans: Vec<Span>,
    /// Destination of the reads of each direct meter.
    pub(super) meter_targets: HashMap<u32, HExpr>,
    /// Selector keys of the tables of each action profile.
    pub(super) selector_inputs: HashMap<u32, Vec<HKey>>,
    pub(super) declared_ids: p4info_ids::DeclaredIds,
    /// Control-plane path of the block being lowered.
    pub(super) path: String,
    pub(super) span: Span,
    /// Words for `hit` and the action of an applied table. One pair is enough for all tables,
    /// because the program reads them right after the apply.
    pub(super) apply_result: Option<(Word, Word)>,
    pub(super) size: usize,
    /// Number of words of headers and metadata, which precede the locals.
    pub(super) live_out_words: Word,
    /// Assignments to omit in the action being lowered.
    pub(super) dead_stores: Rc<HashSet<crate::dead_parameter_stores::StmtId>>,
    pub(super) limit_reported: bool,
}

impl Lowerer<'_> {
    pub(super) fn push_op(&mut self, op: Op) {
        let span = self.span;
        self.graph.push_op(op, span);
    }

    /// The assertion at the present place of the source.
    pub(super) fn assertion(&mut self) -> u32 {
        let (span, known) = (self.span, &mut self.program.assertions);
        let found = known.iter().position(|it| *it == span).unwrap_or_else(|| {
            known.push(span);
            known.len() - 1
        });
        found as u32
    }

    pub(super) fn end_block(&mut self, end: Terminator) {
        let span = self.span;
        self.graph.end_block(end, span);
    }

    pub(super) fn jump(&mut self, to: netkv_ir::BlockId) {
        let span = self.span;
        self.graph.jump(to, span);
    }

    /// True if the program exceeds [`MAX_SIZE`], which is reported once. Inlining can make a small
    /// source very large.
    pub(super) fn too_large(&mut self) -> bool {
        if self.size + self.graph.size > MAX_SIZE && !self.limit_reported {
            self.limit_reported = true;
            let span = self.span;
            self.reporter.error(span, "The program is too large after its calls are inlined.");
        }
        self.limit_reported
    }
}
