//! Lowers the methods of `packet_in` and `packet_out`.

use netkv_ir::{Expr, Op, Place};

use super::Lowerer;
use super::expr::{LValue, RValue};
use super::storage::{Storage, join};
use crate::hir::{Call, HExpr};
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
        if let crate::hir::HExprKind::Next(stack) = &header.kind {
            if let RValue::Stored(LValue::Storage(Storage::Stack(stack))) = self.lower_expr(stack) {
                self.push_op(Op::ExtractNext(stack));
            }
            return;
        }
        match self.lower_expr(header) {
            RValue::Stored(LValue::Storage(Storage::Header(id))) => self.push_op(Op::Extract(id)),
            _ => self
                .reporter
                .unsupported(header.span, "'extract' into an element by run-time index"),
        }
    }

    fn lower_extract_varbit(&mut self, header: &HExpr, bits: &HExpr) {
        let place = self.lower_expr(header);
        let bits = self.lower_scalar(bits);
        let RValue::Stored(LValue::Storage(Storage::Header(id))) = place else {
            self.reporter.unsupported(header.span, "'extract' of a varbit header into a stack");
            return;
        };
        let has_varbit =
            self.program.headers[id as usize].fields.iter().any(|f| f.varbit_length.is_some());
        if !has_varbit {
            self.reporter
                .error(header.span, "'extract' with a length takes a header with a varbit field.");
            return;
        }
        self.push_op(Op::ExtractVarbit { header: id, bits });
    }

    fn lower_lookahead(&mut self, ty: &Ty) -> RValue {
        let Some((need, most)) = self.hir.types.size(ty) else {
            let span = self.span;
            let shown = self.hir.types.show(ty);
            self.reporter.error(span, format!("'lookahead' cannot give a {shown}."));
            return RValue::Void;
        };
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
            Storage::Varbit(..) | Storage::Stack(_) => {
                let span = self.span;
                self.reporter.unsupported(span, "'lookahead' of a stack");
            }
        }
    }

    fn lower_emit(&mut self, value: &HExpr) {
        match self.lower_expr(value) {
            RValue::Stored(LValue::Storage(storage)) => self.emit_storage(&storage, value),
            RValue::List(_) => {
                if let crate::hir::HExprKind::Aggregate(parts) = &value.kind {
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
            Storage::Struct(fields) => {
                for field in &fields.fields {
                    self.emit_storage(field, value);
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
