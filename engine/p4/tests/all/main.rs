//! Tests of the compiler. They are one binary, so that the engine is linked once.

mod common;
mod errors;
mod files;
mod golden_packets;
mod lowering;
mod p4c_errors;
mod pragmas;
mod robustness;
