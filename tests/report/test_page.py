"""The HTML page of runs."""

from __future__ import annotations

import re

from netkv.report.page import render
from netkv.runs import Store
from tests.report.sweeps import sweep


def test_page_ends_in_one_collapsed_block(store: Store) -> None:
    """The origin of many runs is thousands of lines: nobody scrolls past them to a figure."""
    page = render(sweep(store))
    script = page.index("</script>")
    blocks = re.findall(r"<details[^>]*>", page[script:])
    assert blocks == ["<details>"]
    before, inside = page[script:].split("<details>")
    assert "<pre" not in before
    assert inside.index("</details>") > inside.index("</pre>")
    after = inside[inside.index("</details>") + len("</details>") :]
    assert after.split() == ["</body>", "</html>"]
    assert inside.startswith("<summary>")
