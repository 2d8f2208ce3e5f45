//! Tests of the differential fuzzer. They are one binary, so that the compiler is linked once.

mod corpora;
mod mutant;
mod mutants;
mod programs;
mod replay;
mod short;
