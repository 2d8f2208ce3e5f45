//! Messages that the engine delivers to a control plane itself, and the actions that follow.
//!
//! A cache is filled by tens of thousands of messages. For each, the driver in Python would take as
//! long as the control plane does. So the engine
//!
//! - passes a reply to the request that it answers, and the answer to a plain write to its
//!   callback;
//! - passes other frames and answers as events;
//! - sends the frames and plain writes among the actions that follow.
//!
//! Anything else is handed to the driver, at the same virtual time.

use netkv_rack::sim::Notice;
use netkv_wire::FrameView;
use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};

use super::channel::{PACKET_HEADER, is_plain};
use super::simulation::Simulation;
use crate::control::{Outstanding, send_frame};
use crate::digests::digests_out;
use crate::wire;

/// What the engine creates and recognizes of netkv/control.
struct Classes {
    packet_in: Py<PyType>,
    table_written: Py<PyType>,
    continued: Py<PyType>,
    message_of: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

impl Classes {
    fn get(py: Python<'_>) -> PyResult<&'static Self> {
        CLASSES.get_or_try_init(py, || {
            let base = py.import("netkv.control.base")?;
            let class = |name| PyResult::Ok(base.getattr(name)?.cast_into::<PyType>()?.unbind());
            Ok(Self {
                packet_in: class("PacketIn")?,
                table_written: class("TableWritten")?,
                continued: class("Continued")?,
                message_of: py.import("netkv.model.messages")?.getattr("message_of")?.unbind(),
            })
        })
    }
}

/// What became of a notice.
pub enum Delivery {
    /// Its controller has handled it; its deadline is now this one.
    Handled(Option<u64>),
    /// One of its operations has continued: its deadline may have changed, and there is a new one.
    Continued(Option<u64>),
    /// The caller gets this notice, or none.
    ForCaller(Option<Py<PyAny>>),
}

/// A message for a controller.
struct Arrived<'a, 'py> {
    controller: Bound<'py, PyAny>,
    plane: Bound<'py, PyAny>,
    switch: u16,
    name: Bound<'py, PyString>,
    now: u64,
    message: Message<'a, 'py>,
}

enum Message<'a, 'py> {
    /// The port at which the switch got it, and the frame.
    Frame(u16, &'a [u8]),
    /// A plain write, and why it was refused.
    Written(Bound<'py, PyAny>, &'a str),
}

impl Simulation {
    /// Delivers a notice to its controller, if the engine can. `until`: the earliest deadline.
    pub(super) fn deliver(slf: &Bound<'_, Self>, notice: Notice, until: u64) -> PyResult<Delivery> {
        let py = slf.py();
        let Some(arrived) = Self::arrived(slf, &notice)? else {
            return Self::notice(slf, notice).map(Delivery::ForCaller);
        };
        let Arrived { controller, plane, switch, name, now, .. } = &arrived;
        let actions = match arrived.call_back()? {
            Some(actions)
                if *now < until && actions.get_type().is(Classes::get(py)?.continued.bind(py)) =>
            {
                if let Some(requests) = get(plane, intern!(py, "pending_requests"), name)? {
                    return Self::continued(slf, *switch, *now, &actions, &requests);
                }
                arrived.finish(&actions)?
            }
            Some(actions) => arrived.finish(&actions)?,
            None => {
                let handled = plane.call_method1(intern!(py, "handle"), (now, arrived.event()?))?;
                handled.cast_into::<PyList>()?
            }
        };
        if let Some(left) = Self::carry_out_all(slf, *switch, &actions)? {
            let left = actions.get_slice(left, actions.len());
            return Self::actions_left(py, *switch, left);
        }
        let deadline = controller.call_method0(intern!(py, "handled"))?.extract()?;
        Ok(Delivery::Handled(deadline))
    }

