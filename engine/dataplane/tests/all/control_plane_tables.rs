//! Control-plane API of tables, and the effect of entries on packets.

use crate::common::router::*;

use netkv_dataplane::{ControlCode, EntryAction, TableEntry};
use netkv_ir::*;

#[test]
fn entries_can_be_inserted_modified_and_deleted() {
    let mut switch = exact();
    assert_eq!(port(&mut switch, &[0, 1]), 0);
    let mut one = entry(vec![key(1)], 0, 7);
    one.metadata = vec![1, 2];
    one.controller_metadata = 99;
    switch.insert_entry(one.clone()).unwrap();
    assert_eq!(port(&mut switch, &[0, 1]), 7);
    assert_eq!(switch.read_entries(Some(TABLE)), [one]);
    switch.modify_entry(entry(vec![key(1)], 0, 8)).unwrap();
    assert_eq!(port(&mut switch, &[0, 1]), 8);
    switch.set_default(TABLE, SET, &[v(9, 3)]).unwrap();
    assert_eq!((port(&mut switch, &[0, 2]), port(&mut switch, &[0, 1])), (3, 8));
    assert_eq!(switch.get_default(TABLE), Ok((SET, vec![v(9, 3)])));
    switch.reset_default(TABLE).unwrap();
    switch.delete_entry(TABLE, &[(1, key(1))], 0).unwrap();
    assert_eq!((port(&mut switch, &[0, 2]), port(&mut switch, &[0, 1])), (0, 0));
    assert_eq!(switch.read_entries(None), []);
}

#[test]
fn invalid_entries_are_rejected_with_a_message() {
    use ControlCode::*;
    let mut s = exact();
    for value in 1..=4 {
        s.insert_entry(entry(vec![key(value)], 0, 1)).unwrap();
    }
    assert_rejected(
        s.insert_entry(entry(vec![key(5)], 0, 1)),
        ResourceExhausted,
        "Table 'I.t' is full: it has room for 4 entries.",
    );
    assert_rejected(
        s.insert_entry(entry(vec![key(4)], 0, 1)),
        AlreadyExists,
        "Table 'I.t' has an entry with these matches already.",
    );
    assert_rejected(
        s.modify_entry(entry(vec![key(5)], 0, 1)),
        NotFound,
        "Table 'I.t' has no such entry.",
    );
    assert_rejected(
        s.delete_entry(TABLE + 1, &[], 0),
        NotFound,
        "The program has no table with id 0x02000002.",
    );
    assert_rejected(
        s.insert_entry(entry(vec![key(5)], 3, 1)),
        InvalidArgument,
        "Table 'I.t' has only exact and lpm keys: the priority must be 0, not 3.",
    );
    assert_rejected(
        s.insert_entry(entry(vec![], 0, 1)),
        InvalidArgument,
        "Table 'I.t': match field 'h.k' is exact and must be given.",
    );
    assert_rejected(
        s.insert_entry(entry(vec![key(5), key(5)], 0, 1)),
        InvalidArgument,
        "Table 'I.t' has no match field 2; its fields are 1 'h.k'.",
    );
    assert_rejected(
        s.insert_entry(entry(vec![Match::Exact(v(8, 5))], 0, 1)),
        InvalidArgument,
        "Table 'I.t': match field 'h.k' has 16 bits, but the entry gives a value of 8 bits.",
    );
    assert_rejected(
        s.insert_entry(entry(vec![Match::Lpm(v(16, 5), 3)], 0, 1)),
        InvalidArgument,
        "Table 'I.t': match field 'h.k' is exact, but the entry gives another kind of match.",
    );
    let with = |action_id, params| TableEntry {
        action: EntryAction::Direct { action_id, params },
        ..entry(vec![key(5)], 0, 1)
    };
    assert_rejected(
        s.insert_entry(with(SET, vec![])),
        InvalidArgument,
        "Action 'I.set' takes 1 parameters (port), but 0 are given.",
    );
    assert_rejected(
        s.insert_entry(with(SET, vec![v(8, 1)])),
        InvalidArgument,
        "Action 'I.set': parameter 'port' has 9 bits, but the value has 8.",
    );
    assert_rejected(
        s.insert_entry(with(OTHER, vec![])),
        InvalidArgument,
        "Action 'I.other' is none of table 'I.t'; its actions are I.set, NoAction.",
    );
    assert_rejected(
        s.insert_entry(with(77, vec![])),
        NotFound,
        "The program has no action with id 0x0000004d.",
    );
    let member = TableEntry { action: EntryAction::Member(1), ..entry(vec![key(5)], 0, 1) };
    assert_rejected(
        s.insert_entry(member),
        InvalidArgument,
        "Table 'I.t' has no action profile: give an action with its parameters.",
    );
    assert_eq!(s.read_entries(None).len(), 4, "a refused request changes nothing");
}

#[test]
fn const_entries_and_defaults_cannot_be_changed() {
    use ControlCode::*;
    let mut s = router(&[("h.k", 16, MatchKind::Exact)], |program| {
        let table = &mut program.tables[0];
        table.const_entries = true;
        table.const_default = true;
        table.actions[0].default_only = true;
        table.entries = vec![InitialEntry {
            matches: vec![key(1)],
            action: ActionCall { action: 0, data: vec![v(9, 5)] },
            priority: 1,
        }];
    });
    assert_eq!(port(&mut s, &[0, 1]), 5);
    let text = "Table 'I.t' has const entries; they cannot be changed.";
    assert_rejected(s.insert_entry(entry(vec![key(2)], 0, 1)), PermissionDenied, text);
    assert_rejected(s.modify_entry(entry(vec![key(1)], 0, 1)), PermissionDenied, text);
    assert_rejected(s.delete_entry(TABLE, &[(1, key(1))], 0), PermissionDenied, text);
    assert_rejected(
        s.set_default(TABLE, SET, &[v(9, 1)]),
        PermissionDenied,
        "Table 'I.t' has a const default action; it cannot be changed.",
    );
    s.set_default(TABLE, NONE, &[]).unwrap();

    let mut s = router(&[("h.k", 16, MatchKind::Exact)], |program| {
        program.tables[0].actions[0].default_only = true;
        program.tables[0].actions[1].table_only = true;
    });
    assert_rejected(
        s.insert_entry(entry(vec![key(2)], 0, 1)),
        InvalidArgument,
        "Action 'I.set' of table 'I.t' is @defaultonly: no entry may run it.",
    );
    assert_rejected(
        s.set_default(TABLE, NONE, &[]),
        InvalidArgument,
        "Action 'NoAction' of table 'I.t' is @tableonly: it cannot be the default action.",
    );
}

