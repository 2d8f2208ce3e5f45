//! Inlining of calls. An argument is bound in place wherever nobody can see the difference to
//! copying it in and out; else it is copied.

use std::rc::Rc;

use netkv_ir::{Expr, Op, Place};

use super::exit::AtExit;
use super::instance::{BlockInstance, Object};
use super::layout::{Range, Store, join, overlap};
use super::value::{LVal, Val};
use super::{CopyOut, Frame, Lowerer, Site};
use crate::ast::Dir;
use crate::effects::{Path, Touched, has_effects, simple_body};
use crate::exits::dead_assignments;
use crate::hir::{Call, CallArg, Callee, HExpr, HLocal, HParam};
use crate::types::Ty;

/// Where the value of a parameter comes from.
#[derive(Clone, Copy)]
pub(super) enum Source<'e> {
    Expr(&'e HExpr),
    /// The control plane.
    Data(Place),
    /// `_`
    None,
}

pub(super) fn sources(args: &[CallArg]) -> Vec<Source<'_>> {
    args.iter().map(|a| a.expr.as_ref().map_or(Source::None, Source::Expr)).collect()
}

impl Lowerer<'_> {
    pub(super) fn call(&mut self, call: &Call, ty: &Ty) -> Val {
        if self.too_large() {
            return Val::Void;
        }
        match &call.callee {
            Callee::Function(id) => return self.call_function(*id, call),
            Callee::Action(id) => {
                let at_exit = self.action_at_exit(*id, &call.args);
                self.call_action(*id, &sources(&call.args), at_exit);
            }
            Callee::Instance(id) => {
                if let Some(Object::Block(instance)) = self.objects.get(id).cloned() {
                    let at_exit = self.block_at_exit(*id, &instance, call);
                    self.call_block(&instance, call, at_exit);
                }
            }
            Callee::Table(table) => self.apply_table(*table, None),
            Callee::Extern(name) => return self.call_extern(name, call),
            Callee::Method(id, of, method) => return self.call_method(*id, of, method, call, ty),
            Callee::SetValid(object, valid) => {
                if let Val::At(place) = self.value(object) {
                    self.set_valid(&place, *valid);
                }
            }
            Callee::Push(object, push, count) => {
                if let Val::At(LVal::Store(Store::Stack(stack))) = self.value(object) {
                    let count = *count;
                    self.op(match push {
                        true => Op::PushFront { stack, count },
                        false => Op::PopFront { stack, count },
                    });
                }
            }
        }
        Val::Void
    }

    fn call_function(&mut self, id: usize, call: &Call) -> Val {
        let hir = self.hir;
        let function = &hir.functions[id];
        let copy_outs = self.bind(&function.params, &sources(&call.args), &[], &[], None);
        if let Some(value) = simple_body(hir, id) {
            let mut made = self.value(value);
            if let Val::At(place) = &made
                && hir.types.width(&function.result).is_some()
            {
                made = Val::Scalar(self.load_place(place));
            }
            return made;
        }
        let result = match hir.types.width(&function.result) {
            Some(width) => Some(Store::Scalar(self.temp(width))),
            None if function.result == Ty::Void => None,
            None => {
                let name = join(&join(&self.path, &function.name), "result");
                Some(self.allocate(&function.result, &name))
            }
        };
        let body = function.body.clone();
        let target = result.clone().map(|store| (store, function.result.clone()));
        let outer = std::mem::replace(&mut self.path, function.name.to_string());
        self.inline(copy_outs, target, |this| this.stmts(&body));
        self.path = outer;
        match result {
            Some(Store::Scalar(place)) => Val::Scalar(Expr::Load(place)),
            Some(store) => Val::At(LVal::Store(store)),
            None => Val::Void,
        }
    }

    pub(super) fn call_action(&mut self, id: usize, sources: &[Source<'_>], at_exit: AtExit) {
        let hir = self.hir;
        let action = &hir.actions[id];
        let touched = Touched::of_action(hir, id);
        let reads: Vec<Range> = touched.reads.iter().filter_map(|p| self.path_range(p)).collect();
        let writes: Vec<Range> = touched.writes.iter().filter_map(|p| self.path_range(p)).collect();
        let copy_outs = self.bind(&action.params, sources, &reads, &writes, at_exit);
        let body = action.body.clone();
        let skipped = Rc::new(dead_assignments(hir, action));
        let outer = std::mem::replace(&mut self.skipped, skipped);
        let site = std::mem::replace(&mut self.site, Site::Action);
        self.inline(copy_outs, None, |this| this.stmts(&body));
        self.site = site;
        self.skipped = outer;
    }

    fn path_range(&self, path: &Path) -> Option<Range> {
        let mut store = match self.env.get(&path.root)? {
            Val::At(LVal::Store(store)) => store.clone(),
            Val::At(place) => return Some(self.lval_range(place)),
            _ => return None,
        };
        for field in &path.fields {
            match self.field(&store, *field) {
                Some(inner) => store = inner,
                None => break,
            }
        }
        Some(self.range(&store))
    }

    fn call_block(&mut self, instance: &Rc<BlockInstance>, call: &Call, at_exit: AtExit) {
        let params = &self.hir.blocks[instance.block].params;
        let copy_outs = self.bind(params, &sources(&call.args), &[], &[], at_exit);
        let instance = instance.clone();
        self.inline(copy_outs, None, |this| this.block_body(&instance));
    }

    /// Locals and body of a parser or control whose parameters are bound.
    pub(super) fn block_body(&mut self, instance: &Rc<BlockInstance>) {
        let hir = self.hir;
        let block = &hir.blocks[instance.block];
        let outer = std::mem::replace(&mut self.path, instance.path.clone());
        let site = std::mem::replace(&mut self.site, Site::Block(instance.block));
        self.env.extend(instance.values.iter().cloned());
        self.objects.extend(instance.objects.iter().cloned());
        for local in &block.locals {
            if let HLocal::Var(var) = local {
                self.declare(var);
            }
        }
        match block.is_parser {
            true => self.parser_states(block),
            false => self.stmts(&block.body),
        }
        self.site = site;
        self.path = outer;
    }

    /// Runs a body with its frame, then writes its arguments back.
    pub(super) fn inline(
        &mut self,
        copy_outs: Vec<CopyOut>,
        result: Option<(Store, Ty)>,
        body: impl FnOnce(&mut Self),
    ) {
        let done = self.graph.block("");
        self.frames.push(Frame { done, result, copy_outs });
        body(self);
        self.jump(done);
        self.graph.enter(done);
        if let Some(frame) = self.frames.pop() {
            frame.copy_outs.iter().for_each(|copy| self.copy_out(copy));
        }
    }

    pub(super) fn copy_out(&mut self, copy: &CopyOut) {
        self.assign(&copy.to, &Val::At(LVal::Store(copy.from.clone())), &copy.ty);
    }

    /// Binds parameters. `reads` and `writes` are the words that the body uses on its own,
    /// besides its parameters (an action sees the control around it).
    pub(super) fn bind(
        &mut self,
        params: &[HParam],
        sources: &[Source<'_>],
        reads: &[Range],
        writes: &[Range],
        at_exit: AtExit,
    ) -> Vec<CopyOut> {
        let hir = self.hir;
        let at_exit = at_exit.unwrap_or_else(|| vec![true; params.len()]);
        let mut values: Vec<Option<Val>> = Vec::new();
        let mut copies: Vec<Option<Store>> = vec![None; params.len()];
        // First all arguments from left to right.
        for (i, (param, source)) in params.iter().zip(sources).enumerate() {
            let later = sources[i + 1..].iter().any(|s| match s {
                Source::Expr(e) => has_effects(hir, e),
                _ => false,
            });
            let is_out = matches!(param.dir, Dir::Out | Dir::InOut);
            values.push(match source {
                Source::Data(place) => Some(Val::Scalar(Expr::Load(*place))),
                Source::None => {
                    copies[i] = Some(self.param_store(param));
                    None
                }
                Source::Expr(e) => match self.object(e) {
                    Some(object) => {
                        self.objects.insert(param.id, object);
                        None
                    }
                    None if matches!(param.ty, Ty::Extern(..)) => {
                        self.objects.insert(param.id, Object::Packet);
                        None
                    }
                    None => {
                        let mut value = self.value(e);
                        if is_out {
                            value = self.fix_index(value);
                            if later && param.dir == Dir::InOut {
                                copies[i] = Some(self.copy_in(param, &value));
                            }
                        } else if later {
                            value = self.freeze(value, &param.ty);
                        }
                        Some(value)
                    }
                },
            });
        }
        // Then: which of those that are written can be used in place?
        let outs: Vec<Option<Range>> = params
            .iter()
            .zip(&values)
            .map(|(param, value)| match (param.dir, value) {
                (Dir::Out | Dir::InOut, Some(Val::At(place))) => Some(self.lval_range(place)),
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
            let in_place = matches!(value, Val::At(LVal::Store(_)));
            // What an exit loses must not be in the argument before.
            if copies[i].is_none() && (shared || used || !in_place || !at_exit[i]) {
                copies[i] = Some(match param.dir {
                    Dir::InOut => self.copy_in(param, &value),
                    _ => self.param_store(param),
                });
            }
            if copies[i].is_none() {
                written.push(range);
            }
        }
        // Values that are only read stay where they are, unless something writes there.
        let mut copy_outs = Vec::new();
        let mut zeroed = Vec::new();
        for (i, param) in params.iter().enumerate() {
            let is_out = matches!(param.dir, Dir::Out | Dir::InOut);
            let bound = match (values[i].take(), copies[i].take()) {
                (value, Some(store)) => {
                    if param.dir == Dir::Out || value.is_none() {
                        zeroed.push(store.clone());
                    }
                    if let (Some(Val::At(to)), true) = (value, is_out) {
                        let (from, ty) = (store.clone(), param.ty.clone());
                        copy_outs.push(CopyOut { to, from, ty, at_exit: at_exit[i] });
                    }
                    Val::At(LVal::Store(store))
                }
                (Some(value), None) if is_out => {
                    if let (Dir::Out, Val::At(LVal::Store(store))) = (param.dir, &value) {
                        zeroed.push(store.clone());
                    }
                    value
                }
                (Some(value), None) => self.read_only(value, &param.ty, &written),
                (None, None) => continue,
            };
            self.env.insert(param.id, bound);
        }
        for store in zeroed {
            self.zero(&store);
        }
        copy_outs
    }

    fn param_store(&mut self, param: &HParam) -> Store {
        let name = join(&self.path, &param.name);
        self.allocate(&param.ty, &name)
    }

    fn copy_in(&mut self, param: &HParam, value: &Val) -> Store {
        let store = self.param_store(param);
        self.assign(&LVal::Store(store.clone()), value, &param.ty);
        store
    }

    /// An argument for `in`: as it is when nothing changes it during the call, else a copy.
    fn read_only(&mut self, value: Val, ty: &Ty, written: &[Range]) -> Val {
        let free = |range: Range| !written.iter().any(|w| overlap(*w, range));
        match &value {
            Val::Scalar(Expr::Const(_)) | Val::InvalidHeader | Val::Void => value,
            Val::Scalar(Expr::Load(place)) if free((place.word, place.words())) => value,
            Val::At(LVal::Store(Store::Scalar(place))) if free((place.word, place.words())) => {
                Val::Scalar(Expr::Load(*place))
            }
            Val::At(LVal::Store(store)) if free(self.range(store)) => value,
            _ => self.freeze(value, ty),
        }
    }

    /// The place of an output is settled before the call.
    pub(super) fn fix_index(&mut self, value: Val) -> Val {
        let Val::At(place) = value else { return value };
        Val::At(self.fix_place(place))
    }

    pub(super) fn fix_place(&mut self, place: LVal) -> LVal {
        match place {
            LVal::Element(stack, index) => LVal::Element(stack, self.stable(index)),
            LVal::ElementField(stack, index, place) => {
                LVal::ElementField(stack, self.stable(index), place)
            }
            LVal::Slice(of, high, low) => LVal::Slice(Box::new(self.fix_place(*of)), high, low),
            place => place,
        }
    }
}
