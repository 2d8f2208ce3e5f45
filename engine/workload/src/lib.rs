//! netkv-workload
