//! Every trap of the NetCache protocol between writes, reads and the switch, made to happen by
//! hand. Those of the controller and of the server itself are in `server.rs`.

mod common;

use common::bench::{Bench, GENERATION, Scheme};
use netkv_roles::{MILLISECOND, SECOND, WINDOW};
use netkv_wire::{FrameView, Op, Status, is_newer};

const INITIAL: (u16, u32) = (0, 0);

#[test]
fn delayed_update_does_not_bring_back_an_overwritten_value() {
    let mut bench = Bench::cached();
    let first = bench.request(Op::Put, 1, 1);
    bench.arrive(&first);
    let delayed = bench.take(Op::Update);
    let second = bench.request(Op::Put, 1, 2);
    let reply = bench.pass(&delayed);
    assert_eq!(FrameView::parse(&reply).unwrap().status(), Status::Stale);
    assert_eq!(bench.hit(), None);
    bench.arrive(&reply);
    bench.arrive(&second);
    bench.run();
    let reply = bench.pass(&delayed);
    assert_eq!(FrameView::parse(&reply).unwrap().status(), Status::Stale);
    assert_eq!(bench.hit(), Some((1, 2)));
}

#[test]
fn write_that_passed_before_the_entry_existed_leaves_no_old_value_in_it() {
    let mut bench = Bench::new(Scheme::NetCache);
    let early = bench.request(Op::Put, 1, 1);
    assert_eq!(FrameView::parse(&early).unwrap().mark(), None);
    bench.insert(GENERATION, 0b1111);
    let install = bench.control(Op::Install, GENERATION);
    bench.arrive(&install);
    bench.run();
    assert_eq!(bench.hit(), Some(INITIAL), "the entry is valid with what was there before");
    bench.arrive(&early);
    assert!(!bench.has_sent(Op::PutReply), "not acknowledged while the old value is served");
    bench.run();
    assert!(bench.answered(1, 1, Status::Ok));
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 1)), Some((1, 1))));
}

#[test]
fn lost_update_and_lost_acknowledgement_are_made_good() {
    let mut bench = Bench::cached();
    let write = bench.request(Op::Put, 1, 1);
    bench.arrive(&write);
    bench.take(Op::Update);
    let waiting = bench.request(Op::Put, 1, 2);
    bench.arrive(&waiting);
    assert_eq!(bench.stored(), Some((1, 1)), "the next write waits for the acknowledgement");
    bench.pass_time(10 * MILLISECOND);
    let again = bench.take(Op::Update);
    bench.pass(&again); // The acknowledgement is lost.
    bench.pass_time(20 * MILLISECOND);
    assert!(bench.has_sent(Op::Update));
    bench.run();
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 2)), Some((1, 2))));
    assert!(bench.answered(1, 2, Status::Ok));
}

#[test]
fn duplicated_updates_and_acknowledgements_change_nothing() {
    let mut bench = Bench::cached();
    let first = bench.request(Op::Put, 1, 1);
    bench.arrive(&first);
    let update = bench.take(Op::Update);
    let reply = bench.pass(&update);
    let copy = bench.pass(&update);
    bench.arrive(&reply);
    let second = bench.request(Op::Put, 1, 2);
    bench.arrive(&second);
    // The copy of the first acknowledgement must not pass for one of the second update.
    bench.arrive(&copy);
    bench.take(Op::Update);
    bench.pass_time(10 * MILLISECOND);
    assert!(bench.has_sent(Op::Update), "the second update is still open");
    bench.run();
    assert_eq!(bench.hit(), Some((1, 2)));
    bench.pass(&update);
    assert_eq!(bench.hit(), Some((1, 2)));
}

#[test]
fn read_on_its_way_when_a_write_passed_does_not_revalidate_the_old_value() {
    let mut bench = Bench::cached();
    let lost = bench.request(Op::Put, 1, 1); // Invalidates, and never arrives.
    drop(lost);
    let read = bench.request(Op::Get, 2, 1);
    let write = bench.request(Op::Put, 1, 2);
    bench.arrive(&read);
    let refresh = bench.take(Op::Update);
    let reply = bench.pass(&refresh);
    assert_eq!(bench.hit(), None, "the write has passed in between");
    bench.arrive(&reply);
    bench.arrive(&write);
    bench.run();
    assert_eq!(bench.hit(), Some((1, 2)));
    bench.arrive(&read);
    assert!(!bench.has_sent(Op::Update), "an old mark is no reason to push");
}

