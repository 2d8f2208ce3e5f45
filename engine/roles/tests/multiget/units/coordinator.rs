//! The coordinator's handling of requests and replies.

use crate::Architecture;
use netkv_roles::coordimc::{Coordinator, CoordinatorConfig};
use netkv_roles::{Actions, MILLISECOND, Outcome, SECOND};
use netkv_roles::{Client as _, Coordinator as _};
use netkv_wire::multiget::{Fields, View, entry_len, keys_that_fit};
use netkv_wire::{Ip, client_ip, server_ip};

use super::*;

#[test]
fn the_coordinator_sends_one_request_to_each_server() {
    let keys = keys_on(&[3, 0, 3, 1], 4);
    let mut client = user(Architecture::CoordiMc, layout(4), load(0));
    let request = get(&mut client, 0, &keys).remove(0);
    let mut coordinator = Coordinator::new(CoordinatorConfig::new(layout(4))).unwrap();
    let mut out = Actions::new();
    coordinator.on_frame(0, &request, &mut out);
    let asked: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
    let views: Vec<View<'_>> =
        asked.iter().map(|frame| View::parse(frame, FIELDS).unwrap()).collect();
    let to: Vec<(Ip, usize)> =
        views.iter().map(|view| (view.destination(), view.keys().count())).collect();
    assert_eq!(to, [(server_ip(3), 2), (server_ip(0), 1), (server_ip(1), 1)]);
    let parts = [vec![0, 2], vec![1], vec![3]];
    for (view, part) in views.iter().zip(parts).rev() {
        out.clear();
        let part: Vec<Vec<u8>> = part.iter().map(|at: &usize| keys[*at].clone()).collect();
        // Only the server that got the request can answer it.
        coordinator.on_frame(1, &reply(server_ip(2), view, 0, &part), &mut out);
        assert!(out.is_empty());
        coordinator.on_frame(1, &reply(view.destination(), view, 0, &part), &mut out);
    }
    assert_eq!(out.frames().len(), 1);
    let answer = out.frames().next().unwrap().to_vec();
    let view = View::parse(&answer, FIELDS).unwrap();
    assert_eq!(
        (view.header().id, view.header().numkey, view.destination()),
        (1001, 4, client_ip(1))
    );
    client.on_frame(2, &answer, &mut out);
    let values = keys.iter().map(|key| Some(key.clone())).collect();
    assert_eq!(completion(&mut client), Some(Outcome::Values(values)));
    let stats = coordinator.stats();
    assert_eq!((stats.requests, stats.keys, stats.groups, stats.replies), (1, 4, 3, 1));
    assert_eq!((stats.unexpected, coordinator.under_way()), (3, 0));
}

#[test]
fn a_large_request_is_one_frame_on_each_hop() {
    let servers: Vec<u16> = (0..128).map(|at| at % 4).collect();
    let keys = keys_on(&servers, 4);
    let mut client = user(Architecture::CoordiMc, layout(4), load(0));
    let mut coordinator = Coordinator::new(CoordinatorConfig::new(layout(4))).unwrap();
    let mut out = Actions::new();
    let requests = get(&mut client, 0, &keys);
    let fit = keys_that_fit(keys.iter().map(Vec::len), FIELDS);
    assert_eq!((requests.len(), fit), (1, 128));
    coordinator.on_frame(0, &requests[0], &mut out);
    let asked: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
    assert_eq!(asked.len(), 4);
    out.clear();
    for request in asked {
        let view = View::parse(&request, FIELDS).unwrap();
        let own: Vec<Vec<u8>> = view.asked().map(<[u8]>::to_vec).collect();
        assert_eq!(own.len(), 32);
        // Results that do not fit into one reply take several, here one for each half.
        let from = view.destination();
        coordinator.on_frame(1, &reply(from, &view, 16, &own[16..]), &mut out);
        coordinator.on_frame(1, &reply(from, &view, 0, &own[..16]), &mut out);
    }
    let answers: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
    let bytes: usize = keys.iter().map(|key| entry_len(key.len(), Some(key.len()))).sum();
    assert_eq!(answers.len(), bytes.div_ceil(Fields::of_paper(FIELDS).payload_room() - 1));
    answers.iter().for_each(|answer| client.on_frame(2, answer, &mut out));
    let values = keys.iter().map(|key| Some(key.clone())).collect();
    assert_eq!(completion(&mut client), Some(Outcome::Values(values)));
    let stats = coordinator.stats();
    assert_eq!((stats.requests, stats.keys, stats.groups), (1, 128, 4));
}

