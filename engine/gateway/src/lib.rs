//! A server of the Redis protocol for a running rack: `netkv gateway`, docs/use/gateway.md.
//!
//! | module | |
//! |---|---|
//! | `words`, `request`, `inline` | bytes of a connection → requests, with limits |
//! | `reply` | replies → bytes, RESP2 and RESP3 |
//! | `command`, `table` | the declaration of a command; all of them |
//! | `commands` | the command of a request, or its error |
//! | `local`, `catalogue`, `glob` | commands that the gateway answers itself |
//! | `work` | commands that the rack executes: their operations and replies |
//! | `keys`, `failure`, `text` | keys on the wire, errors of the rack, keys in texts |
//! | `order`, `permits`, `known` | dependencies in a pipeline, the limit of operations, DBSIZE |
//! | `connection`, `machine` | one client, and all of them, without sockets |
//! | `rack` | the rack: a session of an external client |
//! | `gateway` | sockets and the thread |
//!
//! The gateway has one thread, the session another: while the session sends and receives the frames
//! of some operations, the gateway parses the requests after them.

#![forbid(unsafe_code)]

mod catalogue;
mod client;
mod command;
mod commands;
mod connection;
mod failure;
mod foreign;
mod gateway;
mod glob;
mod inline;
mod keys;
mod known;
mod local;
mod machine;
mod order;
mod permits;
mod rack;
mod reply;
mod request;
mod server;
mod table;
mod text;
mod words;
mod work;

pub use gateway::{Gateway, Settings};
pub use rack::Rack;
