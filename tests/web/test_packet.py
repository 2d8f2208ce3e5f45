"""The view Packet in a real browser: the way of packets through programs, step by step."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.api.serving import Served
from tests.waiting import PATIENCE_S

READ_OF_CACHED = "#/packet?program=netcache&example=read-of-cached-key"
READ_OF_UNCACHED = "#/packet?program=netcache&example=read-of-uncached-key"
CACHE = "NetkvIngress.lookup.cache"

LOOP = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }
struct headers_t { ethernet_t ethernet; }
struct metadata_t { bit<32> sum; }
parser P(packet_in b, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { b.extract(hdr.ethernet); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        for (bit<32> i = 0; i < 12000; i = i + 1) {
            meta.sum = meta.sum + i;
        }
        std.egress_spec = 2;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out b, in headers_t hdr) { apply { b.emit(hdr.ethernet); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""
"""Its packets have more steps than an answer."""


def show(page: Page, served: Served, place: str, outcome: str) -> None:
    page.goto(f"{served.url}/{place}")
    expect(page.locator("#outcome")).to_contain_text(outcome)


def press_until(page: Page, key: str, found: Locator) -> None:
    """Press a key in the list of steps until the details show something."""
    page.locator("#steps").focus()
    for _ in range(500):
        if found.count():
            return
        page.keyboard.press(key)
    pytest.fail(f"No step has {found}.")


def send(page: Page, outcome: str) -> None:
    page.get_by_role("button", name="Send the packets").click()
    expect(page.locator("#said")).to_be_empty()
    expect(page.locator("#outcome")).to_contain_text(outcome)


def test_hit_is_followed_by_keyboard_to_the_answer(served: Served, page: Page) -> None:
    """Without any choice, the page shows a read that the switch answers."""
    show(page, served, "#/packet", "Answered by the switch")
    details = page.locator("#step-details")
    expect(details).to_contain_text("70 bytes at port 1")
    press_until(page, "j", details.get_by_text(CACHE, exact=True))
    expect(details.locator(".hit")).to_have_text("hit")
    expect(details).to_contain_text("NetkvIngress.lookup.cached")
    expect(page.locator("#source h3")).to_have_text("write_through/entry.p4:38")
    expect(page.locator("#source .current")).to_contain_text("cache.apply();")
    expect(page.locator("#steps [aria-selected=true]")).to_be_in_viewport()
    expect(page.locator(".pipeline .current")).to_contain_text("Ingress")

    press_until(page, "ArrowDown", details.get_by_text("NetkvIngress.hits.counts[0]", exact=True))
    press_until(page, "ArrowDown", details.get_by_text("before"))
    before, after = (int(each, 16) for each in details.locator("code.value").all_inner_texts()[:2])
    assert after == before + 1
    page.keyboard.press("End")
    expect(details).to_contain_text("198 bytes at port 1")
    page.keyboard.press("Home")
    expect(page.locator("#position")).to_have_text("step 1 of 137")


def test_miss_is_forwarded_to_a_server(served: Served, page: Page) -> None:
    show(page, served, "#/packet", "Answered by the switch")
    page.get_by_label("Example").select_option("NetCache: read of uncached key")
    expect(page.locator("#outcome")).to_contain_text("Forwarded")
    expect(page.locator("#outcome")).to_contain_text(re.compile(r"GET leaves at port 10\d"))
    details = page.locator("#step-details")
    page.get_by_label("main steps only").check()
    press_until(page, "ArrowDown", details.get_by_text(CACHE, exact=True))
    expect(details.locator(".miss")).to_have_text("miss")
    expect(details).to_contain_text("No entry matches")


def test_frames_show_which_bytes_the_switch_changed(served: Served, page: Page) -> None:
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    arrives, leaves = page.locator("#frames figure").all()
    expect(arrives.get_by_label("hdr.kv")).to_contain_text("op")
    changed = leaves.get_by_label("hdr.kv").locator(".changed .name")
    expect(changed).to_have_text(["op", "flags", "length"])
    expect(leaves.get_by_label("hdr.value[7]")).to_contain_text("34 47 96 67")
    shown = "".join(leaves.locator(".bytes").all_inner_texts()).replace(" ", "")
    body = example(served, "read-of-cached-key")
    answer = httpx.post(
        f"{served.url}/api/v1/programs/netcache/trace", json=body, timeout=PATIENCE_S
    ).json()
    assert shown == answer["packets"][0]["leaves"][0]["bytes"]


def example(served: Served, name: str) -> dict[str, Any]:
    found = httpx.get(f"{served.url}/api/v1/programs/netcache/examples", timeout=PATIENCE_S).json()
    body: dict[str, Any] = next(each["body"] for each in found if each["name"] == name)
    return body


def test_removed_entry_changes_the_way(served: Served, page: Page) -> None:
    """The link then has the change: another browser sees the same."""
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    key = example(served, "read-of-cached-key")["packets"][0]["message"]["key"]
    page.locator("#edit-setup > summary").click()
    page.locator(f'[data-part="table {CACHE}"] > summary').click()
    entry = page.locator(f'[data-part="table {CACHE}"] tr').filter(
        has=page.locator(f'input[value="{key}"]')
    )
    entry.get_by_role("button", name="Remove entry").click()
    expect(page.locator("#said")).to_contain_text("send the packets again")
    send(page, "Forwarded")
    expect(page).to_have_url(re.compile("edit="))
    page.reload()
    expect(page.locator("#outcome")).to_contain_text("Forwarded")
    expect(page.locator("#edit-setup > summary")).to_contain_text("18 entries")


def test_entry_can_be_added_for_a_key_as_text(served: Served, page: Page) -> None:
    show(page, served, READ_OF_UNCACHED, "Forwarded")
    page.locator("#edit-packets > summary").click()
    page.get_by_label("Key", exact=True).fill("hello")
    page.locator("#edit-setup > summary").click()
    page.locator(f'[data-part="table {CACHE}"] > summary').click()
    page.locator(f'[data-add="{CACHE}"]').click()
    page.get_by_label(f"key of entry 20 of {CACHE}").fill("hello")
    page.get_by_label(f"Action of entry 20 of {CACHE}").select_option("lookup.cached")
    send(page, "Forwarded")
    details = page.locator("#step-details")
    press_until(page, "j", details.get_by_text(CACHE, exact=True))
    expect(details.locator(".hit")).to_have_text("hit")
    expect(details).to_contain_text("“hello”")


def test_state_persists_between_packets(served: Served, page: Page) -> None:
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    page.locator("#edit-packets > summary").click()
    add = page.get_by_label("Add a packet")
    add.select_option("NetCache: write of cached key")
    add.select_option("NetCache: read of cached key")
    send(page, "Answered by the switch")
    page.get_by_role("button", name="3. read of cached key").click()
    expect(page.locator("#outcome")).to_contain_text("Forwarded")
    expect(page).to_have_url(re.compile("packet=3"))


def test_link_restores_packet_and_step(served: Served, page: Page) -> None:
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    page.locator("#steps").focus()
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    expect(page).to_have_url(re.compile("step=49"))
    page.reload()
    expect(page.locator("#position")).to_have_text("step 49 of 137")
    selected = page.locator("#steps [aria-selected=true]")
    expect(selected).to_have_attribute("id", "step-48")
    box, frame = selected.bounding_box(), page.locator("#steps").bounding_box()
    assert box
    assert frame
    assert frame["y"] <= box["y"] <= frame["y"] + frame["height"] - box["height"]


def test_broken_link_has_a_sentence(served: Served, page: Page) -> None:
    show(page, served, f"{READ_OF_CACHED}&edit=AAAA", "Answered by the switch")
    expect(page.locator("#packet-problem")).to_contain_text("cannot be read")


def test_wrong_field_is_marked(served: Served, page: Page) -> None:
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    page.locator("#edit-packets > summary").click()
    port = page.locator("[data-field='packets.0.port']")
    port.fill("999")
    page.get_by_role("button", name="Send the packets").click()
    expect(port).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".packet .field-error")).to_contain_text("511")
    port.fill("1")
    send(page, "Answered by the switch")
    expect(page.locator(".field-error")).to_have_count(0)


def test_without_an_answer_nothing_is_shown_of_one(served: Served, page: Page) -> None:
    """A link with a wrong field: its request is refused at once, and when it is sent again."""
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    page.locator("#edit-packets > summary").click()
    port = page.locator("[data-field='packets.0.port']")
    port.fill("999")
    port.blur()
    expect(page).to_have_url(re.compile("edit="))
    page.reload()
    problem = page.locator("#packet-problem")
    expect(problem).to_contain_text("511")
    expect(page.locator("#way")).to_be_hidden()
    with page.expect_response("**/trace") as sent:
        page.get_by_role("button", name="Send the packets").click()
    assert sent.value.status == 422
    expect(page.locator("#said")).to_be_empty()
    expect(problem).to_contain_text("511")
    expect(page.locator("#way")).to_be_hidden()
    port.fill("1")
    send(page, "Answered by the switch")


def test_wrong_entry_is_marked_in_its_table(served: Served, page: Page) -> None:
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    page.locator("#edit-setup > summary").click()
    table = page.locator('[data-part="table NetkvIngress.route.ipv4"]')
    table.locator("summary").click()
    table.get_by_label("dst of entry 13 of NetkvIngress.route.ipv4").fill("10.0.0.x")
    page.get_by_role("button", name="Send the packets").click()
    expect(table.locator(".field-error")).to_contain_text("'10.0.0.x' is no number")


def test_error_of_own_program_is_at_its_line(served: Served, page: Page) -> None:
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    page.locator("#program").select_option("own program …")
    source = page.get_by_label("Source of the program")
    expect(source).to_have_value(re.compile("control NetkvIngress"))
    right = source.input_value()
    line = next(at for at, text in enumerate(right.split("\n"), 1) if "lookup.apply(" in text)
    source.fill(right.replace("lookup.apply(", "lookupp.apply("))
    page.get_by_role("button", name="Send the packets").click()
    expect(page.locator("#packet-problem")).to_contain_text("does not compile")
    expect(page.locator("#own-errors")).to_contain_text(f"Line {line}")
    expect(page.locator(".line-numbers .wrong")).to_have_text(str(line))

    source.fill(right)
    send(page, "Answered by the switch")
    expect(page.locator("#own-errors li.bad")).to_have_count(0)
    expect(page).to_have_url(re.compile("program=source&from=netcache"))


def test_only_steps_in_sight_are_elements(served: Served, page: Page) -> None:
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    page.locator("#program").select_option("own program …")
    page.get_by_label("Source of the program").fill(LOOP)
    page.locator("#edit-setup > summary").click()
    # The set-up is that of another program: its tables do not exist here.
    page.get_by_role("button", name="Empty the set-up").click()
    send(page, "leaves at port 2")
    expect(page.locator("#way")).to_contain_text("further steps are left out")
    page.locator("#steps").focus()
    page.keyboard.press("End")
    expect(page.locator("#position")).to_have_text("step 20000 of 20000")
    assert page.locator("#steps .step").count() < 100
    page.keyboard.press("Home")
    expect(page.locator("#step-0")).to_have_attribute("aria-selected", "true")


def test_copied_curl_sends_the_same_packets(served: Served, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    page.get_by_role("button", name="Copy as curl").click()
    expect(page.locator("#said")).to_contain_text("Copied")
    command: str = page.evaluate("navigator.clipboard.readText()")
    first, *_, body, end = command.rstrip("\n").split("\n")
    assert end == "END_OF_REQUEST"
    address = first.split("'")[1]
    answer = httpx.post(address, json=json.loads(body), timeout=PATIENCE_S).json()
    assert answer["packets"][0]["leaves"][0]["message"]["op"] == "GET_REPLY"
    page.get_by_role("button", name="Copy as netkv p4 trace").click()
    expect(page.locator("#said")).to_contain_text("use curl")


def test_clone_is_a_branch_of_the_picture(served: Served, page: Page) -> None:
    show(
        page,
        served,
        "#/packet?program=farreach&example=read-of-cached-key",
        "Answered by the switch",
    )
    picture = page.locator(".pipeline svg")
    expect(picture).to_contain_text("dropped at the end of egress")
    expect(picture).to_contain_text("clone to session 1")
    # The whole frame is known, although a clone was made of it.
    expect(page.locator("#frames").get_by_label("hdr.value[7]")).to_have_count(1)


def test_page_says_that_no_lab_runs(served: Served, page: Page) -> None:
    show(page, served, READ_OF_CACHED, "Answered by the switch")
    page.locator("#from-lab > summary").click()
    expect(page.locator("#from-lab")).to_contain_text("No lab is running.")
