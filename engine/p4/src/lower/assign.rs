//! Assignments of every kind of value.

use netkv_ir::{Expr, Op, Place, Word};

use super::Lowerer;
use super::layout::{Range, Store, overlap};
use super::ops;
use super::value::{LVal, Val, constant};
use crate::hir::BinOp;
use crate::types::Ty;

impl Lowerer<'_> {
    /// Writes a value to a place of the same type.
    pub(super) fn assign(&mut self, to: &LVal, value: &Val, ty: &Ty) {
        if self.hir.types.width(ty).is_some() {
            let value = self.load(value);
            return self.store_scalar(to, value);
        }
        match (to, value) {
            (_, Val::List(parts)) => self.assign_list(to, parts, ty),
            (_, Val::InvalidHeader) => self.set_valid(to, false),
            (LVal::Store(Store::Header(to)), Val::At(LVal::Store(Store::Header(from))))
                if to == from => {}
            (LVal::Store(Store::Header(to)), Val::At(LVal::Store(Store::Header(from)))) => {
                self.op(Op::CopyHeader { to: *to, from: *from });
            }
            (
                LVal::Store(Store::Varbit(to, length)),
                Val::At(LVal::Store(Store::Varbit(from, from_length))),
            ) => {
                self.op(Op::Assign { to: *to, value: Expr::Load(*from) });
                let width = 32;
                let value = Expr::Load(Place { word: *from_length, width });
                self.op(Op::Assign { to: Place { word: *length, width }, value });
            }
            (LVal::Store(to), Val::At(LVal::Store(from))) => {
                let (to, words) = self.range(to);
                let (from, _) = self.range(from);
                if to != from && words > 0 {
                    self.op(Op::CopyWords { to, from, words });
                }
            }
            (_, Val::At(_)) => self.assign_fields(to, value, ty),
            _ => {}
        }
    }

    pub(super) fn store_scalar(&mut self, to: &LVal, value: Expr) {
        match to {
            LVal::Store(Store::Scalar(place) | Store::Varbit(place, _)) => {
                if value != Expr::Load(*place) {
                    self.op(Op::Assign { to: *place, value });
                }
            }
            LVal::ElementField(stack, index, place) => {
                let (stack, index, place) = (*stack, index.clone(), *place);
                self.op(Op::StoreElement { stack, index, place, value });
            }
            LVal::Slice(of, high, low) => match &**of {
                LVal::Store(Store::Scalar(to)) => {
                    if *low == 0 && *high + 1 == to.width {
                        return self.op(Op::Assign { to: *to, value });
                    }
                    self.op(Op::AssignSlice { to: *to, high: *high, low: *low, value });
                }
                LVal::Slice(inner, _, inner_low) => {
                    let (high, low) = (high + inner_low, low + inner_low);
                    let whole = LVal::Slice(inner.clone(), high, low);
                    self.store_scalar(&whole, value);
                }
                other => {
                    // Read, replace the bits, write.
                    let old = self.load_place(other);
                    let width = old.width();
                    let mut new = value;
                    if *high + 1 < width {
                        let above = ops::slice(old.clone(), width - 1, high + 1);
                        new = ops::binary(BinOp::Concat, false, above, new);
                    }
                    if *low > 0 {
                        let below = ops::slice(old, low - 1, 0);
                        new = ops::binary(BinOp::Concat, false, new, below);
                    }
                    self.store_scalar(other, new);
                }
            },
            LVal::Store(_) | LVal::Element(..) => {}
        }
    }

    fn member_types(&self, ty: &Ty) -> Vec<Ty> {
        match self.hir.types.base(ty) {
            Ty::Struct(id) => {
                self.hir.types.structs[id].fields.iter().map(|f| f.ty.clone()).collect()
            }
            Ty::Tuple(parts) => parts.to_vec(),
            _ => Vec::new(),
        }
    }

    fn assign_list(&mut self, to: &LVal, parts: &[Val], ty: &Ty) {
        let types = self.member_types(ty);
        let mut parts = parts.to_vec();
        // `p = { p.r, p.l }`: what is read from the target is read before any of it is written.
        let range = self.lval_range(to);
        for (i, part) in parts.iter_mut().enumerate().skip(1) {
            if reads(self, part, range) {
                *part = self.freeze(part.clone(), &types[i]);
            }
        }
        if self.hir.types.is_header(ty) {
            self.set_valid(to, true);
        }
        for (i, (part, ty)) in parts.iter().zip(&types).enumerate() {
            let width = self.hir.types.width(ty).unwrap_or(1);
            if let Val::At(field) = self.member(Val::At(to.clone()), i, width) {
                self.assign(&field, part, ty);
            }
        }
    }

    /// Field by field, for elements of stacks by run-time index.
    fn assign_fields(&mut self, to: &LVal, value: &Val, ty: &Ty) {
        let types = self.member_types(ty);
        if types.iter().any(|t| matches!(t, Ty::Varbit(_))) {
            let span = self.span;
            self.reporter.unsupported(span, "A run-time index for headers with a varbit");
        }
        let mut value = value.clone();
        let mut to = to.clone();
        // The index must not change under the copy.
        if let LVal::Element(stack, index) = &to {
            let index = self.stable(index.clone());
            to = LVal::Element(*stack, index);
        }
        if let Val::At(LVal::Element(stack, index)) = &value {
            let index = self.stable(index.clone());
            value = Val::At(LVal::Element(*stack, index));
        }
        let valid = self.validity(&value);
        match &to {
            LVal::Element(stack, index) => {
                let first = self.program.stacks[*stack as usize].first;
                let word = self.program.headers[first as usize].valid;
                let (stack, index) = (*stack, index.clone());
                let place = Place { word, width: 1 };
                self.op(Op::StoreElement { stack, index, place, value: valid });
            }
            LVal::Store(Store::Header(id)) => {
                let word = self.program.headers[*id as usize].valid;
                self.op(Op::Assign { to: Place { word, width: 1 }, value: valid });
            }
            _ => {}
        }
        for (i, ty) in types.iter().enumerate() {
            let width = self.hir.types.width(ty).unwrap_or(1);
            let from = self.member(value.clone(), i, width);
            if let Val::At(field) = self.member(Val::At(to.clone()), i, width) {
                self.assign(&field, &from, ty);
            }
        }
    }

    pub(super) fn set_valid(&mut self, to: &LVal, valid: bool) {
        match to {
            LVal::Store(Store::Header(id)) if valid => self.op(Op::SetValid(*id)),
            LVal::Store(Store::Header(id)) => self.op(Op::SetInvalid(*id)),
            LVal::Element(stack, index) => {
                let (stack, index) = (*stack, index.clone());
                self.op(Op::SetValidElement { stack, index, valid });
            }
            _ => {}
        }
    }

    /// Words that a place may take; a stack counts whole where the index is not known.
    pub(super) fn lval_range(&self, place: &LVal) -> Range {
        match place {
            LVal::Store(store) => self.range(store),
            LVal::Element(stack, _) | LVal::ElementField(stack, ..) => {
                self.range(&Store::Stack(*stack))
            }
            LVal::Slice(of, ..) => self.lval_range(of),
        }
    }
}

