//! Storage back ends written in Python, called once for each batch.
//!
//! Rules
//! -----
//! 1. A node has one back end for all its servers, or one for each. A *shard* is a back end and the
//!    numbers of the requests that it has applied.
//! 2. Shards with remote back ends work in parallel: the node sends the calls of a batch to all of
//!    them before it waits for the first.
//! 3. A remote back end, which may be unavailable for a while, has `ready`, `send` and `receive`
//!    instead of `execute`. It accepts a batch only when it is ready. It executes the writes of an
//!    accepted batch, if necessary when it is available again, and before any other batch. So the
//!    shard adds the requests of a batch to the applied ones when it sends the batch.
//! 4. Calls to a shard that is not ready fail. If the answer to a batch is lost, its reads fail,
//!    and the results of its writes are pending until the back end is ready again: then the writes
//!    are done.

use netkv_rack::applied::AppliedRecords;
use netkv_rack::sequenced::PlainCall;
use netkv_rack::store::{Batch, DataSet, Format, Store};
use netkv_roles::{Applied, CallId, StoreOp, StoreResult};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// The bound methods of a back end.
enum Backend {
    /// In this process: it is available, or has failed permanently.
    Steady { execute: Py<PyAny> },
    /// Another process, which may be unavailable for a while.
    Remote { ready: Py<PyAny>, send: Py<PyAny>, receive: Py<PyAny> },
}

impl Backend {
    fn new(backend: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name: &str| {
            backend.getattr(name).map(Bound::unbind).map_err(|_| {
                PyTypeError::new_err(format!(
                    "{} is no storage back end: it has no method {name}. A back end has \
                     execute(batch), or ready(), send(batch) and receive().",
                    backend.get_type()
                ))
            })
        };
        if !backend.hasattr("send")? {
            return Ok(Self::Steady { execute: method("execute")? });
        }
        let (ready, send, receive) = (method("ready")?, method("send")?, method("receive")?);
        Ok(Self::Remote { ready, send, receive })
    }

    fn is_ready(&self, py: Python<'_>) -> PyResult<bool> {
        match self {
            Self::Steady { .. } => Ok(true),
            Self::Remote { ready, .. } => ready.bind(py).call0()?.is_truthy(),
        }
    }
}

/// The state of a shard's part of a batch.
enum Work {
    /// The back end executes these operations: those of the calls, then the writes of the applied
    /// requests.
    Executing(Py<PyList>),
    /// The back end was not ready.
    Refused,
}

/// A back end and the requests that it has applied.
struct Shard {
    backend: Backend,
    applied: AppliedRecords,
    /// Format of its records, set when it is loaded.
    format: Format,
    /// Writes, by server and call, whose results are pending.
    pending: Vec<(usize, CallId)>,
    /// Indices of its calls in the current batch.
    calls: Vec<usize>,
    work: Work,
}

