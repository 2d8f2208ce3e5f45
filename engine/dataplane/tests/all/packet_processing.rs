//! Processing between the blocks: drops, copies, loops, digests, truncation; and parser operations.

use crate::common::{
    ProgramBuilder, binary, block, constant, copy, equal, identity, load, send, set, straight,
};

use netkv_dataplane::{CloneSession, MAX_PASSES, MAX_QUEUED_DIGESTS, Output, Random};
use netkv_ir::*;

/// A program that parses and emits a header with the one-byte field `q.op`.
fn echo() -> (ProgramBuilder, HeaderId, Place) {
    let mut build = ProgramBuilder::new();
    let (q, fields) = build.header("q", &[("op", 8)]);
    build.program.parser = straight(vec![Op::Extract(q)]);
    build.program.deparser = straight(vec![Op::Emit(q)]);
    (build, q, fields[0])
}

#[test]
fn an_endless_recirculation_is_dropped_and_counted() {
    let (mut build, ..) = echo();
    build.program.egress = straight(vec![Op::Recirculate { field_list: None }]);
    let mut switch = build.switch();
    assert_eq!(send(&mut switch, 0, &[1, 2]), []);
    assert_eq!(switch.statistics().loops_cut, 1);
    assert_eq!(switch.statistics().recirculated, u64::from(MAX_PASSES) + 1);
    // The switch still processes the next packet.
    assert_eq!(send(&mut switch, 0, &[1, 2]), []);
    assert_eq!(switch.statistics().loops_cut, 2);
}

#[test]
fn endless_resubmits_and_clones_are_dropped() {
    let (mut build, ..) = echo();
    build.program.ingress = straight(vec![Op::Resubmit { field_list: None }]);
    let mut switch = build.switch();
    assert_eq!(send(&mut switch, 0, &[1]), []);
    assert_eq!(switch.statistics().loops_cut, 1);

    let (mut build, ..) = echo();
    let clone = Op::Clone { ingress: false, session: constant(32, 5), field_list: None };
    build.program.egress = straight(vec![clone]);
    let mut switch = build.switch();
    let replicas = vec![(1, 0), (2, 0)];
    let session = CloneSession { replicas, ..CloneSession::default() };
    switch.insert_clone_session(5, session).unwrap();
    let frames = send(&mut switch, 0, &[1]).len();
    assert!(frames > 1_000, "{frames} frames left before the cut");
    assert!(switch.statistics().loops_cut > 0);
}

#[test]
fn a_parser_that_loops_without_extracting_times_out() {
    let (mut build, ..) = echo();
    let standard = build.standard();
    build.program.parser = Cfg { blocks: vec![block(vec![], Terminator::Jump(0))] };
    let error = Expr::Slice { arg: Box::new(load(standard.parser_error)), high: 8, low: 0 };
    build.program.ingress = straight(vec![Op::Assign { to: standard.egress_spec, value: error }]);
    let mut switch = build.switch();
    assert_eq!(send(&mut switch, 0, &[7]), [(5, vec![7])], "ParserTimeout, the packet untouched");
    assert_eq!(switch.statistics().endless_graphs, 1);
}

#[test]
fn ingress_can_undo_a_drop_but_egress_cannot() {
    let (mut build, _, op) = echo();
    let standard = build.standard();
    let branch = |cond, then, otherwise| Terminator::Branch { cond, then, otherwise };
    build.program.ingress = Cfg {
        blocks: vec![
            block(vec![Op::MarkToDrop], branch(equal(op, 1), 1, 2)),
            block(vec![set(standard.egress_spec, 3)], Terminator::Exit),
            block(vec![], branch(equal(op, 2), 3, 4)),
            block(vec![set(standard.egress_spec, 4)], Terminator::Exit),
            block(vec![], Terminator::Exit),
        ],
    };
    build.program.egress = Cfg {
        blocks: vec![
            block(vec![set(standard.egress_spec, 9)], branch(equal(op, 2), 1, 2)),
            block(vec![Op::MarkToDrop, Op::Recirculate { field_list: None }], Terminator::Exit),
            block(vec![], Terminator::Exit),
        ],
    };
    let mut switch = build.switch();
    assert_eq!(send(&mut switch, 0, &[1]), [(3, vec![1])], "egress cannot redirect");
    assert_eq!(send(&mut switch, 0, &[2]), [], "a drop in egress beats recirculation");
    assert_eq!(send(&mut switch, 0, &[0]), []);
    let statistics = switch.statistics();
    assert_eq!((statistics.dropped_ingress, statistics.dropped_egress), (1, 1));
    assert_eq!((statistics.packets_in, statistics.packets_out), (3, 1));
}

