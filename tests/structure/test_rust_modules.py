"""The search for circles of Rust modules finds each way in which a module can need another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rust_modules import ModuleElsewhereError, circle, dependencies


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
        "fn f() { <crate::b::Item as Default>::default() }",
        "fn f() { g::<crate::b::Item>() }",
        "fn f() { use crate::b::two; two() }",
        "fn f() { use crate::{b as c}; c::two() }",
        "fn f() { assert!(vec![1 + crate::b::two()].is_empty()) }",
        "macro_rules! two { () => { $crate::b::two() } }",
        "#[crate::b::two]\nfn f() {}",
        '#[serde(default = "crate::b::two")]\nstruct Own;',
        "use crate::{b::{self as c, two}};",
        "use {crate::b::Item, std::fmt};",
        "use crate::b::{*};",
        "use self::super::b::Item;",
        "pub(crate) use crate::b::Item;\nfn f(item: Item) {}",
        "pub(crate) use crate::b;\nfn f() { b::two() }",
        "pub(crate) use crate::{b::{self as c}};\nfn f() { c::two() }",
        "pub use crate::b::*;\nfn f(item: Item) {}",
        "pub use crate::*;\nfn f(item: Item) {}",
        "pub use crate::*;\nfn f() { b::two() }",
        "mod inner { pub use crate::b::Item; }\nfn f(item: inner::Item) {}",
        "mod inner { pub use super::super::b::Item;\nfn f(item: Item) {} }",
        "pub use crate::b;\nmod inner { use super::*;\nfn f() { b::two() } }",
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
        "use crate::a::Item;",
        "use crate::a::two;",
        "use crate::a::made;",
        "use crate::a::twice;",
        "use crate::a::thrice;",
        "use crate::a::c::Item;",
        "use crate::a::b::Item;",
        "use crate::a::*;\nfn f(item: Item) {}",
        "use crate::a::*;\nfn f() { made!() }",
        "use super::a::*;\nfn f() { c::two() }",
        "fn f() { crate::a::c::deep::deep() }",
        "fn f() { use crate::a; a::two() }",
    ],
)
def test_a_name_that_is_given_on_leads_to_its_module(tmp_path: Path, code: str) -> None:
    """`a` gives names of `b` and its child on, in each way in which Rust can."""
    source = crate(
        tmp_path,
        lib="mod a; mod b; mod user;",
        a="pub use crate::b::{self, *};\npub(crate) use self::b as c;",
        b__mod="pub mod deep;\npub struct Item; pub fn two() {}\nmacro! { pub fn made() {} }"
        "macro_rules! twice { () => {} }\npub(crate) use twice;\npub(crate) use twice as thrice;",
        b__deep="pub fn deep() {}",
        user=code,
    )
    graph = dependencies(source)
    assert graph[("user",)] & {("b",), ("b", "deep")}
    assert graph[("a",)] == set()


def test_names_that_globs_give_in_a_circle_end(tmp_path: Path) -> None:
    source = crate(
        tmp_path,
        lib="mod a; mod b;",
        a="pub use crate::b::*;\nfn f() -> Nowhere { crate::b::nowhere() }",
        b="pub use crate::a::*;\npub use crate::a::gone;\npub use crate::b::gone as other;",
    )
    assert dependencies(source)[("a",)] == {("b",)}


def test_a_module_elsewhere_than_at_its_name_is_refused(tmp_path: Path) -> None:
    source = crate(tmp_path, lib='#[path = "other.rs"]\nmod a;', other="")
    with pytest.raises(ModuleElsewhereError, match=r"lib\.rs: the module 'a'"):
        dependencies(source)


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
