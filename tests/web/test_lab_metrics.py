"""A metric of a scheme is in samples of its lab, on the page of the lab, and in `/metrics`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.api.live_lab import OPTIONS, Api, sampled
from tests.api.prometheus import metrics
from tests.api.serving import serving_labs
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.live, pytest.mark.slow]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API over a state directory of its own, with a lab of FarReach under load."""
    with serving_labs(tmp_path_factory.mktemp("home")) as served:
        api = Api(served.url)
        made = api.post("", {"name": "one", **OPTIONS, "scheme": "farreach"}, 202, wait=120)
        assert made["state"] == "ready", made["text"]
        api.post("/one/load", {"running": True, "rate": 1000})
        yield api


def test_metric_is_in_samples_and_for_prometheus(api: Api) -> None:
    names = {each["name"] for each in sampled(api, "/one")[-1]["metrics"]}
    assert {"preserved", "ignored"} <= names

    def exposed() -> set[str]:
        found = metrics(api).get("netkv_lab_metric", [])
        return {labels["metric"] for labels, _ in found if labels["scheme"] == "farreach"}

    until(lambda: exposed() >= {"preserved", "ignored"}, "Prometheus gets the metrics")


def test_metric_is_on_the_page_of_the_lab(api: Api, page: Page) -> None:
    page.set_default_timeout(1000 * PATIENCE_S)
    page.goto(f"{api.url}/#/labs/one")
    tile = page.locator("#lab-tile-own-preserved")
    expect(tile).to_contain_text("Records that clients preserve", timeout=1000 * PATIENCE_S)
    expect(page.locator("#lab-tile-own-ignored")).to_contain_text("Ignored answers")
