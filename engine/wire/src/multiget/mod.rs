//! Wire format of multigets (NetMC, CliMC, CoordiMC), whose frames have several keys.
//!
//! A frame is Ethernet, IPv4 and UDP to [`MULTIGET_PORT`] as in the rest of the crate, then the
//! header of the NetMC paper (section III-B), with the number of SRV fields and the width of KEYIDX
//! that the switch program was compiled with ([`Fields`]), and the id of the rack whose switch
//! splits the request. The header is followed by
//!
//! - in MGET, GET and DELETE: the keys, each after its length (1 byte). A sub-request contains all
//!   keys of its request, and requests NUMKEY of them from STARTIDX on;
//! - in PUT: the key, and the value after its length (2 bytes);
//! - in replies: the [`Answer`]. If it is `Ok`, an entry for each key follows: the key, whether it
//!   was found, and for reads the value.
//!
//! A PUT or DELETE of a coordinator ends with the client and its request number. Servers recognize
//! copies of the write by them, also after a restart of the coordinator. All fields are big-endian;
//! `docs/schemes/netmc.md` describes the layout.

mod address;
mod group;
mod header;
mod layout;
#[cfg(test)]
mod tests;
mod view;
mod write;

pub use address::{COORDINATOR_IP, owner, rack_of, splitter_ip};
pub use group::{Groups, group, group_first};
pub use header::{Answer, Header, Op};
pub use layout::{
    Fields, MAX_FIELDS, MAX_KEY, MAX_KEYS, MAX_MTU, MIN_KEY, MTU, MULTIGET_PORT, PAPER_SPLIT_KEYS,
    keys_that_fit,
};
pub use view::{Entries, Entry, Keys, Malformed, View};
pub use write::{Addresses, OnBehalf, ReplyWriter, entry_len, write_keys, write_put};
