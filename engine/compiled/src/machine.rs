//! Makes machine code, owns its memory, and calls it.
#![allow(unsafe_code)]

use std::sync::Arc;

use cranelift_codegen::ir::{AbiParam, Function, Signature, UserFuncName, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module};

use crate::context::Context;
use crate::error::CompileError;

/// A compiled function.
pub(crate) type Entry = unsafe extern "C" fn(*mut Context) -> u64;

/// Compiles functions of Cranelift's IR to machine code.
pub(crate) struct Assembler {
    module: JITModule,
    context: cranelift_codegen::Context,
    pub(crate) builder_context: FunctionBuilderContext,
    functions: Vec<FuncId>,
}

impl Assembler {
    /// An assembler for this machine.
    pub(crate) fn new() -> Result<Self, CompileError> {
        let module = JITModule::new(JITBuilder::with_isa(host()?, no_libcalls()));
        Ok(Self {
            context: module.make_context(),
            module,
            builder_context: FunctionBuilderContext::new(),
            functions: Vec::new(),
        })
    }

    /// The signature of all compiled functions: a pointer to the context, and an outcome.
    pub(crate) fn signature(&self) -> Signature {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.push(AbiParam::new(types::I64));
        signature.returns.push(AbiParam::new(types::I64));
        signature
    }

    /// An empty function.
    pub(crate) fn function(&self) -> Function {
        Function::with_name_signature(UserFuncName::default(), self.signature())
    }

    /// Compiles a function. Returns its number.
    pub(crate) fn add(&mut self, function: Function) -> Result<usize, CompileError> {
        let signature = self.signature();
        let id = self.module.declare_anonymous_function(&signature)?;
        self.context.clear();
        self.context.func = function;
        self.module.define_function(id, &mut self.context)?;
        self.functions.push(id);
        Ok(self.functions.len() - 1)
    }

    /// Makes all functions executable.
    pub(crate) fn finish(mut self) -> Result<Machine, CompileError> {
        self.module.finalize_definitions()?;
        let entries = self
            .functions
            .iter()
            .map(|id| {
                let code = self.module.get_finalized_function(*id);
                // SAFETY: the function was declared with exactly this signature, and the code
                // lives as long as the module, which `Machine` keeps beside the entries.
                unsafe { std::mem::transmute::<*const u8, Entry>(code) }
            })
            .collect();
        Ok(Machine { entries, memory: Arc::new(Memory(Some(self.module))) })
    }
}

fn host() -> Result<OwnedTargetIsa, CompileError> {
    let mut flags = settings::builder();
    flags.set("opt_level", "speed")?;
    // Cranelift's verifier can only find bugs of netkv, so it runs in tests only.
    flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })?;
    flags.set("enable_probestack", "false")?;
    let isa = cranelift_native::builder().map_err(|why| CompileError::new(why.to_owned()))?;
    Ok(isa.finish(settings::Flags::new(flags))?)
}

/// Names of library functions, which are unused: code calls helpers by address.
fn no_libcalls() -> Box<dyn Fn(cranelift_codegen::ir::LibCall) -> String + Send + Sync> {
    cranelift_module::default_libcall_names()
}

/// Compiled functions. Clones share the code.
#[derive(Clone)]
pub(crate) struct Machine {
    entries: Vec<Entry>,
    memory: Arc<Memory>,
}

/// The memory of the code. It is freed with the last machine that shares it.
struct Memory(Option<JITModule>);

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: entries are only reachable through `Machine`s, which are all dropped.
            unsafe { module.free_memory() };
        }
    }
}

// SAFETY: after `finish` the module is only kept to be freed; the code itself is read-only.
unsafe impl Send for Memory {}
// SAFETY: as above: nothing is reachable through a shared reference.
unsafe impl Sync for Memory {}

impl Machine {
    /// A function, for many calls. It must not be called after the machine and its clones are
    /// dropped.
    pub(crate) fn entry(&self, function: usize) -> Entry {
        self.entries[function]
    }

    /// Calls a function.
    ///
    /// # Safety
    ///
    /// All pointers of the context must satisfy the conditions in [`Context`]. The objects and the
    /// plan must be those of the compiled program.
    #[inline]
    pub(crate) unsafe fn call(&self, function: usize, context: &mut Context) -> u64 {
        debug_assert!(Arc::strong_count(&self.memory) > 0);
        // SAFETY: the caller's obligation.
        unsafe { self.entries[function](context) }
    }
}
