//! Tests of the checker of histories, but for that of its memory. They are one binary, so that the
//! engine is linked once.

mod common;
mod exhaustive_search;
mod long_histories;
mod refused_writes;
mod regular_register;
