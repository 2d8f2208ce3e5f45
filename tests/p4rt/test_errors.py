"""The status of a Write: one error for each failed update."""

from netkv.p4rt.errors import DETAILS_LIMIT, Code, RpcError, batch_status, read_status


def test_each_failed_update_has_its_index_and_code() -> None:
    error = RpcError(Code.NOT_FOUND, "there is no such entry")
    message, details = batch_status("update", [None, error, None])
    assert message == "1 of 3 updates failed; update 1: there is no such entry"
    failed = read_status(details)
    assert list(failed) == [1]
    assert failed[1].code is Code.NOT_FOUND
    assert failed[1].message == "there is no such entry"


def test_status_of_a_huge_failed_batch_is_cut_not_lost() -> None:
    error = RpcError(Code.ALREADY_EXISTS, "the entry exists " + "x" * 100)
    message, details = batch_status("update", [error] * 10_000)
    assert len(details) < DETAILS_LIMIT + 2000
    assert message.startswith("10000 of 10000 updates failed")
    assert "details of the first" in message
    assert 0 in read_status(details)
