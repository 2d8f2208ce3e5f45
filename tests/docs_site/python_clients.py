"""The page of the Python clients: names, signatures and docstrings of their modules' source."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from tests.docs_site.markdown import escaped

_PACKAGES = {
    "netkv.client": "A program on a rack that is up",
    "netkv.api_client": "A program that uses a server of netkv (`netkv serve`)",
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def markdown() -> str:
    """What the packages export."""
    parts = [
        "# The Python clients\n\n"
        "Two packages are for programs of users: `netkv.client` for the records of a rack, "
        "`netkv.api_client` for experiments, runs and labs of a server. "
        "[client.md](../use/client.md) and [api.md](../use/api.md) explain them.\n"
    ]
    for package, title in _PACKAGES.items():
        module = importlib.import_module(package)
        parts.append(f"## {title}: `{package}`\n\n{_text(inspect.getdoc(module) or '')}\n")
        parts += [_exported(package, name) for name in module.__all__]
    return "\n".join(parts)


def _exported(package: str, name: str) -> str:
    folder = Path(importlib.import_module(package).__file__ or "").parent
    for file in sorted(folder.glob("*.py")):
        body = ast.parse(file.read_text()).body
        for at, node in enumerate(body):
            if isinstance(node, ast.ClassDef) and node.name == name:
                return _class(node)
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
                return f"### `{name}`\n\n{_text(_string(body, at + 1))}\n"
    raise LookupError(f"{package} exports {name}, which no module of it defines.")


def _class(node: ast.ClassDef) -> str:
    bases = ", ".join(map(ast.unparse, node.bases))
    parts = [f"### `{node.name}`\n"]
    if bases and bases != "TypedDict":
        parts.append(f"A kind of `{bases}`.\n")
    parts.append(f"{_text(ast.get_docstring(node) or '')}\n")
    fields = list(_fields(node))
    if fields:
        parts.append("".join(f"- `{name}`{text and ': '}{text}\n" for name, text in fields))
    if bases.endswith("Error"):
        return "\n".join(parts)
    for function in node.body:
        if isinstance(function, _Function) and _documented(function):
            parts.append(f"```python\n{_signature(function)}\n```\n")
            parts.append(f"{_text(ast.get_docstring(function) or '')}\n")
    return "\n".join(parts)


def _documented(function: _Function) -> bool:
    return function.name == "__init__" or not function.name.startswith("_")


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for at, each in enumerate(node.body):
        if isinstance(each, ast.AnnAssign) and not ast.unparse(each.target).startswith("_"):
            about = _text(_string(node.body, at + 1)).replace("\n", " ")
            yield f"{ast.unparse(each.target)}: {ast.unparse(each.annotation)}", about


def _signature(function: _Function) -> str:
    decorators = [
        f"@{name}\n"
        for each in function.decorator_list
        if (name := ast.unparse(each)) in ("property", "classmethod", "staticmethod")
    ]
    start = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
    arguments = ast.unparse(function.args)
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    line = f"{start} {function.name}({arguments}){returns}"
    if len(line) > 90:
        each = ",\n    ".join(_split(function.args))
        line = line.replace(f"({arguments})", f"(\n    {each}\n)")
    return "".join(decorators) + line


def _split(arguments: ast.arguments) -> list[str]:
    """The arguments one by one."""
    depth, found = 0, [""]
    for character in ast.unparse(arguments):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [each.strip() for each in found]


def _string(body: list[ast.stmt], at: int) -> str:
    """The docstring of the name that the statement before defines."""
    match body[at : at + 1]:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return inspect.cleandoc(text)
    return ""


def _text(docstring: str) -> str:
    return escaped(docstring)
