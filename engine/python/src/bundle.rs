//! Bundles: compiled programs in the form that switches load.
//!
//! A bundle is a header line and JSON. P4Runtime's `SetForwardingPipelineConfig` transports it as
//! the device configuration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use netkv_compiled::{ExecutorKind, Prepared};
use netkv_dataplane::{Switch, SwitchOptions, stf};
use netkv_ir::Program;
use netkv_p4::{Compiled, Diagnostics, Options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};

use crate::errors::compile_error;
use crate::json;

/// First line of a bundle; the number is the version of its layout.
const HEAD: &[u8] = b"netkv-bundle 1\n";

/// The program in a bundle; ValueError if it is not a bundle.
pub fn program_of(bundle: &[u8]) -> PyResult<Arc<Program>> {
    #[derive(serde::Deserialize)]
    struct Content {
        program: Program,
    }
    let Some(content) = bundle.strip_prefix(HEAD) else {
        return Err(PyValueError::new_err(
            "This is not a netkv bundle of version 1: it must start with the line 'netkv-bundle 1' \
             (make one with 'netkv p4 check', or compile_p4).",
        ));
    };
    match serde_json::from_slice::<Content>(content) {
        Ok(content) => Ok(Arc::new(content.program)),
        Err(error) => Err(PyValueError::new_err(format!(
            "The content of the bundle is damaged, or of another version of netkv: {error}."
        ))),
    }
}

/// Prepared programs, the latest last, so that all switches of a rack and their restarts share the
/// machine code of a program.
static CACHE: Mutex<Vec<CacheEntry>> = Mutex::new(Vec::new());
/// Maximum number of programs in the cache.
const MAX_CACHED: usize = 4;

struct CacheEntry {
    bundle: Box<[u8]>,
    kind: ExecutorKind,
    pipelines: usize,
    prepared: Prepared,
}

/// A new switch with the program in a bundle; ValueError if the program cannot run.
pub fn engine_of(bundle: &[u8], options: SwitchOptions, kind: ExecutorKind) -> PyResult<Switch> {
    let refused = |error| PyValueError::new_err(format!("The program cannot run: {error}"));
    let cache = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let pipelines = options.pipelines;
    let same =
        |it: &CacheEntry| it.kind == kind && it.pipelines == pipelines && *it.bundle == *bundle;
    let cached = cache().iter().find(|it| same(it)).map(|it| it.prepared.clone());
    if let Some(prepared) = cached {
        return prepared.switch(options.seed).map_err(refused);
    }
    // The cache is not locked here. If two threads prepare the same program, both results are kept.
    let prepared = Prepared::new(program_of(bundle)?, kind, pipelines).map_err(refused)?;
    let switch = prepared.switch(options.seed).map_err(refused)?;
    let mut cache = cache();
    if cache.len() == MAX_CACHED {
        cache.remove(0);
    }
    cache.push(CacheEntry { bundle: bundle.into(), kind, pipelines, prepared });
    Ok(switch)
}

fn options(include_dirs: Vec<PathBuf>, defines: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut macros = Vec::new();
    for (name, value) in defines.into_iter().flatten() {
        macros.push((name.extract()?, value.extract()?));
    }
    Ok(Options { include_dirs, defines: macros })
}

fn bundled<'py>(
    py: Python<'py>,
    name: &str,
    compiled: Result<Compiled, Diagnostics>,
) -> PyResult<Bound<'py, PyBytes>> {
    let as_json = |found: &_| serde_json::to_value(found).unwrap_or(Value::Null);
    match compiled {
        Ok(compiled) => {
            let content = json!({
                "name": name,
                "source_hash": compiled.source_hash,
                "warnings": as_json(&compiled.warnings),
                "program": compiled.program,
                "p4info": compiled.p4info,
            });
            let mut bundle = HEAD.to_vec();
            bundle.extend_from_slice(content.to_string().as_bytes());
            Ok(PyBytes::new(py, &bundle))
        }
        Err(found) => Err(compile_error(py, found.to_string(), &as_json(&found.0))),
    }
}

/// See `_engine.pyi`.
#[pyfunction]
#[pyo3(signature = (path, include_dirs = Vec::new(), defines = None))]
pub fn compile_p4<'py>(
    py: Python<'py>,
    path: PathBuf,
    include_dirs: Vec<PathBuf>,
    defines: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = options(include_dirs, defines)?;
    let compiled = py.detach(|| netkv_p4::compile_file(&path, &options));
    let name = path.file_name().unwrap_or(Path::new("program.p4").as_os_str());
    bundled(py, &name.to_string_lossy(), compiled)
}

/// See `_engine.pyi`.
#[pyfunction]
#[pyo3(signature = (name, source, include_dirs = Vec::new(), defines = None))]
pub fn compile_source<'py>(
    py: Python<'py>,
    name: &str,
    source: &str,
    include_dirs: Vec<PathBuf>,
    defines: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = options(include_dirs, defines)?;
    let compiled = py.detach(|| netkv_p4::compile_source(name, source, &options));
    bundled(py, name, compiled)
}

/// See `_engine.pyi`.
#[pyfunction]
pub fn program_text(bundle: &[u8]) -> PyResult<String> {
    Ok(netkv_ir::program_text(&*program_of(bundle)?))
}

/// The executor of this name; ValueError if there is none.
pub fn executor(name: &str) -> PyResult<ExecutorKind> {
    name.parse().map_err(PyValueError::new_err)
}

/// See `_engine.pyi`.
#[pyfunction]
#[pyo3(signature = (bundle, text, name, executor = "compiled", stop_at_assertions = false))]
pub fn run_stf<'py>(
    py: Python<'py>,
    bundle: &[u8],
    text: &str,
    name: &str,
    executor: &str,
    stop_at_assertions: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let kind = self::executor(executor)?;
    let mut switch = engine_of(bundle, SwitchOptions::default(), kind)?;
    if stop_at_assertions {
        switch.stop_at_assertions();
    }
    let report = py
        .detach(|| stf::run(&mut switch, text, name))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let packets: BTreeSet<usize> = report.mismatches.iter().filter_map(|it| it.packet).collect();
    let report = json!({
        "packets": report.packets,
        "expected": report.expectations,
        "mismatches": report.mismatches.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "mismatched_packets": packets,
        "failed_assertions": report.failed_assertions,
    });
    json::to_python(py, &report)
}
