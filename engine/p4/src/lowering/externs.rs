//! Lowers calls of v1model's extern functions and of the methods of extern objects.

use std::rc::Rc;

use netkv_ir::{Digest, DigestId, Expr, HashInput, Op};

use super::expr::constant;
use super::lowerer::Lowerer;
use super::objects::Object;
use super::operators;
use super::storage::{Storage, join};
use super::values::{LValue, RValue};
use crate::annotations::Annotations;
use crate::hir::{BinOp, Call, DeclId, HExpr, HExprKind};
use crate::types::Ty;

impl Lowerer<'_> {
    /// The expression of an argument. Reports `_`, which is not allowed for it.
    fn required_arg<'e>(&mut self, call: &'e Call, index: usize) -> Option<&'e HExpr> {
        let found = call.args.get(index).and_then(|a| a.expr.as_ref());
        if found.is_none() {
            self.reporter.error(call.span, "'_' cannot stand for this argument.");
        }
        found
    }

    fn scalar_arg(&mut self, call: &Call, index: usize) -> Expr {
        match self.required_arg(call, index) {
            Some(expr) => self.lower_scalar(expr),
            None => constant(1, 0),
        }
    }

    /// L-value and width of an output argument. `_` has no l-value.
    fn out_arg(&mut self, call: &Call, index: usize) -> (Option<LValue>, u32) {
        let Some(expr) = call.args.get(index).and_then(|a| a.expr.as_ref()) else {
            return (None, 32);
        };
        let Some(width) = self.hir.types.width(&expr.ty) else {
            let shown = self.hir.types.show(&expr.ty);
            self.reporter.error(expr.span, format!("The result is a scalar, not a {shown}."));
            return (None, 32);
        };
        match self.lower_expr(expr) {
            RValue::Stored(place) => (Some(self.snapshot_lvalue_index(place)), width),
            _ => (None, width),
        }
    }

    pub(super) fn lower_extern_call(&mut self, name: &str, call: &Call) -> RValue {
        self.details.calls_externs |= name != "verify"; // which only parsers call
        match name {
            "verify" => {
                let (cond, error) = (self.scalar_arg(call, 0), self.scalar_arg(call, 1));
                self.push_op(Op::Verify { cond, error });
            }
            "mark_to_drop" => self.push_op(Op::MarkToDrop),
            "random" => {
                let (to, width) = self.out_arg(call, 0);
                let (low, high) = (self.scalar_arg(call, 1), self.scalar_arg(call, 2));
                let out = self.prepare_output(to, width, false);
                self.push_op(Op::Random { to: out.place, low, high });
                self.finish_output(out);
            }
            "hash" => self.lower_hash(call),
            "verify_checksum" => self.lower_verify_checksum(call, false),
            "verify_checksum_with_payload" => self.lower_verify_checksum(call, true),
            "update_checksum" => self.lower_update_checksum(call, false),
            "update_checksum_with_payload" => self.lower_update_checksum(call, true),
            "clone" | "clone_preserving_field_list" => {
                let Some(kind) = self.required_arg(call, 0) else { return RValue::Void };
                let ingress = self.enum_member(kind) == "I2E";
                let session = self.scalar_arg(call, 1);
                let field_list = self.list_arg(call, 2);
                self.push_op(Op::Clone { ingress, session, field_list });
            }
            "resubmit_preserving_field_list" => {
                let field_list = self.list_arg(call, 0);
                self.push_op(Op::Resubmit { field_list });
            }
            "recirculate_preserving_field_list" => {
                let field_list = self.list_arg(call, 0);
                self.push_op(Op::Recirculate { field_list });
            }
            "truncate" => {
                let bytes = self.scalar_arg(call, 0);
                self.push_op(Op::Truncate(bytes));
            }
            "assert" | "assume" => {
                let cond = self.scalar_arg(call, 0);
                let assertion = self.assertion();
                self.push_op(Op::Assert { cond, assertion });
            }
            "log_msg" => {
                let Some(format) = self.required_arg(call, 0) else { return RValue::Void };
                let format = match &format.kind {
                    HExprKind::Str(text) => text.to_string(),
                    _ => String::new(),
                };
                let mut inputs = Vec::new();
                if call.args.len() > 1 {
                    self.check_is_list(call, 1);
                }
                if call.args.len() > 1
                    && let Some(data) = self.required_arg(call, 1)
                {
                    self.flatten(data, true, &mut inputs);
                }
                let args = inputs.into_iter().map(|i| i.value).collect();
                self.push_op(Op::Log { format, args });
            }
            "digest" => self.lower_digest(call),
            _ => self.reporter.unsupported(call.span, &format!("Extern function '{name}'")),
        }
        RValue::Void
    }

    /// Index of a field list. A call without this argument preserves nothing.
    fn list_arg(&mut self, call: &Call, index: usize) -> Option<u32> {
        let expr = call.args.get(index)?.expr.as_ref()?;
        Some(self.const_u32(expr))
    }

    fn lower_hash(&mut self, call: &Call) {
        let (to, width) = self.out_arg(call, 0);
        let Some(algorithm) = self.required_arg(call, 1) else { return };
        let algorithm = self.algorithm(algorithm);
        let base = self.scalar_arg(call, 2);
        let mut data = Vec::new();
        if let Some(expr) = self.required_arg(call, 3) {
            // p4c copies the data first: a field into a variable, which always has a value, and a
            // whole header into a header, whose fields bmv2 leaves out if it is invalid.
            self.flatten(expr, false, &mut data);
        }
        self.check_is_list(call, 3);
        let max = self.scalar_arg(call, 4);
        let out = self.prepare_output(to, width, false);
        self.push_op(Op::Hash { to: out.place, algorithm, base, data, max });
        self.finish_output(out);
    }

    fn data_arg(&mut self, call: &Call, index: usize) -> Vec<HashInput> {
        let mut data = Vec::new();
        if let Some(expr) = self.required_arg(call, index) {
            self.flatten(expr, true, &mut data);
        }
        data
    }

    /// Reports data of a hash or checksum that is no list, struct, header or tuple.
    fn check_is_list(&mut self, call: &Call, index: usize) {
        let Some(expr) = call.args.get(index).and_then(|arg| arg.expr.as_ref()) else { return };
        if !matches!(self.hir.types.base(&expr.ty), Ty::Struct(_) | Ty::Tuple(_) | Ty::Record(_)) {
            let shown = self.hir.types.show(&expr.ty);
            let message =
                format!("The data is a list or a struct, not a {shown}: write {{ ... }}.");
            self.reporter.error(expr.span, message);
        }
    }

    /// Reports data of a checksum that bmv2 would have to compute.
    fn check_checksum_data(&mut self, call: &Call) {
        self.check_is_list(call, 1);
        let mut open: Vec<&HExpr> =
            call.args.get(1).and_then(|arg| arg.expr.as_ref()).into_iter().collect();
        while let Some(expr) = open.pop() {
            match &expr.kind {
                HExprKind::Aggregate(parts) => open.extend(parts),
                HExprKind::Const(_)
                | HExprKind::Var(_)
                | HExprKind::Field(..)
                | HExprKind::Element(..)
                | HExprKind::Error => {}
                HExprKind::Cast(of) if matches!(of.ty, Ty::Enum(_)) => {}
                _ => self.reporter.error(
                    expr.span,
                    "The data of a checksum consists of fields and constants; v1model computes \
                     nothing else there.",
                ),
            }
        }
    }

    fn lower_verify_checksum(&mut self, call: &Call, with_payload: bool) {
        self.check_checksum_data(call);
        let cond = self.scalar_arg(call, 0);
        let data = self.data_arg(call, 1);
        let checksum = self.scalar_arg(call, 2);
        let Some(algorithm) = self.required_arg(call, 3) else { return };
        let algorithm = self.algorithm(algorithm);
        // bmv2 does not verify a checksum in a header that is invalid.
        let header = match &checksum {
            Expr::Load(place) => self.header_of.get(&place.word).copied(),
            _ => None,
        };
        let cond = match header {
            Some(header) => {
                let header = RValue::Stored(LValue::Storage(Storage::Header(header)));
                let valid = self.validity(&header);
                operators::binary(BinOp::LogicalAnd, false, valid, cond)
            }
            None => cond,
        };
        self.push_op(Op::VerifyChecksum { cond, data, checksum, algorithm, with_payload });
    }

    /// Reports a checksum over its own destination, whose data p4c would have to copy first.
    fn check_checksum_destination(&mut self, call: &Call) {
        let arg = |index: usize| call.args.get(index).and_then(|arg| arg.expr.as_ref());
        let (Some(data), Some(to)) = (arg(1), arg(2)) else { return };
        let mut open = vec![data];
        while let Some(part) = open.pop() {
            match &part.kind {
                HExprKind::Aggregate(parts) => open.extend(parts),
                _ if part.same_as(to) => self.reporter.error(
                    part.span,
                    "The checksum is written to this field, so the field cannot be in its data.",
                ),
                _ => {}
            }
        }
    }

    fn lower_update_checksum(&mut self, call: &Call, with_payload: bool) {
        self.check_checksum_data(call);
        self.check_checksum_destination(call);
        let cond = self.scalar_arg(call, 0);
        let data = self.data_arg(call, 1);
        let (to, width) = self.out_arg(call, 2);
        let Some(algorithm) = self.required_arg(call, 3) else { return };
        let algorithm = self.algorithm(algorithm);
        let out = self.prepare_output(to, width, true);
        let header = self.header_of.get(&out.place.word).copied();
        self.push_op(Op::UpdateChecksum {
            cond,
            data,
            to: out.place,
            header,
            algorithm,
            with_payload,
        });
        self.finish_output(out);
    }

    /// Appends the scalars of a data list in order. A field of a whole header carries the id of the
    /// header; with `of_fields`, a single field does, too.
    pub(super) fn flatten(&mut self, expr: &HExpr, of_fields: bool, out: &mut Vec<HashInput>) {
        if let HExprKind::Aggregate(parts) = &expr.kind {
            for part in parts {
                self.flatten(part, of_fields, out);
            }
            return;
        }
        let is_field = of_fields && self.is_header_field(expr);
        match self.lower_expr(expr) {
            RValue::Stored(LValue::Storage(storage)) => {
                self.flatten_storage(&storage, is_field, out)
            }
            value @ (RValue::Scalar(_)
            | RValue::Stored(LValue::ElementField(..) | LValue::Slice(..))) => {
                let value = self.load(&value);
                out.push(HashInput { value, header: None, varbit_length: None });
            }
            _ => {
                let shown = self.hir.types.show(&expr.ty);
                self.reporter.unsupported(expr.span, &format!("Such a {shown} in a data list"));
            }
        }
    }

    /// True for a field of a header, and of a struct in a header.
    fn is_header_field(&self, expr: &HExpr) -> bool {
        matches!(&expr.kind, HExprKind::Field(base, _)
            if self.hir.types.is_header(&base.ty) || self.is_header_field(base))
    }

    fn flatten_storage(&mut self, storage: &Storage, is_field: bool, out: &mut Vec<HashInput>) {
        match storage {
            Storage::Scalar(place) => {
                let header = self.header_of.get(&place.word).copied().filter(|_| is_field);
                out.push(HashInput { value: Expr::Load(*place), header, varbit_length: None });
            }
            Storage::Varbit(place, length) => {
                let header = self.header_of.get(&place.word).copied().filter(|_| is_field);
                let value = Expr::Load(*place);
                out.push(HashInput { value, header, varbit_length: Some(*length) });
            }
            Storage::Header(id) => {
                for i in 0..self.program.headers[*id as usize].fields.len() {
                    if let Some(field) = self.field(storage, i) {
                        self.flatten_storage(&field, true, out);
                    }
                }
            }
            Storage::Struct(fields) | Storage::Union(fields) => {
                for field in &fields.fields {
                    self.flatten_storage(field, is_field, out);
                }
            }
            Storage::UnionStack(union) => {
                for i in 0..self.program.stacks[union.stacks[0] as usize].size {
                    let element = Rc::new(self.union_element(union, i));
                    self.flatten_storage(&Storage::Union(element), false, out);
                }
            }
            Storage::Stack(id) => {
                let stack = self.program.stacks[*id as usize].clone();
                for i in 0..stack.size {
                    self.flatten_storage(&Storage::Header(stack.first + i), true, out);
                }
            }
        }
    }

    fn lower_digest(&mut self, call: &Call) {
        let Some(data) = self.required_arg(call, 1) else { return };
        if self.hir.types.is_header(&data.ty) {
            let shown = self.hir.types.show(&data.ty);
            let message = format!(
                "The data of a digest is a struct or a list, not the header {shown}: write its \
                 fields as {{ ... }}."
            );
            self.reporter.error(data.span, message);
            return;
        }
        let mut members = Vec::new();
        self.digest_members(&data.ty, "", &mut members);
        let type_name = match &data.ty {
            Ty::Struct(id) => self.hir.types.structs[*id].name.to_string(),
            _ => String::new(),
        };
        let mut inputs = Vec::new();
        self.flatten(data, true, &mut inputs);
        let values = inputs.into_iter().map(|i| i.value).collect();
        let known = self
            .program
            .digests
            .iter()
            .position(|d| d.type_name == type_name && !type_name.is_empty());
        let digest = match known {
            Some(id) => id as DigestId,
            None => {
                let id = self.program.digests.len() as DigestId;
                let (name, annotations) = match &data.ty {
                    Ty::Struct(id) => {
                        let annotations = self.hir.types.structs[*id].annotations.clone();
                        (Self::control_name("", &type_name, &annotations), annotations)
                    }
                    _ => (format!("digest_{id}"), Annotations::default()),
                };
                let identity = self.identity(name, &annotations);
                self.details.digests.push(self.types.spec(&data.ty));
                self.program.digests.push(Digest { identity, type_name, members });
                id
            }
        };
        self.push_op(Op::Digest { digest, values });
    }

    fn digest_members(&self, ty: &Ty, name: &str, out: &mut Vec<netkv_ir::ActionParam>) {
        match self.hir.types.base(ty) {
            Ty::Struct(id) => {
                for field in &self.hir.types.structs[id].fields {
                    self.digest_members(&field.ty, &join(name, &field.name), out);
                }
            }
            Ty::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.digest_members(part, &join(name, &format!("f{i}")), out);
                }
            }
            _ => out.push(self.member_info(name, ty)),
        }
    }

    pub(super) fn lower_method_call(
        &mut self,
        id: DeclId,
        of: &str,
        method: &str,
        call: &Call,
        ty: &Ty,
    ) -> RValue {
        let object = self.objects.get(&id).cloned();
        match (of, method, object) {
            ("packet_in" | "packet_out", ..) => return self.lower_packet_method(method, call, ty),
            ("register", "read", Some(Object::Register(register))) => {
                let (to, width) = self.out_arg(call, 0);
                let index = self.scalar_arg(call, 1);
                let out = self.prepare_output(to, width, true);
                self.push_op(Op::RegisterRead { register, index, to: out.place });
                self.finish_output(out);
            }
            ("register", "write", Some(Object::Register(register))) => {
                let index = self.scalar_arg(call, 0);
                let value = self.scalar_arg(call, 1);
                self.push_op(Op::RegisterWrite { register, index, value });
            }
            ("counter", "count", Some(Object::Counter(counter))) => {
                let index = self.scalar_arg(call, 0);
                self.push_op(Op::Count { counter, index });
            }
            // A direct counter counts at every hit of its table. The call itself has no effect.
            ("direct_counter", "count", Some(Object::Counter(_))) => {}
            ("meter", "execute_meter", Some(Object::Meter(meter))) => {
                let index = self.scalar_arg(call, 0);
                let (to, width) = self.out_arg(call, 1);
                let out = self.prepare_output(to, width, false);
                self.push_op(Op::ExecuteMeter { meter, index, to: out.place });
                self.finish_output(out);
            }
            ("direct_meter", "read", Some(Object::Meter(meter))) => {
                if let Some(to) = self.required_arg(call, 0) {
                    let first = self.meter_targets.entry(meter).or_insert_with(|| to.clone());
                    if !first.same_as(to) {
                        self.reporter.error(
                            to.span,
                            "All reads of one direct meter must have the same destination; this \
                             one differs from an earlier one.",
                        );
                    }
                }
                let (to, width) = self.out_arg(call, 0);
                let out = self.prepare_output(to, width, false);
                self.push_op(Op::ReadDirectMeter { meter, to: out.place });
                self.finish_output(out);
            }
            _ => {
                self.reporter.unsupported(call.span, &format!("Method '{method}' of extern '{of}'"))
            }
        }
        RValue::Void
    }
}
