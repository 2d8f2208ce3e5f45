"""The registry: which program, server role and control plane make a scheme."""

from netkv.schemes.registry import Scheme, all_schemes, compile_program, get, of

__all__ = ["Scheme", "all_schemes", "compile_program", "get", "of"]
