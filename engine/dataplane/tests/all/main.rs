//! Tests of the data plane. They are one binary, so that the engine is linked once.

mod common;
mod control_plane_objects;
mod control_plane_tables;
mod expressions;
mod golden_cache_read;
mod packet_processing;
mod program_validation;
mod several_pipelines;
mod shared_switch;
