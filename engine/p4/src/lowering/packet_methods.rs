//! Lowers the methods of `packet_in` and `packet_out`.

use netkv_ir::{Expr, Op, Pattern, Place, SelectCase, StackId, Terminator, Value};

use super::expr::constant;
use super::lowerer::Lowerer;
use super::operators;
use super::storage::{Storage, join};
use super::values::{LValue, RValue};
use crate::hir::{BinOp, Call, HExpr, HExprKind};
use crate::types::Ty;

impl Lowerer<'_> {
    pub(super) fn lower_packet_method(&mut self, method: &str, call: &Call, ty: &Ty) -> RValue {
        match (method, call.args.as_slice()) {
            ("extract", [header]) => self.lower_extract(header.expr.as_ref(), &call.type_args),
            ("extract", [header, bits]) => {
                if let (Some(header), Some(bits)) = (&header.expr, &bits.expr) {
                    self.lower_extract_varbit(header, bits);
                }
            }
            ("advance", [bits]) => {
                if let Some(bits) = &bits.expr {
                    let bits = self.lower_scalar(bits);
                    self.push_op(Op::Advance(bits));
                }
            }
            ("length", []) => return RValue::Scalar(Expr::PacketLength),
            ("lookahead", []) => return self.lower_lookahead(ty),
            ("emit", [value]) => {
                if let Some(value) = &value.expr {
                    self.lower_emit(value);
                }
            }
            _ => self.reporter.unsupported(call.span, &format!("packet.{method}")),
        }
        RValue::Void
    }

    fn lower_extract(&mut self, header: Option<&HExpr>, types: &[Ty]) {
        let Some(header) = header else {
            // `extract<T>(_)` skips the bits.
            let Some(ty) = types.first() else { return };
            let name = join(&self.path, "skipped");
            if let Storage::Header(id) = self.allocate(ty, &name) {
                self.push_op(Op::Extract(id));
            }
            return;
        };
        if !self.hir.types.is_header(&header.ty) {
            let shown = self.hir.types.show(&header.ty);
            self.reporter.error(header.span, format!("'extract' takes a header, not a {shown}."));
            return;
        }
        if self.has_varbit(&header.ty) {
            self.reporter.error(
                header.span,
                "This header has a varbit field: 'extract' also takes its length in bits, \
                 'extract(header, bits)'.",
            );
            return;
        }
        match &header.kind {
            HExprKind::Next(stack) => {
                if let RValue::Stored(LValue::Storage(Storage::Stack(stack))) =
                    self.lower_expr(stack)
                {
                    self.push_op(Op::ExtractNext(stack));
                }
                return;
            }
            // One header of the next element of a stack of header unions.
            HExprKind::Field(next, member) => {
                if let HExprKind::Next(stack) = &next.kind {
                    return self.extract_next_union(stack, *member);
                }
            }
            _ => {}
        }
        match self.lower_expr(header) {
            RValue::Stored(LValue::Storage(Storage::Header(id))) => {
                self.push_op(Op::Extract(id));
                self.invalidate_others(&LValue::Storage(Storage::Header(id)));
            }
            _ => self
                .reporter
                .unsupported(header.span, "'extract' into an element by run-time index"),
        }
    }

    fn has_varbit(&self, ty: &Ty) -> bool {
        match self.hir.types.base(ty) {
            Ty::Struct(id) => {
                let fields = &self.hir.types.structs[id].fields;
                fields.iter().any(|field| matches!(field.ty, Ty::Varbit(_)))
            }
            _ => false,
        }
    }

    fn extract_next_union(&mut self, stack: &HExpr, member: usize) {
        let RValue::Stored(LValue::Storage(Storage::UnionStack(union))) = self.lower_expr(stack)
        else {
            return;
        };
        let stack = union.stacks[member];
        self.push_op(Op::ExtractNext(stack));
        let next = self.next_index(stack);
        let index = operators::binary(BinOp::Sub, false, next.clone(), constant(32, 1));
        self.invalidate_others(&LValue::Element(stack, index));
        for other in union.stacks.iter().filter(|other| **other != stack) {
            let word = self.program.stacks[*other as usize].next_index;
            self.push_op(Op::Assign { to: Place { word, width: 32 }, value: next.clone() });
        }
    }

    fn lower_extract_varbit(&mut self, header: &HExpr, bits: &HExpr) {
        if !self.has_varbit(&header.ty) {
            self.reporter
                .error(header.span, "'extract' with a length takes a header with a varbit field.");
            return;
        }
        let next = match &header.kind {
            HExprKind::Next(stack) => Some((stack, 0)),
            HExprKind::Field(next, member) => match &next.kind {
                HExprKind::Next(stack) => Some((stack, *member)),
                _ => None,
            },
            _ => None,
        };
        if let Some((stack, member)) = next {
            let stacks = match self.lower_expr(stack) {
                RValue::Stored(LValue::Storage(Storage::Stack(stack))) => vec![stack],
                RValue::Stored(LValue::Storage(Storage::UnionStack(union))) => union.stacks.clone(),
                _ => return,
            };
            let bits = self.lower_scalar(bits);
            return self.extract_next_varbit(&stacks, member, bits);
        }
        let place = self.lower_expr(header);
        let bits = self.lower_scalar(bits);
        let RValue::Stored(LValue::Storage(Storage::Header(id))) = place else {
            self.reporter.unsupported(header.span, "'extract' into an element by run-time index");
            return;
        };
        self.push_op(Op::ExtractVarbit { header: id, bits });
        self.invalidate_others(&LValue::Storage(Storage::Header(id)));
    }

    /// Extracts into the next element of a stack: one case for each value of `nextIndex`. `stacks`
    /// are those of a stack of header unions, or the one stack of headers.
    fn extract_next_varbit(&mut self, stacks: &[StackId], member: usize, bits: Expr) {
        let bits = self.snapshot_scalar(bits);
        let stack = self.program.stacks[stacks[member] as usize].clone();
        let (full, done) = (self.graph.new_block(""), self.graph.new_block(""));
        let mut cases = Vec::new();
        for i in 0..stack.size {
            let patterns = vec![Pattern::Value(Value::new(32, u128::from(i)))];
            cases.push(SelectCase { patterns, target: self.graph.new_block("") });
        }
        let targets: Vec<_> = cases.iter().map(|case| case.target).collect();
        let keys = vec![self.next_index(stacks[member])];
        self.end_block(Terminator::Select { keys, cases, default: full });
        for (i, target) in (0..).zip(targets) {
            self.graph.enter(target);
            let header = stack.first + i;
            self.push_op(Op::ExtractVarbit { header, bits: bits.clone() });
            self.invalidate_others(&LValue::Storage(Storage::Header(header)));
            for id in stacks {
                let word = self.program.stacks[*id as usize].next_index;
                let value = constant(32, u128::from(i) + 1);
                self.push_op(Op::Assign { to: Place { word, width: 32 }, value });
            }
            self.jump(done);
        }
        self.graph.enter(full);
        let error = self.program.errors.iter().position(|name| name == "StackOutOfBounds");
        let error = constant(16, error.unwrap_or(0) as u128);
        self.push_op(Op::Verify { cond: constant(1, 0), error });
        self.jump(done);
        self.graph.enter(done);
    }

    fn lower_lookahead(&mut self, ty: &Ty) -> RValue {
        let Some((need, most)) = self.hir.types.size(ty) else {
            let span = self.span;
            let shown = self.hir.types.show(ty);
            self.reporter.error(span, format!("'lookahead' cannot give a {shown}."));
            return RValue::Void;
        };
        if let Ty::Tuple(_) = ty {
            let (span, shown) = (self.span, self.hir.types.show(ty));
            let message = format!(
                "'lookahead' gives a bit<W>, a header or a struct in v1model, not a {shown}."
            );
            self.reporter.error(span, message);
            return RValue::Void;
        }
        if need != most || need == 0 {
            let span = self.span;
            self.reporter.error(span, "'lookahead' needs a type of fixed size above 0.");
            return RValue::Void;
        }
        let need = need as u32;
        if let Some(width) = self.hir.types.width(ty) {
            let to = self.new_temp(width);
            self.push_op(Op::Lookahead { to, skip: 0, need });
            return RValue::Scalar(Expr::Load(to));
        }
        let storage = self.allocate(ty, &join(&self.path.clone(), "lookahead"));
        let mut skip = 0;
        self.lookahead_storage(&storage, need, &mut skip);
        RValue::Stored(LValue::Storage(storage))
    }

    fn lookahead_storage(&mut self, storage: &Storage, need: u32, skip: &mut u32) {
        match storage {
            Storage::Scalar(to) => {
                self.push_op(Op::Lookahead { to: *to, skip: *skip, need });
                *skip += to.width;
            }
            Storage::Header(id) => {
                let header = self.program.headers[*id as usize].clone();
                for field in &header.fields {
                    self.lookahead_storage(&Storage::Scalar(field.place), need, skip);
                }
                self.set_word(header.valid, 1);
            }
            Storage::Struct(fields) => {
                for field in &fields.fields {
                    self.lookahead_storage(field, need, skip);
                }
            }
            Storage::Stack(id) => {
                let stack = self.program.stacks[*id as usize].clone();
                for i in 0..stack.size {
                    self.lookahead_storage(&Storage::Header(stack.first + i), need, skip);
                }
            }
            Storage::Varbit(..) | Storage::Union(_) | Storage::UnionStack(_) => {
                let span = self.span;
                self.reporter.unsupported(span, "'lookahead' of such a type");
            }
        }
    }

    fn lower_emit(&mut self, value: &HExpr) {
        match self.lower_expr(value) {
            RValue::Stored(LValue::Storage(storage)) => self.emit_storage(&storage, value),
            RValue::List(_) => {
                if let HExprKind::Aggregate(parts) = &value.kind {
                    parts.iter().for_each(|part| self.lower_emit(part));
                }
            }
            _ => self.reporter.unsupported(value.span, "'emit' of such a value"),
        }
    }

    fn emit_storage(&mut self, storage: &Storage, value: &HExpr) {
        match storage {
            Storage::Header(id) => self.push_op(Op::Emit(*id)),
            Storage::Stack(id) => self.push_op(Op::EmitStack(*id)),
            Storage::Struct(fields) | Storage::Union(fields) => {
                for field in &fields.fields {
                    self.emit_storage(field, value);
                }
            }
            Storage::UnionStack(union) => {
                for i in 0..self.program.stacks[union.stacks[0] as usize].size {
                    for header in &self.union_element(union, i).fields {
                        self.emit_storage(header, value);
                    }
                }
            }
            Storage::Scalar(Place { .. }) | Storage::Varbit(..) => {
                let shown = self.hir.types.show(&value.ty);
                self.reporter.error(
                    value.span,
                    format!(
                        "'emit' takes headers, stacks and structs of them, not parts of {shown}."
                    ),
                );
            }
        }
    }
}
