//! netkv-roles
