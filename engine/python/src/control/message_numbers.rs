//! `MessageNumbers`: message numbers that no earlier controller has used.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::nanoseconds::Nanoseconds;

const SECOND: i128 = 1_000_000_000;
/// Numbers that differ on the wire.
const RANGE: i64 = 1 << 32;

/// The number in a frame.
pub fn wire(number: i64) -> u32 {
    number as u32
}

/// See `_engine.pyi`; netkv/control/message_numbers.py has the rules.
#[pyclass(module = "netkv._engine")]
pub struct MessageNumbers {
    rate: i64,
    last: i64,
    /// Lead over the clock, after `go_above`.
    ahead: i64,
}

#[pymethods]
impl MessageNumbers {
    #[new]
    fn new(per_second: i64) -> PyResult<Self> {
        if per_second < 1 {
            return Err(PyValueError::new_err(format!(
                "numbers_per_second {per_second}: at least 1 is needed."
            )));
        }
        Ok(Self { rate: per_second, last: 0, ahead: 0 })
    }

    fn start(&mut self, now: Nanoseconds) {
        let begun = i128::from(now) * i128::from(self.rate) / SECOND;
        self.last = self.last.max(begun as i64);
    }

    pub fn take(&mut self) -> i64 {
        self.last += 1;
        if self.last % RANGE == 0 {
            self.last += 1;
        }
        self.last
    }

    pub fn usable(&self, number: i64) -> Nanoseconds {
        let times = i128::from(number - self.ahead) * SECOND;
        // The next whole nanosecond.
        let at = -(-times).div_euclid(i128::from(self.rate));
        at.try_into().unwrap_or(Nanoseconds::MAX)
    }

    fn go_above(&mut self, wire: u32) {
        let distance = (i64::from(wire) - self.last).rem_euclid(RANGE);
        if distance < RANGE / 2 {
            self.last += distance;
            self.ahead += distance;
        }
    }
}
