//! `RoundTrip`: the retransmission timeout, estimated from round-trip times.

use pyo3::intern;
use pyo3::prelude::*;

use super::nanoseconds::Nanoseconds;

/// Limit up to which `late` raises the timeout of new messages, as a multiple of the longest.
const LATEST: Nanoseconds = 16;

/// Bounds of a timeout: `Timeouts` of netkv/control/roundtrip.py.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    first: Nanoseconds,
    shortest: Nanoseconds,
    longest: Nanoseconds,
}

impl Bounds {
    pub fn of(timeouts: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = timeouts.py();
        Ok(Self {
            first: timeouts.getattr(intern!(py, "first"))?.extract()?,
            shortest: timeouts.getattr(intern!(py, "shortest"))?.extract()?,
            longest: timeouts.getattr(intern!(py, "longest"))?.extract()?,
        })
    }
}

/// See `_engine.pyi`; netkv/control/roundtrip.py has the rules.
#[pyclass(module = "netkv._engine")]
#[derive(Debug, Clone)]
pub struct RoundTrip {
    bounds: Bounds,
    mean: Option<Nanoseconds>,
    deviation: Nanoseconds,
    /// The timeout of a new message.
    #[pyo3(get)]
    pub timeout: Nanoseconds,
}

impl RoundTrip {
    pub fn within(bounds: Bounds) -> Self {
        Self { bounds, mean: None, deviation: 0, timeout: bounds.first }
    }
}

#[pymethods]
impl RoundTrip {
    #[new]
    fn new(bounds: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::within(Bounds::of(bounds)?))
    }

    pub fn sample(&mut self, took: Nanoseconds) {
        let mean = match self.mean {
            None => {
                self.deviation = took / 2;
                took
            }
            Some(mean) => {
                self.deviation += ((took - mean).abs() - self.deviation).div_euclid(4);
                mean + (took - mean).div_euclid(8)
            }
        };
        self.mean = Some(mean);
        // Replies from a steadily growing queue show no deviation, but a message that enters the
        // queue now waits longer than those that are answered now.
        let wait = mean + (4 * self.deviation).max(mean);
        self.timeout = wait.max(self.bounds.shortest);
    }

    pub fn back_off(&mut self, waited: Nanoseconds) -> Nanoseconds {
        let wait = (2 * waited).min(waited.max(self.bounds.longest));
        self.timeout = self.timeout.max(wait);
        wait
    }

    pub fn late(&mut self, waited: Nanoseconds) {
        if waited >= self.bounds.longest {
            self.timeout = self.timeout.max((2 * waited).min(LATEST * self.bounds.longest));
        }
    }
}
