"""FPGA designs: translation of their RTL to C++, builds, manifests and registers."""
