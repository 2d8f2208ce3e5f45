//! Inlines calls of functions, actions, parsers and controls.
//!
//! An argument is bound in place if the program cannot observe a difference to copy-in/copy-out.
//! Otherwise, it is copied.

use std::rc::Rc;

use netkv_ir::{Expr, Op, Place};

use super::exit::CopyOutAtExit;
use super::inlined_call::{Caller, CopyOut, InlinedCall};
use super::lowerer::Lowerer;
use super::objects::{BlockInstance, Object};
use super::storage::{Range, Storage, join, overlap};
use super::values::{LValue, RValue};
use crate::ast::Dir;
use crate::dead_parameter_stores::find_dead_parameter_stores;
use crate::hir::{Call, CallArg, Callee, HExpr, HLocal, HParam};
use crate::side_effects::{FieldPath, ReadWriteSets, has_side_effects, pure_body};
use crate::types::Ty;

/// The source of the value of a parameter.
#[derive(Clone, Copy)]
pub(super) enum ArgSource<'e> {
    Expr(&'e HExpr),
    /// Action data of a table entry.
    ActionData(Place),
    /// `_`
    None,
}

pub(super) fn arg_sources(args: &[CallArg]) -> Vec<ArgSource<'_>> {
    args.iter().map(|a| a.expr.as_ref().map_or(ArgSource::None, ArgSource::Expr)).collect()
}

