//! A switch that threads share: its parts, the packets between them, and the whole switch.

use crate::common::{ProgramBuilder, binary, block, constant, load, straight};

use std::sync::Arc;

use netkv_dataplane::{
    CloneSession, ControlCode, Output, Packet, SharedSwitch, Statistics, Switch, SwitchOptions,
};
use netkv_ir::*;

const SEEN: u32 = 0x1600_0001;

/// The first byte of a frame is its egress port, and the second one a multicast group; cell 0 of a
/// register counts packets in ingress, and cell 1 in egress. Packets with the group 9 are cloned in
/// egress to session 5.
fn counting() -> Program {
    let mut build = ProgramBuilder::new();
    let (q, fields) = build.header("q", &[("to", 8), ("group", 8)]);
    let seen = build.place("seen", 32);
    let register = build.register("seen", 32, 2);
    let count = |cell: u128| {
        let index = constant(32, cell);
        let more = binary(BinaryOp::Add, load(seen), constant(32, 1));
        vec![
            Op::RegisterRead { register, index: index.clone(), to: seen },
            Op::RegisterWrite { register, index, value: more },
        ]
    };
    let standard = build.standard();
    let wide = |bits: u32, place: Place| {
        Expr::Concat(Box::new(constant(bits - 8, 0)), Box::new(load(place)))
    };
    let program = &mut build.program;
    program.parser = straight(vec![Op::Extract(q)]);
    let mut forward = count(0);
    forward.push(Op::Assign { to: standard.egress_spec, value: wide(9, fields[0]) });
    forward.push(Op::Assign { to: standard.mcast_grp, value: wide(16, fields[1]) });
    program.ingress = straight(forward);
    let original = binary(BinaryOp::Ne, load(standard.instance_type), constant(32, 2));
    let clone = Op::Clone { ingress: false, session: constant(32, 5), field_list: None };
    program.egress.blocks = vec![
        block(count(1), Terminator::Branch { cond: original, then: 1, otherwise: 2 }),
        block(vec![clone], Terminator::Exit),
        block(vec![], Terminator::Exit),
    ];
    program.deparser = straight(vec![Op::Emit(q)]);
    build.program
}

fn shared(pipelines: usize) -> SharedSwitch {
    SharedSwitch::new(new(pipelines))
}

fn new(pipelines: usize) -> Switch {
    Switch::new(Arc::new(counting()), SwitchOptions { seed: 1, pipelines }).unwrap()
}

/// Processes a frame in the pipeline of its port. Returns the ports by which frames leave, and the
/// packets for other pipelines.
#[allow(clippy::vec_box)]
fn send(switch: &SharedSwitch, port: u16, frame: &[u8]) -> (Vec<u16>, Vec<Box<Packet>>) {
    let mut part = switch.lock_pipeline(usize::from(port) % switch.pipelines());
    let (mut out, mut crossing) = (Output::new(), Vec::new());
    part.process(5_000, port, frame, &mut out);
    part.take_crossing(&mut crossing);
    (out.frames().map(|(port, _)| port).collect(), crossing)
}

/// Processes packets in another pipeline. Returns the ports by which frames leave, the packets for
/// other pipelines, the packets for reuse, and the number of those that were refused.
#[allow(clippy::vec_box, clippy::type_complexity)]
fn receive(
    switch: &SharedSwitch,
    pipeline: usize,
    packets: Vec<Box<Packet>>,
) -> (Vec<u16>, Vec<Box<Packet>>, usize, u64) {
    let mut part = switch.lock_pipeline(pipeline);
    let (mut out, mut crossing, mut spare) = (Output::new(), Vec::new(), Vec::new());
    let refused = part.receive_crossing(packets.into_iter(), &mut spare, &mut out);
    part.take_crossing(&mut crossing);
    (out.frames().map(|(port, _)| port).collect(), crossing, spare.len(), refused)
}

/// Packets that ingress and egress of each pipeline have counted.
fn seen(switch: &SharedSwitch) -> Vec<[u64; 2]> {
    (0..switch.pipelines())
        .map(|pipeline| {
            let cells = switch.in_pipeline(pipeline, |part| part.read_register(SEEN, None));
            let cells = cells.unwrap();
            [0, 1].map(|cell| cells[cell].1.words[0])
        })
        .collect()
}

