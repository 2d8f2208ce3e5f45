//! netkv-wire
