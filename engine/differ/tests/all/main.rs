//! Tests of the differential fuzzer, in one binary: it links the compiler once.

mod corpora;
mod mutant;
mod mutants;
mod programs;
mod record;
mod short;
