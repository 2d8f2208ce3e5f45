"""Finding the class that the name of a role leads to, and checking it before anything runs."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Callable
from typing import Any, Literal

from netkv.errors import UsageError
from netkv.roles.interface import Server, SingleKeyClient, SingleKeyServer

PREFIX = "python:"
"""The beginning of the names of such roles."""

Kind = Literal["servers", "clients"]
log = logging.getLogger("netkv.roles")

_BASES: dict[Kind, tuple[type, ...]] = {
    "servers": (SingleKeyServer, Server),
    "clients": (SingleKeyClient,),
}


def check(kind: Kind, name: str) -> None:
    """Raises `UsageError` if a role's name is one of Python and leads to no role of that kind."""
    if name.startswith(PREFIX):
        load(kind, name)


def load(kind: Kind, name: str) -> type:
    """The class that a name leads to; raises `UsageError`."""
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
    """Every method can be called as the engine calls that of the base."""
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
    """The sentence of a role that has raised; the trace goes to the log."""
    name = f"{role.__module__}:{role.__qualname__}"
    log.info("The role %s failed in %s.", name, method, exc_info=error)
    text = " ".join(str(error).split())
    return f"the role {name} failed in {method}: {type(error).__name__}" + (
        f": {text}" * bool(text)
    )
