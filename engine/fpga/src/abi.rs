//! The C interface of a library, `fpga/harness/netkv_fpga.h`.
//!
//! This is the only module of the crate with `unsafe` code. It trusts a library that returns the
//! right version to have the functions of the header.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;

use libloading::{Library, Symbol};

use crate::interface::{BusSettings, Description, Error, PortCounters, PortSettings, Transmitted};

/// Version of the interface.
const ABI: u32 = 2;

const OK: c_int = 0;
const ARGUMENT: c_int = 1;
const FULL: c_int = 2;
const EMPTY: c_int = 3;
const TRACE: c_int = 5;

/// `netkv_fpga`: only pointers to it exist.
#[repr(C)]
struct Instance {
    _opaque: [u8; 0],
}

/// `netkv_fpga_frame`.
#[repr(C)]
struct RawFrame {
    bytes: *const u8,
    length: u32,
    first_cycle: u64,
    cycle: u64,
    wire_cycle: u64,
}

type It = *mut Instance;

/// The functions of a library. The library stays loaded as long as the process runs, so the
/// pointers are always valid.
struct Functions {
    destroy: unsafe extern "C" fn(It),
    error: unsafe extern "C" fn(It) -> *const c_char,
    reset: unsafe extern "C" fn(It, u32) -> c_int,
    port_set: unsafe extern "C" fn(It, u32, *const PortSettings) -> c_int,
    port_rx: unsafe extern "C" fn(It, u32, *const u8, u32, u64, *mut u64) -> c_int,
    port_tx: unsafe extern "C" fn(It, u32, *mut RawFrame) -> c_int,
    port_count: unsafe extern "C" fn(It, u32, *mut PortCounters) -> c_int,
    step: unsafe extern "C" fn(It, u64, c_int, *mut u64) -> c_int,
    cycle: unsafe extern "C" fn(It) -> u64,
    pending_rx: unsafe extern "C" fn(It) -> u64,
    pending_tx: unsafe extern "C" fn(It) -> u64,
    ready_tx: unsafe extern "C" fn(It) -> u64,
    register_read: unsafe extern "C" fn(It, u16, *mut u32) -> c_int,
    register_write: unsafe extern "C" fn(It, u16, u32) -> c_int,
    bus_set: unsafe extern "C" fn(It, *const BusSettings) -> c_int,
    attach: unsafe extern "C" fn(It, u32) -> c_int,
    memory_map: unsafe extern "C" fn(It, u32, u64, *mut c_void, u64) -> c_int,
    memory_clear: unsafe extern "C" fn(It, u32) -> c_int,
    function_read: unsafe extern "C" fn(It, u32, u16, u32, *mut u32) -> c_int,
    function_write: unsafe extern "C" fn(It, u32, u16, u32, u32) -> c_int,
    interrupts: unsafe extern "C" fn(It, *mut u64) -> c_int,
    pending_bus: unsafe extern "C" fn(It) -> u64,
    trace_open: unsafe extern "C" fn(It, *const c_char) -> c_int,
    trace_close: unsafe extern "C" fn(It) -> c_int,
}

/// An instance of a design.
pub struct Handle {
    functions: Functions,
    instance: NonNull<Instance>,
}

// SAFETY: an instance does not depend on the thread that made it, and functions that change it take
// `&mut self`, so that one thread at a time uses it (rule 3 of the header).
unsafe impl Send for Handle {}
// SAFETY: functions with `&self` call functions of the header with a `const` instance, which only
// read.
unsafe impl Sync for Handle {}