#[test]
fn the_longest_prefix_wins_in_any_insertion_order() {
    let mut s = router(&[("h.a", 32, MatchKind::Lpm), ("h.b", 8, MatchKind::Exact)], |_| ());
    let lpm = |value, length| Match::Lpm(v(32, value), length);
    let b = Match::Exact(v(8, 1));
    for (value, length, port) in [(0x0a00_0000, 8, 8), (0x0a01_0203, 32, 32), (0x0a01_0000, 16, 16)]
    {
        s.insert_entry(entry(vec![lpm(value, length), b.clone()], 0, port)).unwrap();
    }
    let any = TableEntry { matches: vec![(2, b.clone())], ..entry(vec![], 0, 100) };
    s.insert_entry(any).unwrap();
    assert_eq!(port(&mut s, &[10, 1, 2, 3, 1]), 32);
    assert_eq!(port(&mut s, &[10, 1, 2, 4, 1]), 16);
    assert_eq!(port(&mut s, &[10, 2, 2, 4, 1]), 8);
    assert_eq!(port(&mut s, &[11, 2, 2, 4, 1]), 100);
    assert_eq!(port(&mut s, &[10, 1, 2, 3, 2]), 0, "the exact key has to match too");
    s.delete_entry(TABLE, &[(1, lpm(0x0a01_0000, 16)), (2, b.clone())], 0).unwrap();
    assert_eq!(port(&mut s, &[10, 1, 2, 4, 1]), 8);
    assert_rejected(
        s.insert_entry(entry(vec![lpm(0x0a00_0001, 8), b.clone()], 0, 1)),
        ControlCode::InvalidArgument,
        "Table 'I.t': match field 'h.a' is 0x0a000001/8, but bits behind the prefix must be 0.",
    );
    assert_rejected(
        s.insert_entry(entry(vec![lpm(0, 33), b.clone()], 0, 1)),
        ControlCode::InvalidArgument,
        "Table 'I.t': match field 'h.a' has 32 bits, so a prefix of 33 is too long.",
    );
    assert_rejected(
        s.insert_entry(entry(vec![lpm(0, 0), b], 0, 1)),
        ControlCode::InvalidArgument,
        "Table 'I.t': match field 'h.a' has prefix length 0 and matches everything; leave it out instead.",
    );
}

#[test]
fn the_larger_priority_wins_among_ternary_range_and_optional() {
    let keys = [
        ("h.t", 72, MatchKind::Ternary),
        ("h.r", 16, MatchKind::Range),
        ("h.o", 8, MatchKind::Optional),
    ];
    let mut s = router(&keys, |_| ());
    let ternary = |value, mask| Match::Ternary(v(72, value), v(72, mask));
    let range = |low, high| Match::Range(v(16, low), v(16, high));
    let fields = |matches, priority, port| TableEntry { matches, ..entry(vec![], priority, port) };
    s.insert_entry(fields(vec![(1, ternary(1 << 71, 1 << 71))], 10, 1)).unwrap();
    s.insert_entry(fields(vec![(2, range(5, 300))], 20, 2)).unwrap();
    s.insert_entry(fields(vec![(3, Match::Optional(Some(v(8, 9))))], 30, 3)).unwrap();
    s.insert_entry(fields(vec![], 1, 4)).unwrap();
    let frame = |t: u8, r: u16, o: u8| {
        let mut frame = vec![t, 0, 0, 0, 0, 0, 0, 0, 0];
        frame.extend(r.to_be_bytes());
        frame.push(o);
        frame
    };
    assert_eq!(port(&mut s, &frame(0x80, 5, 9)), 3);
    assert_eq!(port(&mut s, &frame(0x80, 300, 8)), 2);
    assert_eq!(port(&mut s, &frame(0x81, 301, 8)), 1);
    assert_eq!(port(&mut s, &frame(0x7f, 4, 8)), 4);
    let all = s.read_entries(Some(TABLE));
    assert_eq!(all[1].matches, [(2, range(5, 300))], "don't cares are left out");
    use ControlCode::InvalidArgument;
    s.delete_entry(TABLE, &[], 1).unwrap();
    assert_rejected(
        s.insert_entry(fields(vec![], 0, 1)),
        InvalidArgument,
        "Table 'I.t' has ternary, range or optional keys: the priority must be above 0.",
    );
    assert_rejected(
        s.insert_entry(fields(vec![(1, ternary(3, 1))], 1, 1)),
        InvalidArgument,
        "Table 'I.t': match field 'h.t' is 0x000000000000000003 &&& 0x000000000000000001, \
         but bits outside of the mask must be 0.",
    );
    assert_rejected(
        s.insert_entry(fields(vec![(2, range(2, 1))], 1, 1)),
        InvalidArgument,
        "Table 'I.t': match field 'h.r' is the range 0x0002 .. 0x0001, but its low end is above its high end.",
    );
}
