//! Lowers assignments of scalars, headers, structs, lists and output arguments.

use netkv_ir::{Expr, Op, Place, Terminator, Word};

use super::expr::constant;
use super::lowerer::Lowerer;
use super::operators;
use super::storage::{Range, Storage, overlap};
use super::values::{LValue, RValue};
use crate::hir::BinOp;
use crate::types::Ty;

impl Lowerer<'_> {
    /// Writes a value to an l-value of the same type.
    pub(super) fn assign(&mut self, to: &LValue, value: &RValue, ty: &Ty) {
        if self.hir.types.width(ty).is_some() {
            let value = self.load(value);
            return self.store_scalar(to, value);
        }
        if self.hir.types.is_union(ty) {
            return self.assign_union(to, value, ty);
        }
        if let (Some((to, to_length)), RValue::Stored(from)) = (varbit_parts(to), value)
            && let Some((from, from_length)) = varbit_parts(from)
        {
            let (bits, length) = (self.load_lvalue(&from), self.load_lvalue(&from_length));
            self.store_scalar(&to, bits);
            return self.store_scalar(&to_length, length);
        }
        match (to, value) {
            (_, RValue::List(parts)) => self.assign_list(to, parts, ty),
            (_, RValue::InvalidHeader) => self.set_valid(to, false),
            (
                LValue::Storage(Storage::Header(to)),
                RValue::Stored(LValue::Storage(Storage::Header(from))),
            ) if to == from => {}
            (
                LValue::Storage(Storage::Header(id)),
                RValue::Stored(LValue::Storage(Storage::Header(from))),
            ) => {
                self.push_op(Op::CopyHeader { to: *id, from: *from });
                self.invalidate_others_if_valid(to);
            }
            (LValue::Storage(to), RValue::Stored(LValue::Storage(from))) => {
                let (to, words) = self.range(to);
                let (from, _) = self.range(from);
                if to != from && words > 0 {
                    self.push_op(Op::CopyWords { to, from, words });
                }
            }
            (_, RValue::Stored(_)) => self.assign_fields(to, value, ty),
            _ => {}
        }
    }

    pub(super) fn store_scalar(&mut self, to: &LValue, value: Expr) {
        match to {
            LValue::Storage(Storage::Scalar(place) | Storage::Varbit(place, _)) => {
                if value != Expr::Load(*place) {
                    self.push_op(Op::Assign { to: *place, value });
                }
            }
            LValue::ElementField(stack, index, place) => {
                let (stack, index, place) = (*stack, index.clone(), *place);
                self.push_op(Op::StoreElement { stack, index, place, value });
            }
            LValue::Slice(of, high, low) => match &**of {
                LValue::Storage(Storage::Scalar(to)) => {
                    if *low == 0 && *high + 1 == to.width {
                        return self.push_op(Op::Assign { to: *to, value });
                    }
                    self.push_op(Op::AssignSlice { to: *to, high: *high, low: *low, value });
                }
                LValue::Slice(inner, _, inner_low) => {
                    let (high, low) = (high + inner_low, low + inner_low);
                    let whole = LValue::Slice(inner.clone(), high, low);
                    self.store_scalar(&whole, value);
                }
                other => {
                    // Read the old value, replace the bits, write the new value.
                    let old = self.load_lvalue(other);
                    let width = old.width();
                    let mut new = value;
                    if *high + 1 < width {
                        let above = operators::slice(old.clone(), width - 1, high + 1);
                        new = operators::binary(BinOp::Concat, false, above, new);
                    }
                    if *low > 0 {
                        let below = operators::slice(old, low - 1, 0);
                        new = operators::binary(BinOp::Concat, false, new, below);
                    }
                    self.store_scalar(other, new);
                }
            },
            LValue::Storage(_)
            | LValue::Element(..)
            | LValue::ElementPart(..)
            | LValue::UnionElement(..) => {}
        }
    }

    /// Copies a header union header by header. The valid one makes the others invalid.
    fn assign_union(&mut self, to: &LValue, value: &RValue, ty: &Ty) {
        let types = self.member_types(ty);
        let value = match value {
            RValue::Stored(from) => RValue::Stored(self.snapshot_lvalue_index(from.clone())),
            other => other.clone(),
        };
        let to = self.snapshot_lvalue_index(to.clone());
        for (i, ty) in types.iter().enumerate() {
            let from = match &value {
                RValue::Stored(_) => self.member(value.clone(), i, 1),
                _ => RValue::InvalidHeader,
            };
            if let RValue::Stored(header) = self.member(RValue::Stored(to.clone()), i, 1) {
                self.assign(&header, &from, ty);
            }
        }
    }

    /// The other headers of the header union that a header is in.
    fn other_union_headers(&self, header: &LValue) -> Vec<LValue> {
        match header {
            LValue::Storage(Storage::Header(id)) => {
                let others = self.union_headers.get(id).into_iter().flat_map(|ids| ids.iter());
                others.map(|id| LValue::Storage(Storage::Header(*id))).collect()
            }
            LValue::Element(stack, index) => {
                let others = self.union_stacks.get(stack).into_iter().flat_map(|ids| ids.iter());
                others.map(|id| LValue::Element(*id, index.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A header has become valid: makes the other headers of its header union invalid.
    pub(super) fn invalidate_others(&mut self, header: &LValue) {
        for other in self.other_union_headers(header) {
            self.set_valid(&other, false);
        }
    }

    /// A header of a header union has been copied, and may be valid now.
    fn invalidate_others_if_valid(&mut self, header: &LValue) {
        if self.other_union_headers(header).is_empty() {
            return;
        }
        let cond = self.validity(&RValue::Stored(header.clone()));
        let (valid, done) = (self.graph.new_block(""), self.graph.new_block(""));
        self.end_block(Terminator::Branch { cond, then: valid, otherwise: done });
        self.graph.enter(valid);
        self.invalidate_others(header);
        self.jump(done);
        self.graph.enter(done);
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

    fn assign_list(&mut self, to: &LValue, parts: &[RValue], ty: &Ty) {
        let types = self.member_types(ty);
        let mut parts = parts.to_vec();
        // `p = { p.r, p.l }`: all members must be read before the target is written.
        let range = self.lvalue_range(to);
        for (i, part) in parts.iter_mut().enumerate().skip(1) {
            if value_reads(self, part, range) {
                *part = self.snapshot(part.clone(), &types[i]);
            }
        }
        if self.hir.types.is_header(ty) {
            self.set_valid(to, true);
        }
        for (i, (part, ty)) in parts.iter().zip(&types).enumerate() {
            let width = self.hir.types.width(ty).unwrap_or(1);
            if let RValue::Stored(field) = self.member(RValue::Stored(to.clone()), i, width) {
                self.assign(&field, part, ty);
            }
        }
    }

    /// Assigns field by field, for stack elements with an index known at run time only.
    fn assign_fields(&mut self, to: &LValue, value: &RValue, ty: &Ty) {
        let types = self.member_types(ty);
        // The copy must not change the index.
        let to = self.snapshot_lvalue_index(to.clone());
        let value = self.snapshot_index(value.clone());
        let valid = self.validity(&value);
        match &to {
            LValue::Element(stack, index) => {
                let first = self.program.stacks[*stack as usize].first;
                let word = self.program.headers[first as usize].valid;
                let (stack, index) = (*stack, index.clone());
                let place = Place { word, width: 1 };
                self.push_op(Op::StoreElement { stack, index, place, value: valid });
            }
            LValue::Storage(Storage::Header(id)) => {
                let word = self.program.headers[*id as usize].valid;
                self.push_op(Op::Assign { to: Place { word, width: 1 }, value: valid });
            }
            _ => {}
        }
        for (i, ty) in types.iter().enumerate() {
            let width = self.hir.types.width(ty).unwrap_or(1);
            let from = self.member(value.clone(), i, width);
            if let RValue::Stored(field) = self.member(RValue::Stored(to.clone()), i, width) {
                self.assign(&field, &from, ty);
            }
        }
        self.invalidate_others_if_valid(&to);
    }

    pub(super) fn set_valid(&mut self, to: &LValue, valid: bool) {
        match to {
            LValue::Storage(Storage::Header(id)) if valid => {
                self.push_op(Op::SetValid(*id));
                self.invalidate_others(to);
            }
            LValue::Storage(Storage::Header(id)) => self.push_op(Op::SetInvalid(*id)),
            LValue::Element(stack, index) => {
                let (stack, index) = (*stack, index.clone());
                self.push_op(Op::SetValidElement { stack, index, valid });
                if valid {
                    self.invalidate_others(to);
                }
            }
            // `u = {#}`: a whole header union.
            LValue::Storage(Storage::Union(union)) if !valid => {
                union.fields.clone().iter().for_each(|header| self.zero(header));
            }
            _ => {}
        }
    }

    /// Words that an l-value may access. If a stack index is unknown, these are all of the stack.
    pub(super) fn lvalue_range(&self, place: &LValue) -> Range {
        match place {
            LValue::Storage(storage) => self.range(storage),
            LValue::Element(stack, _) | LValue::ElementField(stack, ..) => {
                self.range(&Storage::Stack(*stack))
            }
            LValue::ElementPart(stack, ..) => self.range(&Storage::Stack(*stack)),
            LValue::UnionElement(union, _) => (union.base, union.words),
            LValue::Slice(of, ..) => self.lvalue_range(of),
        }
    }
}

/// The bits and the length of a varbit.
pub(super) fn varbit_parts(place: &LValue) -> Option<(LValue, LValue)> {
    let length = |word| Place { word, width: 32 };
    match place {
        LValue::Storage(Storage::Varbit(bits, word)) => {
            let part = |place| LValue::Storage(Storage::Scalar(place));
            Some((part(*bits), part(length(*word))))
        }
        LValue::ElementPart(stack, index, Storage::Varbit(bits, word)) => {
            let part = |place| LValue::ElementField(*stack, index.clone(), place);
            Some((part(*bits), part(length(*word))))
        }
        _ => None,
    }
}

/// True if the value depends on these words.
fn value_reads(lowerer: &Lowerer<'_>, value: &RValue, range: Range) -> bool {
    match value {
        RValue::Scalar(expr) => expr_reads(lowerer, expr, range),
        RValue::Stored(place) => overlap(lowerer.lvalue_range(place), range),
        RValue::List(parts) => parts.iter().any(|part| value_reads(lowerer, part, range)),
        RValue::InvalidHeader | RValue::Void => false,
    }
}

fn expr_reads(lowerer: &Lowerer<'_>, expr: &Expr, range: Range) -> bool {
    let any = |e: &Expr| expr_reads(lowerer, e, range);
    match expr {
        Expr::Const(_) | Expr::PacketLength => false,
        Expr::Load(place) => overlap((place.word, place.words()), range),
        Expr::LoadElement { stack, index, .. } => {
            overlap(lowerer.range(&Storage::Stack(*stack)), range) || any(index)
        }
        Expr::Unary { arg, .. } | Expr::Slice { arg, .. } => any(arg),
        Expr::Binary { left, right, .. } | Expr::Concat(left, right) => any(left) || any(right),
        Expr::Mux { cond, then, otherwise } => any(cond) || any(then) || any(otherwise),
    }
}

/// A scalar output of an extern: its place, and the l-value to copy it to after the call.
pub(super) struct Out {
    pub place: Place,
    copy_to: Option<LValue>,
}

impl Lowerer<'_> {
    /// Prepares a scalar output. `keep`: the extern may leave the old value unchanged.
    pub(super) fn prepare_output(&mut self, to: Option<LValue>, width: u32, keep: bool) -> Out {
        match to {
            Some(LValue::Storage(Storage::Scalar(place))) => Out { place, copy_to: None },
            Some(to) => {
                let place = self.allocate_scalar(width);
                if keep {
                    let value = self.load_lvalue(&to);
                    self.push_op(Op::Assign { to: place, value });
                }
                Out { place, copy_to: Some(to) }
            }
            None => Out { place: self.allocate_scalar(width), copy_to: None },
        }
    }

    pub(super) fn finish_output(&mut self, out: Out) {
        if let Some(to) = out.copy_to {
            self.store_scalar(&to, Expr::Load(out.place));
        }
    }

    /// Writes 0 or 1 to a word.
    pub(super) fn set_word(&mut self, word: Word, value: u128) {
        self.push_op(Op::Assign { to: Place { word, width: 1 }, value: constant(1, value) });
    }
}
