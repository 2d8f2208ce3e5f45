//! Tests of the compiled executor. They are one binary, so that the engine is linked once.

mod assertions;
mod both;
mod cells;
mod checksums;
mod clones;
mod copies;
mod counts;
mod executor;
mod golden;
mod intervals;
mod pipelines;
mod programs;
mod recirculations;
