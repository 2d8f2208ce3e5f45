//! Switches with several pipelines: the pipelines that a packet passes, and those that the control
//! plane writes and reads.

use crate::common::router::*;
use crate::common::{ProgramBuilder, binary, block, constant, identity, load, send, straight};

use std::sync::Arc;

use netkv_dataplane::{
    CloneSession, ControlCode, CounterData, EntryAction, FailedAssertion, MeterConfig, Output,
    PIPELINES, Switch, SwitchOptions, TableEntry, pipeline_of,
};
use netkv_ir::*;

const PASSED: u32 = 0x1600_0001;

fn several(program: Program, pipelines: usize) -> Switch {
    Switch::new(Arc::new(program), SwitchOptions { seed: 1, pipelines }).unwrap()
}

/// The switch of `router` with a number of pipelines.
fn routers(
    pipelines: usize,
    keys: &[(&str, u32, MatchKind)],
    change: impl FnOnce(&mut Program),
) -> Switch {
    let one = router(keys, change);
    several(Program::clone(one.program()), pipelines)
}

fn exact_in(pipelines: usize) -> Switch {
    routers(pipelines, &[("h.k", 16, MatchKind::Exact)], |_| ())
}

/// A program in which each graph counts its packets in a register cell. The first byte of a frame
/// is its egress port.
fn marking() -> ProgramBuilder {
    let mut build = ProgramBuilder::new();
    let (q, fields) = build.header("q", &[("to", 8)]);
    let seen = build.place("seen", 32);
    let register = build.register("passed", 32, 6);
    let mark = |graph: u128| {
        let index = constant(32, graph);
        let more = binary(BinaryOp::Add, load(seen), constant(32, 1));
        vec![
            Op::RegisterRead { register, index: index.clone(), to: seen },
            Op::RegisterWrite { register, index, value: more },
        ]
    };
    let to = Expr::Concat(Box::new(constant(1, 0)), Box::new(load(fields[0])));
    let egress_spec = build.standard().egress_spec;
    let program = &mut build.program;
    program.parser = straight([mark(0), vec![Op::Extract(q)]].concat());
    program.verify_checksum = straight(mark(1));
    let forward = Op::Assign { to: egress_spec, value: to };
    program.ingress = straight([mark(2), vec![forward]].concat());
    program.egress = straight(mark(3));
    program.compute_checksum = straight(mark(4));
    program.deparser = straight([mark(5), vec![Op::Emit(q)]].concat());
    build
}

/// Number of packets that each graph of a pipeline has counted, in the order of the graphs.
fn passed(switch: &mut Switch, pipeline: usize) -> Vec<u64> {
    let cells = switch.in_pipeline(pipeline, |switch| switch.read_register(PASSED, None)).unwrap();
    cells.iter().map(|(_, value)| value.words[0]).collect()
}

#[test]
fn ingress_and_egress_are_those_of_the_ports() {
    let mut switch = several(marking().program, 4);
    send(&mut switch, 5, &[2]);
    send(&mut switch, 1, &[3]);
    assert_eq!(passed(&mut switch, 0), [0; 6]);
    assert_eq!(passed(&mut switch, 1), [2, 2, 2, 0, 0, 0]);
    assert_eq!(passed(&mut switch, 2), [0, 0, 0, 1, 1, 1]);
    assert_eq!(passed(&mut switch, 3), [0, 0, 0, 1, 1, 1]);
    send(&mut switch, 3, &[7]);
    assert_eq!(passed(&mut switch, 3), [1, 1, 1, 2, 2, 2]);
}

#[test]
fn every_port_belongs_to_the_pipeline_of_its_number() {
    for pipelines in PIPELINES {
        let mut switch = several(marking().program, pipelines);
        for port in 0..=510 {
            let of = pipeline_of(port, pipelines);
            assert_eq!(of, usize::from(port) % pipelines);
            let before = passed(&mut switch, of);
            send(&mut switch, port, &[port as u8]);
            assert_eq!(passed(&mut switch, of)[2], before[2] + 1, "port {port} of {pipelines}");
        }
    }
}

