//! Every trap of the NetCache protocol, made to happen by hand.

mod common;

use common::bench::{Bench, GENERATION, Scheme};
use netkv_roles::{Actions, MILLISECOND, SECOND, Server, ServerConfig, WINDOW};
use netkv_wire::{FrameView, Op, Status, is_newer, partition};
use netkv_workload::{Random, key_of};

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
fn value_over_the_limit_of_the_system_is_refused() {
    let mut bench = Bench::new(Scheme::Plain);
    let write = bench.request_of_size(Op::Put, 1, 1, 1025);
    bench.arrive(&write);
    bench.run();
    assert!(bench.answered(1, 1, Status::TooLarge));
    assert_eq!(bench.stored(), Some(INITIAL));
}

#[test]
fn admit_holds_writes_until_install_and_copies_of_both_change_nothing() {
    let mut bench = Bench::new(Scheme::NetCache);
    let admit = bench.control(Op::Admit, GENERATION);
    bench.arrive(&admit);
    bench.arrive(&admit);
    let reply = bench.take(Op::AdmitReply);
    let frame = FrameView::parse(&reply).unwrap();
    assert_eq!((frame.status(), frame.length(), frame.value()), (Status::Ok, 64, &[][..]));
    assert_eq!(bench.take(Op::AdmitReply), reply, "the copy gets the same answer");
    let held = bench.request(Op::Put, 1, 1);
    bench.arrive(&held);
    bench.run();
    assert_eq!(bench.stored(), Some(INITIAL));
    bench.insert(GENERATION, 0b1111);
    let install = bench.control(Op::Install, GENERATION);
    bench.arrive(&install);
    bench.arrive(&install);
    bench.run();
    assert_eq!(bench.status(Op::InstallReply), Some(Status::Ok));
    assert!(bench.answered(1, 1, Status::Ok));
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 1)), Some((1, 1))));
    bench.arrived.clear();
    bench.arrive(&install);
    assert!(!bench.has_sent(Op::Invalidate));
    bench.run();
    assert_eq!(bench.status(Op::InstallReply), Some(Status::Ok));
    assert_eq!(bench.hit(), Some((1, 1)));
}

#[test]
fn writes_are_let_go_when_the_controller_dies_after_admit() {
    let mut bench = Bench::new(Scheme::NetCache);
    let admit = bench.control(Op::Admit, GENERATION);
    bench.arrive(&admit);
    let held = bench.request(Op::Put, 1, 1);
    bench.arrive(&held);
    bench.run();
    assert!(!bench.answered(1, 1, Status::Ok));
    let lease = bench.server.deadline().expect("the lease has an end");
    bench.pass_time(lease - bench.now);
    bench.run();
    assert!(bench.answered(1, 1, Status::Ok));
    assert_eq!(bench.server.busy_keys(), 0);
}

#[test]
fn admit_tells_what_cannot_be_cached() {
    let mut bench = Bench::new(Scheme::NetCache);
    let large = bench.request_of_size(Op::Put, 1, 1, 200);
    bench.arrive(&large);
    let admit = bench.control(Op::Admit, GENERATION);
    bench.arrive(&admit);
    bench.run();
    assert_eq!(bench.status(Op::AdmitReply), Some(Status::TooLarge));
    let delete = bench.request(Op::Delete, 1, 2);
    bench.arrive(&delete);
    let admit = bench.control(Op::Admit, GENERATION + 1);
    bench.arrive(&admit);
    bench.run();
    assert_eq!(bench.status(Op::AdmitReply), Some(Status::NotFound));
    assert_eq!(bench.server.busy_keys(), 0, "nothing is held");
}

#[test]
fn old_messages_of_the_controller_do_not_harm_the_next_life_of_an_entry() {
    let mut bench = Bench::cached();
    for op in [Op::Admit, Op::Install] {
        let old = bench.control(op, GENERATION - 1);
        bench.arrive(&old);
        bench.run();
        assert_eq!(bench.status(op.reply()), Some(Status::Rejected));
    }
    let evicted = bench.control(Op::Evicted, GENERATION - 1);
    bench.arrive(&evicted);
    bench.run();
    assert_eq!(bench.server.cached_keys(), 1, "the record is of another generation");
    assert_eq!(bench.hit(), Some(INITIAL));
}

#[test]
fn install_without_a_lookup_entry_says_so_and_holds_nothing() {
    let mut bench = Bench::new(Scheme::NetCache);
    let admit = bench.control(Op::Admit, GENERATION);
    bench.arrive(&admit);
    let install = bench.control(Op::Install, GENERATION);
    bench.arrive(&install);
    bench.run();
    assert_eq!(bench.status(Op::InstallReply), Some(Status::NotCached));
    assert_eq!((bench.server.busy_keys(), bench.server.cached_keys()), (0, 0));
}

