//! Server roles written in Python: the hooks of `SingleKeyServer`.

use netkv_roles::kits::single_key::foreign::{Order, Orders, Outcome, ServerHooks};
use netkv_roles::{Counts, Nanos, ServerOptions};
use netkv_wire::{Sequence, Status};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::role::{PREFIX, Role, load, module, number_of, options_of, recorded, sequence_of};

#[derive(Debug)]
pub struct ServerRole {
    name: &'static str,
    role: Role,
    keeps_sequences: bool,
    /// `RequestActions` of `netkv.roles`, and `decode` and `Status` of the codec.
    actions: Py<PyAny>,
    decode: Py<PyAny>,
    status: Py<PyAny>,
}

impl ServerRole {
    /// Creates an object of the class with this name.
    pub fn new(name: &'static str, options: &ServerOptions, now: Nanos) -> Outcome<Self> {
        load("servers", name, |py, class| {
            let codec = py.import("netkv.model.messages")?;
            Ok(Self {
                name: name.trim_start_matches(PREFIX),
                role: Role::new(py, class, (options_of(py, options)?, now))
                    .map_err(PyValueError::new_err)?,
                keeps_sequences: class.getattr("keeps_sequences")?.is_truthy()?,
                actions: module(py)?.getattr("RequestActions")?.unbind(),
                decode: codec.getattr("decode")?.unbind(),
                status: codec.getattr("Status")?.unbind(),
            })
        })
    }

    /// Calls a method with the time, these arguments and a `RequestActions`.
    fn invoke<'py, T>(
        &self,
        py: Python<'py>,
        method: &str,
        args: impl IntoIterator<Item = Bound<'py, PyAny>>,
        now: Nanos,
        take: impl FnOnce(Bound<'py, PyAny>, Vec<Order<Py<PyAny>>>) -> PyResult<T>,
    ) -> Outcome<T> {
        let failed = |error: PyErr| error.to_string();
        let out = self.actions.bind(py).call1((self.keeps_sequences,)).map_err(failed)?;
        let now = now.into_pyobject(py).map_err(|error| error.to_string())?.into_any();
        let args = std::iter::once(now).chain(args).chain([out.clone()]).collect::<Vec<_>>();
        let args = PyTuple::new(py, args).map_err(failed)?;
        self.role.call(py, method, args, |result| take(result, recorded(&out, order)?))
    }

    fn orders<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        args: impl IntoIterator<Item = Bound<'py, PyAny>>,
        now: Nanos,
    ) -> Orders<Py<PyAny>> {
        self.invoke(py, method, args, now, |_, orders| Ok(orders))
    }
}

fn order(kind: &str, action: &Bound<'_, PyAny>) -> PyResult<Order<Py<PyAny>>> {
    let at = |index: usize| action.get_item(index);
    let request = |index| PyResult::Ok((at(index)?.extract()?, at(index + 1)?.extract()?));
    Ok(match kind {
        "send" => Order::Send(at(1)?.extract()?),
        "read" => Order::Read {
            key: at(1)?.extract()?,
            request: request(2)?,
            client: at(4)?.extract::<Option<u32>>()?.map(u32::to_be_bytes),
            frame: at(5)?.unbind(),
        },
        "answer" => Order::Answer { request: request(1)?, frame: at(3)?.extract()? },
        "store" => Order::Store {
            key: at(1)?.extract()?,
            sequence: at(2)?.extract::<Option<u64>>()?.map(sequence_of),
        },
        "end" => {
            let code = at(2)?.extract()?;
            let unknown = || PyValueError::new_err(format!("'end' has the unknown status {code}"));
            let status = Status::from_code(code).ok_or_else(unknown)?;
            Order::End { key: at(1)?.extract()?, status, frame: at(3)?.extract()? }
        }
        other => return Err(PyValueError::new_err(format!("'{other}' is not an action"))),
    })
}

impl ServerHooks for ServerRole {
    type Frame = Py<PyAny>;

    fn name(&self) -> &str {
        self.name
    }

    fn frame(&self, bytes: &[u8]) -> Outcome<Py<PyAny>> {
        Python::attach(|py| self.decode.bind(py).call1((bytes,)).map(Bound::unbind))
            .map_err(|error| error.to_string())
    }

    fn on_read(&mut self, now: Nanos, request: &Py<PyAny>) -> Orders<Py<PyAny>> {
        Python::attach(|py| self.orders(py, "on_read", [request.bind(py).clone()], now))
    }

    fn on_value(
        &mut self,
        now: Nanos,
        request: &Py<PyAny>,
        value: Option<&[u8]>,
        sequence: Sequence,
    ) -> Orders<Py<PyAny>> {
        Python::attach(|py| {
            let value = value.map_or_else(
                || py.None().into_bound(py),
                |value| PyBytes::new(py, value).into_any(),
            );
            let sequence = number_of(sequence).into_pyobject(py).map_err(|it| it.to_string())?;
            let args = [request.bind(py).clone(), value, sequence.into_any()];
            self.orders(py, "on_value", args, now)
        })
    }

    fn on_write(&mut self, now: Nanos, write: &Py<PyAny>) -> Orders<Py<PyAny>> {
        Python::attach(|py| self.orders(py, "on_write", [write.bind(py).clone()], now))
    }

    fn on_stored(&mut self, now: Nanos, write: &Py<PyAny>) -> Orders<Py<PyAny>> {
        Python::attach(|py| self.orders(py, "on_stored", [write.bind(py).clone()], now))
    }

    fn on_copy(&mut self, now: Nanos, write: &Py<PyAny>, status: Status) -> Orders<Py<PyAny>> {
        Python::attach(|py| {
            let status = self.status.bind(py).call1((status.code(),));
            let status = status.map_err(|error| error.to_string())?;
            self.orders(py, "on_copy", [write.bind(py).clone(), status], now)
        })
    }

    fn on_message(
        &mut self,
        now: Nanos,
        message: &Py<PyAny>,
    ) -> Outcome<Option<Vec<Order<Py<PyAny>>>>> {
        Python::attach(|py| {
            let args = [message.bind(py).clone()];
            self.invoke(py, "on_message", args, now, |known, orders| {
                Ok(known.is_truthy()?.then_some(orders))
            })
        })
    }

    fn on_timer(&mut self, now: Nanos) -> Orders<Py<PyAny>> {
        Python::attach(|py| self.orders(py, "on_timer", [], now))
    }

    fn deadline(&self) -> Outcome<Option<Nanos>> {
        Python::attach(|py| self.role.call(py, "deadline", (), |due| due.extract()))
    }

    fn counts(&self) -> Outcome<Counts> {
        self.role.counts()
    }
}
