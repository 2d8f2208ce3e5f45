//! Restarts of a server over its store: the state that must survive, and frames from before the
//! restart that arrive later.

use crate::bench::{Bench, GENERATION};
use netkv_roles::kits::plain::Plain;
use netkv_roles::kits::single_key::{Server, ServerConfig};
use netkv_roles::netcache::NetCache;
use netkv_roles::{FORGET, SECOND, Server as _, WINDOW, first_request};

use crate::world::Behind;
use netkv_wire::{FrameView, Op, Status, is_newer};

const INITIAL: (u16, u32) = (0, 0);

#[test]
fn a_write_is_not_applied_again_by_a_server_that_restarted() {
    fn check<P: Behind>(bench: fn() -> Bench<P>) {
        for op in [Op::Put, Op::Delete] {
            let mut bench = bench();
            let first = bench.request(op, 1, 70);
            bench.arrive(&first);
            bench.run();
            let second = bench.request(Op::Put, 2, 9);
            bench.arrive(&second);
            bench.run();
            assert!(bench.answered(2, 9, Status::Ok));
            bench.arrived.clear(); // The reply to the first write was lost.
            for _ in 0..2 {
                bench.restart(SECOND);
                let again = bench.request(op, 1, 70);
                bench.arrive(&again);
                bench.run();
                assert_eq!(bench.stored(), Some((2, 9)), "{op:?}: an acknowledged write is undone");
                assert!(bench.answered(1, 70, Status::Ok), "{op:?}: its sender waits for this");
                assert_eq!(bench.server.stats().duplicates, 1);
                if bench.switch.entry(&bench.key).is_some() {
                    assert_eq!(bench.hit(), Some((2, 9)));
                }
            }
        }
    }
    check(Bench::<Plain>::new);
    check(Bench::<NetCache>::new);
    check(Bench::cached);
}

#[test]
fn a_write_that_was_not_stored_is_applied_by_its_copy_once() {
    let mut bench = Bench::cached();
    bench.switch.remove(&bench.key);
    let write = bench.request(Op::Put, 1, 70); // Slow: the record is out of date.
    bench.arrive(&write);
    assert_eq!(bench.stored(), Some(INITIAL), "accepted, but waiting for the switch");
    bench.restart(0);
    bench.arrive(&write);
    bench.run();
    assert!(bench.answered(1, 70, Status::Ok));
    assert_eq!(bench.stored(), Some((1, 70)));
    bench.arrive(&write);
    assert_eq!(bench.server.stats().duplicates, 1);
}

#[test]
fn a_write_that_failed_may_be_applied_after_a_restart() {
    let mut bench = Bench::<Plain>::new();
    bench.fail = true;
    let write = bench.request(Op::Put, 1, 70);
    bench.arrive(&write);
    bench.run();
    assert!(bench.answered(1, 70, Status::Rejected));
    bench.restart(0);
    bench.arrive(&write);
    bench.run();
    assert!(bench.answered(1, 70, Status::Ok));
    assert_eq!(bench.stored(), Some((1, 70)));
}

#[test]
fn requests_older_than_the_window_are_late_after_a_restart() {
    for start in [1, u32::MAX - 70] {
        let mut bench = Bench::<Plain>::new();
        let numbers = [start, start.wrapping_add(1), start.wrapping_add(WINDOW)];
        for number in numbers {
            let write = bench.request(Op::Put, 1, number);
            bench.arrive(&write);
        }
        bench.run();
        bench.restart(0);
        bench.arrived.clear();
        for number in numbers {
            let copy = bench.request(Op::Put, 1, number);
            bench.arrive(&copy);
        }
        bench.run();
        assert_eq!(bench.stored(), Some((1, numbers[2])));
        let stats = bench.server.stats();
        assert_eq!((stats.late, stats.duplicates), (1, 2));
        assert_eq!(bench.arrived.len(), 2, "a late copy gets no answer");
    }
}

#[test]
fn a_client_is_served_after_silence_until_numbers_wrap() {
    for restart in [false, true] {
        let mut bench = Bench::<Plain>::new();
        let write = bench.request(Op::Put, 1, 1 << 20);
        bench.arrive(&write);
        bench.now += FORGET + 2 * SECOND;
        if restart {
            bench.restart(0);
        }
        // Its numbers have almost wrapped, so these look older than the first.
        for number in [1 << 18, (1 << 18) + 1] {
            let write = bench.request(Op::Put, 1, number);
            bench.arrive(&write);
            bench.run();
            assert!(bench.answered(1, number, Status::Ok), "restart {restart}");
            assert_eq!(bench.stored(), Some((1, number)));
        }
        bench.restart(0);
        let copy = bench.request(Op::Put, 1, 1 << 18);
        bench.arrive(&copy);
        assert_eq!(bench.server.stats().duplicates, 1, "the later write is remembered");
    }
}

