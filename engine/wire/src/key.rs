//! Keys.

/// A key: always 16 bytes.
pub type Key = [u8; 16];