#[test]
fn a_recirculated_packet_enters_its_egress_pipeline() {
    let mut build = marking();
    // True at the first packet in egress.
    let seen = build.program.vars.iter().find(|var| var.name == "seen").unwrap().place;
    let first = binary(BinaryOp::Eq, load(seen), constant(32, 0));
    let again = Op::Recirculate { field_list: None };
    let marked = build.program.egress.blocks[0].ops.clone();
    let branch = Terminator::Branch { cond: first, then: 1, otherwise: 2 };
    build.program.egress.blocks = vec![
        block(marked, branch),
        block(vec![again], Terminator::Exit),
        block(vec![], Terminator::Exit),
    ];
    let mut switch = several(build.program, 4);
    assert_eq!(send(&mut switch, 1, &[2]).len(), 1);
    assert_eq!(passed(&mut switch, 1), [1, 1, 1, 0, 0, 0], "the first pass");
    assert_eq!(passed(&mut switch, 2), [1, 1, 1, 2, 2, 2], "out at port 2, in again there");
    let statistics = switch.statistics();
    assert_eq!((statistics.recirculated, statistics.packets_out), (1, 1));
}

#[test]
fn a_resubmitted_packet_stays_in_its_pipeline() {
    let mut build = marking();
    let standard = build.standard();
    let first = binary(BinaryOp::Eq, load(standard.instance_type), constant(32, 0));
    let again = Op::Resubmit { field_list: None };
    let marked = build.program.ingress.blocks[0].ops.clone();
    let branch = Terminator::Branch { cond: first, then: 1, otherwise: 2 };
    build.program.ingress.blocks = vec![
        block(marked, branch),
        block(vec![again], Terminator::Exit),
        block(vec![], Terminator::Exit),
    ];
    let mut switch = several(build.program, 2);
    send(&mut switch, 7, &[4]);
    assert_eq!(passed(&mut switch, 1), [2, 2, 2, 0, 0, 0]);
    assert_eq!(passed(&mut switch, 0), [0, 0, 0, 1, 1, 1]);
}

#[test]
fn copies_use_the_egress_of_their_own_ports() {
    let mut build = marking();
    let session = constant(32, 5);
    let clone = Op::Clone { ingress: true, session: session.clone(), field_list: None };
    build.program.ingress.blocks[0].ops.push(clone);
    let mut switch = several(build.program, 4);
    let to = |replicas| CloneSession { replicas, ..CloneSession::default() };
    switch.insert_clone_session(5, to(vec![(3, 0), (7, 1)])).unwrap();
    let ports: Vec<u16> = send(&mut switch, 0, &[1]).into_iter().map(|(port, _)| port).collect();
    assert_eq!(ports, [3, 7, 1]);
    assert_eq!(passed(&mut switch, 0), [2, 1, 1, 0, 0, 0], "the clone is parsed again, here");
    assert_eq!(passed(&mut switch, 1)[3..], [1, 1, 1]);
    assert_eq!(passed(&mut switch, 3)[3..], [2, 2, 2]);

    let mut build = marking();
    let clone = Op::Clone { ingress: false, session, field_list: None };
    build.program.egress.blocks[0].ops.push(clone);
    let mut switch = several(build.program, 2);
    switch.insert_clone_session(5, to(vec![(1, 0)])).unwrap();
    send(&mut switch, 0, &[0]);
    let (even, odd) = (passed(&mut switch, 0), passed(&mut switch, 1));
    assert_eq!(even[..4], [1, 1, 1, 1]);
    assert!(odd[3] > 100 && odd[..3] == [0, 0, 0], "clones of clones at port 1: {odd:?}");

    let mut build = marking();
    let group = Op::Assign { to: build.standard().mcast_grp, value: constant(16, 9) };
    build.program.ingress.blocks[0].ops.push(group);
    let mut switch = several(build.program, 4);
    switch.insert_multicast_group(9, vec![(0, 1), (1, 1), (5, 1), (2, 1)]).unwrap();
    send(&mut switch, 3, &[3]);
    let copies: Vec<u64> = (0..4).map(|pipeline| passed(&mut switch, pipeline)[3]).collect();
    assert_eq!(copies, [1, 2, 1, 0]);
}

