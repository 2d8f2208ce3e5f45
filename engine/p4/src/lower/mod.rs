//! Lowering: the typed tree becomes six graphs over one state area, with every call inlined.

mod apply;
mod assign;
mod call;
mod dead;
mod equal;
mod exit;
mod externs;
mod graph;
mod instance;
mod layout;
mod ops;
mod packet;
mod parser;
mod stmt;
mod table;
mod value;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use netkv_ir::{
    ActionId, Cfg, ControllerHeader, FieldList, HeaderId, Op, Place, Program, Span,
    StandardMetadata, Terminator, Word,
};

use crate::diag::Reporter;
use crate::hir::{Hir, Id};
use crate::p4info;
use crate::types::Ty;
use graph::Graph;
use instance::{BlockInstance, Object};
use layout::Store;
use value::{LVal, Val};

/// Operations and blocks that a program may have after inlining.
const MAX_MADE: usize = 1_000_000;

/// A call that is being inlined.
#[derive(Debug, Clone)]
struct Frame {
    /// Where `return` goes.
    done: netkv_ir::BlockId,
    result: Option<(Store, Ty)>,
    /// Arguments to write back, left to right.
    copy_outs: Vec<CopyOut>,
}

/// A write-back after a call.
#[derive(Debug, Clone)]
struct CopyOut {
    to: LVal,
    from: Store,
    ty: Ty,
    /// An `exit` does it, too.
    at_exit: bool,
}

/// Whose body is being inlined.
#[derive(Debug, Clone, Copy)]
enum Site {
    /// A parser or control.
    Block(usize),
    Action,
}

struct Lowerer<'a> {
    hir: &'a Hir,
    reporter: &'a mut Reporter,
    program: Program,
    /// Where variables are now; one that is inlined again is put in again.
    env: HashMap<Id, Val>,
    objects: HashMap<Id, Object>,
    graph: Graph,
    frames: Vec<Frame>,
    site: Site,
    /// Words that are written once.
    temps: HashSet<Word>,
    /// The header that a word is a field of.
    header_of: HashMap<Word, HeaderId>,
    actions: HashMap<(usize, String), ActionId>,
    explicit_ids: p4info::Explicit,
    /// Control-plane path of the block that is being inlined.
    path: String,
    span: Span,
    /// Where a table puts `hit` and the action; read at once, so one pair does for all.
    applied: Option<(Word, Word)>,
    made: usize,
    /// Words of headers and metadata; locals come behind.
    kept: Word,
    /// Assignments of the action that is being inlined that have no effect.
    skipped: Rc<HashSet<crate::exits::StmtKey>>,
    overflow: bool,
}

/// Lowers a checked program; None when an error was reported.
pub(crate) fn lower(name: &str, hir: &Hir, reporter: &mut Reporter) -> Option<Program> {
    let mut lowerer = Lowerer {
        hir,
        program: empty(name, reporter.file_names()),
        reporter,
        env: HashMap::new(),
        objects: HashMap::new(),
        graph: Graph::new(),
        frames: Vec::new(),
        site: Site::Block(0),
        temps: HashSet::new(),
        header_of: HashMap::new(),
        actions: HashMap::new(),
        explicit_ids: p4info::Explicit::default(),
        path: String::new(),
        span: hir.main_span,
        applied: None,
        made: 0,
        kept: 0,
        skipped: Rc::default(),
        overflow: false,
    };
    lowerer.run();
    let Lowerer { mut program, explicit_ids, reporter, .. } = lowerer;
    p4info::assign(&mut program, &explicit_ids);
    (reporter.errors() == 0).then_some(program)
}

fn empty(name: &str, files: Vec<String>) -> Program {
    let place = Place { word: 0, width: 1 };
    Program {
        name: name.to_string(),
        files,
        state_words: 0,
        vars: Vec::new(),
        headers: Vec::new(),
        stacks: Vec::new(),
        errors: Vec::new(),
        standard_metadata: StandardMetadata::new(|_, _| place),
        field_lists: Vec::new(),
        tables: Vec::new(),
        actions: Vec::new(),
        registers: Vec::new(),
        counters: Vec::new(),
        meters: Vec::new(),
        digests: Vec::new(),
        action_profiles: Vec::new(),
        value_sets: Vec::new(),
        controller_headers: Vec::new(),
        parser: Cfg::default(),
        verify_checksum: Cfg::default(),
        ingress: Cfg::default(),
        egress: Cfg::default(),
        compute_checksum: Cfg::default(),
        deparser: Cfg::default(),
    }
}

