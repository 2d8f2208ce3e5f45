//! Roles written in Python; `netkv/roles` has their interface. The registry's [`Loader`] finds them
//! by name.
//!
//! Each call of a role takes the interpreter lock, while its node may hold locks of its own. So a
//! thread must release the interpreter lock before it calls a node (`detach`), or both would wait
//! for each other.

mod client;
mod interned;
mod loader;
mod role;
mod server;
mod single_key;

pub use loader::register;
