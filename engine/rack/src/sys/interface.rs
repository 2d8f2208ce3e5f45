//! Network interfaces, in the namespace of this process or in a named one.

use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::call::checked;

/// Where `ip netns` keeps the names of namespaces.
const NAMESPACES: &str = "/run/netns";

/// An interface by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Network namespace, as `ip netns list` shows it; `None`: that of this process.
    pub namespace: Option<String>,
    /// Name of the interface.
    pub name: String,
}

impl fmt::Display for Interface {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            None => write!(to, "{}", self.name),
            Some(namespace) => write!(to, "{namespace}/{}", self.name),
        }
    }
}

impl Interface {
    /// Parses `INTERFACE` or `NAMESPACE/INTERFACE`.
    ///
    /// # Errors
    ///
    /// A sentence: the name is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        let valid = |text: &str, limit| {
            (1..=limit).contains(&text.len())
                && !text.contains(|c: char| c == '/' || c.is_whitespace() || c == '\0')
                && !matches!(text, "." | "..")
        };
        if valid(name, libc::IFNAMSIZ - 1) && namespace.is_none_or(|name| valid(name, 255)) {
            Ok(Self { namespace: namespace.map(str::to_owned), name: name.to_owned() })
        } else {
            Err(format!(
                "'{text}' is not an interface; it looks like veth0, or NAMESPACE/veth0 with at \
                 most 15 characters in the name of the interface"
            ))
        }
    }

    /// Calls `work` in the namespace of the interface. Sockets that it opens stay there.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let Some(namespace) = &self.namespace else { return work() };
        let file = File::open(format!("{NAMESPACES}/{namespace}")).map_err(|error| {
            let why = format!(
                "there is no network namespace '{namespace}' ({error}); 'ip netns list' lists them"
            );
            io::Error::new(error.kind(), why)
        })?;
        // setns moves the calling thread only, so a thread of its own makes the call and ends.
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: the call takes no pointers and concerns this thread only.
                checked(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) })?;
                work()
            });
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))
        })
    }

    /// Index of the interface in the namespace of this thread.
    pub fn index(&self) -> io::Result<libc::c_int> {
        let name = CString::new(self.name.as_str()).map_err(io::Error::other)?;
        // SAFETY: the pointer is to a string that ends with a zero and outlives the call.
        match unsafe { libc::if_nametoindex(name.as_ptr()) } {
            0 => Err(io::Error::new(
                io::ErrorKind::NotFound,
                "there is no such interface; 'ip link' lists them",
            )),
            index => Ok(index as libc::c_int),
        }
    }

    /// Sets the interface up, as `ip link set up` does, in the namespace of this thread.
    pub fn set_up(&self) -> io::Result<()> {
        // SAFETY: the call takes no pointers; a descriptor that it returns is ours alone.
        let socket = unsafe {
            OwnedFd::from_raw_fd(checked(libc::socket(
                libc::AF_INET,
                libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
                0,
            ))?)
        };
        // SAFETY: all-zero is a valid request: numbers and an empty name.
        let mut request: libc::ifreq = unsafe { zeroed() };
        for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(self.name.bytes()) {
            *to = from as libc::c_char;
        }
        // SAFETY: `request` outlives the calls, and names an interface; the first call sets the
        // flags, which the second takes.
        unsafe {
            checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request))?;
            if i32::from(request.ifr_ifru.ifru_flags) & libc::IFF_UP == 0 {
                request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
                checked(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request))?;
            }
        }
        Ok(())
    }
}

/// Sets an option of a socket to a structure of numbers.
pub(super) fn set_option<T>(
    socket: RawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, which outlives the call.
    checked(unsafe {
        libc::setsockopt(
            socket,
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
    .map(drop)
}

/// Reads an option of a socket that is a structure of numbers; fields that the kernel omits are 0.
pub(super) fn option<T: Copy>(
    socket: RawFd,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<T> {
    // SAFETY: all-zero is a valid `T`: callers ask for structures of numbers.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and `length` describe `value`; the kernel writes no more than that.
    checked(unsafe {
        libc::getsockopt(socket, level, name, (&raw mut value).cast(), &raw mut length)
    })?;
    Ok(value)
}
