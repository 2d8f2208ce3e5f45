//! `Switch`: its program, packets, traces, digests and statistics.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use netkv_compiled::ExecutorKind;
use netkv_dataplane::{
    ControlError, Output, PIPELINES, SharedSwitch, SwitchGuard, SwitchOptions, stf,
};
use netkv_ir::Program;
use netkv_rack::clock;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::Value;

use crate::bundle::{self, engine_of};
use crate::digests::digests_out;
use crate::errors::control_error;
use crate::json;

type Engine = netkv_dataplane::Switch;

/// A switch that runs one program; see `_engine.pyi`.
#[pyclass(frozen, module = "netkv._engine")]
pub struct Switch {
    engine: Arc<SharedSwitch>,
    options: SwitchOptions,
    kind: ExecutorKind,
    stops_at_assertions: bool,
    /// Takes the engine while [`Switch::exclusively`] runs.
    holder: Mutex<Option<Py<Switch>>>,
}

/// Name of the gRPC status.
fn status(error: &ControlError) -> &'static str {
    use netkv_dataplane::ControlCode::{
        AlreadyExists, FailedPrecondition, InvalidArgument, NotFound, OutOfRange, PermissionDenied,
        ResourceExhausted, Unimplemented,
    };
    match error.code {
        NotFound => "NOT_FOUND",
        AlreadyExists => "ALREADY_EXISTS",
        InvalidArgument => "INVALID_ARGUMENT",
        OutOfRange => "OUT_OF_RANGE",
        ResourceExhausted => "RESOURCE_EXHAUSTED",
        Unimplemented => "UNIMPLEMENTED",
        PermissionDenied => "PERMISSION_DENIED",
        FailedPrecondition => "FAILED_PRECONDITION",
    }
}

impl Switch {
    /// A switch with an existing engine.
    pub fn around(engine: Engine, options: SwitchOptions, kind: ExecutorKind) -> Self {
        let engine = Arc::new(SharedSwitch::new(engine));
        Self { engine, options, kind, stops_at_assertions: false, holder: Mutex::default() }
    }

    /// An engine for another program, with the options of this switch.
    fn engine_of(&self, bundle: &[u8]) -> PyResult<Engine> {
        let mut engine = engine_of(bundle, self.options, self.kind)?;
        if self.stops_at_assertions {
            engine.stop_at_assertions();
        }
        Ok(engine)
    }

    /// The engine itself, for a node to drive.
    pub fn shared(&self) -> Arc<SharedSwitch> {
        Arc::clone(&self.engine)
    }

    /// Calls `work` with the engine, without the interpreter lock.
    pub fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Engine) -> T + Send) -> T {
        py.detach(|| work(&mut self.engine.lock()))
    }

    /// Executes a control plane write; a refusal becomes a `ControlError`. When it returns, no
    /// packet from before is still between two pipelines.
    pub fn control<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Engine) -> Result<T, ControlError> + Send,
    ) -> PyResult<T> {
        self.control_in(py, None, work)
    }

    /// As [`Switch::control`], in one pipeline if one is given.
    pub fn control_in<T: Send>(
        &self,
        py: Python<'_>,
        pipeline: Option<usize>,
        work: impl FnOnce(&mut Engine) -> Result<T, ControlError> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let done = match pipeline {
                None => work(&mut self.engine.lock()),
                Some(pipeline) => self.engine.in_pipeline(pipeline, work),
            };
            self.engine.settle();
            done
        })
        .map_err(|error| control_error(py, status(&error), error.message))
    }

    /// Executes a control plane read, in one pipeline if one is given.
    pub fn read_in<T: Send>(
        &self,
        py: Python<'_>,
        pipeline: Option<usize>,
        work: impl FnOnce(&mut Engine) -> Result<T, ControlError> + Send,
    ) -> PyResult<T> {
        py.detach(|| match pipeline {
            None => work(&mut self.engine.lock()),
            Some(pipeline) => self.engine.in_pipeline(pipeline, work),
        })
        .map_err(|error| control_error(py, status(&error), error.message))
    }

    /// Waits until no packet from before is between two pipelines.
    pub fn settle(&self) {
        self.engine.settle();
    }

    /// The number of pipelines.
    pub fn pipeline_count(&self) -> usize {
        self.options.pipelines
    }

    /// Executes a control plane call in one pipeline. The caller does not have the interpreter
    /// lock.
    pub fn in_one(
        &self,
        pipeline: usize,
        work: impl FnOnce(&mut Engine) -> Result<(), ControlError>,
    ) -> Result<(), ControlError> {
        self.engine.in_pipeline(pipeline, work)
    }

    /// Waits for the engine, which the caller may keep while it runs Python.
    ///
    /// The guard cannot be waited for without the GIL, and whoever has the guard may need the GIL.
    fn lock_with_gil(&self, py: Python<'_>) -> SwitchGuard<'_> {
        loop {
            match self.engine.try_lock() {
                Some(guard) => return guard,
                None => py.detach(|| drop(self.engine.lock())),
            }
        }
    }

    /// A switch that can hold this switch's engine, and has one of its own in the meantime.
    fn holder(&self, py: Python<'_>) -> PyResult<Py<Self>> {
        let kept = self.holder.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(holder) = kept {
            return Ok(holder);
        }
        let program = self.program(py);
        let spare = py.detach(|| Engine::new(program, self.options));
        let spare = spare.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Py::new(py, Self::around(spare, self.options, self.kind))
    }

    /// The current program.
    pub fn program(&self, py: Python<'_>) -> Arc<Program> {
        self.with(py, |engine| Arc::clone(engine.program()))
    }
}