#[test]
fn digests_have_their_values_and_the_queue_is_bounded() {
    let (mut build, _, op) = echo();
    build.program.digests.push(Digest {
        identity: identity("seen_t", 0x1700_0001),
        type_name: "seen_t".into(),
        members: vec![
            ActionParam { name: "op".into(), width: 8 },
            ActionParam { name: "big".into(), width: 100 },
        ],
    });
    let send_digest =
        |value| Op::Digest { digest: 0, values: vec![load(op), constant(100, value)] };
    let change = set(op, 0xff);
    build.program.ingress =
        straight(vec![send_digest(1), send_digest(1 << 90), change, Op::MarkToDrop]);
    let mut switch = build.switch();
    send(&mut switch, 0, &[7]);
    let digests = switch.take_digests();
    assert_eq!(digests.len(), 1, "the last call of a packet wins");
    assert_eq!(digests[0].digest_id, 0x1700_0001);
    assert_eq!(digests[0].values, [Value::new(8, 7), Value::new(100, 1 << 90)]);
    for _ in 0..MAX_QUEUED_DIGESTS + 3 {
        send(&mut switch, 0, &[7]);
    }
    assert_eq!(switch.take_digests().len(), MAX_QUEUED_DIGESTS);
    assert_eq!(switch.statistics().digests_dropped, 3);
}

#[test]
fn truncate_and_clone_length_limit_the_frame() {
    let (mut build, ..) = echo();
    let clone = Op::Clone { ingress: true, session: constant(32, 5), field_list: None };
    build.program.ingress = straight(vec![clone, Op::Truncate(constant(32, 4))]);
    let mut switch = build.switch();
    let session =
        CloneSession { replicas: vec![(7, 0)], class_of_service: 0, packet_length_bytes: 2 };
    switch.insert_clone_session(5, session).unwrap();
    let frames = send(&mut switch, 0, &[1, 2, 3, 4, 5, 6]);
    // The clone has the last four bytes of the frame, and the length of its session.
    assert_eq!(frames, [(7, vec![3, 4]), (0, vec![1, 2, 3, 4])]);
    assert_eq!(send(&mut switch, 0, &[1]), [(7, vec![1]), (0, vec![1])]);
}

#[test]
fn egress_length_includes_header_changes_of_ingress() {
    let (mut build, q, op) = echo();
    let standard = build.standard();
    let (extra, _) = build.header("extra", &[("x", 32)]);
    build.program.ingress = straight(vec![Op::SetValid(extra), Op::SetValid(extra)]);
    let length = Expr::Slice { arg: Box::new(load(standard.packet_length)), high: 7, low: 0 };
    build.program.egress = straight(vec![Op::Assign { to: op, value: length }]);
    build.program.deparser = straight(vec![Op::Emit(q), Op::Emit(extra)]);
    let mut switch = build.switch();
    assert_eq!(send(&mut switch, 0, &[0, 9]), [(0, vec![6, 0, 0, 0, 0, 9])]);
}

