//! Why a front end is disconnected.

/// A result whose error is a sentence: why the front end is disconnected.
pub type Outcome<T> = Result<T, String>;