#[test]
fn a_packet_for_another_pipeline_is_handed_over_after_ingress() {
    let switch = shared(2);
    assert_eq!(send(&switch, 1, &[3, 0]).0, [3], "within the pipeline");
    let (left, packets) = send(&switch, 1, &[4, 0]);
    assert_eq!((left.len(), packets.len()), (0, 1));
    assert_eq!(packets[0].egress_port, 4);
    assert_eq!(seen(&switch), [[0, 0], [2, 1]]);
    let (left, further, spare, refused) = receive(&switch, 0, packets);
    assert_eq!((left, further.len(), spare, refused), (vec![4], 0, 1, 0));
    assert_eq!(seen(&switch), [[0, 1], [2, 1]]);
}

#[test]
fn copies_for_ports_of_several_pipelines_are_divided() {
    let switch = shared(4);
    let to = |replicas| CloneSession { replicas, ..CloneSession::default() };
    switch.lock().insert_multicast_group(9, vec![(1, 0), (2, 0), (5, 0), (3, 0)]).unwrap();
    let (left, packets) = send(&switch, 1, &[0, 9]);
    assert_eq!(left, [1, 5], "without the session there is no clone");
    let ports: Vec<u16> = packets.iter().map(|packet| packet.egress_port).collect();
    assert_eq!(ports, [2, 3]);
    switch.lock().insert_clone_session(5, to(vec![(7, 0)])).unwrap();
    let (left, further, ..) = receive(&switch, 2, packets.into_iter().take(1).collect());
    assert_eq!(left, [2]);
    assert_eq!(further[0].egress_port, 7, "an egress clone crosses, too");
    let (left, further, ..) = receive(&switch, 3, further);
    assert_eq!((left, further.len()), (vec![7], 0));
    switch.lock().delete_multicast_group(9).unwrap();
    assert_eq!(send(&switch, 3, &[0, 9]).1.len(), 0);
    assert_eq!(switch.lock().statistics().unknown_multicast_groups, 1);
}

#[test]
fn packets_of_a_replaced_switch_are_refused() {
    let switch = shared(2);
    let (_, packets) = send(&switch, 1, &[4, 0]);
    *switch.lock() = new(2);
    let (_, later) = send(&switch, 1, &[4, 0]);
    let all = packets.into_iter().chain(later).collect();
    let (left, _, spare, refused) = receive(&switch, 0, all);
    assert_eq!((left, spare, refused), (vec![4], 2, 1));
    assert_eq!(seen(&switch), [[0, 1], [1, 0]], "the new switch has counted one packet");
    let statistics = *switch.lock().statistics();
    assert_eq!((statistics.packets_in, statistics.packets_out), (1, 1));
}

#[test]
fn the_whole_switch_has_the_sums_of_its_parts() {
    let switch = shared(2);
    let expected = |packets_in, packets_out| Statistics {
        packets_in,
        bytes_in: 2 * packets_in,
        packets_out,
        bytes_out: 2 * packets_out,
        unknown_clone_sessions: packets_out,
        ..Statistics::default()
    };
    send(&switch, 1, &[3, 0]);
    let (_, packets) = send(&switch, 2, &[1, 0]);
    for _ in 0..2 {
        assert_eq!(*switch.lock().statistics(), expected(2, 1));
    }
    receive(&switch, 1, packets);
    assert_eq!(*switch.lock().statistics(), expected(2, 2));
    // The whole switch needs no queues.
    let mut out = Output::new();
    switch.lock().process(6_000, 2, &[1, 0], &mut out);
    assert_eq!(out.len(), 1);
    assert_eq!(*switch.lock().statistics(), expected(3, 3));
    assert_eq!(seen(&switch), [[2, 0], [1, 3]]);
}

#[test]
fn a_request_for_one_pipeline_waits_for_no_other() {
    let switch = shared(2);
    let locked = switch.lock_pipeline(1);
    let write = |part: &mut Switch| part.write_register(SEEN, Some(0), &Value::new(32, 7));
    switch.in_pipeline(0, write).unwrap();
    assert!(switch.try_lock().is_none());
    drop(locked);
    assert!(switch.try_lock().is_some());
    assert_eq!(seen(&switch), [[7, 0], [0, 0]]);
    let error = switch.in_pipeline(2, write).unwrap_err();
    assert_eq!(error.code, ControlCode::OutOfRange);
    switch.lock().write_register(SEEN, None, &Value::new(32, 3)).unwrap();
    assert_eq!(seen(&switch), [[3, 3], [3, 3]]);
}

#[test]
#[should_panic(expected = "another number of pipelines")]
fn a_switch_with_another_number_of_pipelines_is_no_replacement() {
    *shared(2).lock() = new(4);
}
