//! Control-plane API of action profiles, counters, meters, registers, groups and value sets.

use crate::common;
use common::router::*;
use common::{ProgramBuilder, block, identity, load, straight};

use netkv_dataplane::{
    CloneSession, ControlCode, CounterData, EntryAction, MeterConfig, Switch, TableEntry,
    WeightedAction,
};
use netkv_ir::*;

fn with_profile(selector: Option<HashAlgorithm>) -> Switch {
    let keys = [("h.k", 8, MatchKind::Exact), ("h.flow", 16, MatchKind::Selector)];
    router(&keys[..if selector.is_some() { 2 } else { 1 }], |program| {
        program.tables[0].action_profile = Some(0);
        program.action_profiles.push(ActionProfile {
            identity: identity("I.ap", PROFILE),
            size: 3,
            selector,
            tables: vec![0],
        });
    })
}

#[test]
fn a_selector_group_spreads_flows_by_weight() {
    let mut s = with_profile(Some(HashAlgorithm::Crc16));
    for (member, port) in [(1, 11), (2, 12), (3, 13)] {
        s.insert_member(PROFILE, member, SET, &[v(9, port)]).unwrap();
    }
    s.insert_group(PROFILE, 5, &[(1, 1), (2, 3)]).unwrap();
    let of = |action| TableEntry { action, ..entry(vec![Match::Exact(v(8, 1))], 0, 0) };
    s.insert_entry(of(EntryAction::Group(5))).unwrap();
    let mut spread = [0; 512];
    for flow in 0..4_000u16 {
        let [high, low] = flow.to_be_bytes();
        let first = port(&mut s, &[1, high, low, 7]);
        assert_eq!(first, port(&mut s, &[1, high, low, 9]));
        spread[first as usize] += 1;
    }
    assert!((800..1_200).contains(&spread[11]) && spread[11] + spread[12] == 4_000, "{spread:?}");
    use ControlCode::*;
    assert_rejected(
        s.delete_member(PROFILE, 2),
        FailedPrecondition,
        "Member 2 of 'I.ap' is in use by a group or an entry.",
    );
    assert_rejected(
        s.delete_group(PROFILE, 5),
        FailedPrecondition,
        "Group 5 of 'I.ap' is in use by an entry.",
    );
    assert_rejected(
        s.insert_member(PROFILE, 4, SET, &[v(9, 1)]),
        ResourceExhausted,
        "'I.ap' is full: it has room for 3 members.",
    );
    s.modify_group(PROFILE, 5, &[(3, 1)]).unwrap();
    s.modify_member(PROFILE, 3, SET, &[v(9, 30)]).unwrap();
    assert_eq!(port(&mut s, &[1, 0, 0]), 30);
    s.modify_group(PROFILE, 5, &[]).unwrap();
    assert_eq!(port(&mut s, &[1, 0, 0]), 0, "an empty group is a miss");
    s.modify_entry(of(EntryAction::Member(1))).unwrap();
    assert_eq!(port(&mut s, &[1, 0, 0]), 11);
    let one_shot = |port| WeightedAction { action_id: SET, params: vec![v(9, port)], weight: 1 };
    s.modify_entry(of(EntryAction::OneShot(vec![one_shot(21), one_shot(22)]))).unwrap();
    let ports: Vec<u16> = (0..20).map(|flow| port(&mut s, &[1, 0, flow])).collect();
    assert!(ports.contains(&21) && ports.contains(&22), "{ports:?}");
    assert_rejected(
        s.insert_entry(entry(vec![Match::Exact(v(8, 2))], 0, 1)),
        InvalidArgument,
        "Table 'I.t' takes its actions from 'I.ap': give a member or a group.",
    );
    let mut plain = with_profile(None);
    assert_rejected(
        plain.insert_group(PROFILE, 1, &[]),
        InvalidArgument,
        "'I.ap' is an action profile without selector: it has no groups.",
    );
}

#[test]
fn direct_counters_and_meters_are_updated_on_hits() {
    let mut s = router(&[("h.k", 16, MatchKind::Exact)], |program| {
        program.counters.push(Counter {
            identity: identity("I.c", 0x1300_0001),
            unit: CounterUnit::Both,
            size: 0,
            direct: Some(0),
        });
        program.meters.push(Meter {
            identity: identity("I.m", 0x1500_0001),
            unit: CounterUnit::Packets,
            size: 0,
            direct: Some(0),
        });
        program.tables[0].direct_counter = Some(0);
        program.tables[0].direct_meter = Some(0);
    });
    s.insert_entry(entry(vec![key(1)], 0, 7)).unwrap();
    for _ in 0..3 {
        assert_eq!(port(&mut s, &[0, 1, 9, 9, 9]), 0, "green without configuration");
    }
    port(&mut s, &[0, 2]);
    let name = [(1, key(1))];
    let counted = s.read_direct_counter(TABLE, &name, 0).unwrap();
    assert_eq!(counted, CounterData { packets: 3, bytes: 15 });
    s.write_direct_counter(TABLE, &name, 0, CounterData::default()).unwrap();
    let config = MeterConfig { cir: 1, cburst: 1, pir: 1, pburst: 2 };
    s.write_direct_meter(TABLE, &name, 0, Some(config)).unwrap();
    assert_eq!(s.read_direct_meter(TABLE, &name, 0), Ok(Some(config)));
    let colours: Vec<u16> = (0..3).map(|_| port(&mut s, &[0, 1])).collect();
    assert_eq!(colours, [0, 1, 2]);
    assert_eq!(s.read_direct_counter(TABLE, &name, 0).unwrap().packets, 3);
    let error = s.read_counter(0x1300_0001, None).unwrap_err();
    assert_eq!(error.message, "Counter 'I.c' belongs to the entries of a table: name the entry.");
}

