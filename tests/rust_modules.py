"""Circles among the modules of a Rust crate, which rustc allows and `make lint` does not.

A module is a file, at the path of its name: `#[path]` is refused. It depends on the modules of its
crate that define what its code names, however the path gets there: `crate::Node` is a dependency on
`rack/config.rs` if that file defines `Node` and the crate's root re-exports it. Declarations
(`mod name;`) and re-exports (`pub use`) give names and are no dependency, unless the file uses the
names itself. Code of tests (`#[cfg(test)]`) is not read.

What is not seen: a trait that comes by `use path::*` and whose methods alone are called, and the
modules in paths that a macro puts together.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

Module = tuple[str, ...]
Asked = frozenset[tuple[Module, str]]

ENGINE = Path(__file__).parents[1] / "engine"
RUST = Language(tree_sitter_rust.language())
COMMENTS = ("line_comment", "block_comment")
PATHS = ("scoped_identifier", "scoped_type_identifier")
NAMES = ("identifier", "type_identifier")
KEYWORDS = ("crate", "self", "super")
IN_TOKENS = ("identifier", "metavariable", *KEYWORDS)
ELSEWHERE = re.compile(r"#\[\s*path\b")
MACRO = re.compile(r"[\w:]+!")
WORD = re.compile(r"\w+")
PATH_IN_TEXT = re.compile(r"\w+(?:::\w+)+")


class ModuleElsewhereError(Exception):
    """A module has `#[path]`, so it is not at the path of its name."""


@dataclass
class Scope:
    """What the code of a file, or of an inline module in it, says of names."""

    file: Module
    """The module of the file."""
    paths: list[list[str]] = field(default_factory=list)
    """Paths of more than one name in the code, and those of `use` that are no re-exports."""
    names: set[str] = field(default_factory=set)
    """All names in the code."""
    declared: set[str] = field(default_factory=set)
    """Names of its items."""
    in_macros: set[str] = field(default_factory=set)
    """Names in macros that stand among its items, and may make items of these names."""
    imports: dict[str, list[str]] = field(default_factory=dict)
    """Names that `use` brings, each with its path."""
    globs: list[list[str]] = field(default_factory=list)
    """Paths of `use path::*`."""


@dataclass
class Found:
    """Where a path leads."""

    scope: Module
    rest: list[str]
    """The names after the last module: an item and what belongs to it. Empty: a module."""


def dependencies(source: Path) -> dict[Module, set[Module]]:
    """The modules of the crate with this `src` folder, and those that each depends on.

    Raises `ModuleElsewhereError`.
    """
    scopes: dict[Module, Scope] = {}
    tests: set[Module] = set()
    for file in sorted(source.rglob("*.rs")):
        module = module_of(file.relative_to(source))
        scopes[module] = Scope(module)
        try:
            visit(Parser(RUST).parse(file.read_bytes()).root_node, module, scopes, tests)
        except ModuleElsewhereError as error:
            raise ModuleElsewhereError(f"{file}: {error}") from error
    crate = Crate(
        {
            module: scope
            for module, scope in scopes.items()
            if not any(module[: len(test)] == test for test in tests)
        }
    )
    found: dict[Module, set[Module]] = {}
    for module, scope in crate.scopes.items():
        found.setdefault(scope.file, set()).update(crate.used(module) - {scope.file})
    return found


def circle(graph: Mapping[Module, set[Module]]) -> list[Module]:
    """The modules of a circle in their order, the first again as the last; empty without one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[Module] = error.args[1]
        return found[::-1]
    return []


def module_of(file: Path) -> Module:
    """The module of a file in `src`: `()` is the crate's root."""
    parts = file.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts


@dataclass
class Crate:
    """The modules of a crate, those within files included."""

    scopes: dict[Module, Scope]

    def used(self, module: Module) -> set[Module]:
        """The files that define what the code of a module names."""
        scope = self.scopes[module]
        brought = [[name] for name in scope.names if self.import_of(module, name) is not None]
        found = [self.resolve(module, path) for path in (*scope.paths, *brought)]
        reached = {each.scope for each in found if each is not None}
        return {self.scopes[each].file for each in reached if each in self.scopes}

    def resolve(self, module: Module, path: list[str], asked: Asked = frozenset()) -> Found | None:
        """Where a path in a module leads; `None` if that is not in this crate.

        `asked`: the names whose imports are being followed, so that a circle of imports ends.
        """
        head, *names = path
        if head == "crate":
            return self.within((), names, asked)
        if head in ("self", "super"):
            start, names = module, path
            while names and names[0] in ("self", "super"):
                start, names = (start[:-1] if names[0] == "super" else start), names[1:]
            return self.within(start, names, asked)
        return self.within(module, path, asked) if self.has(module, head, asked) else None

    def within(self, module: Module, names: list[str], asked: Asked) -> Found | None:
        """Where names lead from a module."""
        while names:
            name, *names = names
            if (*module, name) in self.scopes:
                module = (*module, name)
                continue
            path = self.import_of(module, name, asked)
            if path is None or (module, name) in asked:
                return Found(module, [name, *names])
            asked |= {(module, name)}
            found = self.resolve(module, path, asked)
            if found is None or found.rest:
                return found
            module = found.scope
        return Found(module, [])

    def import_of(self, module: Module, name: str, asked: Asked = frozenset()) -> list[str] | None:
        """The path that a name of a module stands for, if the module does not declare it itself."""
        scope = self.scopes[module]
        if (module, name) in asked:
            return None
        if name in scope.imports:
            return scope.imports[name]
        if name in scope.declared:
            return None
        asked |= {(module, name)}
        for glob in scope.globs:
            found = self.resolve(module, glob, asked)
            if found is not None and not found.rest and self.has(found.scope, name, asked):
                return [*glob, name]
        return None

    def has(self, module: Module, name: str, asked: Asked) -> bool:
        """Whether a module declares a name or imports it."""
        scope = self.scopes[module]
        return (
            (*module, name) in self.scopes
            or name in scope.declared | scope.in_macros
            or self.import_of(module, name, asked) is not None
        )


