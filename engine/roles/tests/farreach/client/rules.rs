//! Tests beside the traps: numbers, settings and invalid messages.

use netkv_roles::farreach::Client;
use netkv_roles::farreach::Preserved;
use netkv_roles::kits::plain;
use netkv_roles::kits::write_back::clients;
use netkv_roles::{Actions, ClientConfig, ClientStats, SECOND, WINDOW};
use netkv_roles::{Client as _, LoadClient as _};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, FrameView, Message, Op, Sequence, client_ip, write_frame,
};
use netkv_workload::{Arrivals, Mix, Workload, WorkloadConfig};

use crate::client::play::{
    CollectedRecord, INCARNATION, Play, SIZE, at, initial_value_of, key, op_of, stamp, stamp_of,
    value_of,
};

const MINUTE: u64 = 60 * SECOND;

fn workload() -> Workload {
    Workload::new(WorkloadConfig::new(64, Mix::writes(1.0, 0.0), 1)).unwrap()
}

#[test]
fn only_writes_acknowledged_by_the_switch_are_collected() {
    let mut play = Play::new(None);
    let value = play.write_hit(key(1), at(INCARNATION, 9));
    let other = play.write(key(2));
    play.miss(&other, at(INCARNATION, 4), None);
    let written = CollectedRecord { key: key(1), sequence: at(INCARNATION, 9), value: Some(value) };
    assert_eq!(play.collect(INCARNATION + 2), [written]);
}

#[test]
fn write_of_a_read_modify_write_has_its_own_incarnation() {
    let mut play = Play::new(None);
    let read = play.read_modify_write(key(1));
    play.collect(INCARNATION + 2);
    play.recovered(INCARNATION + 2);
    let value = initial_value_of(key(1));
    let frame = FrameView::parse(&read).unwrap();
    let reply = frame.reply(netkv_wire::Status::Ok).with_stamp(stamp(at(INCARNATION, 3), 0));
    let write = play.arrive(&reply.with_value(&value)).remove(0);
    assert_eq!(op_of(&write), Op::Put);
    assert_eq!(stamp_of(&write), Some(stamp(at(INCARNATION + 2, 0), 0)));
    play.hit(&write, at(INCARNATION + 2, 4), None);
    assert_eq!(play.kept(), 1);
}

#[test]
fn hello_is_sent_each_minute_and_updates_the_incarnation() {
    let mut play = Play::unknown_to_the_controller(None);
    assert_eq!(stamp_of(&play.write(key(1))), Some(stamp(Sequence::default(), 0)));
    let first = play.registrations.pop().unwrap();
    let hello = FrameView::parse(&first).unwrap();
    assert_eq!((hello.op(), hello.sender(), hello.key()), (Op::Hello, 1, [0; 16]));
    assert_eq!((hello.source(), hello.destination()), (client_ip(1), CONTROLLER_IP));
    play.answer_registration(&first, INCARNATION);
    assert_eq!(stamp_of(&play.write(key(2))), Some(stamp(at(INCARNATION, 0), 0)));
    play.wait(59 * SECOND);
    assert!(play.registrations.is_empty(), "it was answered");
    play.wait(2 * SECOND);
    let second = play.registrations[0].clone();
    assert_ne!(FrameView::parse(&second).unwrap().request(), hello.request());
    play.answer_registration(&first, INCARNATION + 9);
    assert_eq!(stamp_of(&play.write(key(2))), Some(stamp(at(INCARNATION, 0), 0)), "a late copy");
    play.answer_registration(&second, INCARNATION + 1);
    assert_eq!(stamp_of(&play.write(key(3))), Some(stamp(at(INCARNATION + 1, 0), 0)));
    play.wait(MINUTE + SECOND);
    play.answer_hello(INCARNATION);
    assert_eq!(
        stamp_of(&play.write(key(4))),
        Some(stamp(at(INCARNATION + 1, 0), 0)),
        "incarnations grow"
    );
}

#[test]
fn parts_may_be_reordered_and_snapshot_numbers_may_wrap() {
    let mut play = Play::new(None);
    let (parts, mut snapshot) = (781, u32::MAX - 1);
    for round in 1..=4 {
        play.write_hit(key(1), at(INCARNATION, 9 * round));
        for part in (0..parts).rev() {
            let list = if part == 64 { vec![(key(1), at(INCARNATION, 9 * round))] } else { vec![] };
            assert_eq!(play.kept(), 1);
            assert!(play.part(snapshot, part, parts, &list));
        }
        assert_eq!(play.kept(), 0);
        snapshot = snapshot.wrapping_add(1);
    }
}

