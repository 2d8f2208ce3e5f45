//! Operations of users.

use netkv_roles::farreach::Client;
use netkv_roles::kits::single_key::client::Users;
use netkv_roles::kits::write_back::clients::WINDOW;
use netkv_roles::{
    Actions, Client as _, ClientConfig, Completion, Nanos, Outcome, UserClient as _, UserOp,
};
use netkv_wire::{CONTROLLER_IP, FrameView, Message, Op, Sequence, Stamp, Status, write_frame};
use netkv_workload::Arrivals;

const A: [u8; 16] = *b"user key number1";
const B: [u8; 16] = *b"user key number2";

/// A client of users, and what it sends.
struct User {
    client: Client<Users>,
    out: Actions,
}

impl User {
    fn sent(&mut self) -> Vec<Vec<u8>> {
        let frames = self.out.frames().map(<[u8]>::to_vec).collect();
        self.out.clear();
        frames
    }

    fn submit(&mut self, now: Nanos, token: u64, op: &UserOp<'_>) -> Vec<Vec<u8>> {
        self.client.submit(now, token, op, &mut self.out).unwrap();
        self.sent()
    }

    fn reply(&mut self, now: Nanos, reply: &Message<'_>) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, reply);
        self.client.on_frame(now, &bytes, &mut self.out);
        self.sent()
    }

    fn ended(&mut self) -> Vec<(u64, Outcome)> {
        let mut ended = Vec::new();
        self.client.completions(&mut ended);
        ended.into_iter().map(|Completion { token, outcome }| (token, outcome)).collect()
    }
}

#[test]
fn writes_of_users_are_preserved_with_their_own_bytes() {
    let config = ClientConfig {
        window: WINDOW,
        ..ClientConfig::new(1, Arrivals::Closed { outstanding: 0 })
    };
    let client = Client::of_users(config).unwrap();
    let mut play = User { client, out: Actions::new() };
    play.client.poll(0, &mut play.out);
    let hello = play.sent();
    let hello = FrameView::parse(&hello[0]).unwrap();
    assert_eq!((hello.op(), hello.destination()), (Op::Hello, CONTROLLER_IP));
    let at = |incarnation, number| Stamp {
        sequence: Sequence { incarnation, number },
        ..Stamp::default()
    };
    play.reply(1, &hello.reply(Status::Ok).with_stamp(at(5, 0)));
    let sent = play.submit(2, 1, &UserOp::Put(&A, b"kept"));
    let frame = FrameView::parse(&sent[0]).unwrap();
    assert_eq!(frame.stamp().unwrap().sequence.incarnation, 5);
    let reply = Message { cache_hit: true, ..frame.reply(Status::Ok).with_stamp(at(5, 77)) };
    play.reply(3, &reply);
    assert_eq!(play.ended(), [(1, Outcome::Done)]);
    let kept = play.client.preserved();
    assert_eq!((kept.records, kept.bytes), (1, 16 + 8 + 4));
    // An unknown outcome is reported.
    let sent = play.submit(4, 2, &UserOp::Put(&B, b"unknown"));
    let frame = FrameView::parse(&sent[0]).unwrap();
    play.reply(5, &frame.reply(Status::Unknown));
    assert_eq!(play.ended(), [(2, Outcome::Unknown)]);
    // The record that is collected after a crash of the switch has the bytes that the user wrote.
    let collect = Message {
        stamp: Some(at(7, 0)),
        ..Message::request(
            CONTROLLER_IP,
            netkv_wire::client_ip(1),
            Op::Collect,
            netkv_wire::CONTROLLER_SENDER,
            1,
            [0; 16],
        )
    };
    let collected = play.reply(6, &collect);
    let collected = FrameView::parse(&collected[0]).unwrap();
    assert!(collected.value().ends_with(b"kept"), "{:?}", collected.value());
}