impl Handle {
    /// Loads a library and creates an instance.
    pub fn create(path: &Path, seed: u32) -> Result<(Self, Description), Error> {
        let load = |why: &dyn std::fmt::Display| {
            Error::Load(format!("{} is not a design that netkv can run: {why}.", path.display()))
        };
        // SAFETY: loading runs the initialisers of C++ static objects of the library, which
        // `netkv fpga build` has made; they do nothing but set up memory.
        let library = unsafe { Library::new(path) }.map_err(|error| load(&error))?;
        // A library that was unloaded could leave thread-local destructors behind.
        let library: &'static Library = Box::leak(Box::new(library));

        /// The function of a name.
        macro_rules! function {
            ($name:literal) => {{
                // SAFETY: the type is that of the header, whose version was checked before any
                // call but that of `netkv_fpga_abi`, which has the same type in all versions.
                let symbol: Symbol<'static, _> =
                    unsafe { library.get(concat!("netkv_fpga_", $name, "\0").as_bytes()) }
                        .map_err(|error| load(&error))?;
                *symbol
            }};
        }
        let abi: unsafe extern "C" fn() -> u32 = function!("abi");
        // SAFETY: the function takes and changes nothing.
        let version = unsafe { abi() };
        if version != ABI {
            return Err(load(&format!(
                "it has version {version} of the interface, and this netkv has version {ABI}; \
                 build it again with 'netkv fpga build'"
            )));
        }
        let functions = Functions {
            destroy: function!("destroy"),
            error: function!("error"),
            reset: function!("reset"),
            port_set: function!("port_set"),
            port_rx: function!("port_rx"),
            port_tx: function!("port_tx"),
            port_count: function!("port_count"),
            step: function!("step"),
            cycle: function!("cycle"),
            pending_rx: function!("pending_rx"),
            pending_tx: function!("pending_tx"),
            ready_tx: function!("ready_tx"),
            register_read: function!("register_read"),
            register_write: function!("register_write"),
            bus_set: function!("bus_set"),
            attach: function!("attach"),
            memory_map: function!("memory_map"),
            memory_clear: function!("memory_clear"),
            function_read: function!("function_read"),
            function_write: function!("function_write"),
            interrupts: function!("interrupts"),
            pending_bus: function!("pending_bus"),
            trace_open: function!("trace_open"),
            trace_close: function!("trace_close"),
        };
        let create: unsafe extern "C" fn(u32) -> It = function!("create");
        let describe: unsafe extern "C" fn(It, *mut Description) -> c_int = function!("describe");
        // SAFETY: the function takes a number.
        let created = NonNull::new(unsafe { create(seed) });
        let Some(instance) = created else {
            // SAFETY: a null pointer asks for the text of the failed creation, which is copied
            // here.
            let text = unsafe { CStr::from_ptr((functions.error)(std::ptr::null_mut())) };
            return Err(load(&text.to_string_lossy().trim_end_matches('.')));
        };
        let handle = Self { functions, instance };
        let mut description = Description::default();
        // SAFETY: both pointers are valid for the call.
        let code = unsafe { describe(handle.it(), &raw mut description) };
        handle.checked(code)?;
        Ok((handle, description))
    }

    fn it(&self) -> It {
        self.instance.as_ptr()
    }

    /// The error of a code.
    fn checked(&self, code: c_int) -> Result<(), Error> {
        if code == OK {
            return Ok(());
        }
        // SAFETY: the instance is valid; the text lives until the next call, and is copied here.
        let text = unsafe { CStr::from_ptr((self.functions.error)(self.it())) };
        let text = text.to_string_lossy().into_owned();
        Err(match code {
            ARGUMENT => Error::Argument(text),
            FULL => Error::Full(text),
            EMPTY => Error::Empty(text),
            TRACE => Error::Trace(text),
            _ => Error::Design(text),
        })
    }

    pub fn reset(&mut self, cycles: u32) -> Result<(), Error> {
        // SAFETY: the instance is valid, as in all methods below.
        let code = unsafe { (self.functions.reset)(self.it(), cycles) };
        self.checked(code)
    }

    pub fn port_set(&mut self, port: u32, settings: &PortSettings) -> Result<(), Error> {
        // SAFETY: `settings` outlives the call.
        let code = unsafe { (self.functions.port_set)(self.it(), port, settings) };
        self.checked(code)
    }

    pub fn port_rx(&mut self, port: u32, frame: &[u8], not_before: u64) -> Result<u64, Error> {
        let mut presented = 0;
        // A frame that is longer than 32 bits can count is refused as any other long one.
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        // SAFETY: pointer and length describe `frame`, which the call copies or refuses.
        let code = unsafe {
            let (bytes, out) = (frame.as_ptr(), &raw mut presented);
            (self.functions.port_rx)(self.it(), port, bytes, length, not_before, out)
        };
        self.checked(code).map(|()| presented)
    }

