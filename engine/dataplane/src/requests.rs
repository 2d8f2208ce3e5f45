//! What a pipeline asks the switch to do at its end.

use netkv_ir::DigestId;

/// In place of a field list: none.
pub const NO_LIST: u64 = u64::MAX;

/// What a pipeline asked for; carried out at its end, the last call of a kind wins. The layout is
/// fixed, because compiled code fills it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Requests {
    /// Which of [`Requests::CLONE`], `RESUBMIT`, `RECIRCULATE`, `DIGEST` are asked for.
    pub flags: u64,
    /// Session of the clone.
    pub clone_session: u64,
    /// Field list of the clone, or [`NO_LIST`].
    pub clone_list: u64,
    /// Field list of the resubmission, or [`NO_LIST`].
    pub resubmit_list: u64,
    /// Field list of the recirculation, or [`NO_LIST`].
    pub recirculate_list: u64,
    /// Digest type; the values are in [`crate::Packet::digest_values`].
    pub digest: u64,
    /// Bytes that leave at most.
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
            truncate: u64::MAX,
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
    /// A clone is asked for.
    pub const CLONE: u64 = 1;
    /// A resubmission.
    pub const RESUBMIT: u64 = 2;
    /// A recirculation.
    pub const RECIRCULATE: u64 = 4;
    /// A digest.
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

    /// Session and field list of a clone.
    pub(crate) fn take_clone(&mut self) -> Option<(u64, Option<u32>)> {
        self.take(Self::CLONE).then(|| (self.clone_session, list(self.clone_list)))
    }

    /// Field list of a resubmission.
    pub(crate) fn take_resubmit(&mut self) -> Option<Option<u32>> {
        self.take(Self::RESUBMIT).then(|| list(self.resubmit_list))
    }

    /// Field list of a recirculation.
    pub(crate) fn take_recirculate(&mut self) -> Option<Option<u32>> {
        self.take(Self::RECIRCULATE).then(|| list(self.recirculate_list))
    }

    /// Digest type.
    pub(crate) fn take_digest(&mut self) -> Option<DigestId> {
        self.take(Self::DIGEST).then_some(self.digest as DigestId)
    }

    /// What a copy of the packet keeps.
    pub(crate) fn for_copy(&self) -> Self {
        Self { truncate: self.truncate, ..Self::default() }
    }
}