#[test]
fn statistics_and_digests_are_shared_by_pipelines() {
    let mut build = marking();
    build.program.digests.push(Digest {
        identity: identity("d", 0x1700_0001),
        type_name: "d".into(),
        members: vec![ActionParam { name: "x".into(), width: 8 }],
    });
    let digest = Op::Digest { digest: 0, values: vec![constant(8, 1)] };
    build.program.ingress.blocks[0].ops.push(digest);
    build.program.files = vec!["marking.p4".into()];
    build.program.assertions = vec![Span { file: 0, line: 7, column: 9 }];
    let false_claim = Op::Assert { cond: constant(1, 0), assertion: 0 };
    build.program.egress.blocks[0].ops.push(false_claim);
    let mut switch = several(build.program, 2);
    send(&mut switch, 0, &[0]);
    send(&mut switch, 1, &[1]);
    assert_eq!(switch.take_digests().len(), 2);
    let statistics = *switch.statistics();
    assert_eq!((statistics.packets_out, statistics.failed_assertions), (2, 2));
    let failed = FailedAssertion { place: "marking.p4:7:9".into(), times: 2 };
    assert_eq!(switch.failed_assertions(), [failed]);
    send(&mut switch, 0, &[]);
    send(&mut switch, 1, &[]);
    assert_eq!(switch.statistics().parser_errors, 2);
}

#[test]
fn a_trace_shows_the_pipeline_if_there_are_several() {
    let text = |pipelines| {
        let mut switch = several(marking().program, pipelines);
        switch.trace(0, 3, &[2], &mut Output::new()).to_string()
    };
    let two = text(2);
    assert!(two.contains("ingress of pipeline 1, port 3\n"), "{two}");
    assert!(two.contains("egress of pipeline 0, port 2\n"), "{two}");
    let one = text(1);
    assert!(one.contains("  ingress, port 3\n") && !one.contains("pipeline"), "{one}");
}

#[test]
fn a_write_changes_all_pipelines_or_the_selected_one() {
    let mut s = exact_in(2);
    s.insert_entry(entry(vec![key(1)], 0, 7)).unwrap();
    let to = |s: &mut Switch, port| send(s, port, &[0, 1])[0].0;
    assert_eq!((to(&mut s, 0), to(&mut s, 1)), (7, 7));
    s.in_pipeline(1, |s| s.modify_entry(entry(vec![key(1)], 0, 8))).unwrap();
    assert_eq!((to(&mut s, 0), to(&mut s, 1)), (7, 8));
    assert_eq!(s.read_entries(None), [entry(vec![key(1)], 0, 7)], "the first pipeline's");
    let second = s.in_pipeline(1, |s| Ok(s.read_entries(None))).unwrap();
    assert_eq!(second, [entry(vec![key(1)], 0, 8)]);
    s.in_pipeline(0, |s| s.set_default(TABLE, SET, &[v(9, 3)])).unwrap();
    let miss = |s: &mut Switch, port| send(s, port, &[0, 9])[0].0;
    assert_eq!((miss(&mut s, 0), miss(&mut s, 1)), (3, 0));
    s.reset_default(TABLE).unwrap();
    assert_eq!((miss(&mut s, 0), miss(&mut s, 1)), (0, 0));
    s.delete_entry(TABLE, &[(1, key(1))], 0).unwrap();
    assert_eq!((to(&mut s, 0), to(&mut s, 1)), (0, 0));
    assert_rejected(
        s.in_pipeline(2, |s| s.reset_default(TABLE)),
        ControlCode::OutOfRange,
        "The switch has 2 pipelines, from 0, so there is no pipeline 2.",
    );
    assert_rejected(
        exact().in_pipeline(1, |s| s.reset_default(TABLE)),
        ControlCode::OutOfRange,
        "The switch has one pipeline, so there is no pipeline 1.",
    );
    // A failed request ends the selection of its pipeline, too.
    let missing = s.in_pipeline(1, |s| s.delete_entry(TABLE, &[(1, key(5))], 0));
    assert_eq!(missing.unwrap_err().code, ControlCode::NotFound);
    s.insert_entry(entry(vec![key(1)], 0, 7)).unwrap();
    assert_eq!((to(&mut s, 0), to(&mut s, 1)), (7, 7));
}

