//! Checks the types that the methods of `packet_in` and `packet_out` take.

use super::state::Checker;
use crate::hir::{Call, Callee};
use crate::types::Ty;

impl Checker<'_> {
    /// Reports an argument that is not a header, and a type without a fixed size.
    pub(super) fn check_packet_method(&mut self, call: &Call) {
        let Callee::Method(_, of, method) = &call.callee else { return };
        let value = call.args.first().and_then(|arg| arg.expr.as_ref());
        let ty = value.map_or(call.type_args.first(), |value| Some(&value.ty));
        let Some(ty) = ty.map(|ty| self.hir.types.base(ty)) else { return };
        let span = value.map_or(call.span, |value| value.span);
        if matches!(ty, Ty::Unknown | Ty::Var(_)) {
            return;
        }
        let shown = self.show(&ty);
        let message = match (&**of, &**method) {
            ("packet_in", "extract") if !self.hir.types.is_header(&ty) => {
                format!("'extract' takes a header, not a {shown}.")
            }
            ("packet_in", "lookahead") => match self.hir.types.size(&ty) {
                None => format!("'lookahead' cannot give a {shown}."),
                Some((least, most)) if least != most || least == 0 => {
                    "'lookahead' needs a type of fixed size above 0.".to_string()
                }
                Some(_) => return,
            },
            ("packet_out", "emit") if !self.is_made_of_headers(&ty) => format!(
                "'emit' takes a header, a stack, a union, or a struct or tuple of them, not a \
                 {shown}."
            ),
            _ => return,
        };
        self.error(span, message);
    }

    fn is_made_of_headers(&self, ty: &Ty) -> bool {
        let types = &self.hir.types;
        if types.is_header(ty) || types.is_union(ty) {
            return true;
        }
        match ty {
            Ty::Unknown => true,
            Ty::Stack(..) => true,
            Ty::Struct(id) => {
                types.structs[*id].fields.iter().all(|field| self.is_made_of_headers(&field.ty))
            }
            Ty::Tuple(parts) => parts.iter().all(|part| self.is_made_of_headers(part)),
            _ => false,
        }
    }
}
