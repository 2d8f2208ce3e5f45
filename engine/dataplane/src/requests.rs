//! Actions that a program requests for the end of ingress or egress: clone, resubmit, recirculate,
//! digest and truncate.

use netkv_ir::DigestId;

/// Value of a field list index that stands for no list.
pub const NO_LIST: u64 = u64::MAX;

/// Value of [`Requests::truncate`] without a limit.
pub const NO_LIMIT: u64 = u64::MAX;

/// Requests of a packet. The last request of a kind replaces earlier ones. The layout is fixed,
/// because compiled code writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Requests {
    /// Requested kinds: [`Requests::CLONE`], `RESUBMIT`, `RECIRCULATE`, `DIGEST`.
    pub flags: u64,
    /// Clone session.
    pub clone_session: u64,
    /// Field list of the clone, or [`NO_LIST`].
    pub clone_list: u64,
    /// Field list of the resubmission, or [`NO_LIST`].
    pub resubmit_list: u64,
    /// Field list of the recirculation, or [`NO_LIST`].
    pub recirculate_list: u64,
    /// Digest type; the values are in [`crate::Packet::digest_values`].
    pub digest: u64,
    /// Maximum length of the transmitted packet in bytes. Copies of the packet do not have it, but
    /// fewer bytes (see [`crate::Packet::cut_payload`]).
    pub truncate: u64,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            flags: 0,
            clone_session: 0,
            clone_list: NO_LIST,
            resubmit_list: NO_LIST,
            recirculate_list: NO_LIST,
            digest: 0,
            truncate: NO_LIMIT,
        }
    }
}

fn word(list: Option<u32>) -> u64 {
    list.map_or(NO_LIST, u64::from)
}

fn list(word: u64) -> Option<u32> {
    u32::try_from(word).ok()
}

impl Requests {
    /// Flag of a clone.
    pub const CLONE: u64 = 1;
    /// Flag of a resubmission.
    pub const RESUBMIT: u64 = 2;
    /// Flag of a recirculation.
    pub const RECIRCULATE: u64 = 4;
    /// Flag of a digest.
    pub const DIGEST: u64 = 8;

    pub(crate) fn set_clone(&mut self, session: u64, field_list: Option<u32>) {
        self.flags |= Self::CLONE;
        (self.clone_session, self.clone_list) = (session, word(field_list));
    }

    pub(crate) fn set_resubmit(&mut self, field_list: Option<u32>) {
        self.flags |= Self::RESUBMIT;
        self.resubmit_list = word(field_list);
    }

    pub(crate) fn set_recirculate(&mut self, field_list: Option<u32>) {
        self.flags |= Self::RECIRCULATE;
        self.recirculate_list = word(field_list);
    }

    pub(crate) fn set_digest(&mut self, digest: DigestId) {
        self.flags |= Self::DIGEST;
        self.digest = u64::from(digest);
    }

    fn take(&mut self, flag: u64) -> bool {
        let asked = self.flags & flag != 0;
        self.flags &= !flag;
        asked
    }

    /// Removes the request of a clone. Returns its session and field list.
    pub(crate) fn take_clone(&mut self) -> Option<(u64, Option<u32>)> {
        self.take(Self::CLONE).then(|| (self.clone_session, list(self.clone_list)))
    }

    /// Removes the request of a resubmission. Returns its field list.
    pub(crate) fn take_resubmit(&mut self) -> Option<Option<u32>> {
        self.take(Self::RESUBMIT).then(|| list(self.resubmit_list))
    }

    /// Removes the request of a recirculation. Returns its field list.
    pub(crate) fn take_recirculate(&mut self) -> Option<Option<u32>> {
        self.take(Self::RECIRCULATE).then(|| list(self.recirculate_list))
    }

    /// Removes the request of a digest. Returns its type.
    pub(crate) fn take_digest(&mut self) -> Option<DigestId> {
        self.take(Self::DIGEST).then_some(self.digest as DigestId)
    }

    /// Limits the length of the packet. The smallest of several limits counts.
    pub(crate) fn set_truncate(&mut self, bytes: u64) {
        self.truncate = self.truncate.min(bytes);
    }

    /// The requests of a copy of the packet.
    pub(crate) fn for_copy(&self) -> Self {
        Self { truncate: self.truncate, ..Self::default() }
    }
}
