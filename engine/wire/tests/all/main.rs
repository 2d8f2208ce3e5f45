//! Tests of the codec. They are one binary, so that the engine is linked once.

mod corruption;
mod frames;
