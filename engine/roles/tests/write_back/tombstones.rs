//! Rule 6: tombstones of deleted keys are dropped when no older record can arrive any more.

use netkv_roles::Server as _;
use netkv_roles::kits::single_key::ServerConfig;
use netkv_roles::kits::write_back::Server;
use netkv_roles::{Actions, FORGET, MILLISECOND, SECOND};
use netkv_wire::{Op, Sequence, Status, bits, partition};

use crate::frames::{Incoming, LONG, at};
use crate::rig::Rig;

const NO_SEQUENCE: Sequence = Sequence { incarnation: 0, number: 0 };

impl Rig {
    fn watermark(&mut self, request: u32) {
        let watermark =
            Incoming { key: [0; 16], ..Incoming::control(Op::Watermark, request, at(0)) };
        let outgoing = self.exchange(&watermark).map(|it| it.status);
        self.expect(outgoing, Some(Status::Ok), "answer to WATERMARK");
        self.wait(LONG);
    }

    fn watermarks(&mut self, requests: impl IntoIterator<Item = u32>) {
        requests.into_iter().for_each(|request| self.watermark(request));
    }

    /// Deletes the key; an older record of it is still somewhere.
    fn delete(&mut self) {
        let delete = Incoming::client(Op::Delete, 1, 1, at(9));
        self.arrive(&delete);
        self.expect_done(&delete, at(9));
    }

    /// Checks that the tombstone keeps an older record out of the store.
    fn expect_kept_out(&mut self) {
        let restore = Incoming::restore(99, (2, 1), at(8));
        self.arrive(&restore);
        self.expect_done(&restore, at(9));
        self.expect_read(None, at(9));
    }

    fn expect_dropped(&mut self) {
        let stored = self.stored();
        self.expect(stored, (None, NO_SEQUENCE), "the stored record");
        let known = self.server.tombstones();
        self.expect(known, 0, "tombstones that the server knows");
    }
}

/// Some snapshots follow the delete: the one in force may have an older record, and so may clients.
///
/// Protection: A tombstone stays until the fifth WATERMARK after it.
pub fn some_snapshots_later(rig: &mut Rig) {
    rig.watermarks(1..4);
    rig.delete();
    rig.wait(2 * FORGET);
    rig.watermarks(4..8);
    rig.expect_kept_out();
    rig.watermark(8);
    rig.expect_dropped();
}

/// Snapshots follow each other quickly, and a write from before the delete is still in the network.
///
/// Protection: A tombstone stays for ten minutes.
pub fn some_snapshots_within_minutes(rig: &mut Rig) {
    rig.delete();
    for request in 1..=9 {
        rig.wait(FORGET / 10);
        rig.watermark(request);
    }
    rig.expect_kept_out();
    rig.wait(FORGET / 10);
    rig.watermark(10);
    rig.expect_dropped();
}

/// WATERMARK is lost or delayed, and arrives several times.
///
/// Protection: A copy of WATERMARK is not counted.
pub fn copies_of_a_watermark(rig: &mut Rig) {
    rig.watermark(10);
    rig.delete();
    rig.wait(2 * FORGET);
    rig.watermarks([11, 11, 12, 10, 11, 12, 12, 13, 13, 14, 14, 9]);
    rig.expect_kept_out();
    rig.watermark(15);
    rig.expect_dropped();
}

/// A copy of a WATERMARK arrives after the server has restarted.
///
/// Protection: No WATERMARK is counted in the guard time after the start.
pub fn copy_of_a_watermark_after_a_restart(rig: &mut Rig) {
    rig.watermark(10);
    rig.restart(SECOND);
    rig.delete();
    rig.watermark(10);
    rig.wait(2 * FORGET);
    rig.watermarks(11..15);
    rig.expect_kept_out();
    rig.watermark(15);
    rig.expect_dropped();
}