impl Lowerer<'_> {
    fn op(&mut self, op: Op) {
        let span = self.span;
        self.graph.op(op, span);
    }

    fn end(&mut self, end: Terminator) {
        let span = self.span;
        self.graph.end(end, span);
    }

    fn jump(&mut self, to: netkv_ir::BlockId) {
        let span = self.span;
        self.graph.jump(to, span);
    }

    /// Inlining can make a small text large: true (and reported) when it has become too large.
    fn too_large(&mut self) -> bool {
        if self.made + self.graph.made > MAX_MADE && !self.overflow {
            self.overflow = true;
            let span = self.span;
            self.reporter.error(span, "The program is too large after its calls are inlined.");
        }
        self.overflow
    }

    fn run(&mut self) {
        let hir = self.hir;
        self.program.errors = hir.types.errors.iter().map(ToString::to_string).collect();
        for instance in &hir.instances {
            if let Some(object) = self.instantiate(instance, "") {
                self.objects.insert(instance.id, object);
            }
        }
        let mut blocks: Vec<Rc<BlockInstance>> = Vec::new();
        for instance in &hir.main {
            match self.objects.get(&instance.id).cloned() {
                Some(Object::Block(block)) => blocks.push(block),
                _ => match self.instantiate(instance, "") {
                    Some(Object::Block(block)) => blocks.push(block),
                    _ => return,
                },
            }
        }
        let [parser, verify, ingress, egress, compute, deparser] = blocks.as_slice() else {
            return;
        };
        // Names in the state area are those of the ingress control; the hot part comes first.
        let params = &hir.blocks[ingress.block].params;
        let [headers, metadata, standard] = params.as_slice() else { return };
        let standard_store = self.allocate(&standard.ty, &standard.name);
        let metadata_store = self.allocate(&metadata.ty, &metadata.name);
        let headers_store = self.allocate(&headers.ty, &headers.name);
        self.kept = self.program.state_words;
        self.standard_metadata(&standard_store);
        self.field_lists(&metadata.ty, &metadata_store, &[]);
        self.controller_headers();
        let at = |store: &Store| Some(Val::At(LVal::Store(store.clone())));
        let (h, m, s) = (at(&headers_store), at(&metadata_store), at(&standard_store));
        let parsed = [None, h.clone(), m.clone(), s.clone()];
        let piped = [h.clone(), m.clone(), s];
        let checked = [h.clone(), m];
        self.program.parser = self.graph_of(parser, &parsed);
        self.program.verify_checksum = self.graph_of(verify, &checked);
        self.program.ingress = self.graph_of(ingress, &piped);
        self.program.egress = self.graph_of(egress, &piped);
        self.program.compute_checksum = self.graph_of(compute, &checked);
        self.program.deparser = self.graph_of(deparser, &[None, h]);
    }

    fn graph_of(&mut self, instance: &Rc<BlockInstance>, args: &[Option<Val>]) -> Cfg {
        let block = &self.hir.blocks[instance.block];
        for (param, arg) in block.params.iter().zip(args) {
            match arg {
                Some(value) => drop(self.env.insert(param.id, value.clone())),
                None => drop(self.objects.insert(param.id, Object::Packet)),
            }
        }
        self.inline(Vec::new(), None, |this| this.block_body(instance));
        self.end(Terminator::Exit);
        let graph = std::mem::replace(&mut self.graph, Graph::new());
        self.made += graph.made;
        let mut graph = graph.finish(block.is_parser);
        if !self.overflow {
            dead::remove(&self.program, &mut graph, self.kept);
        }
        graph
    }

    fn standard_metadata(&mut self, store: &Store) {
        let mut index = 0;
        let standard = StandardMetadata::new(|_, _| {
            let field = self.field(store, index);
            index += 1;
            match field {
                Some(Store::Scalar(place)) => place,
                _ => Place { word: 0, width: 1 },
            }
        });
        self.program.standard_metadata = standard;
    }

    /// Collects `@field_list` of metadata fields; `outer` are the lists of the struct around them.
    fn field_lists(&mut self, ty: &Ty, store: &Store, outer: &[u32]) {
        let Ty::Struct(id) = ty else { return };
        let hir = self.hir;
        for (i, field) in hir.types.structs[*id].fields.iter().enumerate() {
            let mut lists = outer.to_vec();
            lists.extend(&field.annotations.field_lists);
            lists.sort_unstable();
            lists.dedup();
            let Some(inner) = self.field(store, i) else { continue };
            if matches!(inner, Store::Struct(_)) {
                self.field_lists(&field.ty, &inner, &lists);
                continue;
            }
            for id in lists {
                let range = self.range(&inner);
                let found = self.program.field_lists.iter().position(|l| l.id == id);
                let index = found.unwrap_or_else(|| {
                    let list = FieldList { id, places: Vec::new(), regions: Vec::new() };
                    self.program.field_lists.push(list);
                    self.program.field_lists.len() - 1
                });
                let list = &mut self.program.field_lists[index];
                match inner {
                    Store::Scalar(place) => list.places.push(place),
                    _ => list.regions.push(range),
                }
            }
        }
    }

    fn controller_headers(&mut self) {
        let hir = self.hir;
        for def in &hir.types.structs {
            let Some(name) = &def.annotations.controller_header else { continue };
            let identity = self.identity(name.to_string(), &def.annotations);
            let fields = def.fields.iter().map(|f| self.member_info(&f.name, &f.ty)).collect();
            self.explicit_ids.controller_types.push(def.name.to_string());
            self.program.controller_headers.push(ControllerHeader { identity, fields });
        }
    }
}
