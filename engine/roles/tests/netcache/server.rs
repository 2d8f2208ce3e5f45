//! Tests of the server: messages of the controller, limits, failures of the store and broken
//! frames.

use crate::bench::{Bench, GENERATION};
use netkv_roles::kits::plain::{self, Plain};
use netkv_roles::kits::single_key::{Server, ServerConfig};
use netkv_roles::netcache::{self, NetCache, NetCacheUnawaited};
use netkv_roles::{Actions, SECOND, Server as _, StoreResult};

use crate::world::{Behind, server_config};
use netkv_wire::{FrameView, Op, Sequence, Status, is_newer, partition};
use netkv_workload::{Random, key_of};

const INITIAL: (u16, u32) = (0, 0);

#[test]
fn value_over_the_limit_of_the_system_is_refused() {
    let mut bench = Bench::<Plain>::new();
    let write = bench.request_of_size(Op::Put, 1, 1, 1025);
    bench.arrive(&write);
    bench.run();
    assert!(bench.answered(1, 1, Status::TooLarge));
    assert_eq!(bench.stored(), Some(INITIAL));
}

#[test]
fn admit_holds_writes_until_install_and_copies_do_nothing() {
    let mut bench = Bench::<NetCache>::new();
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
fn held_writes_are_released_if_the_controller_fails() {
    let mut bench = Bench::<NetCache>::new();
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
fn admit_refuses_values_that_cannot_be_cached() {
    let mut bench = Bench::<NetCache>::new();
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
fn late_controller_messages_do_not_affect_the_next_entry() {
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
fn install_without_a_lookup_entry_is_refused() {
    let mut bench = Bench::<NetCache>::new();
    let admit = bench.control(Op::Admit, GENERATION);
    bench.arrive(&admit);
    let install = bench.control(Op::Install, GENERATION);
    bench.arrive(&install);
    bench.run();
    assert_eq!(bench.status(Op::InstallReply), Some(Status::NotCached));
    assert_eq!((bench.server.busy_keys(), bench.server.cached_keys()), (0, 0));
}

#[test]
fn entry_of_a_new_generation_is_adopted_by_the_next_write() {
    let mut bench = Bench::cached();
    bench.insert(GENERATION + 1, 0b1111_0000); // Moved; the INSTALL has not arrived yet.
    let write = bench.request(Op::Put, 1, 1);
    bench.arrive(&write);
    assert!(!bench.has_sent(Op::PutReply), "metadata of another generation makes a write slow");
    bench.run();
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 1)), Some((1, 1))));
    let next = bench.request(Op::Put, 1, 2);
    bench.arrive(&next);
    assert!(bench.has_sent(Op::PutReply), "the next one is fast");
}

#[test]
fn writes_of_an_evicted_key_are_fast_again() {
    for notice in [true, false] {
        let mut bench = Bench::cached();
        bench.switch.remove(&bench.key);
        if notice {
            let evicted = bench.control(Op::Evicted, GENERATION);
            bench.arrive(&evicted);
            assert_eq!(bench.server.cached_keys(), 0);
        } else {
            let slow = bench.request(Op::Put, 1, 1);
            bench.arrive(&slow);
            bench.run(); // The switch answers that the key is not cached.
        }
        let write = bench.request(Op::Put, 1, 2);
        bench.arrive(&write);
        assert!(bench.has_sent(Op::PutReply) && !bench.has_sent(Op::Invalidate));
    }
}

#[test]
fn an_update_may_be_sent_once_and_hold_no_write() {
    let mut bench = Bench::<NetCacheUnawaited>::cached_behind();
    let write = bench.request(Op::Put, 1, 1);
    bench.arrive(&write);
    let lost = bench.take(Op::Update);
    assert_eq!(bench.server.busy_keys(), 0, "nothing waits for its answer");
    bench.pass_time(SECOND);
    assert!(!bench.has_sent(Op::Update), "it is not sent again");
    assert_eq!(bench.hit(), None, "so the entry is invalid");
    let read = bench.request(Op::Get, 2, 1);
    bench.arrive(&read);
    assert!(!bench.has_sent(Op::Update), "reads do not fill it either");
    let write = bench.request(Op::Put, 1, 2);
    bench.arrive(&write);
    let late = bench.pass(&lost);
    bench.arrive(&late);
    assert_eq!(bench.hit(), None, "the late one is of another version");
    bench.run();
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 2)), Some((1, 2))));
    assert_eq!(bench.server.stats().unexpected, 0, "answers are expected, and not used");
    let evicted = bench.control(Op::Evicted, GENERATION);
    bench.arrive(&evicted);
    assert_eq!(bench.server.cached_keys(), 0);
}