/// Does a value read from these words?
fn reads(lowerer: &Lowerer<'_>, value: &Val, range: Range) -> bool {
    match value {
        Val::Scalar(expr) => expr_reads(lowerer, expr, range),
        Val::At(place) => overlap(lowerer.lval_range(place), range),
        Val::List(parts) => parts.iter().any(|part| reads(lowerer, part, range)),
        Val::InvalidHeader | Val::Void => false,
    }
}

fn expr_reads(lowerer: &Lowerer<'_>, expr: &Expr, range: Range) -> bool {
    let any = |e: &Expr| expr_reads(lowerer, e, range);
    match expr {
        Expr::Const(_) | Expr::PacketLength => false,
        Expr::Load(place) => overlap((place.word, place.words()), range),
        Expr::LoadElement { stack, index, .. } => {
            overlap(lowerer.range(&Store::Stack(*stack)), range) || any(index)
        }
        Expr::Unary { arg, .. } | Expr::Slice { arg, .. } => any(arg),
        Expr::Binary { left, right, .. } | Expr::Concat(left, right) => any(left) || any(right),
        Expr::Mux { cond, then, otherwise } => any(cond) || any(then) || any(otherwise),
    }
}

/// A scalar output of an extern: the place to give, and what to do with it afterwards.
pub(super) struct Out {
    pub place: Place,
    copy_to: Option<LVal>,
}

impl Lowerer<'_> {
    /// Prepares a scalar output. `keep`: the extern may leave it unchanged.
    pub(super) fn out(&mut self, to: Option<LVal>, width: u32, keep: bool) -> Out {
        match to {
            Some(LVal::Store(Store::Scalar(place))) => Out { place, copy_to: None },
            Some(to) => {
                let place = self.scalar_place(width);
                if keep {
                    let value = self.load_place(&to);
                    self.op(Op::Assign { to: place, value });
                }
                Out { place, copy_to: Some(to) }
            }
            None => Out { place: self.scalar_place(width), copy_to: None },
        }
    }

    pub(super) fn finish_out(&mut self, out: Out) {
        if let Some(to) = out.copy_to {
            self.store_scalar(&to, Expr::Load(out.place));
        }
    }

    /// Writes 0 or 1 to a word.
    pub(super) fn set_word(&mut self, word: Word, value: u128) {
        self.op(Op::Assign { to: Place { word, width: 1 }, value: constant(1, value) });
    }
}
