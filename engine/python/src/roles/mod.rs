//! Roles written in Python; `netkv/roles` has their interface. The registry's [`Loader`] finds them
//! by name.
//!
//! Each call of a role takes the interpreter lock, while its node may hold locks of its own. So a
//! thread must release the interpreter lock before it calls a node (`detach`), or both would wait
//! for each other.

mod client;
mod server;
mod single_key;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use netkv_roles::kits::single_key::{SingleKeyFrames, foreign};
use netkv_roles::records::Keying;
use netkv_roles::registry::{Loader, set_loader};
use netkv_roles::{
    Applied, ClientEntry, ClientOptions, Counts, Restore, ServerEntry, ServerOptions,
};
use netkv_wire::Sequence;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use client::ClientRole;
use server::WholeServer;
use single_key::ServerRole;

const PREFIX: &str = "python:";

/// Registers the loader, so that configurations can name roles in Python.
pub fn register() {
    set_loader(Box::new(PythonRoles));
}

struct PythonRoles;

/// The roles that were loaded. Entries must live as long as the process.
static SERVERS: Mutex<BTreeMap<String, &'static ServerEntry>> = Mutex::new(BTreeMap::new());
static CLIENTS: Mutex<BTreeMap<String, &'static ClientEntry>> = Mutex::new(BTreeMap::new());
/// Names of roles and counts, which must live as long as the process.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl Loader for PythonRoles {
    fn server(&self, name: &str) -> Option<Result<&'static ServerEntry, String>> {
        name.starts_with(PREFIX).then(|| find_or_load(&SERVERS, name, server_entry))
    }

    fn client(&self, name: &str) -> Option<Result<&'static ClientEntry, String>> {
        name.starts_with(PREFIX).then(|| find_or_load(&CLIENTS, name, client_entry))
    }
}

fn find_or_load<T>(
    table: &Mutex<BTreeMap<String, &'static T>>,
    name: &str,
    make: impl FnOnce(&'static str) -> Result<T, String>,
) -> Result<&'static T, String> {
    let lock = || table.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(entry) = lock().get(name) {
        return Ok(entry);
    }
    // The table is not locked here, because this waits for the interpreter lock.
    let entry = make(interned(name))?;
    Ok(lock().entry(name.to_owned()).or_insert_with(|| Box::leak(Box::new(entry))))
}

/// A copy of the name that lives as long as the process.
fn interned(name: &str) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}

fn server_entry(name: &'static str) -> Result<ServerEntry, String> {
    let (whole, keeps_sequences) = load("servers", name, |py, class| {
        let whole = class.is_subclass(&module(py)?.getattr("Server")?)?;
        Ok((whole, class.getattr("keeps_sequences")?.is_truthy()?))
    })?;
    let restore: &'static Restore = if whole {
        Box::leak(Box::new(move |options: &ServerOptions, now, applied: &Applied| {
            Ok(Box::new(WholeServer::new(name, options, now, applied)?) as _)
        }))
    } else {
        Box::leak(Box::new(move |options: &ServerOptions, now, applied: &Applied| {
            foreign::server(ServerRole::new(name, options, now)?, options, now, applied)
        }))
    };
    Ok(ServerEntry {
        name,
        keying: |_| Keying::Ranges,
        keeps_sequences,
        frames: |_| Box::new(SingleKeyFrames),
        restore,
    })
}

fn client_entry(name: &'static str) -> Result<ClientEntry, String> {
    load("clients", name, |_, _| Ok(()))?;
    let new = Box::leak(Box::new(move |options: &ClientOptions, workload| {
        foreign::client(ClientRole::new(name)?, options, workload)
    }));
    Ok(ClientEntry { name, new })
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import(pyo3::intern!(py, "netkv.roles"))
}

/// Loads a class and returns the result of `take` for it.
fn load<T>(
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
struct Role {
    object: Py<PyAny>,
}

impl Role {
    /// Creates the object.
    fn new<'py, A: PyCallArgs<'py>>(
        py: Python<'py>,
        class: &Bound<'py, PyType>,
        args: A,
    ) -> Result<Self, String> {
        let object = class.call1(args).map_err(|error| sentence(py, class, "__init__", &error))?;
        Ok(Self { object: object.unbind() })
    }

    /// Calls a method and returns `take` of its result. The error is a sentence about an exception.
    fn call<'py, A: PyCallArgs<'py>, T>(
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
    fn counts(&self) -> Result<Counts, String> {
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
fn options_of<'py>(py: Python<'py>, options: &ServerOptions) -> PyResult<Bound<'py, PyAny>> {
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
fn number_of(sequence: Sequence) -> u64 {
    u64::from(sequence.incarnation) << 32 | u64::from(sequence.number)
}

/// The sequence of a number from Python.
fn sequence_of(number: u64) -> Sequence {
    Sequence { incarnation: (number >> 32) as u32, number: number as u32 }
}

/// The actions that a method has recorded in an `Actions`.
fn recorded<'py, T>(
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
fn frames(out: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u8>>> {
    recorded(out, |_, action| action.get_item(1)?.extract())
}