impl Shard {
    fn new(backend: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            backend: Backend::new(backend)?,
            applied: AppliedRecords::default(),
            format: Format::Plain,
            pending: Vec::new(),
            calls: Vec::new(),
            work: Work::Refused,
        })
    }

    /// Starts the execution of its calls in a batch, if the back end is remote and ready.
    fn begin(&mut self, py: Python<'_>, batch: &Batch) -> PyResult<()> {
        if !self.backend.is_ready(py)? {
            self.work = Work::Refused;
            return Ok(());
        }
        let operations = self.operations(py, batch)?;
        if let Backend::Remote { send, .. } = &self.backend {
            send.bind(py).call1((&operations,))?;
        }
        self.work = Work::Executing(operations.unbind());
        Ok(())
    }

    fn operations<'py>(&mut self, py: Python<'py>, batch: &Batch) -> PyResult<Bound<'py, PyList>> {
        let operations = PyList::empty(py);
        for &index in &self.calls {
            let (_, call) = batch.get(index);
            let (kind, value) = match self.format.plain(&call) {
                PlainCall::Get => (pyo3::intern!(py, "get"), py.None().into_bound(py)),
                PlainCall::Put(value, None) => {
                    (pyo3::intern!(py, "put"), PyBytes::new(py, value).into_any())
                }
                PlainCall::Put(value, Some(trailer)) => {
                    (pyo3::intern!(py, "put"), joined(py, value, &trailer)?.into_any())
                }
                PlainCall::Delete => (pyo3::intern!(py, "delete"), py.None().into_bound(py)),
            };
            let name = if call.name.is_empty() { &call.key[..] } else { call.name };
            let call = [kind.clone().into_any(), PyBytes::new(py, name).into_any(), value];
            operations.append(PyTuple::new(py, call)?)?;
        }
        // After the writes: if a back end executes only a part of a batch, a write may be repeated,
        // but no write counts as applied that was not executed.
        let mut records = Vec::new();
        let origins = self.calls.iter().filter_map(|&index| batch.get(index).1.origin);
        self.applied.add(origins, |key, value| records.push((*key, value.to_vec())));
        for (key, value) in &records {
            let put = pyo3::intern!(py, "put").clone().into_any();
            let (key, value) = (PyBytes::new(py, key), PyBytes::new(py, value));
            operations.append(PyTuple::new(py, [put, key.into_any(), value.into_any()])?)?;
        }
        Ok(operations)
    }

    /// Waits for the results of its calls, and reports them.
    fn end(
        &mut self,
        py: Python<'_>,
        batch: &Batch,
        done: &mut dyn FnMut(usize, StoreResult<'_>),
    ) -> PyResult<()> {
        let Work::Executing(operations) = std::mem::replace(&mut self.work, Work::Refused) else {
            self.calls.iter().for_each(|&index| done(index, StoreResult::Failed));
            return Ok(());
        };
        let (results, method) = match &self.backend {
            Backend::Steady { execute } => (execute.bind(py).call1((&operations,))?, "execute"),
            Backend::Remote { receive, .. } => (receive.bind(py).call0()?, "receive"),
        };
        if results.is_none() {
            self.answer_lost(batch, done);
            return Ok(());
        }
        let expected = operations.bind(py).len();
        if results.len()? != expected {
            return Err(PyTypeError::new_err(format!(
                "{method} returned {} results for {expected} operations",
                results.len()?,
            )));
        }
        for (result, &index) in results.try_iter()?.zip(&self.calls) {
            let (result, call) = (result?, batch.get(index).1);
            match call.op {
                StoreOp::Get => {
                    let record =
                        if result.is_none() { None } else { Some(result.cast::<PyBytes>()?) };
                    let found = self.format.found(&call.key, record.map(|it| it.as_bytes()));
                    done(index, found.map_err(PyValueError::new_err)?);
                }
                StoreOp::Put | StoreOp::Delete => done(index, StoreResult::Done),
            }
        }
        Ok(())
    }

    /// Handles a lost answer: reads fail, and the results of writes are pending (rule 4).
    fn answer_lost(&mut self, batch: &Batch, done: &mut dyn FnMut(usize, StoreResult<'_>)) {
        for &index in &self.calls {
            let (server, call) = batch.get(index);
            match call.op {
                StoreOp::Get => done(index, StoreResult::Failed),
                StoreOp::Put | StoreOp::Delete => self.pending.push((server, call.id)),
            }
        }
    }
}

/// Used to load a shard: all calls of a batch are for it.
impl Store for Shard {
    fn execute(
        &mut self,
        batch: &Batch,
        done: &mut dyn FnMut(usize, StoreResult<'_>),
    ) -> Result<(), String> {
        if batch.is_empty() {
            return Ok(());
        }
        self.calls.clear();
        self.calls.extend(0..batch.len());
        let result = Python::attach(|py| {
            self.begin(py, batch)?;
            self.end(py, batch, done)
        });
        self.calls.clear();
        result.map_err(|error| sentence(&error))
    }

    fn load(&mut self, data: &DataSet) -> Result<(), String> {
        self.format = data.format;
        data.load_into(self)?;
        self.applied = AppliedRecords::load(self)?;
        Ok(())
    }

    fn applied(&self, _: usize) -> &Applied {
        self.applied.applied()
    }
}

/// The back ends of a node: see the rules of the module.
pub struct PythonStore(Vec<Shard>);

impl PythonStore {
    /// Accepts a back end, or a list of them, one for each server; TypeError for other objects.
    pub fn new(store: &Bound<'_, PyAny>) -> PyResult<Self> {
        match store.cast::<PyList>() {
            Ok(list) if list.is_empty() => {
                Err(PyTypeError::new_err("The list of storage back ends is empty."))
            }
            Ok(list) => list.iter().map(|it| Shard::new(&it)).collect::<PyResult<_>>().map(Self),
            Err(_) => Ok(Self(vec![Shard::new(store)?])),
        }
    }

    fn shard_of(&self, server: usize) -> usize {
        if self.0.len() == 1 { 0 } else { server }
    }

    fn call(
        &mut self,
        py: Python<'_>,
        batch: &Batch,
        done: &mut dyn FnMut(usize, StoreResult<'_>),
    ) -> PyResult<()> {
        self.0.iter_mut().for_each(|shard| shard.calls.clear());
        for index in 0..batch.len() {
            let shard = self.shard_of(batch.get(index).0);
            self.0[shard].calls.push(index);
        }
        let mut active = self.0.iter_mut().filter(|shard| !shard.calls.is_empty());
        active.try_for_each(|shard| shard.begin(py, batch))?;
        let mut active = self.0.iter_mut().filter(|shard| !shard.calls.is_empty());
        active.try_for_each(|shard| shard.end(py, batch, done))
    }
}

impl Store for PythonStore {
    fn execute(
        &mut self,
        batch: &Batch,
        done: &mut dyn FnMut(usize, StoreResult<'_>),
    ) -> Result<(), String> {
        if batch.is_empty() {
            return Ok(());
        }
        Python::attach(|py| self.call(py, batch, done)).map_err(|error| sentence(&error))
    }

    fn resolve_pending(
        &mut self,
        done: &mut dyn FnMut(usize, CallId, StoreResult<'_>),
    ) -> Result<(), String> {
        for shard in self.0.iter_mut().filter(|shard| !shard.pending.is_empty()) {
            let ready = Python::attach(|py| shard.backend.is_ready(py));
            if ready.map_err(|error| sentence(&error))? {
                let pending = shard.pending.drain(..);
                pending.for_each(|(server, call)| done(server, call, StoreResult::Done));
            }
        }
        Ok(())
    }

    fn has_pending(&self) -> bool {
        self.0.iter().any(|shard| !shard.pending.is_empty())
    }

    fn load(&mut self, data: &DataSet) -> Result<(), String> {
        if let [shard] = self.0.as_mut_slice() {
            return shard.load(data);
        }
        if self.0.len() != data.partitions.len() {
            return Err(format!(
                "There are {} storage back ends for {} servers; give one for all, or one for each.",
                self.0.len(),
                data.partitions.len()
            ));
        }
        for (shard, &server) in self.0.iter_mut().zip(&data.partitions) {
            shard.load(&DataSet { partitions: vec![server], ..data.clone() })?;
        }
        Ok(())
    }

    fn applied(&self, server: usize) -> &Applied {
        self.0[self.shard_of(server)].applied.applied()
    }
}

fn sentence(error: &PyErr) -> String {
    format!("the storage back end has failed: {error}")
}

/// The value followed by the trailer.
fn joined<'py>(py: Python<'py>, value: &[u8], trailer: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, value.len() + trailer.len(), |bytes| {
        let (head, tail) = bytes.split_at_mut(value.len());
        head.copy_from_slice(value);
        tail.copy_from_slice(trailer);
        Ok(())
    })
}
