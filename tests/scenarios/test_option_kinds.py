"""Values of wrong kinds, at every option of a scenario: refused with words of the user."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from netkv import kinds
from netkv.errors import UsageError
from netkv.evaluation.reference import Evaluation
from netkv.model.manifest import Manifest
from netkv.options import Spec
from netkv.scenarios import loader
from netkv.scenarios.model import Scenario

BASE: dict[str, Any] = {"name": "t", "schemes": ["nocache"]}
WRONG: dict[str, Any] = {
    "nothing": None,
    "a truth value": True,
    "a number": 3,
    "a broken number": 2.5,
    "infinity": ".inf",
    "no number": ".nan",
    "a huge number": 10**30,
    "a text": "'certainly wrong'",
    "a number in quotation marks": "'8'",
    "yes": "yes",
    "a list": [1],
    "an empty list": [],
    "a mapping": {"certainly": "wrong"},
    "an empty mapping": {},
}
"""Kind → value, a text of it in YAML if it is a text."""


def _classes(base: type) -> Iterator[str]:
    each: type
    for each in base.__subclasses__():
        yield each.__name__
        yield from _classes(each)


def _pythonic() -> re.Pattern[str]:
    # A word of one hump, such as `Plot` or `Case`, may begin a sentence.
    names = {str(each) for each in _classes(BaseModel) if re.search(r"[a-z][A-Z]", each)}
    words = [
        "Commented\\w*",
        "Scalar\\w*",
        "NoneType",
        "None",
        "True",
        "False",
        "dict",
        "dictionary",
    ]
    words += ["tuple", "instance", "pydantic", "ruamel", "Traceback", r"\w+Error", "str", "int"]
    return re.compile(rf"\b(?:{'|'.join([*words, *names])})\b")


PYTHON = _pythonic()


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _places(annotation: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """A path for each option, element of a list, and value of a mapping."""
    if path:
        yield path
    for branch in kinds.branches(annotation):
        origin = get_origin(branch)
        if isinstance(branch, type) and issubclass(branch, Spec):
            for name, field in branch.model_fields.items():
                yield from _places(field.annotation, (*path, name))
        elif origin in (list, tuple):
            yield from _places(get_args(branch)[0], (*path, 0))
        elif origin is dict:
            keys = get_args(branch)[0]
            name = get_args(keys)[0] if get_origin(keys) is Literal else "workload.zipf"
            yield from _places(get_args(branch)[1], (*path, name))


PLACES = sorted(set(_places(Scenario)), key=str)


def _text(path: tuple[str | int, ...], value: Any) -> str:
    """A scenario in flow style with this value."""
    data = _written(value)
    for part in reversed(path[1:]):
        data = f"[{data}]" if isinstance(part, int) else f"{{{part}: {data}}}"
    lines = {**{name: json.dumps(each) for name, each in BASE.items()}, str(path[0]): data}
    return "".join(f"{name}: {each}\n" for name, each in lines.items())


def _objection(text: str) -> str | None:
    try:
        loader.loads(text, "mine.yaml", to_run=True)
    except UsageError as error:
        return str(error)
    return None


def test_all_options_are_tried() -> None:
    assert len(PLACES) > 100
    assert ("lab", "servers") in PLACES
    assert ("events", 0, "link", "loss") in PLACES
    assert ("lab", "redis", "addresses", 0) in PLACES


@pytest.mark.parametrize("kind", WRONG)
def test_no_message_names_python(kind: str) -> None:
    for path in PLACES:
        objection = _objection(_text(path, WRONG[kind]))
        if objection is not None:
            found = PYTHON.search(objection)
            assert found is None, f"{path}: {objection}"
            assert objection.startswith("mine.yaml:"), objection


def _numbers() -> Iterator[tuple[str | int, ...]]:
    for path in PLACES:
        below: Any = Scenario
        for part in path:
            below = kinds.child(below, part)
        plain = [each for each in kinds.branches(below) if each in (int, float, bool, Any)]
        if plain and set(plain) <= {int, float}:
            yield path


NUMBERS = list(_numbers())


@pytest.mark.parametrize("value", ["true", "false", "'8'", "'1e3'", "yes", "1:30", ".nan", ".inf"])
def test_number_is_nothing_else(value: str) -> None:
    assert len(NUMBERS) > 60
    for path in NUMBERS:
        objection = _objection(_text(path, value))
        assert objection is not None, path
        assert "it should be" in objection, objection


@pytest.mark.parametrize("value", ["1", "0", "'true'", "yes", "off", "1.0", "[true]"])
def test_truth_value_is_nothing_else(value: str) -> None:
    places = [path for path in PLACES if kinds.branches(_annotation(path)) == [bool]]
    assert len(places) >= 4
    for path in places:
        objection = _objection(_text(path, value))
        assert objection is not None, path
        assert "it should be true or false" in objection


def _annotation(path: tuple[str | int, ...]) -> Any:
    found: Any = Scenario
    for part in path:
        found = kinds.child(found, part)
    return found


def test_whole_numbers_may_be_written_with_an_exponent() -> None:
    found = loader.loads("name: t\nschemes: [nocache]\nworkload: {keys: 1e5}", "mine.yaml")
    assert found.workload.keys == 100_000
    assert "'lab.servers' is 8.5; it should be a whole number." in str(
        _objection(_text(("lab", "servers"), 8.5))
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lab:", "'lab' is empty; it should be a mapping, or left out."),
        ("lab: [1]", "'lab' is a list; it should be a mapping."),
        ("lab: {servers: true}", "'lab.servers' is true; it should be a whole number."),
        ("lab: {servers: '8'}", "is '8'; it should be a whole number, without quotation marks."),
        ("title: 5", "'title' is 5; it should be a text; put it in quotation marks."),
        ("events: {at: 1}", "'events' is a mapping; it should be a list."),
        ("sweep: {lab.servers: [true]}", "it should be a whole number"),
        ("sweep: {lab.servers: 4}", "'sweep.lab.servers' is 4; it should be a list."),
        ("workload: {value_size: [1]}", "is a list; it should be a whole number or a mapping."),
    ],
)  # fmt: skip
def test_sentence_says_what_would_be_right(text: str, sentence: str) -> None:
    objection = _objection(f"name: t\nschemes: [nocache]\n{text}\n")
    assert objection is not None
    assert sentence in objection
    assert objection.startswith("mine.yaml:3:")


@pytest.mark.parametrize("text", ["", "- a", "a", "5", "true", "[]", "null", "'t'"])
def test_document_of_another_kind_is_refused(text: str) -> None:
    objection = _objection(text)
    assert objection is not None
    assert "a scenario is a mapping" in objection
    assert not PYTHON.search(objection)


@pytest.mark.parametrize(
    "change",
    [
        "lab.servers=true",
        "lab.servers='8'",
        "lab=[]",
        "lab=",
        "sweep={lab.servers: [true]}",
        "workload.keys=1e400",
    ],
)
def test_changes_are_checked_like_files(change: str) -> None:
    with pytest.raises(UsageError) as error:
        loader.loads("name: t\nschemes: [nocache]", "mine.yaml", [change])
    assert "it should be" in str(error.value)
    assert not PYTHON.search(str(error.value))


@pytest.mark.parametrize("model", [Scenario, Evaluation, Manifest])
def test_errors_of_every_model_name_no_class(model: type[BaseModel]) -> None:
    """Each kind of value as each field, through pydantic alone."""
    values: list[Any] = [None, True, 5, "x", [1], {"a": 1}, [None], [[{}]]]
    for name in model.model_fields:
        for value in values:
            with pytest.raises(ValidationError) as error:
                model.model_validate({name: value})
            for item in error.value.errors(include_url=False):
                assert not PYTHON.search(kinds.described(item)), item


Whole = Annotated[int, "of something"]


@pytest.mark.parametrize(
    ("annotation", "value", "right"),
    [
        (int, 5, True), (int, 5.0, True), (int, 5.5, False), (int, True, False), (int, "5", False),
        (float, 5, True), (float, False, False), (float | None, None, True), (str, 5, False),
        (Literal[1, 2], True, False), (Literal["a", 1], 2, True), (bool, 1, False),
        (list[Whole], [1, True], False), (tuple[int, str], [1, "a"], True),
        (tuple[int, str], ["a", "a"], False), (dict[str, int], {"a": False}, False),
        (Any, object(), True), (int | dict[str, int], {"a": 1}, True), (int, 2**63, False),
    ],
)  # fmt: skip
def test_kinds_of_types(annotation: Any, value: Any, right: bool) -> None:
    assert (not list(kinds.mistyped(annotation, value))) is right
