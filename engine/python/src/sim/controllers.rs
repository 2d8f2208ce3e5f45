//! Messages that the engine passes to a control plane itself, and the actions that follow.
//!
//! A cache is filled by tens of thousands of messages. For each, the driver in Python would take as
//! long as the control plane does. So the engine creates the events of frames and of answers to
//! plain writes, and sends the frames and plain writes of the control plane. Anything else is handed
//! to the driver, at the same virtual time.

use netkv_rack::sim::Notice;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyString, PyType};

use super::Simulation;
use super::channel::{PACKET_HEADER, is_plain};
use super::notice_out;

/// The classes of netkv/control/base.py that the engine creates and carries out.
struct Classes {
    packet_in: Py<PyType>,
    table_written: Py<PyType>,
    send_frame: Py<PyType>,
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
                send_frame: class("SendFrame")?,
            })
        })
    }
}

/// What became of a notice.
pub enum Passed {
    /// Its controller has handled it; its deadline is now this one.
    Handled(Option<u64>),
    /// The caller gets this notice, or none.
    ForCaller(Option<Py<PyAny>>),
}

impl Simulation {
    /// Passes a notice to its controller, if the engine can.
    pub(super) fn pass_on(slf: &Bound<'_, Self>, notice: Notice) -> PyResult<Passed> {
        let py = slf.py();
        let Some((controller, event, switch)) = Self::event_of(slf, &notice)? else {
            return Self::notice(slf, notice).map(Passed::ForCaller);
        };
        let now = slf.borrow().rack.now();
        let plane = controller.getattr(intern!(py, "control_plane"))?;
        let actions = plane.call_method1(intern!(py, "handle"), (now, event))?;
        let actions = actions.cast_into::<PyList>()?;
        for (index, action) in actions.iter().enumerate() {
            if !Self::carry_out(slf, switch, &action)? {
                let rest = actions.get_slice(index, actions.len());
                let notice = ("actions", switch, rest).into_pyobject(py)?;
                return Ok(Passed::ForCaller(Some(notice.into_any().unbind())));
            }
        }
        let deadline = controller.call_method0(intern!(py, "handled"))?.extract()?;
        Ok(Passed::Handled(deadline))
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

    /// The event of a notice, its controller, and the number of the switch.
    #[allow(clippy::type_complexity)]
    fn event_of<'py>(
        slf: &Bound<'py, Self>,
        notice: &Notice,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>, u16)>> {
        let py = slf.py();
        let mut this = slf.borrow_mut();
        let classes = Classes::get(py)?;
        match notice {
            Notice::PacketIn { switch, frame } => {
                let Some(channel) = this.channel(*switch) else { return Ok(None) };
                let Some(controller) = controller(py, &channel.controller)? else {
                    return Ok(None);
                };
                let Some((header, bytes)) = frame.split_first_chunk::<PACKET_HEADER>() else {
                    return Ok(None);
                };
                channel.count_packet(frame.len());
                let port = u16::from_be_bytes(*header) >> 7;
                let fields = (port, PyBytes::new(py, bytes), &channel.name);
                Ok(Some((controller, classes.packet_in.bind(py).call1(fields)?, *switch)))
            }
            Notice::Answered { switch, token, error } if is_plain(*token) => {
                let Some(channel) = this.channel(*switch) else { return Ok(None) };
                let Some(controller) = controller(py, &channel.controller)? else {
                    return Ok(None);
                };
                let Some(write) = channel.answered(*token) else { return Ok(None) };
                let number = write.bind(py).getattr(intern!(py, "write"))?;
                let fields = (number, error.is_empty(), error, &channel.name);
                Ok(Some((controller, classes.table_written.bind(py).call1(fields)?, *switch)))
            }
            _ => Ok(None),
        }
    }

    /// Carries an action out; false if the driver must do it.
    fn carry_out(slf: &Bound<'_, Self>, from: u16, action: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = slf.py();
        let is_frame = action.get_type().is(Classes::get(py)?.send_frame.bind(py));
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

fn controller<'py>(
    py: Python<'py>,
    reference: &Option<Py<PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(reference) = reference else { return Ok(None) };
    let found = reference.bind(py).call0()?;
    Ok(if found.is_none() { None } else { Some(found) })
}
