//! The two drivers of switch and protocol roles.
//!
//! [`sim`] has virtual time and modelled links, queues and processors. The rest is the live driver:
//! wall clock and sockets.
//!
//! Live, a switch port is a UDP socket on loopback and a frame is a datagram. Each node is one
//! thread that waits for its sockets and timers, moves frames in batches, and drives a state
//! machine without I/O: [`netkv_dataplane::Switch`], or a role of [`netkv_roles::registry`].

pub mod applied;
pub mod backlog;
pub mod burst;
pub mod card;
pub mod client;
pub mod clock;
mod command;
pub mod config;
pub mod coordinator;
pub mod counters;
pub mod echo;
mod endpoint;
mod generator;
pub mod impair;
mod impaired_links;
pub mod latencies;
pub mod load;
pub mod lock;
pub mod pipeline;
pub mod record;
mod sample;
mod saturation;
pub mod sequenced;
pub mod server;
pub mod session;
pub mod sim;
pub mod store;
pub mod switch;
pub mod sys;
pub mod vhost;
pub mod worker;
pub mod workload;
