//! Client roles written in Python: the hooks of `SingleKeyClient`.

use netkv_roles::kits::single_key::client::Verdict;
use netkv_roles::kits::single_key::foreign::{ClientHooks, Outcome};
use netkv_roles::{Counts, Nanos};
use netkv_wire::{Sequence, Stamp};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::role::{Role, frames, load, module};

#[derive(Debug)]
pub struct ClientRole {
    role: Role,
    /// `Actions` of `netkv.roles`, and `decode` of the codec.
    actions: Py<PyAny>,
    decode: Py<PyAny>,
}

impl ClientRole {
    /// Creates an object of the class with this name.
    pub fn new(name: &str) -> Outcome<Self> {
        load("clients", name, |py, class| {
            Ok(Self {
                role: Role::new(py, class, ()).map_err(PyValueError::new_err)?,
                actions: module(py)?.getattr("Actions")?.unbind(),
                decode: py.import("netkv.model.messages")?.getattr("decode")?.unbind(),
            })
        })
    }

    fn decoded<'py>(&self, py: Python<'py>, frame: &[u8]) -> Outcome<Bound<'py, PyAny>> {
        self.decode.bind(py).call1((frame,)).map_err(|error| error.to_string())
    }

    fn actions<'py>(&self, py: Python<'py>) -> Outcome<Bound<'py, PyAny>> {
        self.actions.bind(py).call0().map_err(|error| error.to_string())
    }
}

fn verdict(name: &str) -> PyResult<Verdict> {
    match name {
        "accept" => Ok(Verdict::Accept),
        "ignore" => Ok(Verdict::Ignore),
        "malformed" => Ok(Verdict::Malformed),
        _ => Err(PyValueError::new_err(format!(
            "'{name}' is no verdict; verdicts are 'accept', 'ignore' and 'malformed'"
        ))),
    }
}

impl ClientHooks for ClientRole {
    fn stamp(&self) -> Outcome<Option<Stamp>> {
        Python::attach(|py| {
            self.role.call(py, "stamp_fields", (), |fields| {
                let fields: Option<(u32, u32, u32, u8)> = fields.extract()?;
                Ok(fields.map(|(incarnation, number, generation, bits)| Stamp {
                    sequence: Sequence { incarnation, number },
                    generation,
                    bits,
                }))
            })
        })
    }

    fn judge(&self, answer: &[u8], written: usize) -> Outcome<Verdict> {
        Python::attach(|py| {
            let args = (self.decoded(py, answer)?, written);
            self.role.call(py, "judge", args, |name| verdict(&name.extract::<String>()?))
        })
    }

    fn on_read(&mut self, answer: &[u8]) -> Outcome<()> {
        Python::attach(|py| self.role.call(py, "on_read", (self.decoded(py, answer)?,), |_| Ok(())))
    }

    fn on_written(&mut self, value: Option<&[u8]>, answer: &[u8]) -> Outcome<()> {
        Python::attach(|py| {
            let value = value.map(|value| PyBytes::new(py, value));
            let args = (value, self.decoded(py, answer)?);
            self.role.call(py, "on_written", args, |_| Ok(()))
        })
    }

    fn on_message(&mut self, now: Nanos, message: &[u8]) -> Outcome<Option<Vec<Vec<u8>>>> {
        Python::attach(|py| {
            let out = self.actions(py)?;
            let args = (now, self.decoded(py, message)?, &out);
            self.role.call(py, "on_message", args, |known| {
                if known.is_truthy()? { frames(&out).map(Some) } else { Ok(None) }
            })
        })
    }

    fn start(&mut self, now: Nanos) -> Outcome<()> {
        Python::attach(|py| self.role.call(py, "start", (now,), |_| Ok(())))
    }

    fn on_timer(&mut self, now: Nanos) -> Outcome<Vec<Vec<u8>>> {
        Python::attach(|py| {
            let out = self.actions(py)?;
            self.role.call(py, "on_timer", (now, &out), |_| frames(&out))
        })
    }

    fn deadline(&self) -> Outcome<Option<Nanos>> {
        Python::attach(|py| self.role.call(py, "deadline", (), |due| due.extract()))
    }

    fn crash(&mut self) -> Outcome<()> {
        Python::attach(|py| self.role.call(py, "crash", (), |_| Ok(())))
    }

    fn leave(&mut self, now: Nanos) -> Outcome<()> {
        Python::attach(|py| self.role.call(py, "leave", (now,), |_| Ok(())))
    }

    fn has_left(&self) -> Outcome<bool> {
        Python::attach(|py| self.role.call(py, "has_left", (), |left| left.is_truthy()))
    }

    fn gauges(&self) -> Outcome<Counts> {
        self.role.counts()
    }
}
