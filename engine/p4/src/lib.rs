//! netkv-p4
