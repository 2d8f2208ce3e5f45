//! Parts of control planes that work on each message: the numbers, timeouts and frames of requests
//! without a reply. They have no clock and no I/O, like the control planes in Python that use them.

mod message_numbers;
mod outstanding;
mod round_trip;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

pub use message_numbers::MessageNumbers;
pub use outstanding::Outstanding;
pub use round_trip::RoundTrip;

static SEND_FRAME: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The class `SendFrame` of netkv/control/base.py.
pub fn send_frame(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    SEND_FRAME.import(py, "netkv.control.base", "SendFrame")
}

/// Nanoseconds on the clock of a control plane.
type Nanoseconds = i64;
