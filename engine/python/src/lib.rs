//! `netkv._engine`: the engine as a Python module. Its types and documentation are in
//! `netkv/_engine.pyi`; here is only the translation.

mod bundle;
mod digests;
mod errors;
mod groups;
mod json;
mod nodes;
mod objects;
mod store;
mod switch;
mod tables;
mod values;

use pyo3::prelude::*;

/// The engine: everything that touches packets.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use crate::bundle::{compile_p4, compile_source, run_stf};
    #[pymodule_export]
    use crate::errors::{CompileError, ControlError};
    #[pymodule_export]
    use crate::nodes::{ClientNode, ServerNode, SwitchNode};
    #[pymodule_export]
    use crate::switch::Switch;
}
