"""Labs in the browser: a live lab that the page brings up, its faults, tables and log; designs.

One lab is brought up for most tests, through the form of the page. They leave it as they found it.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from netkv.scenarios import loader
from netkv.scenarios.runner import run_scenario
from tests.api.serving import Served, serving_labs
from tests.fpga.live_ends import Ends, running
from tests.waiting import PATIENCE_S, until
from tests.web import accessible

pytestmark = [pytest.mark.live, pytest.mark.slow]

OPTIONS = {
    "lab.servers": "4",
    "lab.server_processes": "2",
    "lab.service_rate": "2000",
    "lab.external_clients": "1",
    "lab.cache_entries": "32",
}


@dataclass
class Lab:
    """A lab that is up, and the server that shows it."""

    url: str
    made_by: Page

    def get(self, path: str = "") -> Any:
        return httpx.get(f"{self.url}/api/v1/labs/mine{path}", timeout=PATIENCE_S).json()

    def address(self, query: str = "") -> str:
        return f"{self.url}/#/labs/mine{query}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over a state directory of its own; its labs are taken down at the end."""
    with serving_labs(tmp_path_factory.mktemp("home")) as served:
        yield served.url


@pytest.fixture(scope="module")
def lab(home: str, browser: Browser) -> Iterator[Lab]:
    """A lab with load that was brought up through the form of the page."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE_S)
    page.goto(f"{home}/#/labs")
    expect(page.locator("#labs")).to_contain_text("No lab is up.")
    page.locator("#new-name").fill("mine")
    page.locator("#new-scheme").select_option("netcache")
    page.locator("#more-options summary").click()
    for path, value in OPTIONS.items():
        page.locator(f"[name='{path}']").fill(value)
    page.locator("#new-set").fill("workload.keys=1000")
    page.locator("#bring-up").click()
    expect(page.locator("#lab-state")).to_have_text("ready")
    # As many as the switch can answer would take the processors from other tests.
    page.locator("#load-kind").select_option("rate")
    page.locator("#load-value").fill("1000")
    page.locator("#load-start").click()
    expect(page.locator("#load-stop")).to_be_visible()
    yield Lab(home, page)
    context.close()


def node(page: Page, name: str) -> Locator:
    return page.locator(f"#node-{name}")


def shapes(page: Page, chart: str) -> list[dict[str, Any]]:
    """The shaded bands of a chart."""
    found: list[dict[str, Any]] = page.evaluate(
        "id => (document.getElementById(id)?.layout?.shapes ?? [])"
        ".filter(shape => shape.type === 'rect').map(({x0, x1}) => ({x0, x1}))",
        chart,
    )
    return found


def test_lab_of_the_form_has_its_options(lab: Lab) -> None:
    found = lab.get()
    servers = {it["name"]: it["servers"] for it in found["nodes"] if it["kind"] == "servers"}
    assert servers == {"servers-0": [0, 2], "servers-1": [1, 3]}
    assert found["scheme"] == "netcache"


def test_lab_is_listed_with_its_throughput(lab: Lab, page: Page) -> None:
    page.goto(f"{lab.url}/#/labs")
    row = page.locator("#labs tbody tr")
    expect(row).to_have_count(1)
    for text in ("mine", "netcache", "ready", "rack, udp"):
        expect(row).to_contain_text(text)
    page.wait_for_function(
        "() => Number(document.querySelector('#labs tbody td:nth-child(6)')"
        "?.textContent.replaceAll(',', '')) > 0"
    )
    row.get_by_role("link", name="mine").click()
    expect(page.locator("#topology svg")).to_be_visible()


def test_wrong_option_is_shown_at_its_field(lab: Lab, page: Page) -> None:
    page.goto(f"{lab.url}/#/labs")
    page.locator("#new-name").fill("other")
    expect(page.locator("#new-scheme option").first).to_be_attached()
    page.locator("#more-options summary").click()
    page.locator("#new-set").fill("lab.sarvers=2")
    page.locator("#bring-up").click()
    expect(page.locator("#new-set-wrong")).to_contain_text("Did you mean 'servers'?")
    expect(page.locator("#new-set")).to_be_focused()
    page.locator("#new-set").fill("")
    page.locator("[name='lab.servers']").fill("many")
    page.locator("#bring-up").click()
    expect(page.locator("[id='new-lab.servers-wrong']")).to_be_visible()
    page.locator("[name='lab.servers']").fill("")
    page.locator("#new-name").fill("mine")
    page.locator("#bring-up").click()
    expect(page.locator("#new-problem")).to_contain_text("is up already")


def test_topology_has_the_nodes_with_state_and_load(lab: Lab, page: Page) -> None:
    page.goto(lab.address())
    for name in ("switch", "servers-0", "servers-1", "client", "controller"):
        expect(node(page, name)).to_have_attribute("data-state", "up")
    expect(node(page, "external-1")).to_have_attribute("data-state", "free")
    page.wait_for_function(
        "() => /[1-9][^ ]* frames/"
        ".test(document.querySelector('#node-switch .figure')?.textContent)"
    )
    links = page.locator("#topology .link.host")
    expect(links).to_have_count(4)
    expect(page.locator("#topology .link.host .rates", has_text="↑")).not_to_have_count(0)
    expect(page.locator("#topology .link.host .rates", has_text="bit/s")).not_to_have_count(0)
    page.locator("#topology-table summary").click()
    row = page.locator("#topology-table tr", has_text="switch port 100")
    expect(row).to_contain_text("servers-0")


def test_crash_of_a_switch_and_its_recovery_are_seen(lab: Lab, page: Page) -> None:
    page.goto(lab.address())
    expect(node(page, "switch")).to_have_attribute("data-state", "up")
    page.locator("#lab-fault-duration").fill("3")
    page.locator("#lab-fault-switch").click()
    expect(node(page, "switch")).to_have_attribute("data-state", "down")
    expect(node(page, "switch")).to_contain_text("✕")
    expect(page.locator("#in-force")).to_contain_text("kill switch")
    expect(page.locator("#lab-tile-down")).to_contain_text("1")
    expect(node(page, "switch")).to_have_attribute("data-state", "up")
    expect(page.locator("#in-force")).to_be_empty()
    expect(page.locator("#lab-events")).to_contain_text("Healed: start switch")
    page.locator("#lab-throughput").scroll_into_view_if_needed()
    created = lab.get()["created"]
    events = [it for it in lab.get()["events"] if it["node"] == "switch"]
    killed = next(it["time"] for it in events if it["kind"] == "killed") - created
    page.wait_for_function(
        "killed => (document.getElementById('lab-throughput')?.layout?.shapes ?? [])"
        ".some(shape => Math.abs(shape.x0 - killed) < 0.01 && shape.x1 > shape.x0 + 1)",
        arg=killed,
    )


def test_loss_on_a_link_is_drawn_and_healed_at_once(lab: Lab, page: Page) -> None:
    page.goto(lab.address("?node=servers-0&tab=faults"))
    page.locator("#node-fault-duration").fill("")
    page.locator("#node-fault-loss").click()
    expect(page.locator("#topology .link.faulty")).to_have_count(1)
    expect(page.locator("#topology .link.faulty")).to_contain_text("✕ fault")
    expect(page.locator("#in-force")).to_contain_text("link of servers-0: loss 0.1")
    page.locator("#heal-0").click()
    expect(page.locator("#topology .link.faulty")).to_have_count(0)
    expect(page.locator("#in-force")).to_be_empty()


def test_fault_that_cannot_be_is_answered_with_its_reason(lab: Lab, page: Page) -> None:
    page.goto(lab.address())
    page.locator("#lab-fault-duration").fill("2000000")
    page.locator("#lab-fault-controller").click()
    expect(page.locator("#lab-faults [role=alert]")).to_contain_text("86400")
    expect(node(page, "controller")).to_have_attribute("data-state", "up")


def test_server_is_killed_after_a_question_and_started(lab: Lab, page: Page) -> None:
    page.goto(lab.address())
    node(page, "servers-1").click()
    expect(page).to_have_url(lab.address("?node=servers-1"))
    page.locator("#node-kill").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(node(page, "servers-1")).to_have_attribute("data-state", "up")
    page.locator("#node-kill").click()
    page.get_by_role("dialog").get_by_role("button", name="Kill it").click()
    expect(node(page, "servers-1")).to_have_attribute("data-state", "down")
    expect(page.locator("#details .state").first).to_have_text("✕ down")
    page.locator("#node-start").click()
    expect(node(page, "servers-1")).to_have_attribute("data-state", "up")


def test_deep_link_shows_the_entries_of_a_table(lab: Lab, page: Page) -> None:
    page.goto(lab.address("?node=switch&tab=tables&table=NetkvIngress.route.ipv4"))
    entries = page.locator("#node-content table")
    expect(entries).to_contain_text("forward(")
    wanted = lab.get("/nodes/switch/tables/NetkvIngress.route.ipv4")["entries"]
    expect(entries.locator("tbody tr")).to_have_count(len(wanted))
    expect(entries).to_contain_text(wanted[0]["match"]["dst"])
    expect(page.locator("#tab-tables")).to_have_attribute("aria-selected", "true")
    expect(node(page, "switch")).to_have_attribute("aria-pressed", "true")
    page.locator("#table").select_option("NetkvIngress.drop.reasons")
    expect(page.locator("#node-content th", has_text="packets")).to_be_visible()
    page.reload()
    expect(page.locator("#table")).to_have_value("NetkvIngress.drop.reasons")


def test_switch_has_its_address_keys_and_log(lab: Lab, page: Page) -> None:
    page.goto(lab.address("?node=switch"))
    address = next(it for it in lab.get()["nodes"] if it["name"] == "switch")["arbitration"]
    expect(page.locator("#node-content")).to_contain_text(address["p4runtime"])
    expect(page.locator("#node-content")).to_contain_text("primary, election id")
    client = page.locator("#node-content tr", has_text="client").first
    expect(client).to_contain_text(re.compile(r"[kM]bit/s.*[kM]bit/s", re.DOTALL))
    page.locator("#tab-keys").click()
    hottest = lab.get("/hottest?limit=1")[0]["key"]
    expect(page.locator("#node-content")).to_contain_text(hottest)
    expect(page.locator("#node-content ol li").first).to_be_visible()
    page.locator("#tab-log").click()
    expect(page.locator("#follow-log")).to_be_checked()
    node(page, "controller").click()
    expect(page).to_have_url(lab.address("?node=controller&tab=log"))
    line = lab.get("/nodes/controller/log?lines=1")["lines"][0]["text"]
    expect(page.get_by_role("log")).to_contain_text(line)


def test_packets_and_tables_of_a_lab_are_traced(lab: Lab, page: Page) -> None:
    page.goto(f"{lab.url}/#/packet?program=netcache")
    expect(page.locator(".outcome")).to_be_visible()
    page.locator("#from-lab > summary").click()
    page.locator("#take-packets").click()
    expect(page.locator("#from-lab")).to_contain_text("arrived. Take the tables, too")
    page.locator("#take-tables").click()
    expect(page.locator("#from-lab")).to_contain_text("entries were taken")
    page.locator("#send-packets").click()
    expect(page.locator("#way")).to_contain_text("arrived at switch of mine")


def test_rates_of_links_are_bits_with_si_prefixes(lab: Lab, page: Page) -> None:
    page.goto(lab.address())
    shown = page.evaluate(
        "import('/js/views/labs/figures.js').then(({ bits, flow }) => "
        "[...[0, 12.4, 125, 15432100, 2.5e9, null].map(bits), flow(1234.4, 1e6), flow(1, null)])"
    )
    assert shown == [
        "0 bit/s",
        "99.2 bit/s",
        "1 kbit/s",
        "123 Mbit/s",
        "20 Gbit/s",
        "\N{EN DASH}",
        "1,234 frames/s, 8 Mbit/s",
        "1 frames/s, bit/s not known",
    ]


def test_lab_is_used_by_keyboard(lab: Lab, page: Page) -> None:
    page.goto(lab.address())
    node(page, "switch").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#details h2")).to_contain_text("switch")
    page.locator("#tab-state").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-tables")).to_be_focused()
    expect(page.locator("#tab-tables")).to_have_attribute("aria-selected", "true")
    page.locator("#close-details").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#details")).to_have_count(0)
    expect(node(page, "switch")).to_be_focused()
    for each in page.locator("#main button, #main input, #main select, #main [role=button]").all():
        label = each.evaluate(
            "e => e.getAttribute('aria-label') || e.textContent || e.labels?.[0]?.textContent"
        )
        assert label.strip()


@pytest.mark.parametrize(("theme", "width"), accessible.SCREENS, ids=str)
def test_labs_are_accessible_and_fit_in_their_window(
    lab: Lab, page: Page, theme: str, width: int
) -> None:
    """The list, a lab, and the details of a node."""
    accessible.show(page, theme, width)
    page.goto(f"{lab.url}/#/labs")
    expect(page.locator("#labs tbody tr")).to_have_count(1)
    assert (accessible.violations(page), accessible.width(page)) == ([], width)
    for query in ("", "?node=switch"):
        page.goto(lab.address(query))
        expect(node(page, "switch").locator(".figure")).to_contain_text("frames/s")
        assert (accessible.violations(page), accessible.width(page)) == ([], width)


def test_drawing_keeps_its_size_while_numbers_change(lab: Lab, page: Page) -> None:
    page.goto(lab.address("?node=client"))
    page.wait_for_function("() => /ops/.test(document.querySelector('#node-client')?.textContent)")
    before = page.locator("#topology").bounding_box()
    figure = node(page, "client").locator(".figure")
    expect(figure).not_to_have_text(figure.text_content() or "")
    assert page.locator("#topology").bounding_box() == before


def test_unknown_lab_and_node_are_answered_with_a_sentence(lab: Lab, page: Page) -> None:
    page.goto(f"{lab.url}/#/labs/nope")
    expect(page.locator("#lab [role=alert]")).to_contain_text("There is no lab 'nope'")
    assert accessible.violations(page) == []
    page.goto(lab.address("?node=nope"))
    expect(page.locator("#side")).to_contain_text("There is no node")


LONG = ["duration=600", "warmup=1", "lab.servers=4", "lab.service_rate=2000"]
"""Changes of a scenario. Its runs do not end before the clicks of a test on a busy machine."""


def long_job(home: str) -> str:
    """Starts such a run; returns the id of its job."""
    request = {"scenario": "quickstart", "schemes": ["netcache"], "set": LONG}
    made = httpx.post(f"{home}/api/v1/jobs", json=request, timeout=PATIENCE_S)
    assert made.is_success, made.text
    return str(made.json()["id"])


def test_fault_of_the_live_page_is_shaded_in_its_run(home: str, page: Page) -> None:
    page.goto(f"{home}/#/live/{long_job(home)}")
    crash = page.locator("#fault-switch")
    expect(crash).to_be_enabled()
    page.wait_for_function(
        "() => (document.getElementById('throughput')?.data?.[0]?.x ?? []).some(x => x > 0)"
    )
    page.locator("#fault-duration").fill("1")
    crash.click()
    page.wait_for_function(
        "() => (document.getElementById('throughput')?.layout?.annotations ?? [])"
        ".some(each => each.text.includes('switch down'))"
    )
    page.locator("#cancel").click()
    expect(page.locator("#no-faults")).to_have_text("This run has ended.")
    expect(crash).to_be_disabled()
    assert [band for band in shapes(page, "throughput") if band["x0"] > 0]


@contextmanager
def other_run() -> Iterator[None]:
    """A live run of the same scheme that is no job of the server."""
    changes = ["schemes=[netcache]", "expect=[]", *LONG]
    scenario = loader.load(loader.find("quickstart"), changes)
    loop = asyncio.new_event_loop()
    running = loop.create_task(run_scenario(scenario))

    def run() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(running)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(running.cancel)
        thread.join()
        loop.close()


def test_fault_hits_the_right_one_of_two_runs_of_a_scheme(home: str, page: Page) -> None:
    """Their racks are made at almost the same time."""

    def racks() -> list[dict[str, Any]]:
        found = httpx.get(f"{home}/api/v1/labs", timeout=PATIENCE_S).json()
        return [each for each in found if each["kind"] == "run"]

    def crashed(rack: dict[str, Any]) -> bool:
        url = f"{home}/api/v1/labs/{rack['name']}"
        found = httpx.get(url, timeout=PATIENCE_S).json()
        return any(event["kind"] == "killed" for event in found["events"])

    job = long_job(home)
    page.goto(f"{home}/#/live/{job}")
    until(racks, "the rack of the job is being made")
    with other_run():
        until(lambda: [each["state"] for each in racks()] == ["ready"] * 2, "both are ready")
        (run,) = httpx.get(f"{home}/api/v1/jobs/{job}", timeout=PATIENCE_S).json()["runs"]
        expect(page.locator("#fault-switch")).to_be_enabled()
        page.locator("#fault-duration").fill("")  # it lasts
        page.locator("#fault-switch").click()
        expect(page.locator("#in-force")).to_contain_text("kill switch")
        hit = until(lambda: [each["run"] for each in racks() if crashed(each)], "one has crashed")
        assert hit == [run["id"]]
        page.locator("#cancel").click()
        expect(page.locator("#no-faults")).to_have_text("This run has ended.")


def test_lab_is_taken_down_after_a_question(lab: Lab) -> None:
    """The last one: it ends the lab of the others."""
    page = lab.made_by
    page.goto(lab.address())
    page.locator("#take-down").click()
    page.get_by_role("dialog").get_by_role("button", name="Take it down").click()
    expect(page).to_have_url(f"{lab.url}/#/labs")
    expect(page.locator("#labs")).to_contain_text("No lab is up.")


def test_designs_and_counters_of_a_running_one_are_shown(
    served: Served, page: Page, tmp_path: Path
) -> None:
    page.goto(f"{served.url}/#/labs")
    page.locator("#choose-designs").click()
    row = page.locator("#designs-list tbody tr", has_text="LaKe")
    expect(row).to_contain_text("200 MHz")
    expect(row).to_contain_text("nf0, nf1, nf2, nf3, host")
    shown = page.locator("#designs-running")
    expect(shown).to_contain_text("No design runs.")
    ends = Ends()
    port = f"--port=nf0=udp:{','.join(ends.plug(0))}"
    try:
        with running(tmp_path, tmp_path / "log", "wire", "--name=mine", "--write=mode=0", port):
            expect(shown).to_contain_text("mine wire, 200 MHz")
            for _ in range(3):
                ends.send(0, bytes(70))
            frames = shown.locator("dl div", has_text="frames.0").locator("dd")
            expect(frames).to_have_text("3")
        expect(shown).to_contain_text("No design runs.")
    finally:
        ends.close()