#[test]
fn time_passes_for_marks_while_the_server_is_down() {
    let mut bench = Bench::<Plain>::new();
    let write = bench.request(Op::Put, 1, 1 << 20);
    bench.arrive(&write);
    bench.run();
    let failed_at = bench.now;
    for (away, status) in [(FORGET / 2, None), (FORGET + 5 * SECOND, Some(Status::Ok))] {
        // A process whose driver time starts at 0 again.
        let config = ServerConfig { epoch: failed_at + away, ..*bench.server.config() };
        bench.server = Server::restore(config, 0, bench.store.applied());
        (bench.now, bench.arrived) = (0, Vec::new());
        let older = bench.request(Op::Put, 1, 5);
        bench.arrive(&older);
        bench.run();
        assert_eq!(bench.status(Op::PutReply), status, "after {away} ns");
    }
}

#[test]
fn an_update_from_before_a_restart_restores_no_old_value() {
    // The server has pushed the stored value or the write of client 1, and failed. The write of
    // client 1 arrives (again), and others follow. The UPDATE passes the switch at any time.
    let requests = [(Op::Get, 3, 7), (Op::Put, 1, 1), (Op::Put, 2, 1), (Op::Get, 3, 8)];
    for (refresh, delay) in (0..32).map(|number| (number % 2 == 0, number / 2)) {
        let mut bench = Bench::cached();
        let first = bench.request(Op::Put, 1, 1);
        if refresh {
            let read = bench.request(Op::Get, 3, 2);
            bench.arrive(&read); // It overtakes the write that invalidated the entry.
        } else {
            bench.arrive(&first);
        }
        let late_update = bench.take(Op::Update);
        bench.restart(SECOND);
        bench.arrive(&first);
        let mut requests = requests.iter();
        for step in 0.. {
            if step == delay {
                bench.pass(&late_update);
            }
            if bench.answered(2, 1, Status::Ok) {
                assert!(matches!(bench.hit(), None | Some((2, 1))), "delay {delay}");
            } else if bench.answered(1, 1, Status::Ok) {
                assert!(matches!(bench.hit(), None | Some((1, 1))), "delay {delay}");
            }
            if bench.run_one() {
                continue; // Frames of the server are delivered before the next request.
            }
            match requests.next() {
                Some((Op::Get, ..)) if bench.hit().is_some() => {}
                Some(&(op, client, request)) => {
                    let bytes = bench.request(op, client, request);
                    bench.arrive(&bytes);
                }
                None if step > delay => break,
                None => {}
            }
        }
        assert_eq!((bench.stored(), bench.hit()), (Some((2, 1)), Some((2, 1))));
    }
}

#[test]
fn a_write_held_over_the_guard_time_is_not_trusted() {
    let mut bench = Bench::<NetCache>::new();
    let early = bench.request(Op::Put, 1, 1);
    let admit = bench.control(Op::Admit, GENERATION);
    bench.insert(GENERATION, 0b1111);
    let install = bench.control(Op::Install, GENERATION);
    bench.arrive(&install);
    bench.run();
    bench.restart(SECOND / 1000);
    bench.arrive(&admit); // A late copy, which holds the writes of the key.
    bench.arrive(&early);
    let lease = bench.server.deadline().expect("the lease has an end");
    bench.pass_time(lease - bench.now);
    assert!(!bench.has_sent(Op::PutReply), "the entry is valid with the old value");
    bench.run();
    assert!(bench.answered(1, 1, Status::Ok));
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 1)), Some((1, 1))));
}

#[test]
fn a_write_queued_over_the_guard_time_is_not_trusted() {
    let mut bench = Bench::<NetCache>::new();
    let early = bench.request(Op::Put, 1, 1);
    let read = bench.request(Op::Get, 2, 1);
    bench.insert(GENERATION, 0b1111);
    let install = bench.control(Op::Install, GENERATION);
    bench.arrive(&install);
    bench.run();
    let old = *bench.server.config();
    let service_rate = Some(1.0);
    let guard = SECOND / 2;
    let config = ServerConfig { service_rate, service_queue: 4, guard, ..old };
    bench.server = Server::restore(config, bench.now, bench.store.applied());
    for _ in 0..3 {
        bench.arrive(&read);
    }
    bench.arrive(&early);
    bench.pass_time(3 * SECOND);
    assert!(!bench.has_sent(Op::PutReply), "the entry is valid with the old value");
    bench.run();
    assert!(bench.answered(1, 1, Status::Ok));
    assert_eq!((bench.stored(), bench.hit()), (Some((1, 1)), Some((1, 1))));
}

#[test]
fn request_numbers_after_a_restart_are_newer() {
    // Before the restart the server ran for 3 ms and sent a million requests a second.
    let start = 1_700_000_000_000_000_000;
    let last = first_request(start).wrapping_add(3000);
    assert!(is_newer(first_request(start + 3_000_000), last));
}

#[test]
fn clients_cannot_access_the_records_of_a_store() {
    let mut bench = Bench::<Plain>::new();
    bench.key = *b"netkv:data-set:1";
    for op in [Op::Get, Op::Put, Op::Delete] {
        let request = bench.request(op, 1, 1);
        bench.arrive(&request);
        let reply = bench.take(op.reply());
        assert_eq!(FrameView::parse(&reply).unwrap().status(), Status::Rejected);
    }
    assert_eq!(bench.store.written(), 0);
}