#[test]
fn entry_of_a_new_generation_is_taken_over_by_the_next_write() {
    let mut bench = Bench::cached();
    bench.insert(GENERATION + 1, 0b1111_0000); // Moved; the INSTALL has not come yet.
    let write = bench.request(Op::Put, 1, 1);
    bench.arrive(&write);
    assert!(!bench.has_sent(Op::PutReply), "a mark of another generation makes a write slow");
    bench.run();
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 1)), Some((1, 1))));
    let next = bench.request(Op::Put, 1, 2);
    bench.arrive(&next);
    assert!(bench.has_sent(Op::PutReply), "and the next one is fast");
}

#[test]
fn writes_of_an_evicted_key_are_fast_again() {
    for notice in [true, false] {
        let mut bench = Bench::cached();
        bench.switch.lookup.clear();
        if notice {
            let evicted = bench.control(Op::Evicted, GENERATION);
            bench.arrive(&evicted);
            assert_eq!(bench.server.cached_keys(), 0);
        } else {
            let slow = bench.request(Op::Put, 1, 1);
            bench.arrive(&slow);
            bench.run(); // The switch says that it is not cached.
        }
        let write = bench.request(Op::Put, 1, 2);
        bench.arrive(&write);
        assert!(bench.has_sent(Op::PutReply) && !bench.has_sent(Op::Invalidate));
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
    bench.switch.lookup.clear();
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
    bench.switch.lookup.clear();
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

#[test]
fn overloaded_write_may_come_again() {
    let mut bench = Bench::cached();
    let first = bench.request(Op::Put, 1, 1);
    bench.arrive(&first); // Its update stays open, so what follows waits.
    for request in 2..=10 {
        let write = bench.request(Op::Put, 1, request);
        bench.arrive(&write);
    }
    let refused = bench.take(Op::PutReply);
    assert_eq!(FrameView::parse(&refused).unwrap().request(), 1);
    let refused = bench.take(Op::PutReply);
    let frame = FrameView::parse(&refused).unwrap();
    assert_eq!((frame.request(), frame.status()), (10, Status::Overloaded));
    bench.run();
    let again = bench.request(Op::Put, 1, 10);
    bench.arrive(&again);
    bench.run();
    assert!(bench.answered(1, 10, Status::Ok));
    assert_eq!(bench.stored(), Some((1, 10)));
}

#[test]
fn failed_write_is_refused_and_the_cache_goes_on_with_what_is_stored() {
    let mut bench = Bench::cached();
    let write = bench.request(Op::Put, 1, 1);
    bench.fail = true;
    bench.arrive(&write);
    bench.run();
    assert!(bench.answered(1, 1, Status::Rejected));
    let read = bench.request(Op::Get, 1, 2);
    bench.arrive(&read);
    bench.run();
    assert_eq!((bench.stored(), bench.hit()), (Some(INITIAL), Some(INITIAL)));
    assert_eq!(bench.server.stats().failures, 1);
}

#[test]
fn plain_server_knows_no_cache() {
    let mut bench = Bench::new(Scheme::Plain);
    let admit = bench.control(Op::Admit, GENERATION);
    bench.arrive(&admit);
    bench.run();
    assert_eq!(bench.status(Op::AdmitReply), Some(Status::Rejected));
    let write = bench.request(Op::Put, 1, 1);
    bench.arrive(&write);
    assert_eq!(bench.sent.len(), 1, "the reply, and nothing to the switch");
}

#[test]
fn keys_of_another_server_and_broken_frames_are_counted_and_have_no_effect() {
    let mut bench = Bench::cached();
    let whole = bench.request_of_size(Op::Put, 1, 1, 40);
    let mut random = Random::new(1, 1);
    for _ in 0..100_000 {
        let mut bytes = whole.clone();
        bytes.truncate(random.below(bytes.len() as u64) as usize);
        bench.arrive(&bytes);
    }
    for _ in 0..100_000 {
        let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.bits() as u8).collect();
        bench.arrive(&bytes);
    }
    assert_eq!(bench.server.stats().malformed, 200_000);
    assert_eq!(bench.stored(), Some(INITIAL));
    let owner = partition(&key_of(1), 2);
    let other = ServerConfig::new(1 - owner, 2, Scheme::NetCache);
    let mut server = Server::new(other, 0);
    let mut out = Actions::new();
    server.on_frame(0, &whole, &mut out);
    assert!(out.is_empty());
    assert_eq!(server.stats().wrong_partition, 1);
}

#[test]
fn rate_limited_server_serves_its_rate_and_drops_what_does_not_fit() {
    let mut config = ServerConfig::new(0, 1, Scheme::Plain);
    (config.service_rate, config.service_queue) = (Some(1000.0), 16);
    let mut server = Server::new(config, 0);
    let mut bench = Bench::new(Scheme::Plain);
    let mut out = Actions::new();
    for request in 0..5000u64 {
        let now = request * 200_000;
        let read = bench.request(Op::Get, 1, request as u32);
        server.on_frame(now, &read, &mut out);
        server.on_timer(now, &mut out);
    }
    let stats = server.stats();
    assert!((999..=1001).contains(&stats.served), "{stats:?}");
    assert_eq!(out.calls().len() as u64, stats.served);
    assert!(stats.dropped >= 5000 - 1001 - 16);
    assert!(server.deadline().is_some());
}
