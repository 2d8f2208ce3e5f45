//! Lowering: turns the HIR into the IR.
//!
//! The result is six control-flow graphs over one state area, with every call inlined. Lowering
//! first creates all instances, then lowers the blocks of the pipeline one after the other.
//!
//! `lowerer` has the state of the lowering, which consists of `values`, `objects`, `inlined_call`
//! and `storage`; `allocation` finds room for variables. Each other module adds the methods of
//! [`Lowerer`] for one subject:
//!
//! ```text
//! instance            instances and their control-plane names ─ table: tables and their actions
//! parser_states       parser states and select
//! stmt                statements
//!  ├─ assignment      assignments of every type ─ equality: `==` of composite types
//!  ├─ expr            l-values and r-values ─ operators: operators and constant folding
//!  └─ inlining        calls ─ exit: copy-out at `exit`
//!      ├─ table_apply        apply sites of tables
//!      ├─ externs            externs of v1model
//!      └─ packet_methods     `packet_in` and `packet_out`
//! graph_builder       basic blocks of one graph
//! dead_store_elimination    pass over a finished graph
//! target_rules        what bmv2 cannot run, reported for the finished graphs
//! ```

mod allocation;
mod assignment;
mod dead_store_elimination;
mod equality;
mod exit;
mod expr;
mod externs;
mod graph_builder;
mod inlined_call;
mod inlining;
mod instance;
mod lowerer;
mod objects;
mod operators;
mod packet_methods;
mod parser_states;
mod stmt;
mod storage;
mod table;
mod table_apply;
mod target_rules;
mod values;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use netkv_ir::{Cfg, ControllerHeader, FieldList, Place, Program, StandardMetadata, Terminator};

use crate::diagnostics::Reporter;
use crate::hir::Hir;
use crate::p4info_details::{FieldDetails, P4InfoDetails, TypeCollector};
use crate::p4info_ids;
use crate::types::Ty;
use graph_builder::GraphBuilder;
use inlined_call::Caller;
use lowerer::Lowerer;
use objects::{BlockInstance, Object};
use storage::Storage;
use values::{LValue, RValue};

