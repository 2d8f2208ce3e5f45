"""The search for circles of Rust modules finds each way in which a module can need another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rust_modules import circle, dependencies


def crate(folder: Path, **files: str) -> Path:
    """A crate's `src` with these modules; `__` in a name stands for `/`."""
    for name, text in files.items():
        file = folder / f"{name.replace('__', '/')}.rs"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "code",
    [
        "use crate::b::Item;",
        "use super::b::{Item as Other, two};",
        "use crate::{a, b::Item};",
        "use crate::b::*;",
        "use crate::Item;",
        "use crate::b;",
        "fn f() -> crate::b::Item { todo!() }",
        "fn f() { crate::b::two() }",
        'fn f() { println!("{}", crate::b::two()) }',
        "mod inner { fn f() { super::super::b::two() } }",
        "impl Item for crate::b::Item {}",
    ],
)
def test_a_path_is_a_dependency(tmp_path: Path, code: str) -> None:
    source = crate(
        tmp_path,
        lib="mod a; mod b;\npub use b::Item;",
        a=code,
        b="pub struct Item; pub fn two() {}",
    )
    assert dependencies(source) == {(): set(), ("a",): {("b",)}, ("b",): set()}


@pytest.mark.parametrize(
    "code",
    [
        "use std::fmt;",
        "use other::b::Item;",
        "// crate::b::Item",
        '/// [`crate::b::Item`]\nfn f() { "crate::b::two()"; }',
        "#[cfg(test)]\nmod tests { use crate::b::Item; }",
        "#[cfg(test)]\nuse crate::b::Item;",
        "pub use crate::b::Item;",
    ],
)
def test_what_the_code_does_not_use_is_no_dependency(tmp_path: Path, code: str) -> None:
    source = crate(tmp_path, lib="mod a; mod b;", a=code, b="pub struct Item;")
    assert dependencies(source)[("a",)] == set()


def test_a_name_that_is_given_on_and_used_is_a_dependency(tmp_path: Path) -> None:
    source = crate(
        tmp_path,
        lib="mod a; mod b;",
        a="pub use crate::b::Item;\nfn f(item: Item) {}",
        b="pub struct Item;",
    )
    assert dependencies(source)[("a",)] == {("b",)}


def test_a_child_that_needs_its_parent_closes_a_circle(tmp_path: Path) -> None:
    source = crate(
        tmp_path,
        lib="mod a;",
        a__mod="mod child;\nuse child::make;\npub struct Limit;\nfn f() { make() }",
        a__child="use super::Limit;\npub fn make() {}",
        a__unused="use super::Limit;",
    )
    found = circle(dependencies(source))
    assert sorted(found[1:]) == [("a",), ("a", "child")]
    assert found[0] == found[-1]


def test_modules_for_tests_are_not_read(tmp_path: Path) -> None:
    source = crate(
        tmp_path,
        lib="pub mod a;\n#[cfg(test)]\nmod tests;",
        a="pub fn f() {}",
        tests__mod="use crate::a;\nmod deep;",
        tests__deep="use crate::tests;",
    )
    assert dependencies(source) == {(): set(), ("a",): set()}
    assert circle(dependencies(source)) == []