    /// An operation has continued with these actions: sends the requests that are ready, too.
    fn continued(
        slf: &Bound<'_, Self>,
        switch: u16,
        now: u64,
        actions: &Bound<'_, PyAny>,
        requests: &Bound<'_, PyAny>,
    ) -> PyResult<Delivery> {
        let py = slf.py();
        let actions = actions.cast::<PyTuple>()?.to_list();
        let outstanding = requests.getattr(intern!(py, "outstanding"))?;
        let outstanding = outstanding.cast::<Outstanding>()?;
        for frame in outstanding.borrow_mut().ready(py, i64::try_from(now).unwrap_or(i64::MAX))? {
            actions.append(frame)?;
        }
        if let Some(left) = Self::carry_out_all(slf, switch, &actions)? {
            return Self::actions_left(py, switch, actions.get_slice(left, actions.len()));
        }
        let deadline = outstanding.borrow_mut().deadline(py);
        Ok(Delivery::Continued(deadline.map(|at| u64::try_from(at).unwrap_or(0))))
    }

    /// The caller carries out the actions that are left, and sees to the deadline.
    fn actions_left(py: Python<'_>, switch: u16, left: Bound<'_, PyList>) -> PyResult<Delivery> {
        let notice = ("actions", switch, left).into_pyobject(py)?;
        Ok(Delivery::ForCaller(Some(notice.into_any().unbind())))
    }

    /// The notice as the caller gets it; `None` if it is about a write that was discarded.
    pub(super) fn notice(slf: &Bound<'_, Self>, notice: Notice) -> PyResult<Option<Py<PyAny>>> {
        let py = slf.py();
        match notice {
            Notice::Answered { switch, token, error } if is_plain(token) => {
                let write = slf.borrow_mut().channel(switch).and_then(|it| it.answered(token));
                let Some(write) = write else { return Ok(None) };
                Ok(Some(("written", switch, write, error).into_pyobject(py)?.into_any().unbind()))
            }
            other => notice_out(py, other).map(Some),
        }
    }

    /// The message of a notice, if it is for a controller and the engine can deliver it.
    fn arrived<'a, 'py>(
        slf: &Bound<'py, Self>,
        notice: &'a Notice,
    ) -> PyResult<Option<Arrived<'a, 'py>>> {
        let py = slf.py();
        let mut this = slf.borrow_mut();
        let now = this.rack.now();
        let switch = match notice {
            Notice::PacketIn { switch, frame } if frame.len() >= PACKET_HEADER => *switch,
            Notice::Answered { switch, token, .. } if is_plain(*token) => *switch,
            _ => return Ok(None),
        };
        let Some(channel) = this.channel(switch) else { return Ok(None) };
        let Some(reference) = &channel.controller else { return Ok(None) };
        let controller = reference.bind(py).call0()?;
        if controller.is_none() {
            return Ok(None);
        }
        let message = match notice {
            Notice::PacketIn { frame, .. } => {
                channel.count_packet(frame.len());
                let (header, frame) = frame.split_at(PACKET_HEADER);
                Message::Frame(u16::from_be_bytes([header[0], header[1]]) >> 7, frame)
            }
            Notice::Answered { token, error, .. } => {
                let Some(write) = channel.answered(*token) else { return Ok(None) };
                Message::Written(write.into_bound(py), error)
            }
            _ => return Ok(None),
        };
        let name = channel.name.bind(py).clone();
        let plane = controller.getattr(intern!(py, "control_plane"))?;
        Ok(Some(Arrived { controller, plane, switch, name, now, message }))
    }