#[test]
fn an_answer_after_the_deadline_is_accepted_while_copies_come() {
    let keys = keys_on(&[0, 1], 4);
    let mut client = user(Architecture::CoordiMc, layout(4), load(0));
    let deadline = 20 * MILLISECOND;
    let config = CoordinatorConfig { deadline, ..CoordinatorConfig::new(layout(4)) };
    let mut coordinator = Coordinator::new(config).unwrap();
    let mut out = Actions::new();
    let request = get(&mut client, 0, &keys).remove(0);
    coordinator.on_frame(0, &request, &mut out);
    let asked: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
    let answer = |at: usize| {
        let view = View::parse(&asked[at], FIELDS).unwrap();
        reply(view.destination(), &view, 0, &keys[at..=at])
    };
    coordinator.on_frame(1, &answer(0), &mut out);
    // The client retries in time, and is answered with the known key.
    out.clear();
    coordinator.on_frame(deadline - 1, &request, &mut out);
    assert_eq!(out.frames().len(), 1);
    let part = out.frames().next().unwrap().to_vec();
    let view = View::parse(&part, FIELDS).unwrap();
    assert_eq!((view.header().startidx, view.header().numkey), (0, 1));
    client.on_frame(deadline, &part, &mut out);
    // The second server answers after the deadline of the first copy, and before that of the
    // second.
    out.clear();
    coordinator.on_timer(deadline + MILLISECOND, &mut out);
    for frame in out.frames() {
        let again = View::parse(frame, FIELDS).unwrap();
        assert_eq!(again.header().id, View::parse(&asked[1], FIELDS).unwrap().header().id);
    }
    out.clear();
    coordinator.on_frame(2 * deadline - 2, &answer(1), &mut out);
    let answers: Vec<Vec<u8>> = out.frames().map(<[u8]>::to_vec).collect();
    answers.iter().for_each(|answer| client.on_frame(2 * deadline, answer, &mut out));
    let values = keys.iter().map(|key| Some(key.clone())).collect();
    assert_eq!(completion(&mut client), Some(Outcome::Values(values)));
    assert_eq!((coordinator.under_way(), coordinator.stats().expired), (0, 0));
    // A request without further copies ends at its deadline.
    coordinator.on_frame(SECOND, &request, &mut out);
    coordinator.on_timer(SECOND + deadline, &mut out);
    assert_eq!((coordinator.under_way(), coordinator.stats().expired), (0, 1));
}

#[test]
fn replies_reach_the_requesting_worker_across_the_wrap() {
    let keys = keys_on(&[0, 1, 2, 3], 4);
    let mut client = user(Architecture::CoordiMc, layout(4), load(0));
    for workers in [1, 3, 4, 64] {
        for worker in 0..workers {
            let config = CoordinatorConfig {
                worker,
                workers,
                first_request: u32::MAX / workers - 6,
                ..CoordinatorConfig::new(layout(4))
            };
            let mut coordinator = Coordinator::new(config).unwrap();
            let mut seen = std::collections::HashSet::new();
            for _ in 0..5 {
                let request = get(&mut client, 0, &keys).remove(0);
                assert_eq!(Coordinator::worker_of(&request, workers), 1 % workers);
                let mut out = Actions::new();
                coordinator.on_frame(0, &request, &mut out);
                for frame in out.frames() {
                    let asked = View::parse(frame, FIELDS).unwrap();
                    assert!(seen.insert(asked.header().id), "numbers are not used twice");
                    let reply = reply(server_ip(0), &asked, 0, &keys[..1]);
                    assert_eq!(Coordinator::worker_of(&reply, workers), worker);
                }
            }
        }
    }
    assert_eq!(Coordinator::worker_of(&[], 5), 0);
}
