//! The error of a system call.

use std::io;

/// The result of a system call, or its error.
pub fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
