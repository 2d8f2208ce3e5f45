//! Time that this thread has been on a core.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// On a machine that others use as well, wall time says little about one core.
pub(crate) fn core_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
