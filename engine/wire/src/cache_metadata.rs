//! Cache metadata: the header that describes a record of a write-through cache.

/// Cache metadata: the state of a cached key in the switch. The switch adds it to requests; server
/// and controller use it in messages to the switch and each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheMetadata {
    /// Number of the insertion of the key: given by the controller, never reused, never 0.
    pub generation: u32,
    /// Number of writes that passed the switch for this entry; compare with [`crate::is_newer`].
    pub version: u32,
    /// Value arrays of the entry: bit `i` (least significant is 0) is array `i`.
    pub bitmap: u8,
}
