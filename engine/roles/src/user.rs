//! Operations that somebody asks for by name, beside the load.

/// What a user asks for, with keys as users write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserOp<'a> {
    /// The values of these keys, all or none.
    Get(&'a [&'a [u8]]),
    /// Gives the key this value.
    Put(&'a [u8], &'a [u8]),
    /// Takes the key's value away.
    Delete(&'a [u8]),
}

/// How a user's operation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A value for each key that was asked for, in that order; none where there is none.
    Values(Vec<Option<Vec<u8>>>),
    /// It is done.
    Done,
    /// There was nothing under the key.
    NotFound,
    /// No answer came before the deadline. A write may or may not have been done.
    TimedOut {
        /// Who has not answered, in words.
        missing: String,
    },
    /// Nobody can tell whether the write was done.
    Unknown,
    /// It was not done, and why.
    Refused(String),
}

/// The end of a user's operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What the user calls the operation.
    pub token: u64,
    /// How it ended.
    pub outcome: Outcome,
}
