//! Operations on values that are known when the code is made.
//!
//! Cranelift folds constants as well, but keeps branches on them, and both of their ends. What is
//! folded here decides branches, so code that cannot be reached is never made.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder, InstructionData, Opcode, TrapCode, Value, ValueDef, types,
};
use netkv_dataplane::mask;
use netkv_ir::BinaryOp;

use super::builder::Builder;
use crate::known;

impl Builder<'_> {
    /// The number that a value of 64 bits is known to be.
    pub(super) fn number(&self, value: Value) -> Option<u64> {
        let dfg = &self.b.func.dfg;
        let value = dfg.resolve_aliases(value);
        if dfg.value_type(value) != types::I64 {
            return None;
        }
        let ValueDef::Result(instruction, _) = dfg.value_def(value) else { return None };
        match dfg.insts[instruction] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as u64),
            _ => None,
        }
    }

    /// The result of an operation on two values of this width, at most 64 bits, if it is known or
    /// one of them.
    pub(super) fn folded(
        &mut self,
        op: BinaryOp,
        left: Value,
        right: Value,
        width: u32,
    ) -> Option<Value> {
        let (l, r) = (self.number(left), self.number(right));
        if let Some(number) = known::binary(op, l, r, mask(width)) {
            return Some(self.constant(number));
        }
        let all = Some(mask(width));
        match op {
            BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor if l == Some(0) => return Some(right),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor if r == Some(0) => {
                return Some(left);
            }
            BinaryOp::And if l == all => return Some(right),
            BinaryOp::And if r == all => return Some(left),
            _ => {}
        }
        let dfg = &self.b.func.dfg;
        if dfg.resolve_aliases(left) != dfg.resolve_aliases(right) {
            return None;
        }
        match op {
            BinaryOp::And | BinaryOp::Or => Some(left),
            BinaryOp::Eq | BinaryOp::LeUnsigned => Some(self.constant(1)),
            BinaryOp::Ne | BinaryOp::LtUnsigned => Some(self.constant(0)),
            _ => None,
        }
    }

    /// Whether a value is this number, as an operand of a branch.
    pub(super) fn is(&mut self, value: Value, number: u64) -> Value {
        match self.number(value) {
            Some(value) => self.constant(u64::from(value == number)),
            None => self.b.ins().icmp_imm(IntCC::Equal, value, number as i64),
        }
    }

    /// Whether no jump leads to the current block.
    pub(super) fn is_unreachable(&self) -> bool {
        self.b.is_unreachable()
    }

    /// Closes a block that is never reached.
    pub(super) fn never(&mut self) {
        self.b.ins().trap(TrapCode::unwrap_user(1));
    }
}
