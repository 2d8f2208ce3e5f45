"""Finds and checks the class of a role in Python, before anything runs."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Callable
from typing import Any, Literal

from netkv.errors import UsageError
from netkv.roles.interface import Server, SingleKeyClient, SingleKeyServer

PREFIX = "python:"
"""Prefix of the names of roles in Python."""

Kind = Literal["servers", "clients"]
log = logging.getLogger("netkv.roles")

_BASES: dict[Kind, tuple[type, ...]] = {
    "servers": (SingleKeyServer, Server),
    "clients": (SingleKeyClient,),
}


def check(kind: Kind, name: str) -> None:
    """Raises `UsageError` if `name` is a role in Python and its class is invalid."""
    if name.startswith(PREFIX):
        load(kind, name)


def load(kind: Kind, name: str) -> type:
    """The class of a role; raises `UsageError` if it is invalid."""
    found = _find(kind, name)
    bases = _BASES[kind]
    if not (isinstance(found, type) and issubclass(found, bases)):
        allowed = " or ".join(f"netkv.roles.{base.__name__}" for base in bases)
        raise UsageError(
            f"'{name}' is no role of {kind}: it must be a class that inherits {allowed}."
        )
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise UsageError(f"'{name}' is no role of {kind} yet: it has no {_listed(missing)}.")
    base = next(base for base in bases if issubclass(found, base))
    _check_methods(name, found, base)
    return found


def _find(kind: Kind, name: str) -> object:
    module, _, attribute = name.removeprefix(PREFIX).partition(":")
    if not module or not attribute.isidentifier():
        raise UsageError(
            f"'{name}' is no name of a role of {kind}; it looks like 'python:package.module:Class'."
        )
    try:
        return getattr(importlib.import_module(module), attribute)
    except AttributeError:
        raise UsageError(
            f"'{name}' is no role of {kind}: the module '{module}' has no '{attribute}'."
        ) from None
    except Exception as error:
        text = " ".join(str(error).split())
        raise UsageError(
            f"'{name}' is no role of {kind}: the module '{module}' cannot be imported: "
            f"{type(error).__name__}: {text}."
        ) from error


def _check_methods(name: str, found: type, base: type) -> None:
    """Raises `UsageError` if a method does not accept the parameters of the base class."""
    for method, declared in inspect.getmembers(base, inspect.isfunction):
        if method.startswith("_") and method != "__init__":
            continue
        own: Callable[..., Any] = getattr(found, method)
        parameters = list(inspect.signature(declared).parameters)
        if method == "__init__" and base is SingleKeyClient:
            parameters = ["self"]
        try:
            inspect.signature(own).bind(*parameters)
        except TypeError:
            raise UsageError(
                f"'{name}' cannot be used: its method {method} must take "
                f"({', '.join(parameters)}), as that of netkv.roles.{base.__name__} does."
            ) from None


def _listed(names: list[str]) -> str:
    return f"method {names[0]}" if len(names) == 1 else f"methods {', '.join(names)}"


def failure(role: type, method: str, error: BaseException) -> str:
    """The error message for an exception in a role; the trace goes to the log."""
    name = f"{role.__module__}:{role.__qualname__}"
    log.info("The role %s failed in %s.", name, method, exc_info=error)
    text = " ".join(str(error).split())
    return f"the role {name} failed in {method}: {type(error).__name__}" + (
        f": {text}" * bool(text)
    )