/// A read finds the tombstone, and its result arrives after the key was written again.
///
/// Protection: The server reads a record before it drops it as a tombstone.
pub fn late_result_with_a_tombstone(rig: &mut Rig) {
    rig.delete();
    rig.restart(0);
    rig.hangs = true;
    rig.arrive(&Incoming::get(1));
    let read = rig.carry_out_one();
    rig.hangs = false;
    let put = Incoming::client(Op::Put, 2, 1, at(10));
    rig.arrive(&put);
    if let Some((id, result)) = read {
        rig.report_result(id, &result);
    }
    rig.wait(FORGET);
    rig.watermarks(1..8);
    rig.expect_read(Some((2, 1)), at(10));
}

#[test]
fn a_watermark_is_for_its_server_whatever_its_key() {
    let mut rig = Rig::new(None);
    let owner = partition(&[0; 16], 2);
    for server in [owner, 1 - owner] {
        let config = ServerConfig { server, servers: 2, ..rig.config };
        rig.server = Server::new(config, rig.now);
        let bytes = Incoming { key: [0; 16], ..Incoming::control(Op::Watermark, 1, at(0)) }.frame();
        let mut out = Actions::new();
        rig.server.on_frame(rig.now, &bytes, &mut out);
        assert_eq!((out.frames().len(), rig.server.stats().wrong_partition), (1, 0));
    }
}

#[test]
fn watermarks_count_when_numbers_wrap_or_restart() {
    for first in [u32::MAX - 2, 7] {
        let mut rig = Rig::new(None);
        rig.delete();
        rig.wait(FORGET);
        rig.watermarks((0..5).map(|it| first.wrapping_add(it)));
        rig.expect_dropped();
        assert_eq!(rig.wrong, [""; 0]);
    }
    let mut rig = Rig::new(None);
    rig.watermark(3 << 30);
    rig.delete();
    // After ten minutes of silence no number is older than another.
    for number in 0..5 {
        rig.wait(FORGET + 2 * SECOND);
        rig.watermark((2 << 30) - number);
    }
    rig.expect_dropped();
    assert_eq!(rig.wrong, [""; 0]);
}

#[test]
fn each_delete_of_a_key_has_its_own_tombstone() {
    let mut rig = Rig::new(None);
    rig.delete();
    rig.arrive(&Incoming::client(Op::Put, 2, 1, at(10)));
    rig.arrive(&Incoming::client(Op::Delete, 1, 1, at(5)).of_key(2));
    rig.wait(FORGET);
    rig.watermarks(1..5);
    rig.arrive(&Incoming::client(Op::Delete, 1, 2, at(6)).of_key(2));
    rig.watermark(5);
    assert_eq!(rig.stored(), (Some((2, 1)), at(10)));
    assert_eq!(rig.stored_of(2), (None, at(6)));
    rig.wait(FORGET);
    rig.watermarks(6..9);
    assert_eq!(rig.stored_of(2), (None, at(6)));
    rig.watermark(9);
    assert_eq!((rig.stored(), rig.stored_of(2)), ((Some((2, 1)), at(10)), (None, NO_SEQUENCE)));
    assert_eq!(rig.server.write_back_stats().dropped_tombstones, 1);
}

#[test]
fn a_restored_tombstone_is_dropped_like_any_other() {
    let mut rig = Rig::new(None);
    let restore = Incoming::restore(1, (2, 1), at(9)).with(bits::DELETED).of_size(0);
    rig.arrive(&restore);
    rig.wait(FORGET);
    rig.watermarks(1..5);
    rig.expect_kept_out();
    rig.watermark(5);
    rig.expect_dropped();
    // Now any write of the key is newer than the stored record.
    let first = Incoming::client(Op::Put, 1, 1, at(3));
    rig.arrive(&first);
    rig.expect_done(&first, at(3));
    assert_eq!(rig.wrong, [""; 0]);
}

