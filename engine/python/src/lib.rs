//! netkv-python