def visit(node: Node, module: Module, scopes: dict[Module, Scope], tests: set[Module]) -> None:
    """Add what is below a node of the code of a module; modules for tests to `tests`."""
    scope = scopes[module]
    among_items = node.type == "source_file" or (
        node.parent is not None and node.parent.type == "mod_item"
    )
    for child, attributes in items(node):
        tested = any(text(it).replace(" ", "").startswith("#[cfg(test)") for it in attributes)
        name = child.child_by_field_name("name")
        if child.type == "mod_item":
            inner = (*module, text(name))
            if tested:
                tests.add(inner)
            elif child.child_by_field_name("body") is not None:
                scopes[inner] = Scope(scope.file)
                visit(child, inner, scopes, tests)
            elif any(ELSEWHERE.match(text(it)) for it in attributes):
                raise ModuleElsewhereError(f"the module '{inner[-1]}' has a '#[path]'.")
            continue
        if tested:
            continue
        for attribute in attributes:
            add_attribute(attribute, scope)
        if child.type == "use_declaration":
            add_use(child, scope, among_items)
            continue
        if among_items and name is not None:
            scope.declared.add(text(name))
        if among_items and MACRO.match(text(child)):
            scope.in_macros |= set(WORD.findall(text(child)))
        if child.type in PATHS:
            scope.paths.append(text(child).split("<")[0].replace(" ", "").split("::"))
        elif child.type == "token_tree":
            scope.paths += tokens(child)
        elif child.type in NAMES:
            scope.names.add(text(child))
        visit(rest_of(child), module, scopes, tests)


def rest_of(path: Node) -> Node:
    """What is left to visit below a node: of `a::b::c` not `a::b`, which is part of the path."""
    before = path.child_by_field_name("path")
    while path.type in PATHS and before is not None and before.type in PATHS:
        path, before = before, before.child_by_field_name("path")
    return path


def items(parent: Node) -> Iterator[tuple[Node, list[Node]]]:
    """The children of a node, each with its attributes."""
    attributes: list[Node] = []
    for child in parent.named_children:
        if child.type == "attribute_item":
            attributes.append(child)
        elif child.type not in COMMENTS:
            yield child, attributes
            attributes = []


def add_attribute(attribute: Node, scope: Scope) -> None:
    """Add the paths in an attribute, those in texts (`#[serde(default = "path")]`) included."""
    scope.paths += [path.split("::") for path in PATH_IN_TEXT.findall(text(attribute))]


def add_use(use: Node, scope: Scope, among_items: bool) -> None:
    """Add the names of a `use`, which is a dependency unless it re-exports them.

    Those of a `use` in a function are added, too, but take no name of the module's own.
    """
    argument = use.child_by_field_name("argument")
    assert argument is not None
    public = any(child.type == "visibility_modifier" for child in use.children)
    for name, path in imported(argument):
        if not public:
            scope.paths.append(path)
        if name is None:
            scope.globs.append(path)
        elif path != [name] and (among_items or name not in scope.imports):
            scope.imports[name] = path  # not `pub(crate) use name;`, after a macro of this name


def imported(tree: Node) -> Iterator[tuple[str | None, list[str]]]:
    """The names that a `use` brings, `None` for all, and their paths."""
    if tree.type == "scoped_use_list":
        start = tree.child_by_field_name("path")
        head = text(start).split("::") if start is not None else []
        listed = tree.child_by_field_name("list")
        assert listed is not None
        for name, entry in imported(listed):
            if entry == ["self"]:
                yield (head[-1] if name == "self" else name), head
            else:
                yield name, [*head, *entry]
    elif tree.type == "use_list":
        for child in tree.named_children:
            if child.type not in COMMENTS:
                yield from imported(child)
    elif tree.type == "use_as_clause":
        yield (
            text(tree.child_by_field_name("alias")),
            text(tree.child_by_field_name("path")).split("::"),
        )
    elif tree.type == "use_wildcard":
        yield None, [name for name in text(tree).split("::") if name != "*"]
    else:
        path = text(tree).split("::")
        yield path[-1], path


def tokens(tree: Node) -> Iterator[list[str]]:
    """The paths in the arguments of a macro, which have no syntax of their own."""
    path: list[str] = []
    for child in tree.children:
        word = text(child).removeprefix("$") if child.type in IN_TOKENS else ""
        if word and (not path or path[-1] == "::"):
            path.append(word)
        elif child.type == "::" and path:
            path.append("::")
        else:
            if "::" in path:
                yield [name for name in path if name != "::"]
            path = [word] if word else []
    if "::" in path:
        yield [name for name in path if name != "::"]


def text(node: Node | None) -> str:
    """The source of a node."""
    assert node is not None
    assert node.text is not None
    return node.text.decode()


def main() -> int:
    """Print a circle of each crate that has one."""
    failed = False
    for source in sorted(ENGINE.glob("**/src")):
        found = circle(dependencies(source))
        if found:
            failed = True
            names = " -> ".join("::".join(("crate", *module)) for module in found)
            print(f"{source.relative_to(ENGINE.parent)}: a circle of modules: {names}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
