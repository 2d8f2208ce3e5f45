"""The schemes that netkv can compare: a folder for each, and the registry that finds them."""

from netkv.schemes.checks import of
from netkv.schemes.registry import all_schemes, default, get
from netkv.schemes.scheme import Scheme, compile_program

__all__ = ["Scheme", "all_schemes", "compile_program", "default", "get", "of"]
