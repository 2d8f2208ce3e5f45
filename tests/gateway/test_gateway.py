"""Commands, order, limits, failures and shutdown of the gateway, over a rack in memory."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

import pytest

from netkv.client import NotConnected
from netkv.errors import NetkvError, UsageError
from netkv.gateway import backend
from netkv.gateway.server import bound
from tests.gateway.memory_rack import DecreasingDelays, MemoryRack
from tests.gateway.serving_redis import Served, request, serving
from tests.waiting import PATIENCE_S, until

NO_ANSWER = "no answer for b'lost' from server 1"


# Failures of the rack


def test_only_keys_of_an_unreachable_server_fail(served: Served) -> None:
    served.rack.lost.add(b"lost")
    with served.connect() as client:
        client.send(
            b"".join(
                [
                    request("SET", "a", "1"),
                    request("GET", "lost"),
                    request("MGET", "a", "lost"),
                    request("SET", "lost", "1"),
                    request("GET", "a"),
                    request("MGET", "a", "b"),
                    request("DEL", "a", "lost", "b"),
                ]
            )
        )
        replies = [client.reply() for _ in range(7)]
    assert replies[0] == b"OK"
    assert str(replies[1]) == f"TIMEOUT {NO_ANSWER}"
    assert str(replies[2]) == f"TIMEOUT {NO_ANSWER}"
    assert str(replies[3]).startswith("UNKNOWN the write of b'lost' is not acknowledged")
    assert replies[4:6] == [b"1", [b"1", None]]
    assert str(replies[6]).startswith(f"TIMEOUT {NO_ANSWER}")
    assert "2 of 3 keys are deleted" in str(replies[6])


def test_too_large_value_gets_the_error_of_the_rack(served: Served) -> None:
    with served.connect() as client:
        reply = str(client.call("SET", "a", b"v" * 2000))
        assert reply == "ERR a value may have 1024 bytes, not 2000"
        assert client.call("PING") == b"PONG"


@pytest.mark.parametrize(
    "option", ["EX 10", "px 10", "NX", "XX", "get", "KEEPTTL", "EXAT 1", "PXAT 1"]
)
def test_unsupported_option_of_set_is_refused(served: Served, option: str) -> None:
    with served.connect() as client:
        reply = str(client.call("SET", "a", "b", *option.split()))
        assert reply.startswith(f"ERR SET with {option.split()[0].upper()} is not supported")
        assert client.call("GET", "a") is None


def test_atomic_commands_are_refused_with_an_alternative(served: Served) -> None:
    with served.connect() as client:
        refusal = str(client.call("MSET", "a", "1", "b", "2"))
        assert "send SETs in a pipeline" in refusal
        assert "--mset separate" in refusal
        assert "cannot depend on the stored value" in str(client.call("MSETNX", "a", "1"))
        assert b"mset" not in client.array("COMMAND", "LIST")
        for end in ("EXEC", "DISCARD"):
            assert "without MULTI" in str(client.call("MULTI"))
            assert "EXEC or DISCARD are not executed" in str(client.call("SET", "a", "1"))
            assert str(client.call(end)).startswith("EXECABORT")
        assert not served.rack.stored
        assert client.call("SET", "a", "1") == b"OK"


def test_too_many_keys_of_one_command(served: Served) -> None:
    with served.connect() as client:
        keys = [f"k{number}" for number in range(4097)]
        assert "4096 keys, not 4097" in str(client.call("MGET", *keys))
        assert client.call("MGET", *keys[1:]) == [None] * 4096


# Operations of the rack for each command


def test_mget_is_one_request_for_the_rack(served: Served) -> None:
    served.rack.stored |= {b"a": b"1", b"c": b"3"}
    with served.connect() as client:
        assert client.call("MGET", "a", "b", "c") == [b"1", None, b"3"]
    assert served.rack.calls == [("multiget", (b"a", b"b", b"c"))]


@pytest.mark.parametrize("reports", [True, False])
def test_del_counts_existing_keys(served: Served, reports: bool) -> None:
    served.rack.reports_deletes = reports
    with served.connect() as client:
        for _ in range(2):
            served.rack.stored |= {b"a": b"1", b"b": b"2"}
            assert client.call("DEL", "a", "none", "b", "a") == 2
            assert client.call("UNLINK", "a") == 0


def test_dbsize_counts_keys_stored_through_the_gateway(served: Served) -> None:
    """Failed writes and keys of others are not counted. Deletes by others change no count."""
    served.rack.stored[b"theirs"] = b"1"
    served.rack.lost.add(b"lost")
    with served.connect() as client, served.connect() as other:
        assert client.call("DBSIZE") == 0
        assert client.call("GET", "theirs") == b"1"
        client.call("SET", "lost", "1")
        client.call("SET", "large", b"v" * 2000)
        for number in range(10):
            client.call("SET", f"k{number % 5}", "1")
        assert client.call("DBSIZE") == other.call("DBSIZE") == 5
        assert other.call("DEL", "k0", "k1", "theirs") == 3
        served.rack.stored.clear()
        assert client.call("DBSIZE") == 3


def test_dbsize_beyond_the_counting_limit_is_an_error(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "MAX_COUNTED", 3)
    with served.connect() as client:
        for number in range(4):
            assert client.call("DBSIZE") == number
            client.call("SET", f"k{number}", "1")
        assert "counts up to 1,000,000 keys" in str(client.call("DBSIZE"))
        assert client.call("DEL", "k1") == 1
        assert "there were more" in str(client.call("DBSIZE"))


def test_dbsize_of_a_pipeline_counts_the_writes_before_it(served: Served) -> None:
    served.rack.delays = {b"a": 0.2, b"c": 0.0}
    with served.connect() as client:
        pipeline = ["SET a 1", "SET b 1", "DBSIZE", "DBSIZE", "SET c 1", "DEL a", "DBSIZE"]
        client.send(b"".join(request(*words.split()) for words in pipeline))
        replies = [client.reply() for _ in pipeline]
    assert replies == [b"OK", b"OK", 2, 2, b"OK", 1, 2]


def test_long_pipeline_of_dbsize_is_answered(served: Served) -> None:
    with served.connect() as client:
        client.send(request("DBSIZE") * 3000)
        assert [client.reply() for _ in range(3000)] == [0] * 3000


# MSET without atomicity


@pytest.fixture
def separate() -> Iterator[Served]:
    """A gateway started with `--mset separate`."""
    with serving(separate_mset=True) as found:
        yield found


def test_mset_is_a_write_of_each_key(separate: Served) -> None:
    with separate.connect() as client:
        assert client.call("MSET", "a", "1", "b", "2", "a", "3") == b"OK"
        assert separate.rack.stored == {b"a": b"3", b"b": b"2"}
        assert [call for call, _ in separate.rack.calls] == ["put", "put"]
        assert b"mset" in client.array("COMMAND", "LIST")
        ((name, arity, _, *keys, _, _, _, _),) = client.array("COMMAND", "INFO", "mset")
        assert (name, arity, keys) == (b"mset", -3, [1, -1, 2])
        assert "cannot depend" in str(client.call("MSETNX", "c", "1"))
        assert "without MULTI" in str(client.call("MULTI"))
        assert "EXEC or DISCARD are not executed" in str(client.call("MSET", "c", "1"))


def test_mset_that_fails_in_part_names_what_is_written(separate: Served) -> None:
    separate.rack.lost |= {b"lost"}
    with separate.connect() as client:
        reply = str(client.call("MSET", "a", "1", "large", b"v" * 2000, "lost", "2", "b", "3"))
        assert reply == (
            "UNKNOWN the write of b'lost' is not acknowledged (Of this MSET's 4 keys, "
            "written: 'a', 'b'; perhaps written: 'lost'; not written: 'large'.)"
        )
        assert separate.rack.stored == {b"a": b"1", b"b": b"3"}
        reply = str(client.call("MSET", "c", "1", "large", b"v" * 2000))
        assert reply == (
            "ERR only 1 of 2 keys are written: a value may have 1024 bytes, not 2000 "
            "(Of this MSET's 2 keys, written: 'c'; perhaps written: none; not written: 'large'.)"
        )
        reply = str(client.call("MSET", "large", b"v" * 2000, "larger", b"v" * 2000))
        assert reply.startswith("ERR a value may have 1024 bytes, not 2000 (Of this MSET's 2 keys")
        reply = str(client.call("MSET", "large", b"v" * 2000))
        assert reply == "ERR a value may have 1024 bytes, not 2000"
        assert client.call("DBSIZE") == 3


def test_mset_of_many_keys(separate: Served) -> None:
    with separate.connect() as client:
        words = [word for number in range(4097) for word in (f"k{number}", "v")]
        assert "4096 keys, not 4097" in str(client.call("MSET", *words))
        assert client.call("MSET", *words[2:]) == b"OK"
        assert client.call("DBSIZE") == 4096
        separate.rack.lost |= {b"k%d" % number for number in range(1, 4097)}
        reply = str(client.call("MSET", *words[:2], *words[4:]))
        assert "written: 'k0'; perhaps written: 'k2', 'k3'," in reply
        assert "'k101' and 3995 more; not written: none" in reply
        assert len(reply) < 2000


def test_mset_is_ordered_with_other_writes_of_its_keys(separate: Served) -> None:
    separate.rack.delays = DecreasingDelays()
    with separate.connect() as client:
        pipeline = ["SET a 1", "MSET a 2 b 2", "GET a", "SET b 3", "MGET a b"]
        client.send(b"".join(request(*words.split()) for words in pipeline))
        replies = [client.reply() for _ in pipeline]
    assert replies == [b"OK", b"OK", b"2", b"OK", [b"2", b"3"]]


def test_mset_ends_the_gateway_when_the_rack_is_down(separate: Served) -> None:
    separate.rack.closed = True
    with separate.connect() as client:
        reply = str(client.call("MSET", "a", "1", "b", "2"))
        assert reply == "NOTCONNECTED The client was closed."
    separate.join()
    assert isinstance(separate.failure, NotConnected)


# Order


def test_replies_are_in_order_of_requests(served: Served) -> None:
    served.rack.stored |= {b"slow": b"1", b"fast": b"2"}
    served.rack.delays = {b"slow": 0.3}
    with served.connect() as client:
        client.send(request("GET", "slow") + request("PING") + request("GET", "fast"))
        assert [client.reply() for _ in range(3)] == [b"1", b"PONG", b"2"]


def test_reads_of_a_pipeline_run_concurrently(served: Served) -> None:
    served.rack.answers.clear()
    with served.connect() as client:
        client.send(b"".join(request("GET", f"k{number}") for number in range(100)))
        until(lambda: served.rack.under_way == 100, "all reads are under way")
        served.rack.answers.set()
        assert [client.reply() for _ in range(100)] == [None] * 100


def test_commands_of_one_key_take_effect_in_order(served: Served) -> None:
    """Earlier commands take longer, so without ordering they would overwrite later writes."""
    draw = random.Random(1)
    keys = [b"a", b"b", b"c"]
    expected: list[object] = []
    model: dict[bytes, bytes] = {}
    pipeline = []
    for number in range(300):
        key = draw.choice(keys)
        command = draw.choice(["GET", "SET", "DEL", "MGET"])
        if command == "SET":
            model[key] = b"%d" % number
            pipeline.append(request("SET", key, model[key]))
            expected.append(b"OK")
        elif command == "DEL":
            expected.append(int(model.pop(key, None) is not None))
            pipeline.append(request("DEL", key))
        elif command == "GET":
            expected.append(model.get(key))
            pipeline.append(request("GET", key))
        else:
            expected.append([model.get(key) for key in keys])
            pipeline.append(request("MGET", *keys))
    served.rack.delays = DecreasingDelays()
    with served.connect() as client:
        client.send(b"".join(pipeline))
        assert [client.reply() for _ in pipeline] == expected
    assert served.rack.max_under_way > 1


# Limits


def test_client_that_does_not_read_delays_no_other(served: Served) -> None:
    size = 60_000  # the wire format has room for 65,535
    served.rack.max_value_bytes = size
    with served.connect() as slow, served.connect() as other:
        assert slow.call("SET", "big", b"v" * size) == b"OK"

        def is_blocked() -> bool:
            """The gateway starts no read of `slow` while it answers a hundred other requests."""
            before = len(served.rack.calls)
            assert [other.call("PING") for _ in range(100)] == [b"PONG"] * 100
            return len(served.rack.calls) == before

        reads = request("GET", "big") * 10**6
        sent = 0
        slow.socket.setblocking(False)
        while sent < len(reads):
            try:
                sent += slow.socket.send(reads[sent : sent + 65536])
            except BlockingIOError:
                if is_blocked():
                    break
        started = len(served.rack.calls)
        # Requests under way, and replies in the buffers of the gateway and of the kernel.
        assert started < 4000 < sent // len(request("GET", "big")) < 10**6
        slow.socket.settimeout(PATIENCE_S)
        for _ in range(started + 1000):  # more replies than before, so reads are started again
            value = slow.reply()
            assert isinstance(value, bytes)
            assert len(value) == size


def test_requests_under_way_are_limited() -> None:
    with serving(under_way=20) as served:
        served.rack.delay = 0.01
        clients = [served.connect() for _ in range(5)]
        for client in clients:
            client.send(b"".join(request("GET", f"k{number}") for number in range(100)))
        for client in clients:
            assert [client.reply() for _ in range(100)] == [None] * 100
            client.socket.close()
        assert served.rack.max_under_way == 20


def test_client_beyond_the_limit_is_refused() -> None:
    with serving(max_clients=2) as served, served.connect() as one, served.connect() as two:
        assert one.call("PING") == two.call("PING") == b"PONG"
        with served.connect() as three:
            assert three.rest() == b"-ERR max number of clients reached\r\n"
        assert one.call("PING") == b"PONG"
        two.socket.close()
        until(lambda: served.gateway.info.counters.connected == 1, "one client is left")
        with served.connect() as three:
            assert three.call("PING") == b"PONG"


@pytest.mark.parametrize("seed", range(30))
def test_gateway_survives_random_bytes(served: Served, seed: int) -> None:
    draw = random.Random(seed)
    good = [request("SET", "a", "1"), request("MGET", "a", "b"), b"PING\r\n", request("QUIT")]
    with served.connect() as healthy:
        for _ in range(10):
            with served.connect() as client:
                data = b"".join(
                    draw.choice([*good, draw.randbytes(draw.randrange(40)), b"*3\r\n", b"$9\r\n"])
                    for _ in range(draw.randrange(1, 20))
                )
                try:
                    client.send(data)
                    client.socket.shutdown(draw.choice([socket.SHUT_WR, socket.SHUT_RDWR]))
                    client.rest()
                except OSError:
                    pass
            assert healthy.call("PING") == b"PONG"
    until(lambda: served.gateway.info.counters.connected == 0, "no client is left")


# The end of connections and of the gateway


def test_half_closed_connection_gets_its_replies(served: Served) -> None:
    served.rack.delay = 0.1
    served.rack.stored[b"a"] = b"1"
    with served.connect() as client:
        client.send(request("GET", "a") * 3)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.rest() == b"$1\r\n1\r\n" * 3


def test_waiting_commands_of_a_closed_connection_are_dropped() -> None:
    with serving(under_way=1) as served:
        served.rack.answers.clear()
        with served.connect() as client:
            client.send(b"".join(request("SET", f"k{number}", "v") for number in range(50)))
            until(lambda: bool(served.rack.calls), "the first write is under way")
            client.socket.shutdown(socket.SHUT_RDWR)
        served.rack.answers.set()
        until(lambda: served.gateway.info.counters.connected == 0, "no client is left")
        with served.connect() as client:
            assert client.call("GET", "k0") == b"v"
        # The gateway detects the end when it sends the first reply; more writes may have started.
        assert len(served.rack.calls) < 5


def test_pending_requests_are_answered_at_shutdown(served: Served) -> None:
    served.rack.answers.clear()
    with served.connect() as client, served.connect() as idle:
        client.send(request("SET", "a", "1"))
        until(lambda: bool(served.rack.calls), "the write is under way")
        served.stop()
        served.rack.answers.set()
        assert client.reply() == b"OK"
        assert client.rest() == b""
        assert idle.rest() == b""
        assert served.rack.stored == {b"a": b"1"}
        with pytest.raises(ConnectionRefusedError):
            served.connect()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1"])
def test_non_loopback_address_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match="--allow-remote"):
        bound(host, 0, allow_remote=False)
    bound("0.0.0.0", 0, allow_remote=True).close()


def test_port_in_use_is_refused() -> None:
    with bound("127.0.0.1", 0, allow_remote=False) as first:
        first.listen()
        with pytest.raises(NetkvError, match=r"cannot be used: .*--port 0"):
            bound("127.0.0.1", first.getsockname()[1], allow_remote=False)


# INFO and COMMAND


def test_info_names_scheme_and_lab_and_counts() -> None:
    with serving(MemoryRack("farreach")) as served, served.connect() as client:
        client.call("SET", "a", "1")
        client.call("MGET", "a", "b", "c")
        client.call("NOSUCH")
        info = client.call("INFO")
        assert isinstance(info, bytes)
        fields = dict(line.split(":", 1) for line in info.decode().splitlines() if ":" in line)
        assert fields["netkv_scheme"] == "farreach"
        assert fields["netkv_lab"] == "lab"
        assert fields["tcp_port"] == str(served.port)
        assert (fields["keyspace_hits"], fields["keyspace_misses"]) == ("1", "2")
        assert fields["total_error_replies"] == "1"
        assert fields["total_commands_processed"] == "4"
        assert fields["connected_clients"] == "1"
        only = client.call("INFO", "clients")
        assert isinstance(only, bytes)
        assert only.startswith(b"# Clients\r\nconnected_clients:1\r\n")
        assert b"# Server" not in only


def test_command_lists_the_commands(served: Served) -> None:
    with served.connect() as client:
        entries = client.array("COMMAND")
        assert client.call("COMMAND", "COUNT") == len(entries)
        assert client.call("COMMAND", "LIST") == [entry[0] for entry in entries]
        get, missing, client_id = client.array("COMMAND", "INFO", "get", "nosuch", "client|id")
        assert get[:6] == [b"get", 2, [b"readonly", b"fast"], 1, 1, 1]
        assert get[6] == [b"@read", b"@string", b"@fast"]
        assert missing is None
        assert client_id[:2] == [b"client|id", 2]
        docs = client.call("COMMAND", "DOCS", "mget", "nosuch")
        assert docs == [
            b"mget",
            [
                b"summary",
                b"Return the values of several keys, or an error if one read fails.",
                b"since",
                b"1.0.0",
                b"group",
                b"string",
            ],
        ]
        assert isinstance(client.call("CLIENT", "HELP"), list)


def test_gateway_ends_when_its_rack_is_out_of_reach() -> None:
    rack = MemoryRack()
    rack.closed = True
    with serving(rack) as served:
        with served.connect() as client:
            client.send(request("GET", "a") + request("PING"))
            assert str(client.reply()) == "NOTCONNECTED The client was closed."
            client.rest()
        served.join()
        assert isinstance(served.failure, NotConnected)


def test_gateway_survives_an_exception_of_its_backend(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise RuntimeError("of the test")

    monkeypatch.setattr(served.rack, "put", fails)
    with served.connect() as client:
        assert "internal error of netkv" in str(client.call("SET", "a", "1"))
        assert client.call("GET", "a") is None
