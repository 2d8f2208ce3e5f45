"""Circles among the modules of a Rust crate, which rustc allows and `make lint` does not.

A module is a file. It depends on the modules of its crate that define what its code names, however
the path gets there: `crate::Node` is a dependency on `rack/config.rs` if that file defines `Node`
and the crate's root re-exports it. Declarations (`mod name;`) and re-exports (`pub use`) give names
and are no dependency. Code of tests (`#[cfg(test)]`) is not read.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

Module = tuple[str, ...]

ENGINE = Path(__file__).parents[1] / "engine"
RUST = Language(tree_sitter_rust.language())
COMMENTS = ("line_comment", "block_comment")
PATHS = ("scoped_identifier", "scoped_type_identifier")
NAMES = ("identifier", "type_identifier")
KEYWORDS = ("crate", "self", "super")


@dataclass
class Reference:
    """A path in the code: its names, and the inline modules that it stands in."""

    names: list[str]
    inside: Module


@dataclass
class Source:
    """What a file says of modules."""

    paths: list[Reference] = field(default_factory=list)
    #: Names that `use` brings into the file, each with its path; a name that is re-exported may
    #: stand for something the file does not use itself.
    imports: dict[str, list[str]] = field(default_factory=dict)
    reexports: set[str] = field(default_factory=set)
    #: Paths of `use path::*`.
    globs: list[list[str]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    modules_of_tests: set[str] = field(default_factory=set)


def dependencies(source: Path) -> dict[Module, set[Module]]:
    """The modules of the crate with this `src` folder, and those that each depends on."""
    sources = {
        module_of(file.relative_to(source)): read(file) for file in sorted(source.rglob("*.rs"))
    }
    tests = {(*module, name) for module, file in sources.items() for name in file.modules_of_tests}
    crate = Crate(
        {
            module: file
            for module, file in sources.items()
            if not any(module[: len(test)] == test for test in tests)
        }
    )
    return {module: crate.used(module) - {module} for module in crate.sources}


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
    """The modules of a crate."""

    sources: dict[Module, Source]

    def used(self, module: Module) -> set[Module]:
        """The modules that define what the code of a module names."""
        source = self.sources[module]
        found = {self.definition(module, path.names, path.inside) for path in source.paths}
        found |= {
            self.definition(module, source.imports[name], ())
            for name in source.reexports & source.names
        }
        return {module for module in found if module is not None}

    def definition(
        self,
        module: Module,
        path: list[str],
        inside: Module = (),
        asked: frozenset[tuple[Module, str]] = frozenset(),
    ) -> Module | None:
        """The module that defines what a path names; `None` if that is not of this crate."""
        here = (*module, *inside)
        head, *names = path
        start: Module = ()
        if head == "crate":
            pass
        elif head in ("self", "super"):
            start, names = here, path
            while names and names[0] in ("self", "super"):
                start, names = (start[:-1] if names[0] == "super" else start), names[1:]
        elif len(path) > 1 and self.brings(here, head):
            start, names = here, path
        else:
            return None
        while names and (*start, names[0]) in self.sources:
            start, names = (*start, names[0]), names[1:]
        if start not in self.sources:  # an inline module
            return module
        return self.named(start, names[0], asked) if names else start

    def brings(self, module: Module, name: str) -> bool:
        """Whether a file has a module of this name below it, or imports something of this name."""
        return (*module, name) in self.sources or (
            module in self.sources and name in self.sources[module].imports
        )

    def named(self, module: Module, name: str, asked: frozenset[tuple[Module, str]]) -> Module:
        """The module that defines a name of a module, which may import it."""
        if (module, name) in asked:
            return module
        asked |= {(module, name)}
        source = self.sources[module]
        if name in source.imports:
            return self.definition(module, source.imports[name], (), asked) or module
        for path in source.globs:
            target = self.definition(module, path, (), asked)
            if target is not None and name in self.sources[target].names:
                return self.named(target, name, asked)
        return module


def read(file: Path) -> Source:
    """What a file says of modules."""
    source = Source()
    visit(Parser(RUST).parse(file.read_bytes()).root_node, (), source)
    return source


def visit(node: Node, inside: Module, source: Source) -> None:
    """Add what is below a node, in these inline modules."""
    for child, tested in items(node):
        if child.type == "mod_item":
            name = text(child.child_by_field_name("name"))
            if tested and child.child_by_field_name("body") is None:
                source.modules_of_tests.add(name)
            elif not tested:
                visit(child, (*inside, name), source)
        elif tested:
            continue
        elif child.type == "use_declaration":
            add_use(child, inside, source)
        else:
            if child.type in PATHS:
                names = text(child).split("<")[0].replace(" ", "").split("::")
                source.paths.append(Reference(names, inside))
            elif child.type == "token_tree":
                source.paths += [Reference(names, inside) for names in tokens(child)]
            elif child.type in NAMES:
                source.names.add(text(child))
            visit(rest_of(child), inside, source)


def rest_of(path: Node) -> Node:
    """What is left to visit below a node: of `a::b::c` not `a::b`, which is part of the path."""
    before = path.child_by_field_name("path")
    while path.type in PATHS and before is not None and before.type in PATHS:
        path, before = before, before.child_by_field_name("path")
    return path


def items(parent: Node) -> Iterator[tuple[Node, bool]]:
    """The children of a node, and whether an attribute keeps each for tests."""
    tested = False
    for child in parent.named_children:
        if child.type == "attribute_item":
            tested = tested or text(child).replace(" ", "").startswith("#[cfg(test)")
        elif child.type not in COMMENTS:
            yield child, tested
            tested = False


def add_use(use: Node, inside: Module, source: Source) -> None:
    """Add the names of a `use`, which is a dependency unless it re-exports them."""
    argument = use.child_by_field_name("argument")
    assert argument is not None
    public = any(child.type == "visibility_modifier" for child in use.children)
    for name, names in imported(argument):
        if not public:
            source.paths.append(Reference(names, inside))
        if inside:
            continue
        if name is None:
            source.globs.append(names)
        else:
            source.imports[name] = names
            if public:
                source.reexports.add(name)


def imported(tree: Node) -> Iterator[tuple[str | None, list[str]]]:
    """The names that a `use` brings, `None` for all, and their paths."""
    if tree.type == "scoped_use_list":
        start = tree.child_by_field_name("path")
        head = text(start).split("::") if start is not None else []
        listed = tree.child_by_field_name("list")
        assert listed is not None
        for name, entry in imported(listed):
            path = [*head, *entry]
            yield (head[-1], head) if entry == ["self"] else (name, path)
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
        yield None, text(tree).removesuffix("*").removesuffix("::").split("::")
    else:
        path = text(tree).split("::")
        yield path[-1], path


def tokens(tree: Node) -> Iterator[list[str]]:
    """The paths in the arguments of a macro, which have no syntax of their own."""
    path: list[str] = []
    for child in tree.children:
        if child.type in ("identifier", *KEYWORDS) and (not path or path[-1] == "::"):
            path.append(text(child))
        elif child.type == "::" and path:
            path.append("::")
        else:
            if "::" in path:
                yield [name for name in path if name != "::"]
            path = [text(child)] if child.type in ("identifier", *KEYWORDS) else []
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
