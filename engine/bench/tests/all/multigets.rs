//! The frames of each path of NetMC have the result that the path's name says.

use netkv_bench::subject;
use netkv_wire::multiget::{Op, View, owner, splitter_ip};
use netkv_wire::{client_ip, server_ip};

use crate::programs::{case, run};

const FIELDS: u8 = 8;
const SERVERS: u16 = 8;

#[test]
fn multigets_become_one_sub_request_for_each_server() {
    for (path, groups) in [("multiget-1", 1), ("multiget-2", 2), ("multiget-8", 8)] {
        let case = case("netmc", path);
        let (_, sent) = run(&case);
        let traffic = subject("netmc").unwrap().traffic(&case).unwrap();
        let requests = traffic.frames.slices();
        assert_eq!(sent.len(), groups * requests.len(), "{path}");
        for (request, parts) in requests.iter().zip(sent.chunks(groups)) {
            let request = View::parse(request, FIELDS).unwrap();
            assert_eq!(request.destination(), splitter_ip(1));
            let mut next = 0;
            for (oid, (port, part)) in (1..).zip(parts) {
                let part = View::parse(part, FIELDS).unwrap();
                let header = part.header();
                assert_eq!((header.id, header.oid), (request.header().id, oid));
                assert_eq!((header.startidx, header.clo), (next, u8::from(groups > 1)));
                assert_eq!(*port, 100);
                // Its keys are those of the server to which it goes.
                for key in part.asked() {
                    assert_eq!(part.destination(), server_ip(owner(key, SERVERS)), "{path}");
                }
                next += header.numkey;
            }
            assert_eq!(next, 16, "all keys are requested");
        }
    }
}

#[test]
fn requests_for_one_key_go_to_its_server() {
    for (path, op) in [("get", Op::Get), ("put", Op::Put)] {
        let (_, sent) = run(&case("netmc", path));
        for (port, frame) in &sent {
            let view = View::parse(frame, FIELDS).unwrap();
            let key = view.keys().next().unwrap();
            assert_eq!((*port, view.header().op, view.header().clo), (100, op, 0));
            assert_eq!(view.destination(), server_ip(owner(key, SERVERS)));
        }
    }
}

#[test]
fn sub_requests_and_replies_are_forwarded_unchanged() {
    for (path, output_port) in [("sub-request", 100), ("reply", 1)] {
        let case = case("netmc", path);
        let (_, sent) = run(&case);
        let traffic = subject("netmc").unwrap().traffic(&case).unwrap();
        let expected = traffic.frames.slices();
        assert_eq!(sent.len(), expected.len());
        for ((port, frame), expected) in sent.iter().zip(expected) {
            assert_eq!((*port, frame.as_slice()), (output_port, expected));
            let view = View::parse(frame, FIELDS).unwrap();
            assert!(path != "reply" || view.destination() == client_ip(1));
        }
    }
}
