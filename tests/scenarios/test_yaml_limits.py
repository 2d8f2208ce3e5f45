"""Texts that would expand, nest or grow without end are refused before anything is built."""

from __future__ import annotations

import tracemalloc

import pytest

from netkv import yaml_text
from netkv.errors import UsageError
from netkv.evaluation import reference
from netkv.scenarios import editing, loader, option_paths


def _laughs(levels: int, width: int) -> str:
    lines = [f"a0: &a0 [{', '.join(['x'] * width)}]"]
    for level in range(1, levels):
        below = ",".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} [{below}]")
    return "\n".join([*lines, "name: t", f"schemes: *a{levels - 1}", ""])


def _merging(levels: int) -> str:
    lines = ["x-0: &m0 {a: 1, b: 2}"]
    lines += [
        f"x-{it}: &m{it} {{c{it}: [*m{it - 1}, *m{it - 1}], <<: [*m{it - 1}, *m{it - 1}]}}"
        for it in range(1, levels)
    ]
    return "\n".join([*lines, "name: t", "schemes: [nocache]", f"lab: *m{levels - 1}"])


HOSTILE = {
    "aliases": _laughs(8, 9),
    "many aliases of one text": "a: &a " + "x" * 100 + "\nb: [" + "*a," * 50_000 + "]",
    "aliases below x-": "\n".join(f"x-{it}" for it in _laughs(12, 9).splitlines()[:12]),
    "aliases in mappings": "x-0: &a0 {b: 1}\n"
    + "\n".join(f"x-{it}: &a{it} {{p: *a{it - 1}, q: *a{it - 1}}}" for it in range(1, 25)),
    "merge keys": _merging(40),
    "an alias of itself": "name: &a [*a]",
    "an alias of a parent": "name: &a {b: {c: *a}}",
    "an alias of itself by a merge": "lab: &a {<<: *a}",
    "brackets": "name: " + "[" * 2000 + "]" * 2000,
    "open brackets": "[" * 200_000,
    "braces": "{a: " * 2000 + "1" + "}" * 2000,
    "a block of mappings": "".join(f"{' ' * it}a:\n" for it in range(600)),
    "a block of lists": "- " * 20_000 + "x",
    "keys of keys": "? " * 20_000 + "x",
    "a list as a key": "[1, 2]: x",
    "an anchor in a key": "? &a [1, 2]\n: x",
    "a long list": "name: [" + "x," * 100_000 + "]",
    "a long text": "name: " + "x" * 300_000,
    "a long number": "seed: " + "9" * 5000,
    "a long hexadecimal number": "seed: 0x" + "f" * 10_000,
    "a long binary number": "seed: 0b" + "1" * 19_000,
    "a large exponent": "duration: 1e999999999",
    "many documents": "---\n" * 50_000,
    "a second document": "name: a\n---\nname: b\n",
    "a Python object": "name: !!python/object/apply:os.system [id]",
    "a set": "name: !!set {a, b}",
    "an own tag": "name: !x y",
    "a very long file": "# x\n" * 200_000,
    "a control character": "name: \0",
    "a surrogate": "name: '\ud800'",
    "half a character": r'name: "\ud800"',
    "halves in the wrong order": r'name: "\udc00\ud800"',
    "half a character as a key": r'"\udfff": 1',
    "half a character with an alias": 'a: &a "\\ud800"\nname: *a',
    "a character beyond Unicode": r'name: "\U00110000"',
    "a character beyond the processor's numbers": r'name: "\Uffffffff"',
    "a version with many digits": "%YAML 1." + "9" * 5000 + "\n---\nname: t",
    "a tag that is not UTF-8": "name: !<%ff> t",
    "a byte order mark of UTF-16": "\ufffe",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_text_is_refused_with_little_memory(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(UsageError) as error:
            loader.loads(text, "mine.yaml")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(error.value).startswith("mine.yaml")
    assert len(str(error.value)) < 10_000
    assert peak < 50_000_000


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_edit_of_the_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        loader.loads(editing.assign(text, ["seed=2"], "mine.yaml"), "mine.yaml")


@pytest.mark.parametrize(
    "value", ["[" * 1000, "*a", "{a: " * 500, "1" * 5000, "!!set {a}", "&a [*a]"]
)
def test_value_of_a_change_is_refused(value: str) -> None:
    with pytest.raises(UsageError):
        loader.loads("name: t\nschemes: [nocache]", "mine.yaml", [f"seed={value}"])


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_evaluation_of_the_text_is_refused(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("evaluation") / "mine.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError):
        reference.load(str(file))


def test_work_grows_with_the_text_and_not_with_its_aliases() -> None:
    """The limit is counted on events, so the depth of the aliases costs nothing."""
    sizes = []
    for levels in (8, 16, 32):
        tracemalloc.start()
        with pytest.raises(yaml_text.YamlTextError, match="20,000 values"):
            yaml_text.read(_laughs(levels, 9))
        sizes.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert sizes[-1] < 8 * sizes[0]


def test_escaped_pair_of_surrogates_is_one_character() -> None:
    """A pair is how JSON, which is YAML, escapes characters beyond the first 65,536."""
    assert yaml_text.read(r'{"a": "\ud83d\ude00", "\ud83d\ude00": "\ufeffb"}').data == {
        "a": "\U0001f600",
        "\U0001f600": "\ufeffb",
    }


def test_line_of_a_wrong_escape_is_told() -> None:
    for text in (r'"\ud800"', r'"\U00110000"'):
        with pytest.raises(UsageError, match=r"^mine.yaml:3: "):
            loader.loads(f"name: t\n\ntitle: {text}\n", "mine.yaml")


def test_wrong_options_are_listed_up_to_a_limit() -> None:
    text = "name: t\nschemes: [nocache]\n" + "".join(f"a{it}: 1\n" for it in range(1000))
    with pytest.raises(UsageError) as error:
        loader.loads(text, "mine.yaml")
    assert str(error.value).count("is not an option") == loader.MAX_WRONG
    assert "further options are wrong" in str(error.value)


def test_anchors_and_merges_give_what_they_say() -> None:
    text = """
x-labs:
  small: &small {servers: 4, clients: 2}
  large: &large {servers: 16, server_processes: 2}
x-any: [1, {deep: true}]
name: t
schemes: [nocache]
lab: {<<: [*small, *large], clients: 3}
"""
    lab = loader.loads(text, "mine.yaml").lab
    assert (lab.servers, lab.clients, lab.server_processes) == (4, 3, 2)
    assert loader.parsed(text, "mine.yaml").keys() == {"name", "schemes", "lab"}


def test_keys_with_x_are_ignored_only_at_the_top() -> None:
    with pytest.raises(UsageError, match=r"'lab\.x-mine' is not an option"):
        loader.loads("name: t\nschemes: [nocache]\nlab: {x-mine: 1}", "mine.yaml")


def test_edits_keep_the_place_of_anchors() -> None:
    text = "x-lab: &lab {servers: 4}  # mine\nname: t\nschemes: [nocache]\nlab: *lab\nseed: 1\n"
    edited = editing.assign(text, ["seed=7"], "mine.yaml")
    assert edited == text.replace("seed: 1", "seed: 7")


def test_line_of_a_wrong_option_is_found_in_every_form() -> None:
    text = "name: t\nschemes:\n  - nocache\n  - nothing\nlab: {servers: 4,\n  clients: 0}\n"
    document = yaml_text.read(text)
    assert document.line(("schemes", 1)) == 4
    assert document.line(("lab", "clients")) == 6
    assert document.line(("lab", "clients", "deeper")) == 6
    assert document.line(("missing",)) == 1


SCALARS = [
    ("1_000", 1000), ("1e3", 1000.0), ("1E+3", 1000.0), ("0o17", 15), ("0x1F", 31), ("0b11", 3),
    ("-5", -5), ("+5", 5), (".5", 0.5), ("5.", 5.0), ("yes", "yes"), ("no", "no"), ("on", "on"),
    ("1:30", "1:30"), ("2026-01-01", "2026-01-01"), ("~", None), ("null", None), ("", None),
    ("true", True), ("FALSE", False), ("'true'", "true"), ('"5"', "5"), ("1.2.3", "1.2.3"),
    ("-", [None]), ("=", "="), ("0", 0), ("-0", 0), ("0.50", 0.5), ("1__0", 10),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_values_are_those_of_yaml_1_2(text: str, value: object) -> None:
    found = yaml_text.read(f"a: {text}" if value != [None] else f"a:\n  {text}").data["a"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("text", ["017", "-017", "00", "0_1", "08"])
def test_number_with_leading_zeros_is_refused(text: str) -> None:
    with pytest.raises(yaml_text.YamlTextError, match="octal"):
        yaml_text.read(f"a: {text}")


def test_limits_leave_room_for_large_scenarios() -> None:
    """Thousands of events, as a generated scenario may have them."""
    events = "".join(f"  - {{at: {it}, kill: servers-0}}\n" for it in range(6000))
    assert len(yaml_text.read(f"name: t\nevents:\n{events}").data["events"]) == 6000


def test_deepest_option_is_within_the_depth() -> None:
    deepest = max(each.name.count(".") for each in option_paths.leaves())
    assert deepest < yaml_text.MAX_DEPTH // 2
