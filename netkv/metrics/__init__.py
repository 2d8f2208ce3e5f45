"""The table of metrics: the declaration of every metric of a run.

A metric is a row of the table: `common` has those of all runs, and a scheme has its own
(`netkv/schemes/NAME/metrics.py`). `netkv.schemes.metric_table` joins them. Results, the run store,
thresholds, tables, figures, comparisons, the API, the dashboard and the reference documents are
derived from these rows.
"""

from netkv.metrics.metric import Metric
from netkv.metrics.sources import Value

__all__ = ["Metric", "Value"]
