//! Frames of all kinds take the ways through the programs. Otherwise a fault there would not be
//! found.

use std::collections::BTreeSet;

use netkv_bench::{handwritten::Counts, subject};
use netkv_dataplane::Output;
use netkv_wire::{CPU_PORT, FrameView, Op, Status, bits, multiget};

use crate::programs::{case, filled};

/// What the switch sends and counts when it gets the frames of all kinds.
struct Sent {
    /// Port and frame.
    frames: Vec<(u16, Vec<u8>)>,
    digests: usize,
    counts: Counts,
}

/// Bytes of the header before a frame to the controller.
const PACKET_IN: usize = 2;

impl Sent {
    /// The well-formed frames.
    fn views(&self) -> impl Iterator<Item = FrameView<'_>> {
        let frames = self.frames.iter().map(|(port, frame)| match *port {
            CPU_PORT => frame.get(PACKET_IN..).unwrap_or(&[]),
            _ => frame,
        });
        frames.filter_map(|frame| FrameView::parse(frame).ok())
    }

    /// The cells of a register or counter.
    fn cells(&self, name: &str) -> &[u64] {
        &self.counts.iter().find(|(of, _)| *of == name).unwrap().1
    }

    /// Checks that frames were dropped for each of these reasons.
    fn assert_dropped(&self, reasons: impl IntoIterator<Item = usize>) {
        let drops = self.cells("NetkvIngress.drop.reasons");
        for reason in reasons {
            assert!(drops[reason] > 0, "reason {reason}: {drops:?}");
        }
    }

    /// Operation and status of all well-formed frames, and whether each has cache metadata.
    fn kinds(&self) -> BTreeSet<(u8, u8, bool)> {
        let kind = |view: FrameView<'_>| {
            (view.op().code(), view.status().code(), view.cache_metadata().is_some())
        };
        self.views().map(kind).collect()
    }
}

fn send_all_kinds(program: &str) -> Sent {
    let (subject, case) = (subject(program).unwrap(), case(program, "").all_kinds());
    let mut contender = filled(&case);
    let (mut frames, mut digests) = (Vec::new(), 0);
    for arrivals in subject.all_kinds(&case) {
        let mut out = Output::new();
        contender.process(0, arrivals.port, &arrivals.frames.slices(), &mut out);
        frames.extend(out.frames().map(|(port, frame)| (port, frame.to_vec())));
        digests += contender.take_digests().len();
    }
    Sent { frames, digests, counts: contender.counts(subject).unwrap() }
}

#[test]
fn forwarding_reaches_all_ports_and_drops_for_every_reason() {
    let sent = send_all_kinds("forwarding");
    assert!([1, 100, 510].iter().all(|port| sent.frames.iter().any(|(at, _)| at == port)));
    sent.assert_dropped(1..=5);
}

#[test]
fn netcache_replies_in_every_way_and_reports_hot_keys() {
    let sent = send_all_kinds("netcache");
    let kinds = sent.kinds();
    for (op, status, has_metadata) in [
        (Op::GetReply, Status::Ok, false),
        (Op::UpdateReply, Status::Ok, true),
        (Op::UpdateReply, Status::Stale, true),
        (Op::UpdateReply, Status::NotCached, true),
        (Op::InvalidateReply, Status::Ok, true),
        (Op::InvalidateReply, Status::NotCached, false),
        (Op::StatsReply, Status::Ok, true),
        (Op::StatsReply, Status::NotCached, false),
        (Op::EpochReply, Status::Ok, true),
        (Op::Get, Status::Ok, true),
        (Op::Get, Status::Ok, false),
        (Op::Put, Status::Ok, true),
        (Op::Put, Status::Ok, false),
        (Op::Install, Status::Ok, true),
        (Op::Install, Status::Ok, false),
    ] {
        let kind = (op.code(), status.code(), has_metadata);
        assert!(kinds.contains(&kind), "{op:?} {status:?} {has_metadata}");
    }
    assert!(sent.views().any(|view| view.cache_hit()));
    assert!(sent.digests > 10, "{}", sent.digests);
    sent.assert_dropped(1..=5);
}

#[test]
fn farreach_replies_and_forwards_in_every_way() {
    let sent = send_all_kinds("farreach");
    let kinds = sent.kinds();
    for (op, status) in [
        (Op::GetReply, Status::Ok),
        (Op::GetReply, Status::NotFound),
        (Op::PutReply, Status::Ok),
        (Op::DeleteReply, Status::Ok),
        (Op::Get, Status::Ok),
        (Op::Put, Status::Ok),
        (Op::Delete, Status::Ok),
        (Op::FillReply, Status::Ok),
        (Op::FillReply, Status::Stale),
        (Op::ValidateReply, Status::Ok),
        (Op::EvictReply, Status::Ok),
        (Op::LoadReply, Status::Ok),
        (Op::LoadReply, Status::Stale),
        (Op::RetireReply, Status::Ok),
        (Op::CountReply, Status::Ok),
        (Op::Original, Status::Ok),
    ] {
        assert!(kinds.contains(&(op.code(), status.code(), false)), "{op:?} {status:?}");
    }
    // Every bit of a stamp that the switch may set: (operation, answered by the switch, bit).
    for (op, by_switch, bit) in [
        (Op::Get, false, bits::HOT),
        (Op::Put, false, bits::HOT),
        (Op::Put, false, bits::PAST),
        (Op::Get, false, bits::EMBEDDED),
        (Op::Get, false, bits::EMBEDDED | bits::DELETED),
        (Op::GetReply, true, bits::DIRTY),
        (Op::LoadReply, false, bits::DIRTY | bits::LATEST),
        (Op::LoadReply, false, bits::DELETED),
        (Op::LoadReply, false, bits::OVERWRITTEN),
        (Op::Original, false, bits::LATEST | bits::VALID),
    ] {
        let mut views =
            sent.views().filter(|view| (view.op(), view.cache_hit()) == (op, by_switch));
        assert!(views.any(|view| view.stamp().is_some_and(|it| it.has(bit))), "{op:?} {bit:#x}");
    }
    let late = sent.cells("NetkvEgress.drop.reasons")[7];
    assert!(late > 0, "late copies of writes are dropped");
    // A key without an owner has no route.
    sent.assert_dropped([1, 2, 4, 5]);
}

#[test]
fn netmc_splits_and_refuses_in_every_way() {
    let sent = send_all_kinds("netmc");
    let mut groups = BTreeSet::new();
    for (_, frame) in &sent.frames {
        let Ok(view) = multiget::View::parse(frame, 8) else { continue };
        let header = view.header();
        groups.insert((header.oid, header.clo, header.rack));
    }
    for oid in 1..=8 {
        assert!(groups.contains(&(oid, 1, 1)), "group {oid} of a multiget: {groups:?}");
    }
    assert!(groups.contains(&(1, 0, 1)), "a request of one group: {groups:?}");
    assert!(groups.contains(&(3, 1, 0)), "a sub-request of a client: {groups:?}");
    assert!([1, 100, 510].iter().all(|port| sent.frames.iter().any(|(at, _)| at == port)));
    sent.assert_dropped([1, 2, 4, 8]);
}