#[test]
fn write_overtaken_by_a_refresh_with_its_version_is_acknowledged_only_when_the_entry_is_invalid() {
    let mut bench = Bench::cached();
    let write = bench.request(Op::Put, 1, 1);
    let read = bench.request(Op::Get, 2, 1);
    bench.arrive(&read);
    bench.run();
    assert_eq!(bench.hit(), Some(INITIAL), "valid again: the write has not arrived");
    bench.arrive(&write);
    assert!(bench.has_sent(Op::Invalidate) && !bench.has_sent(Op::PutReply));
    let invalidate = bench.take(Op::Invalidate);
    let reply = bench.pass(&invalidate);
    assert_eq!(bench.hit(), None);
    bench.arrive(&reply);
    assert!(bench.has_sent(Op::PutReply));
    bench.run();
    assert_eq!(bench.hit(), Some((1, 1)));
}

#[test]
fn writes_that_change_places_behind_the_switch_leave_the_last_one_applied_everywhere() {
    let mut bench = Bench::cached();
    let first = bench.request(Op::Put, 1, 1);
    let second = bench.request(Op::Put, 2, 1);
    bench.arrive(&second);
    bench.run();
    bench.arrive(&first);
    bench.run();
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 1)), Some((1, 1))));
}

#[test]
fn late_copy_of_a_write_does_not_undo_a_newer_one() {
    for scheme in [Scheme::Plain, Scheme::NetCache] {
        let mut bench = Bench::new(scheme);
        let first = bench.request(Op::Put, 1, 1);
        bench.arrive(&first);
        let second = bench.request(Op::Put, 2, 1);
        bench.arrive(&second);
        bench.run();
        bench.arrived.clear();
        bench.arrive(&first);
        bench.run();
        assert_eq!(bench.stored(), Some((2, 1)));
        assert!(bench.answered(1, 1, Status::Ok), "the first answer may have been lost");
        assert_eq!(bench.server.stats().duplicates, 1);
    }
}

#[test]
fn copy_of_a_write_that_invalidated_the_entry_again_lets_it_be_refilled() {
    let mut bench = Bench::cached();
    let write = bench.request(Op::Put, 1, 1);
    bench.arrive(&write);
    bench.run();
    let copy = bench.request(Op::Put, 1, 1);
    assert_eq!(bench.hit(), None);
    bench.arrive(&copy);
    bench.run();
    assert_eq!(bench.hit(), Some((1, 1)));
}

#[test]
fn copy_that_is_older_than_the_window_has_no_effect_and_no_answer() {
    let mut bench = Bench::new(Scheme::NetCache);
    let old = bench.request(Op::Put, 1, 1);
    bench.arrive(&old);
    let new = bench.request(Op::Put, 1, 1 + WINDOW);
    bench.arrive(&new);
    bench.run();
    bench.arrived.clear();
    bench.arrive(&old);
    bench.run();
    assert_eq!(bench.stored(), Some((1, 1 + WINDOW)));
    assert!(bench.arrived.is_empty());
    assert_eq!(bench.server.stats().late, 1);
}

#[test]
fn delete_leaves_nothing_in_the_switch_and_the_controller_hears_of_it_until_it_answers() {
    let mut bench = Bench::cached();
    let delete = bench.request(Op::Delete, 1, 1);
    bench.arrive(&delete);
    assert!(!bench.has_sent(Op::Update));
    bench.take(Op::Outgrown);
    bench.run();
    assert!(bench.answered(1, 1, Status::Ok));
    assert_eq!((bench.stored(), bench.hit()), (None, None));
    bench.pass_time(10 * MILLISECOND);
    let outgrown = bench.take(Op::Outgrown);
    let frame = FrameView::parse(&outgrown).unwrap();
    assert_eq!(frame.mark().unwrap().generation, GENERATION);
    let reply = common::frame_of(&frame.reply(Status::Ok));
    bench.arrive(&reply);
    bench.pass_time(SECOND);
    assert!(!bench.has_sent(Op::Outgrown));
    let read = bench.request(Op::Get, 1, 2);
    bench.arrive(&read);
    bench.run();
    assert!(bench.answered(1, 2, Status::NotFound));
}