#[test]
fn a_write_that_one_pipeline_rejects_changes_none() {
    let mut s = exact_in(4);
    s.in_pipeline(3, |s| s.insert_entry(entry(vec![key(1)], 0, 7))).unwrap();
    assert_rejected(
        s.insert_entry(entry(vec![key(1)], 0, 8)),
        ControlCode::AlreadyExists,
        "Table 'I.t' has an entry with these matches already.",
    );
    let missing = s.delete_entry(TABLE, &[(1, key(1))], 0).unwrap_err();
    assert_eq!(missing.code, ControlCode::NotFound);
    let entries = |s: &mut Switch, at| s.in_pipeline(at, |s| Ok(s.read_entries(None))).unwrap();
    assert!((0..3).all(|pipeline| entries(&mut s, pipeline).is_empty()));
    assert_eq!(entries(&mut s, 3), [entry(vec![key(1)], 0, 7)]);
}

#[test]
fn each_pipeline_has_its_own_profiles_and_value_sets() {
    let mut s = routers(2, &[("h.k", 16, MatchKind::Exact)], |program| {
        program.tables[0].action_profile = Some(0);
        program.action_profiles.push(ActionProfile {
            identity: identity("I.ap", PROFILE),
            size: 3,
            selector: Some(HashAlgorithm::Crc16),
            tables: vec![0],
        });
        let key = TableKey { name: "k".into(), width: 16, kind: MatchKind::Exact };
        let identity = identity("P.vs", 0x0300_0001);
        program.value_sets.push(ValueSet { identity, size: 2, keys: vec![key] });
    });
    s.insert_member(PROFILE, 1, SET, &[v(9, 7)]).unwrap();
    s.insert_group(PROFILE, 2, &[(1, 1)]).unwrap();
    let grouped = TableEntry { action: EntryAction::Group(2), ..entry(vec![key(1)], 0, 0) };
    s.insert_entry(grouped).unwrap();
    s.in_pipeline(1, |s| s.modify_member(PROFILE, 1, SET, &[v(9, 8)])).unwrap();
    let to = |s: &mut Switch, port| send(s, port, &[0, 1])[0].0;
    assert_eq!((to(&mut s, 0), to(&mut s, 1)), (7, 8));
    s.in_pipeline(0, |s| s.modify_group(PROFILE, 2, &[])).unwrap();
    assert_eq!((to(&mut s, 0), to(&mut s, 1)), (0, 8));
    let member = vec![(1, Match::Exact(v(16, 4)))];
    s.in_pipeline(1, |s| s.set_value_set(0x0300_0001, std::slice::from_ref(&member))).unwrap();
    assert_eq!(s.read_value_set(0x0300_0001), Ok(vec![]));
    assert_eq!(
        s.in_pipeline(1, |s| s.read_value_set(0x0300_0001)),
        Ok(vec![vec![member[0].clone()]])
    );
}