#[test]
fn incarnations_may_wrap() {
    let mut play = Play::new(None);
    let mut incarnation = INCARNATION;
    for step in [1 << 30, 1 << 30, 1 << 30, 1 << 30] {
        incarnation = u32::wrapping_add(incarnation, step);
        play.write_hit(key(1), at(incarnation.wrapping_sub(2), 1));
        assert_eq!(play.collect(incarnation).len(), 1);
        assert!(play.recovered(incarnation));
        assert_eq!(play.kept(), 0);
    }
    assert_eq!(incarnation, INCARNATION);
}

#[test]
fn values_of_all_cached_sizes_are_collected_unchanged() {
    let mut play = Play::new(None);
    let mut written = Vec::new();
    for (id, size) in [16, 17, 127, 128, 129, 1024].into_iter().enumerate() {
        let write = play.write_of(size, key(id as u64));
        let sequence = at(INCARNATION, 1 + id as u32);
        play.hit(&write, sequence, None);
        if size <= 128 {
            written.push(CollectedRecord {
                key: key(id as u64),
                sequence,
                value: Some(value_of(&write)),
            });
        }
    }
    let bytes = 4 * (16 + 8) + 16 + 17 + 127 + 128;
    let kept = Preserved { records: 4, bytes, most_records: 4, most_bytes: bytes };
    assert_eq!(play.client.preserved(), kept);
    assert_eq!(play.counts().malformed, 2, "no switch answers writes of values above 128 bytes");
    assert_eq!(play.client.outstanding(), 2, "they are sent again");
    let collected = play.collect(INCARNATION + 2);
    assert_eq!(collected.len(), 4);
    assert!(written.iter().all(|it| collected.contains(it)));
}

/// Most records that were preserved since counts were last taken.
fn most(stats: &ClientStats) -> u64 {
    stats.own.iter().find(|(name, _)| *name == "preserved_most").unwrap().1
}

#[test]
fn preserved_peak_is_counted_and_memory_is_reused() {
    let mut play = Play::new(None);
    for round in 1..=3u32 {
        for id in 0..10 {
            play.write_hit(key(id), at(INCARNATION, 2 * round));
            play.write_hit(key(id), at(INCARNATION, 2 * round + 1));
        }
        assert_eq!(most(&play.take_stats()), 10);
        assert_eq!(most(&play.take_stats()), 10, "they are still there");
        let list: Vec<_> = (0..8).map(|id| (key(id), at(INCARNATION, 9))).collect();
        play.release(round, &list);
        assert_eq!(play.kept(), 2);
        play.take_stats();
        assert_eq!(most(&play.take_stats()), 2);
    }
    let bytes = 16 + 8 + SIZE;
    let kept = Preserved { records: 2, bytes: 2 * bytes, most_records: 10, most_bytes: 10 * bytes };
    assert_eq!(play.client.preserved(), kept);
}

#[test]
fn a_crashed_process_restarts_without_state() {
    let mut play = Play::new(None);
    play.write_hit(key(1), at(INCARNATION, 9));
    let (write, read) = (play.write(key(2)), play.read(key(3)));
    play.page(INCARNATION, 0);
    play.registrations.clear();
    play.client.crash(play.now, &mut play.out);
    play.poll();
    assert_eq!((play.client.outstanding(), play.counts().lost), (0, 2));
    let preserved = play.client.preserved();
    assert_eq!((preserved.records, preserved.bytes, preserved.most_records), (0, 0, 1));
    assert_eq!(play.registrations.len(), 1, "it sends HELLO at once");
    play.hit(&write, at(INCARNATION, 10), None);
    play.hit(&read, at(INCARNATION, 11), Some(&initial_value_of(key(3))));
    assert_eq!(
        (play.kept(), play.counts().late_replies),
        (0, 2),
        "their requests were lost in the crash"
    );
    let next = play.write(key(4));
    assert_eq!(stamp_of(&next), Some(stamp(Sequence::default(), 0)), "it knows no incarnation");
    let id = |bytes: &[u8]| {
        let frame = FrameView::parse(bytes).unwrap();
        (frame.sender(), frame.request())
    };
    let (sender, number) = id(&next);
    let mut old = [id(&write), id(&read)].into_iter().filter(|(of, _)| *of == sender);
    assert!(old.any(|(_, old)| old < number), "request numbers continue");
    play.answer_hello(INCARNATION);
    assert_eq!(stamp_of(&play.write(key(5))), Some(stamp(at(INCARNATION, 0), 0)));
    // The effect of a write without an answer is unknown.
    let seen = play.read(key(2));
    play.miss(&seen, at(INCARNATION, 10), Some(&value_of(&write)));
    let counts = play.counts();
    assert_eq!((counts.stale_reads, counts.phantom_reads), (0, 0));
}