impl Lowerer<'_> {
    pub(super) fn lower_call(&mut self, call: &Call, ty: &Ty) -> RValue {
        if self.too_large() {
            return RValue::Void;
        }
        match &call.callee {
            Callee::Function(id) => return self.inline_function(*id, call),
            Callee::Action(_) if self.in_deparser => self.reporter.error(
                call.span,
                "The deparser of v1model can only emit headers, and calls no action.",
            ),
            Callee::Action(id) => {
                let at_exit = self.action_at_exit(*id, &call.args);
                if self.hir.actions[*id].global && matches!(self.caller, Caller::Block(_)) {
                    self.add_action(*id, "");
                }
                self.inline_action(*id, &arg_sources(&call.args), at_exit);
            }
            Callee::Instance(id) => {
                if let Some(Object::Block(instance)) = self.objects.get(id).cloned() {
                    let at_exit = self.block_at_exit(*id, &instance, call);
                    self.inline_block(&instance, call, at_exit);
                }
            }
            Callee::Table(table) => self.lower_table_apply(*table, None),
            Callee::Extern(name) => return self.lower_extern_call(name, call),
            Callee::Method(id, of, method) => {
                return self.lower_method_call(*id, of, method, call, ty);
            }
            Callee::SetValid(object, valid) => {
                if let RValue::Stored(place) = self.lower_expr(object) {
                    self.set_valid(&place, *valid);
                }
            }
            Callee::Push(object, push, count) => {
                let stacks = match self.lower_expr(object) {
                    RValue::Stored(LValue::Storage(Storage::Stack(stack))) => vec![stack],
                    RValue::Stored(LValue::Storage(Storage::UnionStack(union))) => {
                        union.stacks.clone()
                    }
                    _ => Vec::new(),
                };
                for stack in stacks {
                    let count = *count;
                    self.push_op(match push {
                        true => Op::PushFront { stack, count },
                        false => Op::PopFront { stack, count },
                    });
                }
            }
        }
        RValue::Void
    }

    fn inline_function(&mut self, id: usize, call: &Call) -> RValue {
        let hir = self.hir;
        let function = &hir.functions[id];
        let copy_outs =
            self.bind_params(&function.params, &arg_sources(&call.args), &[], &[], None);
        if let Some(value) = pure_body(hir, id) {
            let mut lowered = self.lower_expr(value);
            if let RValue::Stored(place) = &lowered
                && hir.types.width(&function.result).is_some()
            {
                lowered = RValue::Scalar(self.load_lvalue(place));
            }
            return lowered;
        }
        let result = match hir.types.width(&function.result) {
            Some(width) => Some(Storage::Scalar(self.new_temp(width))),
            None if function.result == Ty::Void => None,
            None => {
                let name = join(&join(&self.path, &function.name), "result");
                Some(self.allocate(&function.result, &name))
            }
        };
        let body = function.body.clone();
        let target = result.clone().map(|storage| (storage, function.result.clone()));
        let outer = std::mem::replace(&mut self.path, function.name.to_string());
        self.inline_body(copy_outs, target, |this| this.lower_stmts(&body));
        self.path = outer;
        match result {
            Some(Storage::Scalar(place)) => RValue::Scalar(Expr::Load(place)),
            Some(storage) => RValue::Stored(LValue::Storage(storage)),
            None => RValue::Void,
        }
    }

    pub(super) fn inline_action(
        &mut self,
        id: usize,
        sources: &[ArgSource<'_>],
        at_exit: CopyOutAtExit,
    ) {
        let hir = self.hir;
        let action = &hir.actions[id];
        let sets = ReadWriteSets::of_action(hir, id);
        let reads: Vec<Range> = sets.reads.iter().filter_map(|p| self.path_range(p)).collect();
        let writes: Vec<Range> = sets.writes.iter().filter_map(|p| self.path_range(p)).collect();
        let copy_outs = self.bind_params(&action.params, sources, &reads, &writes, at_exit);
        let body = action.body.clone();
        let dead_stores = Rc::new(find_dead_parameter_stores(hir, action));
        let outer = std::mem::replace(&mut self.dead_stores, dead_stores);
        let caller = std::mem::replace(&mut self.caller, Caller::Action);
        self.inline_body(copy_outs, None, |this| this.lower_stmts(&body));
        self.caller = caller;
        self.dead_stores = outer;
    }

    fn path_range(&self, path: &FieldPath) -> Option<Range> {
        let mut storage = match self.env.get(&path.root)? {
            RValue::Stored(LValue::Storage(storage)) => storage.clone(),
            RValue::Stored(place) => return Some(self.lvalue_range(place)),
            _ => return None,
        };
        for field in &path.fields {
            match self.field(&storage, *field) {
                Some(inner) => storage = inner,
                None => break,
            }
        }
        Some(self.range(&storage))
    }

    fn inline_block(&mut self, instance: &Rc<BlockInstance>, call: &Call, at_exit: CopyOutAtExit) {
        let params = &self.hir.blocks[instance.block].params;
        let copy_outs = self.bind_params(params, &arg_sources(&call.args), &[], &[], at_exit);
        let instance = instance.clone();
        self.inline_body(copy_outs, None, |this| this.lower_block_body(&instance));
    }

    /// Lowers the locals and body of a parser or control, after its parameters are bound.
    pub(super) fn lower_block_body(&mut self, instance: &Rc<BlockInstance>) {
        let hir = self.hir;
        let block = &hir.blocks[instance.block];
        let outer = std::mem::replace(&mut self.path, instance.path.clone());
        let caller = std::mem::replace(&mut self.caller, Caller::Block(instance.block));
        self.env.extend(instance.values.iter().cloned());
        self.objects.extend(instance.objects.iter().cloned());
        for local in &block.locals {
            if let HLocal::Var(var) = local {
                self.declare(var);
            }
        }
        match block.is_parser {
            true => self.lower_parser_states(block),
            false => self.lower_stmts(&block.body),
        }
        self.caller = caller;
        self.path = outer;
    }

    /// Lowers the body of a call, followed by the copy-out of its arguments.
    pub(super) fn inline_body(
        &mut self,
        copy_outs: Vec<CopyOut>,
        result: Option<(Storage, Ty)>,
        body: impl FnOnce(&mut Self),
    ) {
        let done = self.graph.new_block("");
        self.inlined_calls.push(InlinedCall { done, result, copy_outs });
        body(self);
        self.jump(done);
        self.graph.enter(done);
        if let Some(frame) = self.inlined_calls.pop() {
            frame.copy_outs.iter().for_each(|copy| self.copy_out(copy));
        }
    }

    pub(super) fn copy_out(&mut self, copy: &CopyOut) {
        self.assign(&copy.to, &RValue::Stored(LValue::Storage(copy.from.clone())), &copy.ty);
    }

    /// Binds parameters to arguments, and returns the copy-outs after the call. `reads` and
    /// `writes` are words that the body accesses without its parameters: an action can access the
    /// variables of its control.
    pub(super) fn bind_params(
        &mut self,
        params: &[HParam],
        sources: &[ArgSource<'_>],
        reads: &[Range],
        writes: &[Range],
        at_exit: CopyOutAtExit,
    ) -> Vec<CopyOut> {
        let hir = self.hir;
        let at_exit = at_exit.unwrap_or_else(|| vec![true; params.len()]);
        let mut values: Vec<Option<RValue>> = Vec::new();
        let mut copies: Vec<Option<Storage>> = vec![None; params.len()];
        // 1. Evaluate all arguments from left to right.
        for (i, (param, source)) in params.iter().zip(sources).enumerate() {
            let later = sources[i + 1..].iter().any(|s| match s {
                ArgSource::Expr(e) => has_side_effects(hir, e),
                _ => false,
            });
            let is_out = matches!(param.dir, Dir::Out | Dir::InOut);
            values.push(match source {
                ArgSource::ActionData(place) => Some(RValue::Scalar(Expr::Load(*place))),
                ArgSource::None => {
                    copies[i] = Some(self.param_storage(param));
                    None
                }
                ArgSource::Expr(e) => match self.object(e) {
                    Some(object) => {
                        self.objects.insert(param.id, object);
                        None
                    }
                    None if matches!(param.ty, Ty::Extern(..)) => {
                        self.objects.insert(param.id, Object::Packet);
                        None
                    }
                    None => {
                        let mut value = self.lower_expr(e);
                        if is_out {
                            value = self.snapshot_index(value);
                            if later && param.dir == Dir::InOut {
                                copies[i] = Some(self.copy_in(param, &value));
                            }
                        } else if later {
                            value = self.snapshot(value, &param.ty);
                        }
                        Some(value)
                    }
                },
            });
        }
        // 2. Decide which output arguments must be copied.
        let outs: Vec<Option<Range>> = params
            .iter()
            .zip(&values)
            .map(|(param, value)| match (param.dir, value) {
                (Dir::Out | Dir::InOut, Some(RValue::Stored(place))) => {
                    Some(self.lvalue_range(place))
                }
                _ => None,
            })
            .collect();
        let mut written: Vec<Range> = writes.to_vec();
        for (i, param) in params.iter().enumerate() {
            let (Some(range), Some(value)) = (outs[i], values[i].clone()) else { continue };
            let shared = outs
                .iter()
                .enumerate()
                .any(|(j, other)| j != i && other.is_some_and(|other| overlap(other, range)));
            let used = reads.iter().chain(writes).any(|r| overlap(*r, range));
            let in_place = matches!(value, RValue::Stored(LValue::Storage(_)));
            // An output that an exit loses must not be written in place.
            if copies[i].is_none() && (shared || used || !in_place || !at_exit[i]) {
                copies[i] = Some(match param.dir {
                    Dir::InOut => self.copy_in(param, &value),
                    _ => self.param_storage(param),
                });
            }
            if copies[i].is_none() {
                written.push(range);
            }
        }
        // 3. Bind the parameters. An input stays in place, unless the call may write to it.
        let mut copy_outs = Vec::new();
        let mut zeroed = Vec::new();
        for (i, param) in params.iter().enumerate() {
            let is_out = matches!(param.dir, Dir::Out | Dir::InOut);
            let bound = match (values[i].take(), copies[i].take()) {
                (value, Some(storage)) => {
                    if param.dir == Dir::Out || value.is_none() {
                        zeroed.push(storage.clone());
                    }
                    if let (Some(RValue::Stored(to)), true) = (value, is_out) {
                        let (from, ty) = (storage.clone(), param.ty.clone());
                        copy_outs.push(CopyOut { to, from, ty, at_exit: at_exit[i] });
                    }
                    RValue::Stored(LValue::Storage(storage))
                }
                (Some(value), None) if is_out => {
                    if let (Dir::Out, RValue::Stored(LValue::Storage(storage))) =
                        (param.dir, &value)
                    {
                        zeroed.push(storage.clone());
                    }
                    value
                }
                (Some(value), None) => self.read_only(value, &param.ty, &written),
                (None, None) => continue,
            };
            self.env.insert(param.id, bound);
        }
        for storage in zeroed {
            self.zero(&storage);
        }
        copy_outs
    }

    fn param_storage(&mut self, param: &HParam) -> Storage {
        let name = join(&self.path, &param.name);
        self.allocate(&param.ty, &name)
    }

    fn copy_in(&mut self, param: &HParam, value: &RValue) -> Storage {
        let storage = self.param_storage(param);
        self.assign(&LValue::Storage(storage.clone()), value, &param.ty);
        storage
    }

    /// An `in` argument: the value itself if the call cannot change it, otherwise a copy.
    fn read_only(&mut self, value: RValue, ty: &Ty, written: &[Range]) -> RValue {
        let free = |range: Range| !written.iter().any(|w| overlap(*w, range));
        match &value {
            RValue::Scalar(Expr::Const(_)) | RValue::InvalidHeader | RValue::Void => value,
            RValue::Scalar(Expr::Load(place)) if free((place.word, place.words())) => value,
            RValue::Stored(LValue::Storage(Storage::Scalar(place)))
                if free((place.word, place.words())) =>
            {
                RValue::Scalar(Expr::Load(*place))
            }
            RValue::Stored(LValue::Storage(storage)) if free(self.range(storage)) => value,
            _ => self.snapshot(value, ty),
        }
    }

    /// Evaluates the stack indices of an output argument before the call.
    pub(super) fn snapshot_index(&mut self, value: RValue) -> RValue {
        let RValue::Stored(place) = value else { return value };
        RValue::Stored(self.snapshot_lvalue_index(place))
    }

    pub(super) fn snapshot_lvalue_index(&mut self, place: LValue) -> LValue {
        match place {
            LValue::Element(stack, index) => LValue::Element(stack, self.snapshot_scalar(index)),
            LValue::ElementField(stack, index, place) => {
                LValue::ElementField(stack, self.snapshot_scalar(index), place)
            }
            LValue::ElementPart(stack, index, part) => {
                LValue::ElementPart(stack, self.snapshot_scalar(index), part)
            }
            LValue::UnionElement(union, index) => {
                LValue::UnionElement(union, self.snapshot_scalar(index))
            }
            LValue::Slice(of, high, low) => {
                LValue::Slice(Box::new(self.snapshot_lvalue_index(*of)), high, low)
            }
            place => place,
        }
    }
}
