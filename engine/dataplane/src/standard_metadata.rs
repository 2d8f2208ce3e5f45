//! Values of standard metadata.

/// The `egress_spec` that drops a packet.
pub const DROP_PORT: u64 = 511;

/// Values of `standard_metadata.instance_type`.
#[allow(missing_docs)]
pub mod instance {
    pub const NORMAL: u64 = 0;
    pub(crate) const INGRESS_CLONE: u64 = 1;
    pub const EGRESS_CLONE: u64 = 2;
    pub const RECIRCULATED: u64 = 4;
    pub const REPLICATED: u64 = 5;
    pub(crate) const RESUBMITTED: u64 = 6;
}
