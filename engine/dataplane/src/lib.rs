//! netkv-dataplane
