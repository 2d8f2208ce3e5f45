//! The state of a server, and of requests under way.

use std::collections::VecDeque;

use netkv_wire::multiget::{Answer, Header, OnBehalf, View};
use netkv_wire::{Ip, Key};
use netkv_workload::WireKey;
use rustc_hash::FxHashMap;

use super::config::ServerConfig;
use crate::ServerStats;
use crate::common::copies::Copies;
use crate::common::service::Service;
use crate::common::slots::Slots;
use crate::common::window::Window;
use crate::kits::multiget::results::Results;

/// The purpose of a storage call.
#[derive(Debug)]
pub(super) enum Call {
    /// A key of a read: which read, and which of its keys.
    Read(u32, usize),
    /// A write.
    Write(Box<Write>),
}

/// Sender and header of a request, to answer it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requester {
    pub(super) ip: Ip,
    pub(super) header: Header,
}

/// The identity of a request: its sender, ID, STARTIDX and NUMKEY.
pub(super) type Request = (Ip, u32, u8, u8);

impl Requester {
    pub(super) fn of(view: &View<'_>) -> Self {
        Self { ip: view.source(), header: *view.header() }
    }

    pub(super) fn request(&self) -> Request {
        let Header { id, startidx, numkey, .. } = self.header;
        (self.ip, id, startidx, numkey)
    }
}

/// One partition's storage server shim. The comment of the parent module has its rules.
#[derive(Debug)]
pub struct Server {
    pub(super) config: ServerConfig,
    pub(super) windows: FxHashMap<u16, Window<Answer>>,
    /// Waiting writes, for each key with a write under way.
    pub(super) waiting: FxHashMap<Key, VecDeque<Write>>,
    pub(super) reads: Slots<Reading>,
    /// Keys of reads that the store has not answered.
    pub(super) reading: usize,
    pub(super) calls: Slots<Call>,
    /// Reads until they are answered, and writes until they are served; from then on `windows` has
    /// them.
    pub(super) copies: Copies<Request>,
    pub(super) service: Option<Service>,
    pub(super) spare_results: Vec<Results>,
    pub(super) stats: ServerStats,
    /// Keys of accepted reads.
    pub(super) keys_read: u64,
}

/// A read that waits for the store.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) requester: Requester,
    pub(super) results: Results,
    /// Number of calls under way.
    pub(super) left: usize,
    pub(super) failed: bool,
}

/// A write from its arrival to its reply.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) requester: Requester,
    /// The client and request of the write.
    pub(super) origin: OnBehalf,
    pub(super) key: Key,
    pub(super) name: WireKey,
    pub(super) value: Vec<u8>,
}