#[test]
fn tombstones_from_before_a_restart_are_noted_when_read() {
    type Touch = fn(&mut Rig);
    let touches: [Touch; 4] = [
        |rig| rig.expect_read(None, at(9)),
        |rig| rig.arrive(&Incoming::client(Op::Put, 3, 1, at(7))),
        |rig| rig.arrive(&Incoming::control(Op::Fetch, 1, at(0))),
        |rig| rig.arrive(&Incoming::client(Op::Delete, 1, 1, at(11))), // A copy.
    ];
    for touch in touches {
        let mut rig = Rig::new(None);
        rig.delete();
        rig.restart(0);
        assert_eq!((rig.stored(), rig.server.tombstones()), ((None, at(9)), 0));
        touch(&mut rig);
        assert_eq!(rig.server.tombstones(), 1);
        rig.wait(FORGET);
        rig.watermarks(1..5);
        rig.expect_kept_out();
        rig.watermark(5);
        rig.expect_dropped();
        assert_eq!(rig.wrong, [""; 0]);
    }
}

#[test]
fn requests_do_not_wait_behind_many_tombstones() {
    let mut rig = Rig::new(None);
    for id in 10..1010 {
        rig.arrive(&Incoming::client(Op::Put, 1, id, at(id)).of_key(id.into()));
        rig.arrive(&Incoming::client(Op::Delete, 2, id, at(id + 1)).of_key(id.into()));
    }
    rig.wait(FORGET);
    rig.watermarks(1..5);
    assert_eq!(rig.server.tombstones(), 1000);
    let mut most = 0;
    let mut calls_of = |rig: &mut Rig| {
        most = most.max(rig.calls.len());
        rig.resume();
        rig.hangs = true;
    };
    rig.hangs = true;
    rig.arrive(&Incoming { key: [0; 16], ..Incoming::control(Op::Watermark, 5, at(0)) });
    for _ in 0..100 {
        calls_of(&mut rig);
        rig.wait(MILLISECOND / 2);
    }
    rig.resume();
    assert!((1..=64).contains(&most), "{most} at once");
    assert_eq!(
        (rig.server.tombstones(), rig.server.write_back_stats().dropped_tombstones),
        (0, 1000)
    );
    assert_eq!(rig.server.busy_keys(), 0);
}

#[test]
fn a_write_waits_for_the_drop_of_its_tombstone() {
    let mut rig = Rig::new(None);
    rig.delete();
    rig.wait(FORGET);
    rig.watermarks(1..5);
    rig.hangs = true;
    rig.arrive(&Incoming { key: [0; 16], ..Incoming::control(Op::Watermark, 5, at(0)) });
    rig.finish_one();
    let put = Incoming::client(Op::Put, 2, 1, at(12));
    rig.arrive(&put);
    assert_eq!((rig.calls.len(), rig.answer(&put)), (1, None), "the drop is under way");
    rig.resume();
    rig.expect_done(&put, at(12));
    assert_eq!(rig.stored(), (Some((2, 1)), at(12)));
    assert_eq!((rig.wrong.len(), rig.server.tombstones()), (0, 0));
}

#[test]
fn a_tombstone_in_use_is_dropped_at_a_later_watermark() {
    let mut rig = Rig::new(None);
    rig.delete();
    rig.wait(FORGET);
    rig.watermarks(1..5);
    rig.refuses = true;
    rig.watermark(5);
    rig.refuses = false;
    assert_eq!(rig.stored(), (None, at(9)));
    rig.hangs = true;
    rig.arrive(&Incoming::client(Op::Put, 2, 1, at(3))); // Without effect, but busy.
    rig.arrive(&Incoming { key: [0; 16], ..Incoming::control(Op::Watermark, 6, at(0)) });
    assert_eq!(rig.calls.len(), 1);
    rig.resume();
    rig.expect_read(None, at(9));
    rig.watermark(7);
    rig.expect_dropped();
    assert_eq!(rig.wrong, [""; 0]);
}
