//! Lowers `==` of structs, headers, stacks and tuples.

use std::rc::Rc;

use netkv_ir::Expr;

use super::assignment::varbit_parts;
use super::expr::{constant, unary};
use super::lowerer::Lowerer;
use super::operators;
use super::storage::Storage;
use super::values::{LValue, RValue};
use crate::hir::{BinOp, UnOp};
use crate::types::Ty;

impl Lowerer<'_> {
    /// Width-1 expression that is 1 if two values of a type are equal.
    pub(super) fn lower_equality(&mut self, a: &RValue, b: &RValue, ty: &Ty) -> Expr {
        let hir = self.hir;
        let base = hir.types.base(ty);
        if hir.types.width(&base).is_some() {
            let (a, b) = (self.load(a), self.load(b));
            return operators::binary(BinOp::Eq, false, a, b);
        }
        let all = |this: &mut Self, types: &[Ty]| {
            let mut result = constant(1, 1);
            for (i, ty) in types.iter().enumerate() {
                let width = hir.types.width(ty).unwrap_or(1);
                let (x, y) = (this.member(a.clone(), i, width), this.member(b.clone(), i, width));
                let equal = this.lower_equality(&x, &y, ty);
                result = operators::binary(BinOp::LogicalAnd, false, result, equal);
            }
            result
        };
        match &base {
            Ty::Struct(id) => {
                let types: Vec<Ty> =
                    hir.types.structs[*id].fields.iter().map(|f| f.ty.clone()).collect();
                let fields = all(self, &types);
                if !hir.types.is_header(&base) {
                    return fields;
                }
                // Two headers are equal if both are invalid, or both valid with equal fields.
                let (x, y) = (self.validity(a), self.validity(b));
                let same = operators::binary(BinOp::Eq, false, x.clone(), y);
                let invalid = unary(UnOp::Not, x, false);
                let content = operators::binary(BinOp::LogicalOr, false, invalid, fields);
                operators::binary(BinOp::LogicalAnd, false, same, content)
            }
            Ty::Tuple(types) => all(self, types),
            // The bits above the length are 0.
            Ty::Varbit(_) => {
                let parts = |value: &RValue| match value {
                    RValue::Stored(place) => varbit_parts(place),
                    _ => None,
                };
                let (Some((a, a_length)), Some((b, b_length))) = (parts(a), parts(b)) else {
                    return constant(1, 0);
                };
                let (x, y) = (self.load_lvalue(&a_length), self.load_lvalue(&b_length));
                let same = operators::binary(BinOp::Eq, false, x, y);
                let (x, y) = (self.load_lvalue(&a), self.load_lvalue(&b));
                let content = operators::binary(BinOp::Eq, false, x, y);
                operators::binary(BinOp::LogicalAnd, false, same, content)
            }
            Ty::Stack(element, size) => {
                let mut result = constant(1, 1);
                for i in 0..*size {
                    let (x, y) = (self.stack_element(a, i), self.stack_element(b, i));
                    let equal = self.lower_equality(&x, &y, element);
                    result = operators::binary(BinOp::LogicalAnd, false, result, equal);
                }
                result
            }
            _ => {
                let span = self.span;
                self.reporter.unsupported(span, "A comparison of such values");
                constant(1, 0)
            }
        }
    }

    fn stack_element(&self, stack: &RValue, index: u32) -> RValue {
        match stack {
            RValue::Stored(LValue::Storage(Storage::Stack(id))) => {
                let first = self.program.stacks[*id as usize].first;
                RValue::Stored(LValue::Storage(Storage::Header(first + index)))
            }
            RValue::Stored(LValue::Storage(Storage::UnionStack(stack))) => {
                let union = Rc::new(self.union_element(stack, index));
                RValue::Stored(LValue::Storage(Storage::Union(union)))
            }
            _ => RValue::InvalidHeader,
        }
    }
}
