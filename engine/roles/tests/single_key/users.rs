//! Operations of users.

use netkv_roles::kits::plain::Client;
use netkv_roles::kits::single_key::client::Users;
use netkv_roles::{
    Actions, Backoff, Client as _, ClientConfig, Completion, MILLISECOND, Nanos, Outcome,
    UserClient as _, UserOp,
};
use netkv_wire::{FrameView, Message, Op, Status, write_frame};
use netkv_workload::{Arrivals, key_of};

const A: [u8; 16] = *b"user key number1";
const B: [u8; 16] = *b"user key number2";

/// A client of users, and what it sends.
struct Play {
    client: Client<Users>,
    out: Actions,
}

impl Play {
    fn new() -> Self {
        Self::with(|config| config)
    }

    fn with(change: impl FnOnce(ClientConfig) -> ClientConfig) -> Self {
        let config = ClientConfig {
            retry: Backoff { initial: 10 * MILLISECOND, cap: 40 * MILLISECOND },
            deadline: 100 * MILLISECOND,
            ..ClientConfig::new(1, Arrivals::Closed { outstanding: 0 })
        };
        Self { client: Client::of_users(change(config)).unwrap(), out: Actions::new() }
    }

    fn sent(&mut self) -> Vec<Vec<u8>> {
        let frames = self.out.frames().map(<[u8]>::to_vec).collect();
        self.out.clear();
        frames
    }

    fn submit(&mut self, now: Nanos, token: u64, op: &UserOp<'_>) -> Vec<Vec<u8>> {
        self.client.submit(now, token, op, &mut self.out).unwrap();
        self.sent()
    }

    fn poll(&mut self, now: Nanos) -> Vec<Vec<u8>> {
        self.client.poll(now, &mut self.out);
        self.sent()
    }

    fn reply(&mut self, now: Nanos, reply: &Message<'_>) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, reply);
        self.client.on_frame(now, &bytes, &mut self.out);
        self.sent()
    }

    fn answer(&mut self, now: Nanos, request: &[u8], status: Status, value: &[u8]) {
        let frame = FrameView::parse(request).unwrap();
        self.reply(now, &frame.reply(status).with_value(value));
    }

    fn ended(&mut self) -> Vec<(u64, Outcome)> {
        let mut ended = Vec::new();
        self.client.completions(&mut ended);
        ended.into_iter().map(|Completion { token, outcome }| (token, outcome)).collect()
    }
}

fn value(bytes: &[u8]) -> Outcome {
    Outcome::Values(vec![Some(bytes.to_vec())])
}

#[test]
fn a_user_reads_exactly_the_written_bytes_of_any_length() {
    for length in [0, 1, 15, 16, 1024] {
        let bytes = vec![7; length];
        let mut play = Play::new();
        let sent = play.submit(0, 5, &UserOp::Put(&A, &bytes));
        let frame = FrameView::parse(&sent[0]).unwrap();
        assert_eq!((frame.op(), frame.key(), frame.value()), (Op::Put, A, &bytes[..]));
        play.answer(1, &sent[0], Status::Ok, &[]);
        assert_eq!(play.ended(), [(5, Outcome::Done)]);
        let sent = play.submit(2, 6, &UserOp::Get(&[&A]));
        play.answer(3, &sent[0], Status::Ok, &bytes);
        assert_eq!(play.ended(), [(6, value(&bytes))]);
        assert!(play.ended().is_empty(), "an operation ends once");
    }
}

#[test]
fn a_missing_key_is_distinguished_from_an_empty_value() {
    let mut play = Play::new();
    let sent = play.submit(0, 1, &UserOp::Get(&[&A, &B]));
    assert_eq!(sent.len(), 2);
    play.answer(1, &sent[1], Status::Ok, &[]);
    play.answer(1, &sent[0], Status::NotFound, &[]);
    assert_eq!(play.ended(), [(1, Outcome::Values(vec![None, Some(vec![])]))]);
    let sent = play.submit(2, 2, &UserOp::Delete(&A));
    play.answer(3, &sent[0], Status::NotFound, &[]);
    assert_eq!(play.ended(), [(2, Outcome::NotFound)]);
}

