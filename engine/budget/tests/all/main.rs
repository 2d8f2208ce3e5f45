//! Tests of the budget of resources. They are one binary, so that the engine is linked once.

mod accesses;
mod all_programs;
mod common;
mod placement;
mod write_back;
