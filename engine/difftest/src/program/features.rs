//! The features of P4 that a generated program may use.

/// Features that only some programs may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    /// Random numbers, time and queues: each switch has its own.
    pub(super) nondeterminism: bool,
    /// Assertions that may be false: bmv2 ends at one.
    pub(super) false_assertions: bool,
    /// Loops: the p4c of a bmv2 may not have them.
    pub(super) loops: bool,
    /// Header unions: bmv2 reads the fields of their invalid headers from another place.
    pub(super) unions: bool,
    /// Indices into arrays and stacks that may be out of range. A bmv2 that is built without
    /// assertions does not check the index of an array, and ends at that of a stack.
    pub(super) any_index: bool,
    /// Concatenation to a signed number: p4c loses its type. Assignment to a slice of a signed
    /// number: p4c refuses it.
    pub(super) signed_parts: bool,
    /// Direct meters: each switch has its own clock.
    pub(super) direct_meters: bool,
    /// Action profiles and selectors: each switch has its own way to select a member.
    pub(super) action_profiles: bool,
    /// A header that begins inside a byte of a hash's input: bmv2 hashes headers at byte boundaries
    /// only.
    pub(super) unaligned_hash_input: bool,
}

impl Features {
    /// All features.
    pub(super) const ALL: Self = Self::all(true);
    /// The features that p4c accepts for bmv2, and that all switches execute alike.
    pub(super) const PORTABLE: Self = Self::all(false);

    const fn all(allowed: bool) -> Self {
        Self {
            nondeterminism: allowed,
            false_assertions: allowed,
            loops: allowed,
            unions: allowed,
            any_index: allowed,
            signed_parts: allowed,
            direct_meters: allowed,
            action_profiles: allowed,
            unaligned_hash_input: allowed,
        }
    }
}
