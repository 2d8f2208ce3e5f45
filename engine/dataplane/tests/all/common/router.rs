//! A program whose table sets the egress port, for tests of the control-plane API.

use netkv_dataplane::{ControlCode, ControlError, EntryAction, Switch, TableEntry};
use netkv_ir::*;

use super::{ProgramBuilder, block, load, send, straight};

pub const TABLE: u32 = 0x0200_0001;
pub const SET: u32 = 0x0100_0001;
pub const NONE: u32 = 0x0100_0002;
pub const OTHER: u32 = 0x0100_0003;
pub const PROFILE: u32 = 0x1100_0001;

/// A switch whose table matches the fields of the header `q` and sets the port. On a miss, the port
/// is 0.
pub fn router(keys: &[(&str, u32, MatchKind)], change: impl FnOnce(&mut Program)) -> Switch {
    let mut build = ProgramBuilder::new();
    let fields: Vec<(&str, u32)> = keys.iter().map(|(name, width, _)| (*name, *width)).collect();
    let (q, places) = build.header("q", &fields);
    let standard = build.standard();
    let port = build.place("set.port", 9);
    let colour = build.place("colour", 9);
    let hit = build.place("hit", 1).word;
    let run = build.place("run", 32).word;
    let set = build.action("I.set", &[("port", 9)]);
    let none = build.action("NoAction", &[]);
    build.action("I.other", &[]);
    build.table("I.t", keys, &[set, none], 4);
    let target = |params, block| ApplyTarget { params, block };
    let apply = Apply {
        table: 0,
        keys: places.iter().map(|place| load(*place)).collect(),
        hit,
        action_run: run,
        targets: vec![target(vec![port], 1), target(vec![], 2)],
    };
    let forward = Op::Assign { to: standard.egress_spec, value: load(port) };
    build.program.parser = straight(vec![Op::Extract(q)]);
    build.program.ingress = Cfg {
        blocks: vec![
            block(vec![], Terminator::Apply(Box::new(apply))),
            block(vec![forward], Terminator::Jump(2)),
            block(vec![], Terminator::Exit),
        ],
    };
    build.program.deparser = straight(vec![Op::Emit(q)]);
    change(&mut build.program);
    if build.program.tables[0].direct_meter.is_some() {
        let read = Op::ReadDirectMeter { meter: 0, to: colour };
        let report = Op::Assign { to: standard.egress_spec, value: load(colour) };
        build.program.ingress.blocks[2] = block(vec![read, report], Terminator::Exit);
    }
    build.switch()
}

pub fn exact() -> Switch {
    router(&[("h.k", 16, MatchKind::Exact)], |_| ())
}

pub fn v(width: u32, value: u128) -> Value {
    Value::new(width, value)
}

pub fn direct(port: u128) -> EntryAction {
    EntryAction::Direct { action_id: SET, params: vec![v(9, port)] }
}

pub fn entry(matches: Vec<Match>, priority: u32, port: u128) -> TableEntry {
    TableEntry {
        table_id: TABLE,
        matches: (1..).zip(matches).collect(),
        action: direct(port),
        priority,
        metadata: Vec::new(),
        controller_metadata: 0,
        idle_timeout_ns: 0,
    }
}

pub fn key(value: u128) -> Match {
    Match::Exact(v(16, value))
}

pub fn port(switch: &mut Switch, frame: &[u8]) -> u16 {
    send(switch, 0, frame)[0].0
}

#[track_caller]
pub fn assert_rejected(result: Result<(), ControlError>, code: ControlCode, message: &str) {
    let error = result.expect_err("the request is refused");
    assert_eq!((error.code, error.message.as_str()), (code, message));
}
