//! Server roles written in Python without the core of `SingleKeyServer`: subclasses of `Server`.

use netkv_roles::kits::single_key::foreign::Failure;
use netkv_roles::{
    Actions, Applied, CallId, Counts, Nanos, Origin, SECOND, Server, ServerOptions, StoreCall,
    StoreOp, StoreResult,
};
use netkv_wire::{Key, Sequence};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFrozenSet};

use super::role::{Role, load, module, number_of, options_of, recorded, sequence_of};

pub struct WholeServer {
    role: Role,
    index: u16,
    epoch: Nanos,
    keeps_sequences: bool,
    /// `ServerActions` and `Stored` of `netkv.roles`.
    actions: Py<PyAny>,
    stored: Py<PyAny>,
    /// The failure of the role. The next call reports it; [`Server::deadline`] requests this call.
    failure: Failure,
}

/// A storage call or a frame.
enum Action {
    Send(Vec<u8>),
    Call {
        op: StoreOp,
        id: CallId,
        key: Key,
        value: Vec<u8>,
        origin: Option<(u16, u32)>,
        sequence: Option<Sequence>,
    },
}

fn action(kind: &str, action: &Bound<'_, PyAny>) -> PyResult<Action> {
    let at = |index: usize| action.get_item(index);
    let op = match kind {
        "send" => return Ok(Action::Send(at(1)?.extract()?)),
        "get" => StoreOp::Get,
        "put" => StoreOp::Put,
        "delete" => StoreOp::Delete,
        other => return Err(PyValueError::new_err(format!("'{other}' is not an action"))),
    };
    Ok(Action::Call {
        op,
        id: at(1)?.extract()?,
        key: at(2)?.extract()?,
        value: at(3)?.extract()?,
        origin: at(4)?.extract()?,
        sequence: at(5)?.extract::<Option<u64>>()?.map(sequence_of),
    })
}

impl WholeServer {
    /// Creates an object of the class with this name.
    pub fn new(
        name: &str,
        options: &ServerOptions,
        now: Nanos,
        applied: &Applied,
    ) -> Result<Self, String> {
        load("servers", name, |py, class| {
            let applied = PyFrozenSet::new(py, applied.requests())?;
            let args = (options_of(py, options)?, now, applied);
            Ok(Self {
                role: Role::new(py, class, args).map_err(PyValueError::new_err)?,
                index: options.server,
                epoch: options.epoch,
                keeps_sequences: class.getattr("keeps_sequences")?.is_truthy()?,
                actions: module(py)?.getattr("ServerActions")?.unbind(),
                stored: module(py)?.getattr("Stored")?.unbind(),
                failure: Failure::default(),
            })
        })
    }

    /// Calls a method, whose last argument is a `ServerActions`, and adds the actions to `out`.
    fn invoke(
        &mut self,
        now: Nanos,
        out: &mut Actions,
        call: impl FnOnce(Python<'_>, &Self, &Bound<'_, PyAny>) -> Result<(), String>,
    ) {
        if self.failure.is_none() {
            let done = Python::attach(|py| {
                let failed = |error: PyErr| error.to_string();
                let actions =
                    self.actions.bind(py).call1((self.keeps_sequences,)).map_err(failed)?;
                call(py, self, &actions)?;
                recorded(&actions, action).map_err(failed)
            });
            for action in self.failure.keep(done).unwrap_or_default() {
                self.carry_out(now, action, out);
            }
        }
        self.failure.report(out);
    }

    fn carry_out(&self, now: Nanos, action: Action, out: &mut Actions) {
        match action {
            Action::Send(frame) => out.send_written(|bytes| bytes.extend(frame)),
            Action::Call { op, id, key, value, origin, sequence } => {
                let second = (self.epoch.saturating_add(now) / SECOND) as u32;
                let origin = origin.map(|(sender, request)| Origin { sender, request, second });
                let call = StoreCall { op, value: &value, ..StoreCall::get(id, key) };
                out.call(&StoreCall { origin, sequence, ..call });
            }
        }
    }

    /// The result of a method without actions; `None` if the role has failed.
    fn query<T>(&self, call: impl FnOnce(&Role) -> Result<T, String>) -> Option<T> {
        if self.failure.is_none() { self.failure.keep(call(&self.role)) } else { None }
    }
}

impl Server for WholeServer {
    fn index(&self) -> u16 {
        self.index
    }

    fn on_frame(&mut self, now: Nanos, bytes: &[u8], out: &mut Actions) {
        self.invoke(now, out, |py, server, actions| {
            let args = (now, PyBytes::new(py, bytes), actions);
            server.role.call(py, "on_frame", args, |_| Ok(()))
        });
    }

    fn on_stored(&mut self, now: Nanos, call: CallId, result: StoreResult<'_>, out: &mut Actions) {
        let (outcome, value, sequence): (_, &[u8], _) = match result {
            StoreResult::Value(value, sequence) => ("value", value, sequence),
            StoreResult::NotFound(sequence) => ("not found", &[], sequence),
            StoreResult::Done => ("done", &[], Sequence::default()),
            StoreResult::Failed => ("failed", &[], Sequence::default()),
        };
        self.invoke(now, out, |py, server, actions| {
            let result = (outcome, PyBytes::new(py, value), number_of(sequence));
            let result = server.stored.bind(py).call1(result).map_err(|it| it.to_string())?;
            server.role.call(py, "on_stored", (now, call, result, actions), |_| Ok(()))
        });
    }

    fn on_timer(&mut self, now: Nanos, out: &mut Actions) {
        self.invoke(now, out, |py, server, actions| {
            server.role.call(py, "on_timer", (now, actions), |_| Ok(()))
        });
    }

    fn deadline(&self) -> Option<Nanos> {
        let call =
            |role: &Role| Python::attach(|py| role.call(py, "deadline", (), |due| due.extract()));
        match self.query(call) {
            Some(due) => due,
            None => self.failure.is_due().then_some(0),
        }
    }

    fn slow(&mut self, factor: f64) -> bool {
        let call = |role: &Role| {
            Python::attach(|py| role.call(py, "slow", (factor,), |it| it.is_truthy()))
        };
        self.query(call).unwrap_or(false)
    }

    fn busy_keys(&self) -> usize {
        let call = |role: &Role| {
            Python::attach(|py| role.call(py, "busy_keys", (), |keys| keys.extract()))
        };
        self.query(call).unwrap_or(0)
    }

    fn counts(&self) -> Counts {
        let mut counts = self.query(Role::counts).unwrap_or_default();
        // Samples need these counts of every server.
        for name in ["served", "dropped"] {
            if !counts.iter().any(|(known, _)| *known == name) {
                counts.push((name, 0));
            }
        }
        counts.push(("busy_keys", self.busy_keys() as u64));
        counts
    }
}
