//! The client against a server that the test plays.

use netkv_roles::kits::plain::Client;
use netkv_roles::{
    Actions, Backoff, Client as _, ClientConfig, ClientStats, LoadClient as _, MAX_DEADLINE,
    MILLISECOND, Nanos, SECOND, WriteId, fill_value, initial_value,
};
use netkv_wire::{FrameView, Message, Op, Status, write_frame};
use netkv_workload::{Arrivals, Mix, Popularity, ValueSize, Workload, WorkloadConfig, key_of};

struct Play {
    client: Client,
    out: Actions,
}

impl Play {
    fn new(mix: Mix, arrivals: Arrivals) -> Self {
        Self::with(mix, ClientConfig::new(2, arrivals))
    }

    fn with(mix: Mix, config: ClientConfig) -> Self {
        let workload = WorkloadConfig {
            popularity: Popularity::Uniform,
            value_size: ValueSize::Fixed(32),
            ..WorkloadConfig::new(4, mix, 1)
        };
        let config = ClientConfig {
            retry: Backoff { initial: 10 * MILLISECOND, cap: 40 * MILLISECOND },
            deadline: 100 * MILLISECOND,
            ..config
        };
        let client = Client::new(config, Workload::new(workload).unwrap()).unwrap();
        Self { client, out: Actions::new() }
    }

    fn sent(&mut self) -> Vec<Vec<u8>> {
        let frames = self.out.frames().map(<[u8]>::to_vec).collect();
        self.out.clear();
        frames
    }