#[test]
fn process_repeats_bye_and_registers_again_if_it_restarts() {
    let mut play = Play::new(None);
    play.registrations.clear();
    play.client.leave(play.now, &mut play.out);
    play.wait(SECOND / 2);
    assert!(
        play.registrations.len() > 1 && play.registrations.iter().all(|it| op_of(it) == Op::Bye)
    );
    assert!(!play.client.has_left());
    let bye = play.registrations.remove(0);
    let reply = FrameView::parse(&bye).unwrap().reply(netkv_wire::Status::Ok);
    play.arrive(&reply);
    assert!(play.client.has_left());
    play.registrations.clear();
    play.wait(2 * MINUTE);
    assert!(play.registrations.is_empty(), "nothing is left to be sent");
    play.client.start(play.now, &mut play.out);
    play.wait(SECOND / 100);
    assert_eq!(op_of(&play.registrations[0]), Op::Hello);
    play.client.leave(play.now, &mut play.out);
    play.wait(3 * SECOND);
    assert!(play.client.has_left(), "BYE times out");
    assert_eq!(play.counts().malformed, 0);
}

#[test]
fn clients_stay_within_the_window_of_the_switch() {
    let config = ClientConfig {
        max_outstanding: usize::MAX,
        ..ClientConfig::new(1, Arrivals::Closed { outstanding: 100_000 })
    };
    let config = ClientConfig { window: clients::WINDOW, ..config };
    let mut client = Client::new(config, workload()).unwrap();
    client.start(0, &mut Actions::new());
    // Half of the window is for second requests of operations under way.
    assert_eq!((client.outstanding(), clients::WINDOW), (512, 1024));
}

#[test]
fn more_clients_or_requests_than_a_switch_remembers_are_refused() {
    let config = ClientConfig::new(64, Arrivals::Closed { outstanding: 1 });
    let config = ClientConfig { window: clients::WINDOW, ..config };
    assert!(Client::new(config, workload()).is_ok());
    let error = Client::new(ClientConfig { first_client: 2, ..config }, workload()).unwrap_err();
    assert!(error.contains("clients 1 to 64"), "{error}");
    for window in [0, 1, 1025, WINDOW] {
        let error = Client::new(ClientConfig { window, ..config }, workload()).unwrap_err();
        assert!(error.contains("2 to 1024"), "{error}");
    }
    let plain = ClientConfig { window: WINDOW + 1, ..config };
    assert!(plain::Client::new(plain, workload()).unwrap_err().contains("2 to 4096"));
}

#[test]
fn invalid_messages_are_counted_and_not_answered() {
    let mut play = Play::new(None);
    play.write_hit(key(1), at(INCARNATION, 9));
    let mut expected = 0;
    let mut refused = |play: &mut Play, answered: bool| {
        expected += 1;
        assert!(!answered);
        assert_eq!(play.counts().malformed, expected);
    };
    for (part, parts) in [(0, 0), (1, 1), (7, 2)] {
        let answered = play.part(1, part, parts, &[]);
        refused(&mut play, answered);
    }
    let answered = play.control(Op::Release, at(1, 1), &[0; 23]).is_some();
    refused(&mut play, answered);
    play.part(2, 0, 2, &[]);
    let answered = play.part(2, 0, 3, &[]);
    refused(&mut play, answered);
    for op in [Op::Collect, Op::Recovered] {
        let answered = play.control(op, at(0, 0), &[]).is_some();
        refused(&mut play, answered);
    }
    let from =
        |sender| Message::request(CONTROLLER_IP, client_ip(1), Op::Recovered, sender, 1, [0; 16]);
    let not_the_controllers = from(7).with_stamp(stamp(at(INCARNATION + 2, 0), 0));
    let answered = !play.arrive(&not_the_controllers).is_empty();
    refused(&mut play, answered);
    let answered = !play.arrive(&from(CONTROLLER_SENDER)).is_empty();
    refused(&mut play, answered);
    assert_eq!(play.kept(), 1);
}

#[test]
fn a_plain_client_neither_stamps_nor_registers() {
    let config = ClientConfig::new(1, Arrivals::Closed { outstanding: 1 });
    let mut client = plain::Client::new(config, workload()).unwrap();
    let mut out = Actions::new();
    assert_eq!(client.deadline(), None);
    client.start(0, &mut out);
    assert_eq!(out.frames().len(), 1);
    let request = out.frames().next().unwrap().to_vec();
    assert_eq!(stamp_of(&request), None);
    out.clear();
    let (from, to) = (CONTROLLER_IP, client_ip(1));
    let message = Message::request(from, to, Op::Collect, CONTROLLER_SENDER, 1, [0; 16]);
    let mut bytes = Vec::new();
    write_frame(&mut bytes, &message.with_stamp(stamp(at(1, 0), 0)));
    client.on_frame(1, &bytes, &mut out);
    assert!(out.is_empty());
    assert_eq!(client.counts().malformed, 1);
    client.leave(2, &mut out);
    assert!(client.has_left() && out.is_empty());
}
