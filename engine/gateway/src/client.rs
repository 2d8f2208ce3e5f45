//! The state of a client that commands read and change.

use crate::reply::Version;

/// One client, as commands see it.
#[derive(Debug, Default)]
pub struct Client {
    /// Its number, from 1.
    pub id: u64,
    /// Of the protocol.
    pub version: Version,
    /// As CLIENT SETNAME has set it; empty without one.
    pub name: Vec<u8>,
    /// It has sent MULTI, which was refused, and not yet EXEC or DISCARD.
    pub transaction: bool,
    /// It has sent QUIT: the connection closes after the pending replies.
    pub quits: bool,
}
