//! The roles of `netkv-roles`, each protection of which can be disabled: for tests only.
//!
//! The build script copies the source of that crate and applies the edits of `edits/` to the copy,
//! all at once: each as a choice at run time, so one build has every mutant. Without a choice, the
//! copy does what the source does. The crate that ships has none of this.

#![allow(warnings, missing_docs, clippy::all, clippy::pedantic)] // the copy is edited text

pub mod mutation;

pub use mutation::Mutation;

include!(concat!(env!("OUT_DIR"), "/src/lib.rs"));