#[test]
fn registers_are_accessed_whole_or_by_index() {
    let mut build = ProgramBuilder::new();
    build.register("I.r", 100, 3);
    let mut s = build.switch();
    let id = 0x1600_0001;
    s.write_register(id, Some(1), &v(100, 1 << 99)).unwrap();
    assert_eq!(s.read_register(id, Some(1)), Ok(vec![(1, v(100, 1 << 99))]));
    s.write_register(id, None, &v(100, 6)).unwrap();
    assert_eq!(s.read_register(id, None).unwrap()[2], (2, v(100, 6)));
    assert_rejected(
        s.write_register(id, Some(3), &v(100, 0)),
        ControlCode::OutOfRange,
        "'I.r' has 3 cells, so there is no index 3.",
    );
    assert_rejected(
        s.write_register(id, Some(0), &v(99, 0)),
        ControlCode::InvalidArgument,
        "Register 'I.r' has cells of 100 bits, but the value has 99.",
    );
    assert_eq!(s.read_register(5, None).unwrap_err().code, ControlCode::NotFound);
}

#[test]
fn multicast_groups_and_clone_sessions_have_unique_ids() {
    let mut s = exact();
    s.insert_multicast_group(3, vec![(1, 1), (1, 2)]).unwrap();
    assert_rejected(
        s.insert_multicast_group(3, vec![]),
        ControlCode::AlreadyExists,
        "There is a multicast group 3 already.",
    );
    assert_rejected(
        s.insert_multicast_group(0, vec![]),
        ControlCode::InvalidArgument,
        "The id of a multicast group must be above 0.",
    );
    assert_rejected(
        s.modify_multicast_group(3, vec![(1, 1), (1, 1)]),
        ControlCode::InvalidArgument,
        "Multicast group 3 has port 1 with instance 1 twice.",
    );
    assert_eq!(s.read_multicast_groups(None), [(3, vec![(1, 1), (1, 2)])]);
    s.delete_multicast_group(3).unwrap();
    assert_rejected(
        s.delete_multicast_group(3),
        ControlCode::NotFound,
        "There is no multicast group 3.",
    );
    let session =
        CloneSession { replicas: vec![(5, 0)], class_of_service: 1, packet_length_bytes: 64 };
    s.insert_clone_session(9, session.clone()).unwrap();
    assert_eq!(s.read_clone_sessions(Some(9)), [(9, session)]);
    s.delete_clone_session(9).unwrap();
    assert_eq!(s.read_clone_sessions(None), []);
}

#[test]
fn the_parser_selects_by_a_value_set() {
    let mut build = ProgramBuilder::new();
    let standard = build.standard();
    let (q, fields) = build.header("q", &[("a", 8), ("b", 100), ("pad", 4)]);
    let key = |name: &str, width, kind| TableKey { name: name.into(), width, kind };
    build.program.value_sets.push(ValueSet {
        identity: identity("P.vs", 0x0300_0001),
        keys: vec![key("a", 8, MatchKind::Ternary), key("b", 100, MatchKind::Exact)],
        size: 2,
    });
    let case = SelectCase { patterns: vec![Pattern::ValueSet(0)], target: 1 };
    let keys = vec![load(fields[0]), load(fields[1])];
    let select = Terminator::Select { keys, cases: vec![case], default: 2 };
    build.program.parser = Cfg {
        blocks: vec![
            block(vec![Op::Extract(q)], select),
            block(vec![common::set(standard.egress_spec, 6)], Terminator::Exit),
            block(vec![], Terminator::Exit),
        ],
    };
    build.program.deparser = straight(vec![Op::Emit(q)]);
    let mut s = build.switch();
    let frame = [0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x50];
    assert_eq!(port(&mut s, &frame), 0);
    let b = (2, Match::Exact(v(100, 5)));
    let member = vec![(1, Match::Ternary(v(8, 0x40), v(8, 0xf0))), b.clone()];
    s.set_value_set(0x0300_0001, std::slice::from_ref(&member)).unwrap();
    assert_eq!(s.read_value_set(0x0300_0001), Ok(vec![member]));
    assert_eq!(port(&mut s, &frame), 6);
    s.set_value_set(0x0300_0001, &[vec![b.clone()]]).unwrap();
    assert_eq!(s.read_value_set(0x0300_0001), Ok(vec![vec![b.clone()]]));
    assert_eq!(port(&mut s, &frame), 6);
    let three = vec![vec![b]; 3];
    assert_rejected(
        s.set_value_set(0x0300_0001, &three),
        ControlCode::ResourceExhausted,
        "Value set 'P.vs' has room for 2 members, not 3.",
    );
}

#[test]
fn idle_entries_are_reported_once_per_timeout() {
    let mut s = router(&[("h.k", 16, MatchKind::Exact)], |program| {
        program.tables[0].idle_timeout = true;
    });
    let timed = TableEntry { idle_timeout_ns: 100, ..entry(vec![key(1)], 0, 7) };
    s.insert_entry(timed.clone()).unwrap();
    assert_eq!(s.idle_entries(99), []);
    assert_eq!(s.idle_entries(100), std::slice::from_ref(&timed));
    assert_eq!(s.idle_entries(150), []);
    s.process(180, 0, &[0, 1], &mut netkv_dataplane::Output::new());
    assert_eq!(s.idle_entries(279), []);
    assert_eq!(s.idle_entries(280), [timed]);
    let plain = &mut exact();
    let timed = TableEntry { idle_timeout_ns: 100, ..entry(vec![key(1)], 0, 7) };
    assert_rejected(
        plain.insert_entry(timed),
        ControlCode::InvalidArgument,
        "Table 'I.t' does not support idle timeouts.",
    );
}