/// Lowers a program. `None`: errors were reported.
pub(crate) fn lower(
    name: &str,
    hir: &Hir,
    reporter: &mut Reporter,
) -> Option<(Program, P4InfoDetails)> {
    let mut lowerer = Lowerer {
        hir,
        program: empty(name, reporter.file_names()),
        reporter,
        env: HashMap::new(),
        objects: HashMap::new(),
        graph: GraphBuilder::new(),
        inlined_calls: Vec::new(),
        loops: Vec::new(),
        caller: Caller::Block(0),
        in_deparser: false,
        temps: HashSet::new(),
        header_members: HashMap::new(),
        union_headers: HashMap::new(),
        union_stacks: HashMap::new(),
        header_of: HashMap::new(),
        actions: HashMap::new(),
        names: HashSet::new(),
        meter_spans: Vec::new(),
        meter_targets: HashMap::new(),
        selector_inputs: HashMap::new(),
        details: P4InfoDetails::default(),
        types: TypeCollector::new(&hir.types),
        declared_ids: p4info_ids::DeclaredIds::default(),
        path: String::new(),
        span: hir.main_span,
        apply_result: None,
        size: 0,
        live_out_words: 0,
        dead_stores: Rc::default(),
        limit_reported: false,
    };
    lowerer.lower_program();
    let Lowerer { mut program, declared_ids, reporter, mut details, types, .. } = lowerer;
    details.types = types.finish();
    for (name, pairs) in &hir.main_annotations.pairs {
        let pairs = pairs.iter().map(|(key, value)| (key.to_string(), value.clone()));
        details.package_info.insert(name.to_string(), pairs.collect());
    }
    details.package_annotations = hir.main_annotations.others.clone();
    details.package_structured = hir.main_annotations.structured.clone();
    p4info_ids::assign(&mut program, &declared_ids);
    (reporter.errors() == 0).then_some((program, details))
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
        assertions: Vec::new(),
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
    fn lower_program(&mut self) {
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
        // Variables have the names of ingress parameters. Frequently used words come first.
        let params = &hir.blocks[ingress.block].params;
        let [headers, metadata, standard] = params.as_slice() else { return };
        let standard_storage = self.allocate(&standard.ty, &standard.name);
        let metadata_storage = self.allocate(&metadata.ty, &metadata.name);
        let headers_storage = self.allocate(&headers.ty, &headers.name);
        self.live_out_words = self.program.state_words;
        self.locate_standard_metadata(&standard_storage);
        self.collect_field_lists(&metadata.ty, &metadata_storage, &[]);
        self.collect_controller_headers();
        let at = |storage: &Storage| Some(RValue::Stored(LValue::Storage(storage.clone())));
        let (h, m, s) = (at(&headers_storage), at(&metadata_storage), at(&standard_storage));
        let parser_args = [None, h.clone(), m.clone(), s.clone()];
        let pipeline_args = [h.clone(), m.clone(), s];
        let checked = [h.clone(), m];
        self.program.parser = self.lower_block(parser, &parser_args);
        self.program.verify_checksum = self.lower_block(verify, &checked);
        self.program.ingress = self.lower_block(ingress, &pipeline_args);
        self.program.egress = self.lower_block(egress, &pipeline_args);
        self.program.compute_checksum = self.lower_block(compute, &checked);
        self.in_deparser = true;
        self.program.deparser = self.lower_block(deparser, &[None, h]);
        if self.reporter.errors() == 0 {
            target_rules::check(&self.program, &self.meter_spans, self.reporter);
        }
    }

    fn lower_block(&mut self, instance: &Rc<BlockInstance>, args: &[Option<RValue>]) -> Cfg {
        let block = &self.hir.blocks[instance.block];
        for (param, arg) in block.params.iter().zip(args) {
            match arg {
                Some(value) => drop(self.env.insert(param.id, value.clone())),
                None => drop(self.objects.insert(param.id, Object::Packet)),
            }
        }
        self.inline_body(Vec::new(), None, |this| this.lower_block_body(instance));
        self.end_block(Terminator::Exit);
        let graph = std::mem::replace(&mut self.graph, GraphBuilder::new());
        self.size += graph.size;
        let mut graph = graph.finish(block.is_parser);
        if !self.limit_reported {
            dead_store_elimination::eliminate_dead_stores(
                &self.program,
                &mut graph,
                self.live_out_words,
            );
        }
        graph
    }

    fn locate_standard_metadata(&mut self, storage: &Storage) {
        let mut index = 0;
        let standard = StandardMetadata::new(|_, _| {
            let field = self.field(storage, index);
            index += 1;
            match field {
                Some(Storage::Scalar(place)) => place,
                _ => Place { word: 0, width: 1 },
            }
        });
        self.program.standard_metadata = standard;
    }

    /// Collects the `@field_list` annotations of metadata fields. `outer` are the lists of the
    /// enclosing struct.
    fn collect_field_lists(&mut self, ty: &Ty, storage: &Storage, outer: &[u32]) {
        let Ty::Struct(id) = ty else { return };
        let hir = self.hir;
        for (i, field) in hir.types.structs[*id].fields.iter().enumerate() {
            let mut lists = outer.to_vec();
            lists.extend(&field.annotations.field_lists);
            lists.sort_unstable();
            lists.dedup();
            let Some(inner) = self.field(storage, i) else { continue };
            if matches!(inner, Storage::Struct(_)) {
                self.collect_field_lists(&field.ty, &inner, &lists);
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
                    Storage::Scalar(place) => list.places.push(place),
                    _ => list.regions.push(range),
                }
            }
        }
    }

    /// The fields of a controller header; those of a struct in it one by one.
    fn controller_fields(
        &mut self,
        path: &str,
        of: &[crate::types::FieldDef],
        fields: &mut Vec<netkv_ir::ActionParam>,
        details: &mut Vec<FieldDetails>,
    ) {
        let hir = self.hir;
        for field in of {
            let name = storage::join(path, field.annotations.name.as_ref().unwrap_or(&field.name));
            if let Ty::Struct(id) = hir.types.base(&field.ty) {
                self.controller_fields(&name, &hir.types.structs[id].fields, fields, details);
                continue;
            }
            self.types.spec(&field.ty);
            let place = fields.len() as u32 + 1;
            details.push(FieldDetails::new(&hir.types, &field.ty, &field.annotations, place));
            fields.push(self.member_info(&name, &field.ty));
        }
    }

    fn collect_controller_headers(&mut self) {
        let hir = self.hir;
        for def in &hir.types.structs {
            let Some(name) = &def.annotations.controller_header else { continue };
            let identity = self.identity(name.to_string(), &def.annotations);
            let (mut fields, mut details) = (Vec::new(), Vec::new());
            self.controller_fields("", &def.fields, &mut fields, &mut details);
            self.details.controller_headers.push(details);
            self.declared_ids.controller_types.push(def.name.to_string());
            self.program.controller_headers.push(ControllerHeader { identity, fields });
        }
    }
}
