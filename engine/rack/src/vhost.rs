//! A vhost-user back end: a guest drives a function of a live design with its own virtio driver.
//!
//! The front end is the virtual machine monitor of the guest: User-Mode Linux, or QEMU. It connects
//! to a socket of ours, shares the memory of the guest, and describes the virtqueues.
//!
//! ```text
//! guest's virtio-net driver - front end =socket=> Port -> Driver -BAR 0-> Function (RTL)
//!        |  rings and buffers in memory of the guest                        |
//!        +----------------------------- DMA --------------------------------+
//! ```
//!
//! | part | does |
//! |---|---|
//! | [`Port`] | listens at the socket, answers messages, passes signals on |
//! | `Connection` | cuts what comes into messages, with their descriptors |
//! | `Request` | the content of a message |
//! | [`Driver`] | translates requests to what a PCI driver writes into BAR 0; no I/O |
//! | [`Function`] | BAR 0 and the host memory of a function: a design, or the fake of a test |
//!
//! The messages are those of QEMU's specification of vhost-user. The crate `vhost` of rust-vmm does
//! not serve: it refuses the memory table of User-Mode Linux, which has room for two regions and
//! one region in it.

mod connection;
mod driver;
mod function;
mod memory;
mod outcome;
mod port;
mod request;

pub use driver::{Driver, QUEUES};
pub use function::{Bar, Function};
pub use memory::{Memory, Place};
pub use outcome::Outcome;
pub use port::{Event, Port, TOKENS};
