//! Limits of frames and batches.

/// Maximum number of messages in one system call, and of frames in a train.
pub const BATCH: usize = 64;
/// Maximum length of a frame that a port accepts, in bytes.
pub const FRAME_LIMIT: usize = 2048;