#[test]
fn counters_are_read_as_sums_over_pipelines() {
    const COUNTER: u32 = 0x1200_0001;
    let direct = |program: &mut Program| {
        for (name, id, direct) in [("I.direct", 0x1300_0001, Some(0)), ("I.c", COUNTER, None)] {
            program.counters.push(Counter {
                identity: identity(name, id),
                unit: CounterUnit::Both,
                size: 2,
                direct,
            });
        }
        program.tables[0].direct_counter = Some(0);
        let count = Op::Count { counter: 1, index: constant(32, 1) };
        program.egress.blocks[0].ops.push(count);
    };
    let mut s = routers(2, &[("h.k", 16, MatchKind::Exact)], direct);
    let name = [(1, key(1))];
    s.in_pipeline(0, |s| s.insert_entry(entry(vec![key(1)], 0, 1))).unwrap();
    for port in [0, 1, 2] {
        send(&mut s, port, &[0, 1, 9]);
    }
    let both = CounterData { packets: 2, bytes: 6 };
    assert_eq!(s.read_direct_counter(TABLE, &name, 0), Ok(both), "one pipeline has the entry");
    s.in_pipeline(1, |s| s.insert_entry(entry(vec![key(1)], 0, 2))).unwrap();
    send(&mut s, 1, &[0, 1, 9]);
    let all = CounterData { packets: 3, bytes: 9 };
    assert_eq!(s.read_direct_counter(TABLE, &name, 0), Ok(all));
    // Two packets left at port 1, one at port 0 (a miss), and one at port 2.
    let cells = |s: &Switch| s.read_counter(COUNTER, Some(1)).unwrap()[0].1.packets;
    assert_eq!(cells(&s), 4);
    let of = |s: &mut Switch, at| s.in_pipeline(at, |s| Ok(cells(s))).unwrap();
    assert_eq!((of(&mut s, 0), of(&mut s, 1)), (2, 2));
    let five = CounterData { packets: 5, bytes: 50 };
    s.write_counter(COUNTER, None, five).unwrap();
    s.write_direct_counter(TABLE, &name, 0, five).unwrap();
    assert_eq!(s.read_counter(COUNTER, None), Ok(vec![(0, five), (1, five)]));
    assert_eq!(s.read_direct_counter(TABLE, &name, 0), Ok(five));
    s.in_pipeline(1, |s| s.write_counter(COUNTER, Some(1), five)).unwrap();
    assert_eq!((of(&mut s, 0), of(&mut s, 1), cells(&s)), (5, 5, 10));
}

#[test]
fn registers_and_meters_are_read_in_the_first_pipeline() {
    const METER: u32 = 0x1400_0001;
    let mut build = marking();
    build.program.meters.push(Meter {
        identity: identity("I.m", METER),
        unit: CounterUnit::Packets,
        size: 1,
        direct: None,
    });
    let mut s = several(build.program, 2);
    s.write_register(PASSED, None, &v(32, 9)).unwrap();
    assert_eq!((passed(&mut s, 0), passed(&mut s, 1)), (vec![9; 6], vec![9; 6]));
    s.in_pipeline(1, |s| s.write_register(PASSED, Some(2), &v(32, 4))).unwrap();
    assert_eq!(s.read_register(PASSED, Some(2)), Ok(vec![(2, v(32, 9))]));
    assert_eq!(passed(&mut s, 1), [9, 9, 4, 9, 9, 9]);
    let config = |rate| Some(MeterConfig { cir: rate, cburst: 1, pir: rate, pburst: 1 });
    s.write_meter(METER, None, config(1)).unwrap();
    s.in_pipeline(1, |s| s.write_meter(METER, None, config(2))).unwrap();
    assert_eq!(s.read_meter(METER, None), Ok(vec![(0, config(1))]));
    assert_eq!(s.in_pipeline(1, |s| s.read_meter(METER, None)), Ok(vec![(0, config(2))]));
}

#[test]
fn an_entry_is_idle_if_no_pipeline_hits_it() {
    let mut s = routers(2, &[("h.k", 16, MatchKind::Exact)], |program| {
        program.tables[0].idle_timeout = true;
    });
    let timed = TableEntry { idle_timeout_ns: 100, ..entry(vec![key(1)], 0, 7) };
    s.insert_entry(timed.clone()).unwrap();
    s.process(80, 1, &[0, 1], &mut Output::new());
    assert_eq!(s.idle_entries(179), []);
    assert_eq!(s.idle_entries(180), [timed]);
    assert_eq!(s.idle_entries(279), [], "told once per timeout");
}

#[test]
fn a_switch_has_1_2_or_4_pipelines() {
    for wrong in [0, 3, 8] {
        let options = SwitchOptions { seed: 1, pipelines: wrong };
        let Err(error) = Switch::new(Arc::new(marking().program), options) else {
            panic!("{wrong} pipelines were taken");
        };
        assert_eq!(error.to_string(), format!("A switch has 1, 2 or 4 pipelines, not {wrong}."));
    }
    assert_eq!(several(marking().program, 4).pipelines(), 4);
}