    fn start(&mut self, now: Nanos) -> Vec<Vec<u8>> {
        self.client.start(now, &mut self.out);
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

    /// Answers a request as a store without any writes would.
    fn answer(&mut self, now: Nanos, request: &[u8]) -> Vec<Vec<u8>> {
        let frame = FrameView::parse(request).unwrap();
        let mut value = [0; 32];
        initial_value(&frame.key(), &mut value);
        let reply = frame.reply(Status::Ok);
        let reply = if frame.op() == Op::Get { reply.with_value(&value) } else { reply };
        self.reply(now, &reply)
    }

    fn stats(&mut self) -> ClientStats {
        let mut stats = ClientStats::default();
        self.client.take_stats(&mut stats);
        stats
    }
}

const CLOSED: Arrivals = Arrivals::Closed { outstanding: 1 };

#[test]
fn latency_is_measured_from_the_intended_start() {
    let mut play = Play::new(Mix::YCSB_C, Arrivals::Poisson { rate: 1000.0 });
    assert!(play.start(0).is_empty());
    let first = play.client.deadline().unwrap();
    let late = first + 50 * MILLISECOND;
    let sent = play.poll(late);
    assert!((30..75).contains(&sent.len()), "{} arrivals in 50 ms", sent.len());
    play.answer(late + MILLISECOND, &sent[0]);
    let stats = play.stats();
    let latency = stats.latency.max() as f64 / 1e6;
    assert!((50.9..51.2).contains(&latency), "{latency} ms, not 51");
    assert_eq!((stats.counts.completed, stats.counts.reads), (1, 1));
}

#[test]
fn open_loop_keeps_its_rate_when_nothing_is_answered() {
    let mut play = Play::new(Mix::YCSB_C, Arrivals::Poisson { rate: 10_000.0 });
    play.start(0);
    let run = |from: Nanos, to: Nanos, play: &mut Play| {
        let before = *play.client.counts();
        for now in (from..to).step_by(MILLISECOND as usize) {
            play.poll(now);
        }
        let after = *play.client.counts();
        (after.requests - after.retries) - (before.requests - before.retries)
    };
    let first = run(0, SECOND, &mut play);
    assert!((9600..10_400).contains(&first), "{first} in a second at 10,000/s");
    play.client.set_arrivals(SECOND, Arrivals::Poisson { rate: 1000.0 }, &mut Actions::new());
    let second = run(SECOND, 2 * SECOND, &mut play);
    assert!((870..1130).contains(&second), "{second} in a second at 1,000/s");
    assert!(play.stats().counts.lost > 9000, "unanswered requests are lost at their deadline");
}

#[test]
fn lost_requests_are_sent_again_until_the_deadline() {
    let mut play = Play::new(Mix::writes(1.0, 0.0), CLOSED);
    let sent = play.start(0);
    assert_eq!(sent.len(), 1);
    let mut times = Vec::new();
    for now in (0..100 * MILLISECOND).step_by(MILLISECOND as usize) {
        for copy in play.poll(now) {
            assert_eq!(copy, sent[0]);
            times.push(now / MILLISECOND);
        }
    }
    assert_eq!(times, [10, 30, 70], "waits of 10, 20, 40 ms");
    let next = play.poll(100 * MILLISECOND);
    assert_eq!(next.len(), 1, "given up, and the next operation started");
    assert_ne!(next[0], sent[0]);
    let counts = play.stats().counts;
    assert_eq!((counts.lost, counts.retries, counts.completed), (1, 3, 0));
}

#[test]
fn replies_are_matched_by_number_and_copies_count_once() {
    let mut play = Play::new(Mix::YCSB_C, Arrivals::Closed { outstanding: 2 });
    let sent = play.start(0);
    let frame = FrameView::parse(&sent[0]).unwrap();
    let wrong = Message { request: 77, ..frame.reply(Status::NotFound) };
    assert!(play.reply(1, &wrong).is_empty(), "no such request");
    let wrong = Message { op: Op::PutReply, ..frame.reply(Status::Ok) };
    assert!(play.reply(1, &wrong).is_empty(), "another operation");
    assert_eq!(play.answer(1, &sent[0]).len(), 1);
    assert!(play.answer(2, &sent[0]).is_empty());
    let counts = play.stats().counts;
    assert_eq!((counts.completed, counts.late_replies, counts.malformed), (1, 2, 1));
    assert_eq!(play.client.outstanding(), 2);
}

#[test]
fn closed_loop_keeps_its_outstanding_requests_until_paused() {
    let mut play = Play::new(Mix::YCSB_C, Arrivals::Closed { outstanding: 8 });
    let mut open = play.start(0);
    assert_eq!(open.len(), 8);
    for now in 1..1000 {
        let request = open.remove(0);
        open.extend(play.answer(now, &request));
        assert_eq!((open.len(), play.client.outstanding()), (8, 8));
    }
    play.client.load_mut().pause();
    for request in open {
        assert!(play.answer(2000, &request).is_empty());
    }
    assert_eq!(play.client.outstanding(), 0);
}

#[test]
fn read_modify_write_is_one_operation_of_a_read_and_a_write() {
    let mix = Mix { read: 0.0, read_modify_write: 1.0, ..Mix::YCSB_C };
    let mut play = Play::new(mix, CLOSED);
    let read = play.start(0);
    assert_eq!(FrameView::parse(&read[0]).unwrap().op(), Op::Get);
    let write = play.answer(MILLISECOND, &read[0]);
    let frame = FrameView::parse(&write[0]).unwrap();
    assert_eq!((frame.op(), frame.key()), (Op::Put, FrameView::parse(&read[0]).unwrap().key()));
    assert_eq!(play.client.counts().completed, 0);
    play.answer(3 * MILLISECOND, &write[0]);
    let stats = play.stats();
    let counts = stats.counts;
    assert_eq!((counts.completed, counts.reads, counts.writes), (1, 1, 1));
    assert!(stats.latency.max() >= 2_990_000, "from the start of the read");
}

#[test]
fn overloaded_request_is_retried_and_a_refused_one_ends() {
    let mut play = Play::new(Mix::writes(1.0, 0.0), CLOSED);
    let sent = play.start(0);
    let frame = FrameView::parse(&sent[0]).unwrap();
    assert!(play.reply(1, &frame.reply(Status::Overloaded)).is_empty());
    assert_eq!(play.poll(10 * MILLISECOND), sent, "it is sent again");
    assert_eq!(play.reply(11 * MILLISECOND, &frame.reply(Status::Rejected)).len(), 1);
    let counts = play.stats().counts;
    assert_eq!((counts.overloaded, counts.errors, counts.completed), (1, 1, 1));
}

#[test]
fn stale_and_phantom_reads_are_counted() {
    let mut play = Play::new(Mix::YCSB_A, Arrivals::Closed { outstanding: 1 });
    let mut sent = play.start(0);
    let mut written = std::collections::HashSet::new();
    let mut expected = 0;
    // A server that forgets every write: reads of written keys are stale.
    for now in 1..200 {
        let frame = FrameView::parse(&sent[0]).unwrap();
        if frame.op() == Op::Put {
            written.insert(frame.key());
        } else {
            expected += u64::from(written.contains(&frame.key()));
        }
        sent = play.answer(now, &sent[0].clone());
    }
    let counts = play.stats().counts;
    assert!(expected > 50);
    assert_eq!((counts.stale_reads, counts.phantom_reads), (expected, 0));

    // Then a server that invents values.
    while FrameView::parse(&sent[0]).unwrap().op() != Op::Get {
        sent = play.answer(300, &sent[0].clone());
    }
    let frame = FrameView::parse(&sent[0]).unwrap();
    let mut value = [0; 32];
    fill_value(&frame.key(), WriteId { client: 1, request: 9999 }, &mut value);
    play.reply(301, &frame.reply(Status::Ok).with_value(&value));
    assert_eq!(play.stats().counts.phantom_reads, 1);
}

#[test]
fn values_of_other_processes_are_accepted_only_if_configured() {
    for other_writers in [false, true] {
        let config = ClientConfig { other_writers, ..ClientConfig::new(2, CLOSED) };
        let mut play = Play::with(Mix::YCSB_C, config);
        let sent = play.start(0);
        let frame = FrameView::parse(&sent[0]).unwrap();
        let mut value = [0; 32];
        fill_value(&frame.key(), WriteId { client: 30, request: 5 }, &mut value);
        play.reply(1, &frame.reply(Status::Ok).with_value(&value));
        let counts = play.stats().counts;
        let (phantom, unchecked) = (counts.phantom_reads, counts.unchecked_reads);
        assert_eq!((phantom, unchecked), if other_writers { (0, 1) } else { (1, 0) });
    }
}

#[test]
fn verification_reads_written_keys_and_finds_lost_writes() {
    for may_be_stale in [false, true] {
        verify_with_a_lost_write(may_be_stale);
    }
}

fn verify_with_a_lost_write(may_be_stale: bool) {
    let config = ClientConfig { may_be_stale, ..ClientConfig::new(2, CLOSED) };
    let mut play = Play::with(Mix::writes(1.0, 0.0), config);
    let mut sent = play.start(0);
    let mut stored = std::collections::HashMap::new();
    for now in 1..100 {
        let request = sent.remove(0);
        let frame = FrameView::parse(&request).unwrap();
        stored.insert(frame.key(), frame.value().to_vec());
        sent = play.answer(now, &request);
    }
    play.client.load_mut().pause();
    let request = sent.remove(0);
    stored.insert(FrameView::parse(&request).unwrap().key(), vec![]);
    play.answer(100, &request); // The last write is acknowledged and then lost.
    assert_eq!(stored.len(), 4);
    play.client.verify(200, &mut play.out);
    let reads = play.sent();
    assert_eq!(reads.len(), 4);
    assert_eq!(play.client.verified(), None);
    for read in &reads {
        let frame = FrameView::parse(read).unwrap();
        match &stored[&frame.key()][..] {
            [] => play.answer(201, read),
            value => play.reply(201, &frame.reply(Status::Ok).with_value(value)),
        };
    }
    let report = play.client.verified().unwrap();
    assert_eq!((report.checked, report.acked_writes_lost, report.unread), (4, 1, 0));
    assert_eq!(play.stats().counts.stale_reads, 0, "counted once, as lost");
    assert_eq!(play.client.load().judge.history().and_then(|it| it.linearizable()), Some(false));
    let violations = play.client.load().judge.violations();
    // With stale reads, the history without the verification is not linearizable either.
    assert_eq!(violations.len(), 1 + usize::from(may_be_stale));
    assert!(violations[0].text.contains("is lost"), "{}", violations[0].text);
    let written = violations[0].operations.iter().filter(|it| it.end_ns.is_some()).count();
    assert_eq!(written, violations[0].operations.len(), "all were answered");
}

#[test]
fn impossible_client_numbers_are_refused() {
    let workload = Workload::new(WorkloadConfig::new(4, Mix::YCSB_C, 1)).unwrap();
    for (first_client, clients) in [(0, 1), (1, 0), (32_767, 2)] {
        let config = ClientConfig { first_client, ..ClientConfig::new(clients, CLOSED) };
        let error = Client::new(config, workload.clone()).unwrap_err();
        assert!(error.contains("1 to 32767"), "{error}");
    }
    assert_eq!(workload.key_at(0), workload.hottest(1).next().unwrap());
    assert!(workload.hottest(9).any(|key| key == key_of(0)));
}

#[test]
fn a_deadline_beyond_the_limit_of_servers_is_refused() {
    let workload = Workload::new(WorkloadConfig::new(4, Mix::YCSB_C, 1)).unwrap();
    let config = ClientConfig { deadline: MAX_DEADLINE, ..ClientConfig::new(1, CLOSED) };
    assert!(Client::new(config, workload.clone()).is_ok());
    let config = ClientConfig { deadline: 301 * SECOND, ..config };
    let error = Client::new(config, workload).unwrap_err();
    assert!(error.contains("deadline of 301 s") && error.contains("more than 300 s"), "{error}");
}
