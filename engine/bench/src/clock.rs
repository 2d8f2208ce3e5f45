//! The processor time of this thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The processor time of this thread. On a shared machine wall time would include other processes.
pub(crate) fn core_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
