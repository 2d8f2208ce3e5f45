"""A paper's evaluation, repeated over several seeds and set beside the paper's figures.

`reference` has the figures of a paper, `measured` those of finished runs, `rows` sets one beside
the other, and `document` writes the tables of the evaluation documents.
"""

from __future__ import annotations

from netkv.evaluation.measured import Measured, measure
from netkv.evaluation.reference import Evaluation, Experiment, load, names
from netkv.evaluation.rows import Row, Spread, rows, spread

__all__ = [
    "Evaluation",
    "Experiment",
    "Measured",
    "Row",
    "Spread",
    "load",
    "measure",
    "names",
    "rows",
    "spread",
]
