//! Retries do not prevent requests from being answered: slow servers, and clients whose first
//! time-out is much shorter than the response time. The network loses nothing, so unanswered
//! requests are due to copies that displace requests.

mod rack;

use self::rack::{KINDS, Kind, Rack, Setup};
use netkv_roles::{MILLISECOND, SECOND};
use netkv_workload::{Arrivals, Random};

/// The setup of seed 7000247 of `netkv soak coordimc`: a full queue takes longer than a deadline,
/// and retries are sent long before a server can answer.
const SLOW: Setup = Setup {
    servers: 1,
    service: (390.7, 75),
    retry: 3_301_000,
    deadline: 123 * MILLISECOND,
    arrivals: Arrivals::Poisson { rate: 216.0 },
    hop: 15_000,
    seed: 1,
};

fn read_back(kind: Kind, setup: Setup, load: u64) -> Rack {
    let mut rack = Rack::new(kind, setup);
    rack.start();
    rack.run_for(load);
    rack.end();
    let ended = rack.now;
    let report = rack.verify();
    let what = format!("{kind:?}, {setup:?}: {report:?}, {:?}", rack.counts());
    assert_eq!((report.unread, report.acked_writes_lost), (0, 0), "{what}");
    assert!(rack.now - ended < 10 * SECOND, "{what}");
    rack
}

#[test]
fn everything_is_read_back_after_a_load_above_the_servers() {
    for kind in KINDS {
        read_back(kind, SLOW, SECOND);
    }
}

#[test]
fn data_is_read_back_at_every_rate_of_servers_and_retries() {
    for kind in KINDS {
        for seed in 0..40 {
            let mut random = Random::new(seed, 3);
            let mut between = |low: f64, high: f64| low * (high / low).powf(random.unit());
            let retry = between(1e6, 50e6) as u64;
            let setup = Setup {
                servers: between(1.0, 6.9) as u16,
                service: (between(80.0, 2000.0), between(4.0, 256.0) as usize),
                retry,
                deadline: (between(1e8, 1e9) as u64).max(20 * retry),
                arrivals: if seed % 2 == 0 {
                    Arrivals::Poisson { rate: between(100.0, 3000.0) }
                } else {
                    Arrivals::Closed { outstanding: between(1.0, 64.0) as u32 }
                },
                hop: between(1e3, 20e6) as u64,
                seed,
            };
            read_back(kind, setup, SECOND / 2);
        }
    }
}

/// With twice the load that servers can serve, they serve at their full rate, as without retries.
#[test]
fn overloaded_servers_serve_requests_and_not_copies() {
    for kind in KINDS {
        let setup = Setup {
            service: (400.0, 200),
            retry: MILLISECOND,
            deadline: 2 * SECOND,
            arrivals: Arrivals::Closed { outstanding: 150 },
            hop: 5 * MILLISECOND,
            ..SLOW
        };
        let mut rack = Rack::new(kind, setup);
        rack.start();
        rack.run_for(5 * SECOND);
        let (counts, served) = (rack.counts(), rack.served());
        let what = format!("{kind:?}: {served} served, {counts:?}");
        assert!(counts.completed * 100 >= served * 85, "{what}");
        assert!(served > 1950, "servers are never idle: {what}");
        assert_eq!(counts.lost, 0, "{what}");
    }
}

/// An answer takes 40 ms on the wire alone, and the first retry would come after one.
#[test]
fn time_outs_adapt_to_a_slow_network() {
    for kind in KINDS {
        let setup = Setup {
            service: (1e6, 100),
            retry: MILLISECOND,
            deadline: 2 * SECOND,
            arrivals: Arrivals::Closed { outstanding: 16 },
            hop: 20 * MILLISECOND,
            ..SLOW
        };
        let mut rack = Rack::new(kind, setup);
        rack.start();
        rack.run_for(2 * SECOND);
        let before = rack.counts();
        rack.run_for(8 * SECOND);
        let counts = rack.counts();
        let (sent, again) = (counts.requests - before.requests, counts.retries - before.retries);
        assert!(again * 5 < sent, "{kind:?}: {again} of {sent} frames are copies");
        assert!(rack.most_copies <= 8, "{kind:?}: {} copies under way", rack.most_copies);
        assert_eq!(counts.lost, 0, "{kind:?}: {counts:?}");
    }
}
