"""What a paper says in words, as claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv import evaluation
from netkv.errors import UsageError
from netkv.evaluation import words

FALLING = (1.0, 0.8, 0.9)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("about 0.9", (True, True, True)),
        ("up to 1.0", (True, False, True)),
        ("at least 0.9", (True, False, True)),
        ("at most 0.9", (False, True, True)),
        ("above 0.9", (True, False, False)),
        ("below 0.9", (False, True, False)),
        ("equal", (True, False, True)),
        ("about equal", (True, False, True)),
        ("slightly lower", (False, False, True)),
        ("slightly below 1", (False, False, True)),
        ("slightly higher", (False, False, False)),
        ("lower", (False, True, True)),
        ("higher", (False, False, False)),
        ("falls", (False, True, False)),
        ("rises", (False, False, True)),
        ("flat", (True, False, True)),
        ("widest", (True, False, False)),
        ("highest", (True, False, False)),
        ("lowest", (False, True, False)),
    ],
)
def test_words_hold_or_not(text: str, holds: tuple[bool, ...]) -> None:
    phrase = words.phrase(text)
    assert phrase is not None
    assert tuple(phrase.holds(FALLING, at) for at in range(3)) == holds


def test_unknown_words_are_refused_with_those_that_are_known(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    text = (
        "paper: P\ndocument: d.md\nexperiments:\n"
        "- {name: one, title: T, source: s, scenario: quickstart, claims: [{name: x, "
        "quantity: nocache.throughput_ops, paper: WORDS}]}\n"
    )
    file.write_text(text.replace("WORDS", "much better"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"'much better' cannot be checked; known are 'about 2'"):
        evaluation.load(str(file))
    file.write_text(text.replace("WORDS", "{0.9: true}"), encoding="utf-8")
    with pytest.raises(UsageError, match="True should be a number, a range"):
        evaluation.load(str(file))
    file.write_text(text.replace("WORDS", "(a remark)"), encoding="utf-8")
    assert evaluation.load(str(file)).experiments[0].claims[0].paper == "(a remark)"