#[test]
fn value_over_the_switch_limit_or_over_its_entry_is_stored_and_never_pushed() {
    for size in [65, 128, 129, 1024] {
        let mut bench = Bench::cached();
        let write = bench.request_of_size(Op::Put, 1, 1, size);
        bench.arrive(&write);
        assert!(!bench.has_sent(Op::Update), "{size} bytes do not fit four chunks");
        assert!(bench.has_sent(Op::Outgrown));
        bench.run();
        assert_eq!((bench.stored(), bench.hit()), (Some((1, 1)), None));
        let small = bench.request_of_size(Op::Put, 1, 2, 64);
        bench.arrive(&small);
        bench.run();
        assert_eq!(bench.hit(), Some((1, 2)), "it fits again, and the entry is still there");
    }
}

#[test]
fn restarted_server_does_not_trust_the_mark_of_a_write() {
    let mut bench = Bench::cached();
    let write = bench.request(Op::Put, 1, 1);
    let read = bench.request(Op::Get, 2, 1);
    bench.arrive(&read);
    bench.run();
    assert_eq!(bench.hit(), Some(INITIAL), "refilled by the server that is about to die");
    bench.restart(0);
    bench.arrive(&write);
    assert!(!bench.has_sent(Op::PutReply));
    bench.run();
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 1)), Some((1, 1))));
}

#[test]
fn restarted_server_does_not_trust_an_unmarked_write_for_a_while() {
    let mut bench = Bench::new(Scheme::NetCache);
    let early = bench.request(Op::Put, 1, 1);
    bench.insert(GENERATION, 0b1111);
    let install = bench.control(Op::Install, GENERATION);
    bench.arrive(&install);
    bench.run();
    bench.restart(SECOND);
    bench.arrive(&early);
    bench.run();
    assert_eq!(bench.hit(), Some((1, 1)), "the entry was valid with the old value");
    bench.switch.remove(&bench.key);
    let evicted = bench.control(Op::Evicted, GENERATION);
    bench.arrive(&evicted);
    bench.pass_time(SECOND);
    let write = bench.request(Op::Put, 1, 2);
    bench.arrive(&write);
    assert!(bench.has_sent(Op::PutReply), "later such writes are fast");
}

#[test]
fn entry_that_a_dead_server_left_invalid_is_refilled_by_a_read() {
    let mut bench = Bench::cached();
    let lost = bench.request(Op::Put, 1, 1);
    drop(lost);
    bench.restart(0);
    let read = bench.request(Op::Get, 2, 1);
    bench.arrive(&read);
    bench.run();
    assert_eq!(bench.hit(), Some(INITIAL));
    assert_eq!(bench.server.cached_keys(), 1);
}

#[test]
fn answer_to_a_server_that_has_died_is_none_to_its_successor() {
    let mut bench = Bench::cached();
    bench.switch.remove(&bench.key);
    let write = bench.request(Op::Put, 1, 1);
    bench.arrive(&write);
    let invalidate = bench.take(Op::Invalidate);
    let late = bench.pass(&invalidate);
    bench.restart(SECOND);
    let write = bench.request(Op::Put, 1, 2);
    bench.arrive(&write);
    bench.arrive(&late);
    assert!(!bench.has_sent(Op::PutReply));
    assert_eq!(bench.server.stats().unexpected, 1);
}

#[test]
fn versions_wrap_without_a_stale_hit_or_a_slow_write() {
    let mut bench = Bench::new(Scheme::NetCache);
    bench.switch.set_version(0, u32::MAX - 2);
    bench.insert(GENERATION, 0b1111);
    let install = bench.control(Op::Install, GENERATION);
    bench.arrive(&install);
    bench.run();
    for request in 1..6 {
        let write = bench.request(Op::Put, 1, request);
        bench.arrive(&write);
        bench.run();
        assert_eq!(bench.hit(), Some((1, request)));
    }
    assert_eq!(bench.server.stats().slow_writes, 0);
    assert!(is_newer(0, u32::MAX));
}
