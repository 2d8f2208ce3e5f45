pub(crate) fn lower(_: &str, _: &crate::hir::Hir, _: &mut crate::diag::Reporter) -> Option<netkv_ir::Program> { None }
