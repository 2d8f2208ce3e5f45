//! netkv-rack
