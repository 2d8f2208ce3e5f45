//! Storage back ends written in Python, called once per batch.
//!
//! Rules
//! -----
//! 1. A node has one back end for all its servers, or one for each: a *shard* is a back end and what
//!    it remembers of the writes that it has applied.
//! 2. Shards of which some calls of a batch are work at the same time, as far as they can: each gets
//!    its calls before the first is waited for.
//! 3. A back end that can be *away* has `ready`, `send` and `receive` instead of `execute`. It takes a
//!    batch only when it is ready; of one that it has taken it does the writes, now or when it is
//!    back, before anything else. So what is noted of a batch when it is sent is true in the end.
//! 4. Calls of a shard that is not ready fail. Where the answer to a batch is lost, its reads fail,
//!    and the results of its writes are owed until the back end is ready again: then they are done.

use netkv_rack::applied::AppliedRecords;
use netkv_rack::sequenced::PlainCall;
use netkv_rack::store::{Batch, DataSet, Format, Store};
use netkv_roles::{Applied, CallId, StoreOp, StoreResult};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// The bound methods of a back end.
enum Backend {
    /// It is there, or has failed for good.
    Steady { execute: Py<PyAny> },
    /// It may be away for a while.
    Remote { ready: Py<PyAny>, send: Py<PyAny>, receive: Py<PyAny> },
}

impl Backend {
    fn new(backend: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |name: &str| {
            backend.getattr(name).map(Bound::unbind).map_err(|_| {
                PyTypeError::new_err(format!(
                    "{} is no storage back end: it has no method {name}; it has execute(batch), or \
                     ready(), send(batch) and receive().",
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

/// What is under way in a shard.
enum Work {
    /// These operations: those of the calls, then those that note them.
    Doing(Py<PyList>),
    /// It was not ready.
    Refused,
}

/// A back end and what it remembers.
struct Shard {
    backend: Backend,
    applied: AppliedRecords,
    /// What it keeps of a record; known when it is loaded.
    format: Format,
    /// Writes, by server and call, whose results are owed.
    owed: Vec<(usize, CallId)>,
    /// Which calls of the batch at hand are for it.
    calls: Vec<usize>,
    work: Work,
}

impl Shard {
    fn new(backend: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            backend: Backend::new(backend)?,
            applied: AppliedRecords::default(),
            format: Format::Plain,
            owed: Vec::new(),
            calls: Vec::new(),
            work: Work::Refused,
        })
    }

    /// Begins with its calls of a batch.
    fn begin(&mut self, py: Python<'_>, batch: &Batch) -> PyResult<()> {
        if !self.backend.is_ready(py)? {
            self.work = Work::Refused;
            return Ok(());
        }
        let operations = self.operations(py, batch)?;
        if let Backend::Remote { send, .. } = &self.backend {
            send.bind(py).call1((&operations,))?;
        }
        self.work = Work::Doing(operations.unbind());
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
        // Behind the writes: if a back end breaks off in the middle, a write may come again, but
        // none is taken for done that is not.
        let mut records = Vec::new();
        let origins = self.calls.iter().filter_map(|&index| batch.get(index).1.origin);
        self.applied.note(origins, |key, value| records.push((*key, value.to_vec())));
        for (key, value) in &records {
            let put = pyo3::intern!(py, "put").clone().into_any();
            let (key, value) = (PyBytes::new(py, key), PyBytes::new(py, value));
            operations.append(PyTuple::new(py, [put, key.into_any(), value.into_any()])?)?;
        }
        Ok(operations)
    }

    /// Waits for the results of what was begun.
    fn end(
        &mut self,
        py: Python<'_>,
        batch: &Batch,
        done: &mut dyn FnMut(usize, StoreResult<'_>),
    ) -> PyResult<()> {
        let Work::Doing(operations) = std::mem::replace(&mut self.work, Work::Refused) else {
            self.calls.iter().for_each(|&index| done(index, StoreResult::Failed));
            return Ok(());
        };
        let (results, method) = match &self.backend {
            Backend::Steady { execute } => (execute.bind(py).call1((&operations,))?, "execute"),
            Backend::Remote { receive, .. } => (receive.bind(py).call0()?, "receive"),
        };
        if results.is_none() {
            self.owe(batch, done);
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

    /// Nobody knows yet what has become of the batch.
    fn owe(&mut self, batch: &Batch, done: &mut dyn FnMut(usize, StoreResult<'_>)) {
        for &index in &self.calls {
            let (server, call) = batch.get(index);
            match call.op {
                StoreOp::Get => done(index, StoreResult::Failed),
                StoreOp::Put | StoreOp::Delete => self.owed.push((server, call.id)),
            }
        }
    }
}

/// A shard while it is loaded: all calls are for it.
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

/// The back ends of a node. The head comment has the rules.
pub struct PythonStore(Vec<Shard>);

impl PythonStore {
    /// Takes a back end, or a list of them, one for each server; a TypeError if it is none.
    pub fn new(store: &Bound<'_, PyAny>) -> PyResult<Self> {
        match store.cast::<PyList>() {
            Ok(list) if list.is_empty() => {
                Err(PyTypeError::new_err("The list of storage back ends is empty."))
            }
            Ok(list) => list.iter().map(|it| Shard::new(&it)).collect::<PyResult<_>>().map(Self),
            Err(_) => Ok(Self(vec![Shard::new(store)?])),
        }
    }

    fn place(&self, server: usize) -> usize {
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
            let place = self.place(batch.get(index).0);
            self.0[place].calls.push(index);
        }
        let mut busy = self.0.iter_mut().filter(|shard| !shard.calls.is_empty());
        busy.try_for_each(|shard| shard.begin(py, batch))?;
        let mut busy = self.0.iter_mut().filter(|shard| !shard.calls.is_empty());
        busy.try_for_each(|shard| shard.end(py, batch, done))
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

    fn settle(
        &mut self,
        done: &mut dyn FnMut(usize, CallId, StoreResult<'_>),
    ) -> Result<(), String> {
        for shard in self.0.iter_mut().filter(|shard| !shard.owed.is_empty()) {
            let ready = Python::attach(|py| shard.backend.is_ready(py));
            if ready.map_err(|error| sentence(&error))? {
                let owed = shard.owed.drain(..);
                owed.for_each(|(server, call)| done(server, call, StoreResult::Done));
            }
        }
        Ok(())
    }

    fn owes(&self) -> bool {
        self.0.iter().any(|shard| !shard.owed.is_empty())
    }

    fn load(&mut self, data: &DataSet) -> Result<(), String> {
        if let [shard] = self.0.as_mut_slice() {
            return shard.load(data);
        }
        if self.0.len() != data.partitions.len() {
            return Err(format!(
                "There are {} storage back ends for {} servers; there is one for all, or one for \
                 each.",
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
        self.0[self.place(server)].applied.applied()
    }
}

fn sentence(error: &PyErr) -> String {
    format!("the storage back end has failed: {error}")
}

/// Both, one behind the other.
fn joined<'py>(py: Python<'py>, value: &[u8], trailer: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, value.len() + trailer.len(), |bytes| {
        let (head, tail) = bytes.split_at_mut(value.len());
        head.copy_from_slice(value);
        tail.copy_from_slice(trailer);
        Ok(())
    })
}