#[test]
fn timestamps_are_the_callers_time_in_microseconds() {
    let (mut build, q, op) = echo();
    let standard = build.standard();
    let (times, fields) = build.header("times", &[("in", 48), ("out", 48), ("enq", 32)]);
    build.program.egress = straight(vec![
        Op::SetValid(times),
        copy(fields[0], standard.ingress_global_timestamp),
        copy(fields[1], standard.egress_global_timestamp),
        copy(fields[2], standard.enq_timestamp),
        set(op, 0),
    ]);
    build.program.deparser = straight(vec![Op::Emit(q), Op::Emit(times)]);
    let mut switch = build.switch();
    let mut output = Output::new();
    switch.process(0x1234_5678_9000, 0, &[1], &mut output);
    let micros = (0x1234_5678_9000_u64 / 1000).to_be_bytes();
    let frame = output.frames().next().unwrap().1.to_vec();
    assert_eq!(frame[1..7], micros[2..]);
    assert_eq!(frame[7..13], micros[2..]);
    assert_eq!(frame[13..], micros[4..]);
}

#[test]
fn varbit_errors_have_the_order_of_bmv2() {
    let mut build = ProgramBuilder::new();
    let standard = build.standard();
    let (head, fields) = build.header("head", &[("bits", 16)]);
    let (options, _) = build.header("options", &[("kind", 8), ("data", 64)]);
    build.varbit(options);
    build.program.parser = straight(vec![
        Op::Extract(head),
        Op::ExtractVarbit { header: options, bits: load(fields[0]) },
    ]);
    let error = Expr::Slice { arg: Box::new(load(standard.parser_error)), high: 8, low: 0 };
    build.program.ingress = straight(vec![Op::Assign { to: standard.egress_spec, value: error }]);
    build.program.deparser = straight(vec![Op::Emit(head), Op::Emit(options)]);
    let mut switch = build.switch();
    let mut error_of = |frame: &[u8]| {
        let frames = send(&mut switch, 0, frame);
        assert_eq!(frames[0].1, frame, "what was parsed and what was not leave unchanged");
        frames[0].0
    };
    assert_eq!(error_of(&[0, 24, 9, 1, 2, 3, 4]), 0);
    assert_eq!(error_of(&[0, 0, 9, 1]), 0, "an empty varbit");
    assert_eq!(error_of(&[0, 25, 9]), 6, "not a multiple of 8: ParserInvalidArgument");
    assert_eq!(error_of(&[0, 72, 9, 1]), 1, "too few bytes: PacketTooShort");
    assert_eq!(error_of(&[0, 72, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]), 4, "over 64: HeaderTooShort");
    assert_eq!(error_of(&[0]), 1);
    assert_eq!(error_of(&[]), 1);
}

#[test]
fn stacks_are_extracted_shifted_and_indexed_at_run_time() {
    let mut build = ProgramBuilder::new();
    let (stack, places) = build.stack("s", 3, &[("v", 8)]);
    let parse = vec![Op::ExtractNext(stack), Op::ExtractNext(stack), Op::ExtractNext(stack)];
    build.program.parser = straight(parse);
    let at = |index: u128| Expr::LoadElement {
        stack,
        index: Box::new(constant(32, index)),
        place: places[0],
    };
    let store = |index: u128, value| Op::StoreElement {
        stack,
        index: constant(32, index),
        place: places[0],
        value,
    };
    build.program.ingress = straight(vec![
        Op::PushFront { stack, count: 1 },
        Op::SetValidElement { stack, index: constant(8, 0), valid: true },
        store(0, binary(BinaryOp::Add, at(1), at(77))),
        store(3, constant(8, 0xee)),
    ]);
    build.program.egress =
        straight(vec![Op::PopFront { stack, count: 1 }, Op::PopFront { stack, count: 0 }]);
    build.program.deparser = straight(vec![Op::EmitStack(stack)]);
    let mut switch = build.switch();
    let frames = send(&mut switch, 0, &[10, 20, 30, 40]);
    assert_eq!(frames, [(0, vec![10, 20, 40])], "[10 20 30] -> [_ 10 20] -> [10 20 _], payload 40");
}

