"""Which experiments a command is about: all, those of papers, or single ones, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from netkv.errors import UsageError, suggest
from netkv.evaluation import reference
from netkv.evaluation.reference import Evaluation, Experiment

ALL = "all"
_QUICK = "-quick"


@dataclass(frozen=True)
class Chosen:
    """An experiment, and where it is from."""

    paper: str
    """Name of the evaluation, or the path of the user's file."""
    evaluation: Evaluation
    experiment: Experiment
    is_quick: bool = False
    """Whether it is what `--quick` runs."""

    @property
    def command(self) -> str:
        """What repeats it."""
        name = self.experiment.name.removesuffix(_QUICK) if self.is_quick else self.experiment.name
        names = name if self.paper in reference.names() else f"{self.paper} {name}"
        return f"netkv reproduce {names}{' --quick' if self.is_quick else ''}"

    @property
    def variants(self) -> list[Experiment]:
        """What is run for it: by seed, then as published if there is that."""
        return self.evaluation.variants(self.experiment)

    def quick(self) -> Chosen | None:
        """What `--quick` runs instead: like with like only, and shorter; None if it is left out."""
        own = self.experiment
        if own.quick is None:
            return None
        (*_, like) = self.variants
        update = {
            "name": f"{own.name}{_QUICK}",
            "changes": [*like.changes, *own.quick],
            "as_published": None,
        }
        return Chosen(self.paper, self.evaluation, own.model_copy(update=update), is_quick=True)


def choose(names: Sequence[str]) -> list[Chosen]:
    """The experiments that these names mean, each once, in the order of the names.

    A name is `all`, that of an evaluation or its experiment, or the path of an evaluation's YAML
    file, which experiments of that file may follow. Controls are meant by their own names only.
    Raises `UsageError` for another name, with those that are like it.
    """
    found: list[Chosen] = []
    own: list[Chosen] = []
    """Experiments of the user's last file; a name after it may be one of these."""
    for at, name in enumerate(names):
        if name == ALL:
            found += _counted(shipped())
        elif Path(name).suffix in (".yaml", ".yml"):
            own = _of(name)
            following = {each.experiment.name for each in own} & set(names[at + 1 :])
            found += [] if following else _counted(own)
        elif name in reference.names():
            of_paper = _of(name)
            following = {each.experiment.name for each in of_paper} & set(names[at + 1 :])
            found += [] if following else _counted(of_paper)
        else:
            found.append(_named(name, [*own, *shipped()]))
    return list({(each.paper, each.experiment.name): each for each in found}.values())


def shipped() -> list[Chosen]:
    """The experiments of all evaluations that ship."""
    return [each for name in reference.names() for each in _of(name)]


def controls() -> list[Chosen]:
    """The negative controls among them."""
    return [each for each in shipped() if each.experiment.control]


def _of(name: str) -> list[Chosen]:
    known = reference.load(name)
    return [Chosen(name, known, each) for each in known.experiments]


def _counted(found: Iterable[Chosen]) -> list[Chosen]:
    return [each for each in found if not each.experiment.control]


def _named(name: str, known: Sequence[Chosen]) -> Chosen:
    for each in known:
        if each.experiment.name == name:
            return each
    papers = reference.names()
    candidates = [ALL, *papers, *(each.experiment.name for each in known)]
    raise UsageError(
        f"There is no evaluation or experiment '{name}'.\n"
        f"  {suggest(name, candidates, label='Evaluations and experiments')} "
        f"A path to a .yaml file works too."
    )
