//! A role in Python: its class, its calls, and the forms of what it gets and returns.

use netkv_roles::{Counts, ServerOptions};
use netkv_wire::Sequence;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::interned::interned;

/// Names of roles in Python begin with it.
pub const PREFIX: &str = "python:";

/// The module with the interface of roles.
pub fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(pyo3::intern!(py, "netkv.roles"))
}

/// Loads a class and returns the result of `take` for it.
pub fn load<T>(
    kind: &str,
    name: &str,
    take: impl FnOnce(Python<'_>, &Bound<'_, PyType>) -> PyResult<T>,
) -> Result<T, String> {
    Python::attach(|py| {
        let class = module(py)?.getattr("load")?.call1((kind, name))?;
        take(py, class.cast::<PyType>()?)
    })
    .map_err(|error: PyErr| {
        let text = Python::attach(|py| error.value(py).to_string());
        text.trim_end_matches('.').to_owned()
    })
}

/// A Python object that implements a role.
#[derive(Debug)]
pub struct Role {
    object: Py<PyAny>,
}

impl Role {
    /// Creates the object.
    pub fn new<'py, A: PyCallArgs<'py>>(
        py: Python<'py>,
        class: &Bound<'py, PyType>,
        args: A,
    ) -> Result<Self, String> {
        let object = class.call1(args).map_err(|error| sentence(py, class, "__init__", &error))?;
        Ok(Self { object: object.unbind() })
    }

    /// Calls a method and returns `take` of its result. The error is a sentence about an exception.
    pub fn call<'py, A: PyCallArgs<'py>, T>(
        &self,
        py: Python<'py>,
        method: &str,
        args: A,
        take: impl FnOnce(Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Result<T, String> {
        let object = self.object.bind(py);
        let result = object.getattr(method).and_then(|bound| bound.call1(args)).and_then(take);
        result.map_err(|error| sentence(py, &object.get_type(), method, &error))
    }

    /// The result of its method `counts`.
    pub fn counts(&self) -> Result<Counts, String> {
        Python::attach(|py| {
            self.call(py, "counts", (), |result| {
                let counts = result.cast::<PyDict>()?.iter();
                counts
                    .map(|(name, count)| {
                        Ok((interned(&name.extract::<String>()?), count.extract()?))
                    })
                    .collect()
            })
        })
    }
}

/// The sentence about an exception; its traceback goes to the log.
fn sentence(py: Python<'_>, class: &Bound<'_, PyType>, method: &str, error: &PyErr) -> String {
    let raised = error.clone_ref(py).into_value(py);
    let report =
        || module(py)?.getattr("failure")?.call1((class, method, raised))?.extract::<String>();
    report().unwrap_or_else(|_| format!("a role failed in {method}: {error}"))
}

/// The options as `netkv.roles.ServerOptions`.
pub fn options_of<'py>(py: Python<'py>, options: &ServerOptions) -> PyResult<Bound<'py, PyAny>> {
    module(py)?.getattr("ServerOptions")?.call1((
        options.server,
        options.keyspace.servers,
        options.first_request,
        options.epoch,
        options.service_rate,
        options.service_queue,
    ))
}

/// A sequence as one number, its form in Python.
pub fn number_of(sequence: Sequence) -> u64 {
    u64::from(sequence.incarnation) << 32 | u64::from(sequence.number)
}

/// The sequence of a number from Python.
pub fn sequence_of(number: u64) -> Sequence {
    Sequence { incarnation: (number >> 32) as u32, number: number as u32 }
}

/// The actions that a method has recorded in an `Actions`.
pub fn recorded<'py, T>(
    out: &Bound<'py, PyAny>,
    each: impl Fn(&str, &Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let list = out.getattr(pyo3::intern!(out.py(), "taken"))?;
    list.try_iter()?
        .map(|action| {
            let action = action?;
            let kind: String = action.get_item(0)?.extract()?;
            each(&kind, &action)
        })
        .collect()
}

/// The frames of an `Actions`.
pub fn frames(out: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u8>>> {
    recorded(out, |_, action| action.get_item(1)?.extract())
}
