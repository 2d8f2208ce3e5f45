//! Tests of the benchmarks. They are one binary, so that the engine is linked once.

mod all_kinds;
mod multigets;
mod netkv_programs;
mod programs;
mod threads;
mod yardstick;