fn frames_out<'py>(py: Python<'py>, output: &Output) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (port, frame) in output.frames() {
        list.append((port, PyBytes::new(py, frame)))?;
    }
    Ok(list)
}

#[pymethods]
impl Switch {
    #[new]
    #[pyo3(signature = (
        bundle,
        seed = 0,
        executor = "compiled",
        pipelines = 1,
        stop_at_assertions = false
    ))]
    fn new(
        py: Python<'_>,
        bundle: &[u8],
        seed: u64,
        executor: &str,
        pipelines: usize,
        stop_at_assertions: bool,
    ) -> PyResult<Self> {
        if !PIPELINES.contains(&pipelines) {
            let text = format!("A switch has 1, 2 or 4 pipelines, not {pipelines}.");
            return Err(PyValueError::new_err(text));
        }
        let options = SwitchOptions { seed, pipelines };
        let kind = bundle::executor(executor)?;
        let mut engine = py.detach(|| engine_of(bundle, options, kind))?;
        if stop_at_assertions {
            engine.stop_at_assertions();
        }
        let switch = Self::around(engine, options, kind);
        Ok(Self { stops_at_assertions: stop_at_assertions, ..switch })
    }

    #[getter]
    fn pipelines(&self) -> usize {
        self.options.pipelines
    }

    fn load(&self, py: Python<'_>, bundle: &[u8]) -> PyResult<()> {
        // Prepared before the engine is locked: the old program processes packets until then.
        let engine = py.detach(|| self.engine_of(bundle))?;
        self.with(py, |current| *current = engine);
        Ok(())
    }

    fn sibling(&self, py: Python<'_>, bundle: &[u8]) -> PyResult<Self> {
        let engine = py.detach(|| self.engine_of(bundle))?;
        let switch = Self::around(engine, self.options, self.kind);
        Ok(Self { stops_at_assertions: self.stops_at_assertions, ..switch })
    }

    fn exchange(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.get();
        if Arc::ptr_eq(&self.engine, &other.engine) {
            return Err(PyValueError::new_err("A switch cannot exchange state with itself."));
        }
        let (own, given) = (self.options.pipelines, other.options.pipelines);
        if own != given {
            return Err(PyValueError::new_err(format!(
                "A switch with {own} pipelines cannot exchange state with one with {given}."
            )));
        }
        py.detach(|| mem::swap(&mut *self.engine.lock(), &mut *other.engine.lock()));
        Ok(())
    }

    fn exclusively<'py>(
        &self,
        py: Python<'py>,
        work: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let holder = self.holder(py)?;
        let mut guard = self.lock_with_gil(py);
        mem::swap(&mut *guard, &mut *holder.get().engine.lock());
        let answer = work.call1((holder.clone_ref(py),));
        mem::swap(&mut *guard, &mut *holder.get().engine.lock());
        drop(guard);
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = Some(holder);
        py.detach(|| self.engine.settle());
        answer
    }

    fn process<'py>(
        &self,
        py: Python<'py>,
        port: u16,
        frame: &[u8],
    ) -> PyResult<Bound<'py, PyList>> {
        let output = self.with(py, |engine| {
            let mut output = Output::new();
            engine.process(clock::now(), port, frame, &mut output);
            output
        });
        frames_out(py, &output)
    }

    fn trace<'py>(
        &self,
        py: Python<'py>,
        port: u16,
        frame: &[u8],
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyAny>, String)> {
        let (output, trace) = self.with(py, |engine| {
            let mut output = Output::new();
            let trace = engine.trace(clock::now(), port, frame, &mut output);
            (output, trace)
        });
        let document = serde_json::to_value(&trace).unwrap_or(Value::Null);
        Ok((frames_out(py, &output)?, json::to_python(py, &document)?, trace.to_string()))
    }

    fn trace_stf<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        name: &str,
        lines: Option<BTreeSet<usize>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let wanted = |line| lines.as_ref().is_none_or(|lines| lines.contains(&line));
        let traced = self
            .with(py, |engine| stf::trace(engine, text, name, wanted))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let list = PyList::empty(py);
        for packet in traced {
            let item = PyDict::new(py);
            item.set_item("line", packet.line)?;
            item.set_item("port", packet.port)?;
            item.set_item("frame", PyBytes::new(py, &packet.frame))?;
            let out = packet.out.iter().map(|(port, frame)| (*port, PyBytes::new(py, frame)));
            item.set_item("out", PyList::new(py, out.collect::<Vec<_>>())?)?;
            item.set_item("text", packet.trace.to_string())?;
            let document = serde_json::to_value(&packet.trace).unwrap_or(Value::Null);
            item.set_item("trace", json::to_python(py, &document)?)?;
            list.append(item)?;
        }
        Ok(list)
    }

    fn take_digests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let digests = self.with(py, Engine::take_digests);
        digests_out(py, &digests)
    }

    fn failed_assertions(&self, py: Python<'_>) -> Vec<(String, u64)> {
        let failed = self.with(py, |engine| engine.failed_assertions());
        failed.into_iter().map(|it| (it.place, it.times)).collect()
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let statistics = self.with(py, |engine| *engine.statistics());
        let document = serde_json::to_value(statistics).unwrap_or(Value::Null);
        Ok(json::to_python(py, &document)?.cast_into()?)
    }
}
