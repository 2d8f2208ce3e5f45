//! Roles that a test drives by one frame or timer at a time, in a time of its own.

use netkv_roles::registry;
use netkv_roles::{
    Actions, Backoff, ClientConfig, ClientOptions, Keyspace, MemoryStore, Nanos, Server,
    ServerOptions, UserClient, UserOp,
};
use netkv_wire::Key;
use netkv_workload::{Arrivals, ValueSize};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::nodes::counts;
use crate::session::outcome;

/// The frames that a role has sent; raises its failure.
fn frames<'py>(py: Python<'py>, out: &mut Actions) -> PyResult<Bound<'py, PyList>> {
    if let Some(failure) = out.take_failure() {
        return Err(PyRuntimeError::new_err(failure));
    }
    PyList::new(py, out.frames().map(|frame| PyBytes::new(py, frame)))
}

/// A server and its store in memory; see `_engine.pyi`.
#[pyclass(module = "netkv._engine")]
pub struct ServerRole {
    role: registry::ServerRole,
    options: ServerOptions,
    server: Box<dyn Server>,
    store: MemoryStore,
}

impl ServerRole {
    /// Makes the storage calls, and those that follow; returns the frames.
    fn carry_out<'py>(
        &mut self,
        py: Python<'py>,
        now: Nanos,
        mut out: Actions,
    ) -> PyResult<Bound<'py, PyList>> {
        let sent = frames(py, &mut out)?;
        while out.calls().len() > 0 {
            let mut then = Actions::new();
            for call in out.calls() {
                let result = self.store.execute(&call);
                self.server.on_stored(now, call.id, result, &mut then);
            }
            for frame in frames(py, &mut then)? {
                sent.append(frame)?;
            }
            out = then;
        }
        Ok(sent)
    }
}

#[pymethods]
impl ServerRole {
    #[new]
    #[pyo3(signature = (role, server, servers, *, now = 0, first_request = 1))]
    fn new(
        role: &str,
        server: u16,
        servers: u16,
        now: Nanos,
        first_request: u32,
    ) -> PyResult<Self> {
        let role = registry::ServerRole::named(role).map_err(PyValueError::new_err)?;
        let options = ServerOptions {
            server,
            keyspace: Keyspace::of_a_rack(servers),
            first_request,
            epoch: 0,
            service_rate: None,
            service_queue: usize::MAX,
        };
        let store = MemoryStore::new(0, ValueSize::Fixed(1));
        let server = (role.restore)(&options, now, store.applied());
        Ok(Self { role, options, server: server.map_err(PyValueError::new_err)?, store })
    }

    fn restart(&mut self, now: Nanos, first_request: u32) -> PyResult<()> {
        self.options.first_request = first_request;
        let server = (self.role.restore)(&self.options, now, self.store.applied());
        self.server = server.map_err(PyValueError::new_err)?;
        Ok(())
    }

    fn receive<'py>(
        &mut self,
        py: Python<'py>,
        now: Nanos,
        frame: &[u8],
    ) -> PyResult<Bound<'py, PyList>> {
        let mut out = Actions::new();
        self.server.on_frame(now, frame, &mut out);
        self.carry_out(py, now, out)
    }

    fn timer<'py>(&mut self, py: Python<'py>, now: Nanos) -> PyResult<Bound<'py, PyList>> {
        let mut out = Actions::new();
        self.server.on_timer(now, &mut out);
        self.carry_out(py, now, out)
    }

    fn deadline(&self) -> Option<Nanos> {
        self.server.deadline()
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        counts(py, self.server.counts())
    }

    fn store(&mut self, key: Key, value: &[u8]) {
        self.store.put(&key, value);
    }

    fn value<'py>(&mut self, py: Python<'py>, key: Key) -> Option<Bound<'py, PyBytes>> {
        self.store.get(&key).map(|value| PyBytes::new(py, value))
    }
}

/// One client, which is given single operations; see `_engine.pyi`.
#[pyclass(module = "netkv._engine")]
pub struct ClientRole {
    client: Box<dyn UserClient>,
}

#[pymethods]
impl ClientRole {
    #[new]
    #[pyo3(signature = (role, client, servers, *, retry, deadline, first_request = 1))]
    fn new(
        role: &str,
        client: u16,
        servers: u16,
        retry: Nanos,
        deadline: Nanos,
        first_request: u32,
    ) -> PyResult<Self> {
        let role = registry::ClientRole::named(role).map_err(PyValueError::new_err)?;
        let load = ClientConfig {
            first_client: client,
            first_request,
            retry: Backoff { initial: retry, cap: 8 * retry },
            deadline,
            ..ClientConfig::new(1, Arrivals::Closed { outstanding: 0 })
        };
        let keyspace = Keyspace::of_a_rack(servers);
        let client = (role.users)(&ClientOptions { load, keyspace });
        Ok(Self { client: client.map_err(PyValueError::new_err)? })
    }

    #[pyo3(signature = (now, token, op, key, value = None))]
    fn submit<'py>(
        &mut self,
        py: Python<'py>,
        now: Nanos,
        token: u64,
        op: &str,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> PyResult<Bound<'py, PyList>> {
        let keys = [key];
        let op = match (op, value) {
            ("get", None) => UserOp::Get(&keys),
            ("put", Some(value)) => UserOp::Put(key, value),
            ("delete", None) => UserOp::Delete(key),
            _ => return Err(PyValueError::new_err(format!("'{op}' is not an operation"))),
        };
        let mut out = Actions::new();
        self.client.submit(now, token, &op, &mut out).map_err(PyValueError::new_err)?;
        frames(py, &mut out)
    }

    fn receive<'py>(
        &mut self,
        py: Python<'py>,
        now: Nanos,
        frame: &[u8],
    ) -> PyResult<Bound<'py, PyList>> {
        let mut out = Actions::new();
        self.client.on_frame(now, frame, &mut out);
        frames(py, &mut out)
    }

    fn timer<'py>(&mut self, py: Python<'py>, now: Nanos) -> PyResult<Bound<'py, PyList>> {
        let mut out = Actions::new();
        self.client.poll(now, &mut out);
        frames(py, &mut out)
    }

    fn deadline(&self) -> Option<Nanos> {
        self.client.deadline()
    }

    #[allow(clippy::type_complexity)] // a tuple of Python, as `_engine.pyi` has it
    fn completions<'py>(
        &mut self,
        py: Python<'py>,
    ) -> PyResult<Vec<(u64, &'static str, Option<Bound<'py, PyAny>>)>> {
        let mut ended = Vec::new();
        self.client.completions(&mut ended);
        let each = ended.into_iter();
        each.map(|it| outcome(py, it.outcome).map(|(kind, more)| (it.token, kind, more))).collect()
    }
}