#[test]
fn reads_of_many_keys_are_all_or_nothing_and_name_missing_keys() {
    let mut play = Play::new();
    let sent = play.submit(0, 1, &UserOp::Get(&[&A, &B]));
    play.answer(1, &sent[0], Status::Ok, b"there");
    assert!(play.ended().is_empty());
    assert_eq!(play.poll(10 * MILLISECOND).len(), 1, "only the missing key is requested again");
    play.poll(100 * MILLISECOND);
    let missing = format!("0x{}", B.map(|byte| format!("{byte:02x}")).concat());
    assert_eq!(play.ended(), [(1, Outcome::TimedOut { missing })]);
    play.answer(101 * MILLISECOND, &sent[1], Status::Ok, b"late");
    assert!(play.ended().is_empty(), "an answer after the deadline changes nothing");
    assert_eq!(play.client.outstanding(), 0);
}

#[test]
fn one_refusal_ends_the_whole_operation_once() {
    let mut play = Play::new();
    let sent = play.submit(0, 1, &UserOp::Get(&[&A, &B]));
    play.answer(1, &sent[1], Status::Rejected, &[]);
    play.answer(2, &sent[0], Status::Ok, b"value");
    let ended = play.ended();
    assert!(matches!(ended[..], [(1, Outcome::Refused(_))]), "{ended:?}");
    play.poll(200 * MILLISECOND);
    assert!(play.ended().is_empty());
}

#[test]
fn a_write_is_repeated_unchanged_until_its_deadline() {
    let mut play = Play::new();
    let sent = play.submit(0, 9, &UserOp::Put(&A, b"once"));
    for at in [10, 30, 70] {
        assert_eq!(play.poll(at * MILLISECOND), sent, "at {at} ms");
    }
    assert!(play.poll(100 * MILLISECOND).is_empty());
    let ended = play.ended();
    assert!(matches!(ended[..], [(9, Outcome::TimedOut { .. })]), "{ended:?}");
}

#[test]
fn operations_wait_for_room_in_order_until_their_deadline() {
    let mut play = Play::with(|config| ClientConfig { window: 4, max_waiting: 3, ..config });
    let mut sent = Vec::new();
    for token in 0..5 {
        sent.extend(play.submit(token, token, &UserOp::Put(&A, &[token as u8])));
    }
    assert_eq!(sent.len(), 2, "half of the window");
    let mut out = Actions::new();
    let refused = play.client.submit(5, 5, &UserOp::Delete(&A), &mut out).unwrap_err();
    assert!(refused.contains("3 wait"), "{refused}");
    let frame = FrameView::parse(&sent[0]).unwrap();
    let next = play.reply(6, &frame.reply(Status::Ok));
    assert_eq!(FrameView::parse(&next[0]).unwrap().value(), [2]);
    assert_eq!(play.ended(), [(0, Outcome::Done)]);
    // Without further answers, operations that were never sent end at their deadline, too.
    let mut now = 6;
    while let Some(due) = play.client.deadline() {
        now = due;
        play.poll(now);
    }
    assert!(now <= 4 + 100 * MILLISECOND, "{now}");
    let tokens: Vec<u64> = play.ended().into_iter().map(|(token, _)| token).collect();
    assert_eq!(tokens.len(), 4);
    assert!((1..5).all(|token| tokens.contains(&token)), "{tokens:?}");
}

#[test]
fn invalid_keys_and_values_are_refused_with_a_sentence() {
    let mut play = Play::new();
    let mut refusal = |op: UserOp<'_>| {
        play.client.submit(0, 1, &op, &mut play.out).expect_err("no such operation")
    };
    assert_eq!(refusal(UserOp::Get(&[b"short"])), "A key has 16 bytes, not 5.");
    assert!(refusal(UserOp::Put(&A, &[0; 1025])).contains("1025 bytes"));
    assert!(refusal(UserOp::Delete(b"netkv:applied:1!")).contains("store's own"));
    assert_eq!(refusal(UserOp::Get(&[&A, b""])), "A key has 16 bytes, not 0.");
    assert!(play.sent().is_empty() && play.ended().is_empty());
}

#[test]
fn operations_of_users_count_for_the_hit_ratio_only() {
    let mut play = Play::new();
    let key = key_of(0);
    let sent = play.submit(0, 1, &UserOp::Put(&key, b"not generated"));
    play.answer(1, &sent[0], Status::Ok, &[]);
    let sent = play.submit(2, 2, &UserOp::Get(&[&key]));
    play.answer(3, &sent[0], Status::Ok, b"not generated");
    let counts = *play.client.counts();
    assert_eq!((counts.requests, counts.completed, counts.reads, counts.writes), (2, 0, 1, 0));
    assert_eq!((counts.phantom_reads, counts.stale_reads), (0, 0));
}
