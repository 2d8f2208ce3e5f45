//! Memcached's binary protocol over UDP: GET, SET and DELETE of single keys, one operation in a
//! datagram. Clients and servers are those of [`crate::kits::single_key`]; this module translates
//! their frames, and adds conditional writes.
//!
//! Rules
//! -----
//! 1. A client sends each operation once. An operation without a reply ends at its deadline. Only
//!    reads of the final verification are repeated.
//! 2. The opaque number of a request is the client's request number. A client has an address of
//!    its own, and one UDP port.
//! 3. A server carries out a write once, and does not reply to copies of it.
//! 4. Each write gives its item a CAS version from a counter of the server. All items that the
//!    present incarnation of a server has not written have one version, which no other incarnation
//!    uses.
//! 5. A SET with a CAS version other than 0 takes effect only if its item has this version.
//!    Otherwise the server refuses it: EXISTS, or NOT_FOUND if there is no item. As versions never
//!    return, it refuses all copies of it, too.
//! 6. A client uses the version of its last read of a key for one conditional SET. Without such a
//!    version, the SET is unconditional.
//!
//! Rule 3 differs from memcached, which carries out a copy of a write again, even if another write
//! came between: then no history of its clients is linearizable if the network copies datagrams,
//! with or without a cache. Also, a DELETE of a missing key succeeds here.

mod client;
mod conditions;
mod frames;
mod items;
mod server;

use crate::entries::{ClientEntry, Roles, ServerEntry};
use crate::records::Keying;

const NAME: &str = "memcached";

pub(crate) const ROLES: Roles = Roles {
    servers: &[ServerEntry {
        name: NAME,
        keying: |_| Keying::Ranges,
        keeps_sequences: false,
        frames: |_| Box::new(frames::MemcachedFrames),
        restore: &|options, now, applied| {
            Ok(Box::new(server::Server::restore(options, now, applied)))
        },
    }],
    clients: &[ClientEntry { name: NAME, load: &client::load_client, users: &client::user_client }],
    ..Roles::NONE
};
