//! Tests of nodes. They are one binary, so that the engine is linked once.

mod impaired_links;
mod lanes;
mod load;
mod pipeline_threads;
mod small_switch;
mod switch_node;