    pub fn port_tx(&mut self, port: u32) -> Result<Transmitted<'_>, Error> {
        let (bytes, length) = (std::ptr::null(), 0);
        let mut raw = RawFrame { bytes, length, first_cycle: 0, cycle: 0, wire_cycle: 0 };
        // SAFETY: `raw` outlives the call.
        let code = unsafe { (self.functions.port_tx)(self.it(), port, &raw mut raw) };
        self.checked(code)?;
        // SAFETY: after success the pointer is to `length` bytes, which are valid until the next
        // call with this port; the result borrows the instance mutably until then.
        let frame = unsafe { std::slice::from_raw_parts(raw.bytes, raw.length as usize) };
        let RawFrame { first_cycle, cycle, wire_cycle, .. } = raw;
        Ok(Transmitted { frame, first_cycle, cycle, wire_cycle })
    }

    pub fn port_count(&mut self, port: u32) -> Result<PortCounters, Error> {
        let mut counters = PortCounters::default();
        // SAFETY: `counters` outlives the call.
        let code = unsafe { (self.functions.port_count)(self.it(), port, &raw mut counters) };
        self.checked(code).map(|()| counters)
    }

    pub fn step(&mut self, cycles: u64, until_frame: bool) -> Result<u64, Error> {
        let mut done = 0;
        let until = c_int::from(until_frame);
        // SAFETY: `done` outlives the call.
        let code = unsafe { (self.functions.step)(self.it(), cycles, until, &raw mut done) };
        self.checked(code).map(|()| done)
    }

    pub fn cycle(&self) -> u64 {
        // SAFETY: the instance is valid, and the function only reads.
        unsafe { (self.functions.cycle)(self.it()) }
    }

    pub fn pending_rx(&self) -> u64 {
        // SAFETY: as in `cycle`.
        unsafe { (self.functions.pending_rx)(self.it()) }
    }

    pub fn pending_tx(&self) -> u64 {
        // SAFETY: as in `cycle`.
        unsafe { (self.functions.pending_tx)(self.it()) }
    }

    pub fn ready_tx(&self) -> u64 {
        // SAFETY: as in `cycle`.
        unsafe { (self.functions.ready_tx)(self.it()) }
    }

    pub fn register_read(&mut self, address: u16) -> Result<u32, Error> {
        let mut value = 0;
        // SAFETY: `value` outlives the call.
        let code = unsafe { (self.functions.register_read)(self.it(), address, &raw mut value) };
        self.checked(code).map(|()| value)
    }

    pub fn register_write(&mut self, address: u16, value: u32) -> Result<(), Error> {
        // SAFETY: the instance is valid.
        let code = unsafe { (self.functions.register_write)(self.it(), address, value) };
        self.checked(code)
    }

    pub fn bus_set(&mut self, settings: &BusSettings) -> Result<(), Error> {
        // SAFETY: `settings` outlives the call.
        let code = unsafe { (self.functions.bus_set)(self.it(), settings) };
        self.checked(code)
    }

    pub fn attach(&mut self, function: u32) -> Result<(), Error> {
        // SAFETY: the instance is valid.
        let code = unsafe { (self.functions.attach)(self.it(), function) };
        self.checked(code)
    }

    /// # Safety
    ///
    /// The memory must stay valid for reads and writes until it is cleared or the design is
    /// dropped.
    pub unsafe fn memory_map(
        &mut self,
        function: u32,
        address: u64,
        bytes: NonNull<u8>,
        length: u64,
    ) -> Result<(), Error> {
        let place = bytes.as_ptr().cast::<c_void>();
        // SAFETY: the caller promises that the memory is valid.
        let code =
            unsafe { (self.functions.memory_map)(self.it(), function, address, place, length) };
        self.checked(code)
    }

    pub fn memory_clear(&mut self, function: u32) -> Result<(), Error> {
        // SAFETY: the instance is valid.
        let code = unsafe { (self.functions.memory_clear)(self.it(), function) };
        self.checked(code)
    }

    pub fn function_read(&mut self, function: u32, at: u16, bytes: u32) -> Result<u32, Error> {
        let mut value = 0;
        let out = &raw mut value;
        // SAFETY: `value` outlives the call.
        let code = unsafe { (self.functions.function_read)(self.it(), function, at, bytes, out) };
        self.checked(code).map(|()| value)
    }

    pub fn function_write(
        &mut self,
        function: u32,
        at: u16,
        bytes: u32,
        value: u32,
    ) -> Result<(), Error> {
        // SAFETY: the instance is valid.
        let code =
            unsafe { (self.functions.function_write)(self.it(), function, at, bytes, value) };
        self.checked(code)
    }

    pub fn interrupts(&mut self) -> Result<u64, Error> {
        let mut found = 0;
        // SAFETY: `found` outlives the call.
        let code = unsafe { (self.functions.interrupts)(self.it(), &raw mut found) };
        self.checked(code).map(|()| found)
    }

    pub fn pending_bus(&self) -> u64 {
        // SAFETY: as in `cycle`.
        unsafe { (self.functions.pending_bus)(self.it()) }
    }

    pub fn trace_open(&mut self, path: &Path) -> Result<(), Error> {
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| Error::Trace("The path of a trace has a zero byte.".to_owned()))?;
        // SAFETY: `name` ends with a zero and outlives the call.
        let code = unsafe { (self.functions.trace_open)(self.it(), name.as_ptr()) };
        self.checked(code)
    }

    pub fn trace_close(&mut self) -> Result<(), Error> {
        // SAFETY: the instance is valid.
        let code = unsafe { (self.functions.trace_close)(self.it()) };
        self.checked(code)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the instance is valid, and nothing uses it afterwards.
        unsafe { (self.functions.destroy)(self.it()) };
    }
}