    /// Carries actions out; returns the index of the first one that the driver must carry out.
    fn carry_out_all(
        slf: &Bound<'_, Self>,
        switch: u16,
        actions: &Bound<'_, PyList>,
    ) -> PyResult<Option<usize>> {
        for (index, action) in actions.iter().enumerate() {
            if !Self::carry_out(slf, switch, &action)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Carries an action out; false if the driver must do it.
    fn carry_out(slf: &Bound<'_, Self>, from: u16, action: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = slf.py();
        let is_frame = action.get_type().is(send_frame(py)?);
        let mut this = slf.borrow_mut();
        if !is_frame && !this.has_plain_writes(from) {
            return Ok(false);
        }
        let Ok(name) = action.getattr(intern!(py, "switch")) else { return Ok(false) };
        let Some(number) = this.number_of(from, name.cast::<PyString>()?)? else {
            return Ok(false);
        };
        let Self { rack, channels, .. } = &mut *this;
        let Some(channel) = channels.get_mut(&number) else { return Ok(false) };
        if channel.controller.is_none() {
            return Ok(false);
        }
        if is_frame {
            channel.send_frame(rack, action)?;
            return Ok(true);
        }
        Ok(channel.write(rack, action)? == Some(true))
    }
}

impl<'py> Arrived<'_, 'py> {
    /// Passes the message to the callback that waits for it, and returns what that returns; `None`
    /// if there is no such callback.
    fn call_back(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Self { plane, name, now, .. } = self;
        let py = plane.py();
        match &self.message {
            Message::Frame(_, frame) => {
                let Some(requests) = get(plane, intern!(py, "pending_requests"), name)? else {
                    return Ok(None);
                };
                let Ok(view) = FrameView::parse(frame) else { return Ok(None) };
                let outstanding = requests.getattr(intern!(py, "outstanding"))?;
                if !outstanding.cast::<Outstanding>()?.borrow().awaits(&view) {
                    return Ok(None);
                }
                let reply = Classes::get(py)?.message_of.bind(py).call1(wire::fields(py, &view))?;
                requests.call_method1(intern!(py, "on_reply"), (now, reply)).map(Some)
            }
            Message::Written(write, _) => {
                let Some(writes) = get(plane, intern!(py, "table_writes"), name)? else {
                    return Ok(None);
                };
                let waiting = writes.getattr(intern!(py, "waiting"))?;
                if !waiting.cast::<PyDict>()?.contains(write.getattr(intern!(py, "write"))?)? {
                    return Ok(None);
                }
                let event = self.event()?;
                writes.call_method1(intern!(py, "on_written"), (now, event)).map(Some)
            }
        }
    }

    /// The message as an event.
    fn event(&self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.plane.py();
        let classes = Classes::get(py)?;
        match &self.message {
            Message::Frame(port, frame) => {
                classes.packet_in.bind(py).call1((port, PyBytes::new(py, frame), &self.name))
            }
            Message::Written(write, error) => {
                let number = write.getattr(intern!(py, "write"))?;
                let fields = (number, error.is_empty(), error, &self.name);
                classes.table_written.bind(py).call1(fields)
            }
        }
    }

    /// The actions of a callback, and what follows from them.
    fn finish(&self, actions: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let Self { plane, name, now, .. } = self;
        let py = plane.py();
        let list = PyList::empty(py);
        for action in actions.try_iter()? {
            list.append(action?)?;
        }
        let all = plane.call_method1(intern!(py, "finish"), (now, name, list))?;
        Ok(all.cast_into::<PyList>()?)
    }
}

/// What a dictionary of the control plane has for a switch.
fn get<'py>(
    plane: &Bound<'py, PyAny>,
    attribute: &Bound<'py, PyString>,
    switch: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match plane.getattr(attribute)?.cast::<PyDict>() {
        Ok(dictionary) => dictionary.get_item(switch),
        Err(_) => Ok(None), // the empty one of the base class
    }
}

/// A notice as a tuple.
fn notice_out(py: Python<'_>, notice: Notice) -> PyResult<Py<PyAny>> {
    match notice {
        Notice::PacketIn { switch, frame } => {
            ("packet-in", switch, PyBytes::new(py, &frame)).into_py_any(py)
        }
        Notice::Digest { switch, digest } => {
            let list = digests_out(py, &[digest])?;
            ("digest", switch, list.get_item(0)?).into_py_any(py)
        }
        Notice::Write { switch, token, pipeline } => {
            ("write", switch, token, pipeline).into_py_any(py)
        }
        Notice::Answered { switch, token, .. } => ("answered", switch, token).into_py_any(py),
    }
}