#[test]
fn the_first_update_of_an_entry_is_awaited_by_all_servers() {
    let mut bench = Bench::<NetCacheUnawaited>::new();
    bench.insert(GENERATION, 0b1111);
    let install = bench.control(Op::Install, GENERATION);
    bench.arrive(&install);
    while !bench.has_sent(Op::Update) {
        assert!(bench.run_one());
    }
    bench.take(Op::Update);
    bench.pass_time(SECOND);
    bench.run();
    assert_eq!(bench.status(Op::InstallReply), Some(Status::Ok));
    assert_eq!(bench.hit(), Some(INITIAL));
}

#[test]
fn overloaded_write_may_be_retried() {
    let mut bench = Bench::cached();
    let first = bench.request(Op::Put, 1, 1);
    bench.arrive(&first); // Its update stays pending, so later writes wait.
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
fn failed_write_is_refused_and_the_stored_value_stays_cached() {
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
fn plain_server_refuses_admissions() {
    let mut bench = Bench::<Plain>::new();
    let admit = bench.control(Op::Admit, GENERATION);
    bench.arrive(&admit);
    bench.run();
    assert_eq!(bench.status(Op::AdmitReply), Some(Status::Rejected));
    let write = bench.request(Op::Put, 1, 1);
    bench.arrive(&write);
    assert_eq!(bench.sent.len(), 1, "the reply, and nothing to the switch");
}

#[test]
fn keys_of_other_servers_and_broken_frames_have_no_effect() {
    let mut bench = Bench::cached();
    let complete = bench.request_of_size(Op::Put, 1, 1, 40);
    let mut random = Random::new(1, 1);
    for _ in 0..100_000 {
        let mut bytes = complete.clone();
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
    let mut server = netcache::Server::new(ServerConfig::new(1 - owner, 2), 0);
    let mut out = Actions::new();
    server.on_frame(0, &complete, &mut out);
    assert!(out.is_empty());
    assert_eq!(server.stats().wrong_partition, 1);
}

#[test]
fn rate_limited_server_serves_its_rate_and_drops_the_rest() {
    let mut config = ServerConfig::new(0, 1);
    (config.service_rate, config.service_queue) = (Some(1000.0), 16);
    let mut server = plain::Server::new(config, 0);
    let mut bench = Bench::<Plain>::new();
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

#[test]
fn copies_of_requests_that_wait_are_ignored() {
    fn check<P: Behind>() {
        let mut config = server_config::<P>(0, 1, 0);
        (config.service_rate, config.service_queue) = (Some(1000.0), 3);
        let mut server = Server::<P>::new(config, 0);
        let mut bench = Bench::<P>::new();
        let mut out = Actions::new();
        for _ in 0..30 {
            server.on_frame(0, &bench.request(Op::Get, 1, 1), &mut out);
            server.on_frame(0, &bench.request(Op::Get, 1, 2), &mut out);
            server.on_frame(0, &bench.request(Op::Put, 1, 3), &mut out);
        }
        assert_eq!((server.stats().dropped, server.stats().duplicates), (0, 87));
        server.on_timer(SECOND, &mut out);
        let stats = server.stats();
        assert_eq!((stats.served, stats.reads, stats.writes), (3, 2, 1));
        // Two reads have been handed to the store, which is slow.
        let call = out.calls().next().unwrap().id;
        server.on_frame(2 * SECOND, &bench.request(Op::Get, 1, 1), &mut out);
        assert_eq!(server.stats().served, 3);
        let found = StoreResult::Value(b"v", Sequence::default());
        server.on_stored(3 * SECOND, call, found, &mut out);
        // The read took three seconds, so copies are ignored for three more seconds.
        server.on_frame(6 * SECOND - 1, &bench.request(Op::Get, 1, 1), &mut out);
        assert_eq!(server.stats().served, 3);
        server.on_frame(6 * SECOND, &bench.request(Op::Get, 1, 1), &mut out);
        assert_eq!((server.stats().served, server.stats().duplicates), (4, 89));
    }
    check::<Plain>();
    check::<NetCache>();
}

#[test]
fn late_copy_of_a_write_undoes_nothing_without_a_cache() {
    let mut bench = Bench::<Plain>::new();
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

#[test]
fn versions_wrap_without_a_stale_hit_or_a_slow_write() {
    let mut bench = Bench::<NetCache>::new();
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
    assert_eq!(bench.server.cache_stats().slow_writes, 0);
    assert!(is_newer(0, u32::MAX));
}