#[test]
fn random_and_truncated_frames_never_crash_the_switch() {
    let mut build = ProgramBuilder::new();
    let (a, a_f) = build.header("a", &[("kind", 3), ("n", 5), ("x", 16)]);
    let (b, b_f) = build.header("b", &[("len", 8), ("data", 128)]);
    build.varbit(b);
    let (stack, s_f) = build.stack("s", 3, &[("more", 1), ("v", 7)]);
    let look = build.place("look", 70);
    let register = build.register("r", 128, 16);
    let standard = build.standard();
    let case =
        |value, target| SelectCase { patterns: vec![Pattern::Value(Value::new(3, value))], target };
    let length = Expr::Concat(Box::new(load(a_f[1])), Box::new(constant(3, 0)));
    let last = Expr::LoadElement { stack, index: Box::new(load(a_f[1])), place: s_f[0] };
    build.program.parser = Cfg {
        blocks: vec![
            block(
                vec![Op::Extract(a)],
                Terminator::Select {
                    keys: vec![load(a_f[0])],
                    cases: vec![case(0, 1), case(1, 2), case(2, 3), case(3, 4)],
                    default: 5,
                },
            ),
            block(vec![Op::ExtractVarbit { header: b, bits: length.clone() }], Terminator::Jump(5)),
            block(
                vec![Op::ExtractNext(stack)],
                Terminator::Branch { cond: last.clone(), then: 2, otherwise: 5 },
            ),
            block(
                vec![Op::Lookahead { to: look, skip: 3, need: 80 }, Op::Advance(length.clone())],
                Terminator::Jump(0),
            ),
            block(vec![Op::Advance(load(a_f[2]))], Terminator::Jump(2)),
            block(vec![], Terminator::Exit),
        ],
    };
    let x = load(a_f[2]);
    build.program.ingress = straight(vec![
        Op::RegisterWrite { register, index: x.clone(), value: constant(128, 5) },
        Op::StoreElement { stack, index: x.clone(), place: s_f[1], value: constant(7, 1) },
        Op::SetValidElement { stack, index: x.clone(), valid: true },
        Op::PushFront { stack, count: 2 },
        Op::Clone { ingress: true, session: x.clone(), field_list: Some(1) },
        Op::AssignSlice { to: standard.egress_spec, high: 4, low: 0, value: load(a_f[1]) },
        copy(standard.mcast_grp, a_f[2]),
        Op::Truncate(x.clone()),
    ]);
    let again = Terminator::Branch { cond: equal(a_f[0], 5), then: 1, otherwise: 2 };
    build.program.egress = Cfg {
        blocks: vec![
            block(vec![Op::PopFront { stack, count: 1 }], again),
            block(vec![Op::Recirculate { field_list: Some(1) }], Terminator::Exit),
            block(vec![], Terminator::Exit),
        ],
    };
    let data = vec![HashInput { value: load(b_f[1]), header: Some(b), varbit_length: None }];
    build.program.compute_checksum = straight(vec![Op::UpdateChecksum {
        cond: constant(1, 1),
        data,
        to: a_f[2],
        header: Some(a),
        algorithm: HashAlgorithm::Csum16,
        with_payload: true,
    }]);
    build.program.deparser = straight(vec![Op::Emit(b), Op::EmitStack(stack), Op::Emit(a)]);
    let mut switch = build.switch();
    for id in 0..64 {
        switch.insert_multicast_group(id + 1, vec![(1, 1), (511, 2)]).unwrap();
    }
    let session = CloneSession { replicas: vec![(1, 0)], ..CloneSession::default() };
    switch.insert_clone_session(7, session).unwrap();
    let mut random = Random::new(11);
    let mut output = Output::new();
    for round in 0..100_000u64 {
        let length = random.between(0, 40) as usize;
        let mut frame: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        // With a small second byte, packets get further into the program.
        if random.between(0, 1) == 0 && length > 2 {
            frame[1] = 0;
        }
        output.clear();
        if round % 100 == 0 {
            switch.trace(round, random.next() as u16, &frame, &mut output);
        } else {
            switch.process(round, random.next() as u16, &frame, &mut output);
        }
    }
    let statistics = switch.statistics();
    assert_eq!(statistics.packets_in, 100_000);
    assert!(statistics.parser_errors > 1_000 && statistics.packets_out > 1_000, "{statistics:?}");
}
