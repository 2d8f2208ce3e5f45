//! Messages in, accesses of registers out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use super::*;
use crate::sys::Poller;
use crate::vhost::Place;

const GUEST: u64 = 0x8000_0000;
const USER: u64 = 0x7f00_0000_0000;
const OFFSET: u64 = 0x1000;
const MEMORY: u64 = 0x1_0000;
const FEATURES: u64 = VERSION_1 | 1 << 5;
const ALL: u64 = FEATURES | PROTOCOL_FEATURES;
/// Where each queue has its rings, relative to the memory.
const RINGS: [[u64; 3]; QUEUES] = [[0, 0x1000, 0x2000], [0x3000, 0x4000, 0x5000]];

/// The registers of a device, without the device.
#[derive(Default)]
struct Fake {
    written: BTreeMap<(u32, u16), u32>,
    status: u32,
    /// Cycles that a reset takes, and those that are left.
    reset_cycles: u64,
    left: u64,
    mapped: bool,
    log: Vec<String>,
}

impl Fake {
    fn selected(&self) -> u32 {
        self.written.get(&(0, bar::QUEUE_SELECT)).copied().unwrap_or(0)
    }

    /// Whether the device may access memory.
    fn is_alive(&self) -> bool {
        self.status & DRIVER_OK != 0 || self.left > 0
    }

    fn register(&self, queue: u32, offset: u16) -> u32 {
        self.written[&(queue, offset)]
    }

    fn notes(&mut self) -> String {
        mem::take(&mut self.log).join(" ")
    }
}

impl Function for Fake {
    fn read(&mut self, offset: u16, bytes: u32) -> Outcome<u32> {
        let select = self.written.get(&(0, bar::DEVICE_FEATURE_SELECT)).copied().unwrap_or(0);
        Ok(match (offset, bytes) {
            (bar::DEVICE_FEATURE, 4) => (FEATURES >> (32 * select)) as u32,
            (bar::STATUS, 1) => self.status,
            (bar::QUEUE_SIZE, 2) => 256,
            (bar::NOTIFY_OFFSET, 2) => self.selected(),
            (bar::DEVICE..0x2008, 1) => u32::from(offset - bar::DEVICE) + 1,
            _ => panic!("read of {bytes} bytes at {offset:#x}"),
        })
    }

    fn write(&mut self, offset: u16, bytes: u32, value: u32) -> Outcome<()> {
        match (offset, bytes) {
            (bar::STATUS, 1) if value == 0 => {
                self.log.push("reset".to_owned());
                self.left = if self.status == 0 { 0 } else { self.reset_cycles };
                if self.left == 0 {
                    self.status = 0;
                }
            }
            (bar::STATUS, 1) => {
                assert_eq!(self.left, 0, "the device is in reset");
                if value & DRIVER_OK != 0 {
                    assert!(self.mapped);
                    self.log.push("start".to_owned());
                }
                self.status = value;
            }
            (0x3000.., 2) => {
                assert!(self.is_alive(), "a notification of a device that does not run");
                self.log.push(format!("notify{value}@{offset:x}"));
            }
            _ => {
                let width = match offset {
                    bar::CONFIG_VECTOR | bar::QUEUE_SELECT..=bar::NOTIFY_OFFSET => 2,
                    _ => 4,
                };
                assert_eq!(bytes, width, "a write at {offset:#x}");
                let banked = (bar::QUEUE_SIZE..0x40).contains(&offset);
                let queue = if banked { self.selected() } else { 0 };
                assert!(!banked || !self.is_alive(), "queues of a running device do not change");
                self.written.insert((queue, offset), value);
            }
        }
        Ok(())
    }

    fn run(&mut self, cycles: u64) -> Outcome<()> {
        if self.left > 0 {
            self.left = self.left.saturating_sub(cycles);
            if self.left == 0 {
                self.status = 0;
            }
        }
        Ok(())
    }

    fn map(&mut self, memory: &Memory) -> Outcome<()> {
        assert!(!self.is_alive(), "memory changes while the device runs");
        assert_eq!(memory.regions().len(), 1);
        self.mapped = true;
        self.log.push("map".to_owned());
        Ok(())
    }

    fn unmap(&mut self) -> Outcome<()> {
        assert!(!self.is_alive(), "memory is taken from a device that runs");
        self.mapped = false;
        self.log.push("unmap".to_owned());
        Ok(())
    }
}

/// A front end, as the driver sees it.
struct Bench {
    fake: Fake,
    driver: Driver,
    poller: Poller,
    file: File,
    /// The other ends of descriptors.
    kicks: [Option<UnixStream>; QUEUES],
}

impl Bench {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!(
            "netkv-vhost-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        std::fs::remove_file(path).unwrap();
        let file = file.unwrap();
        file.set_len(OFFSET + MEMORY).unwrap();
        let fake = Fake { reset_cycles: 100, ..Fake::default() };
        let poller = Poller::new().unwrap();
        Self { fake, driver: Driver::default(), poller, file, kicks: [None, None] }
    }

    fn memory(&self) -> Memory {
        let place = Place { guest: GUEST, user: USER, size: MEMORY, offset: OFFSET };
        Memory::map(vec![(place, self.file.try_clone().unwrap())]).unwrap()
    }

    fn set_memory(&mut self) -> Outcome<()> {
        let memory = self.memory();
        self.driver.set_memory(&mut self.fake, memory)
    }

    fn set_rings(&mut self, queue: u32) -> Outcome<()> {
        let rings = RINGS[queue as usize].map(|at| USER + at);
        self.driver.set_addresses(&mut self.fake, queue, rings)
    }

    fn set_kick(&mut self, queue: u32) -> Outcome<()> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let kick = Kick::new(OwnedFd::from(ours).into(), &self.poller, queue.into()).unwrap();
        self.kicks[queue as usize] = Some(theirs);
        self.driver.set_kick(&mut self.fake, queue, kick)
    }

    fn set_up_queue(&mut self, queue: u32, next: u32) {
        self.driver.set_size(&mut self.fake, queue, 128).unwrap();
        self.driver.set_next(&mut self.fake, queue, next).unwrap();
        self.set_rings(queue).unwrap();
        self.set_kick(queue).unwrap();
        self.driver.enable(&mut self.fake, queue, true).unwrap();
    }

    /// What a front end does when the guest's driver starts.
    fn set_up(&mut self) {
        self.driver.set_features(&mut self.fake, ALL).unwrap();
        self.set_memory().unwrap();
        self.set_up_queue(0, 0);
        self.set_up_queue(1, 0);
    }

    /// The device returns entries.
    fn set_used(&mut self, queue: usize, index: u16) {
        self.file.seek(SeekFrom::Start(OFFSET + RINGS[queue][2] + 2)).unwrap();
        self.file.write_all(&index.to_le_bytes()).unwrap();
    }

    fn halt(&mut self, queue: u32) -> u16 {
        self.driver.halt(&mut self.fake, queue).unwrap()
    }
}

#[test]
fn a_start_is_that_of_a_pci_driver() {
    let mut bench = Bench::new();
    bench.set_up();
    assert!(bench.driver.is_running());
    let fake = &mut bench.fake;
    assert_eq!(fake.notes(), "unmap map reset start notify0@3000 notify1@3004");
    assert_eq!(fake.status, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
    assert_eq!(fake.register(0, bar::DRIVER_FEATURE), (FEATURES >> 32) as u32, "the last word");
    for queue in 0..2 {
        assert_eq!(fake.register(queue, bar::QUEUE_SIZE), 128);
        assert_eq!(fake.register(queue, bar::QUEUE_ENABLE), 1);
        assert_eq!(fake.register(queue, bar::QUEUE_VECTOR), 1 + queue);
        for (register, at) in bar::QUEUE_ADDRESSES.into_iter().zip(RINGS[queue as usize]) {
            assert_eq!(fake.register(queue, register), (GUEST + at) as u32);
            assert_eq!(fake.register(queue, register + 4), 0);
        }
    }
}

#[test]
fn a_device_waits_for_the_last_message() {
    type Step = fn(&mut Bench);
    let steps: [Step; 7] = [
        |it| it.driver.set_features(&mut it.fake, ALL).unwrap(),
        |it| it.set_memory().unwrap(),
        |it| it.set_up_queue(0, 0),
        |it| it.driver.set_size(&mut it.fake, 1, 256).unwrap(),
        |it| it.set_rings(1).unwrap(),
        |it| it.set_kick(1).unwrap(),
        |it| it.driver.enable(&mut it.fake, 1, true).unwrap(),
    ];
    for last in 0..steps.len() {
        let mut bench = Bench::new();
        for step in (0..steps.len()).filter(|&step| step != last) {
            steps[step](&mut bench);
        }
        assert!(!bench.driver.is_running(), "without step {last}");
        steps[last](&mut bench);
        assert!(bench.driver.is_running());
    }
}

#[test]
fn queues_are_enabled_without_the_feature_of_vhost_user() {
    let mut bench = Bench::new();
    bench.driver.set_features(&mut bench.fake, FEATURES).unwrap();
    bench.set_memory().unwrap();
    for queue in 0..2 {
        bench.driver.set_size(&mut bench.fake, queue, 2).unwrap();
        bench.set_rings(queue).unwrap();
        bench.set_kick(queue).unwrap();
    }
    assert!(bench.driver.is_running());
}

#[test]
fn a_disabled_queue_stops_the_device_before_the_answer() {
    let mut bench = Bench::new();
    bench.set_up();
    bench.set_used(0, 7);
    bench.set_used(1, 9);
    bench.driver.enable(&mut bench.fake, 1, false).unwrap();
    assert!(!bench.fake.is_alive());
    bench.fake.notes();
    bench.driver.enable(&mut bench.fake, 1, true).unwrap();
    assert_eq!(bench.fake.notes(), "reset start notify0@3000 notify1@3004");
    assert_eq!(bench.fake.register(0, start_index(0)), 7);
    assert_eq!(bench.fake.register(0, start_index(1)), 9);
}

#[test]
fn a_halted_queue_goes_on_after_what_was_returned() {
    let mut bench = Bench::new();
    bench.set_up();
    bench.set_used(0, 300);
    assert_eq!((bench.halt(0), bench.halt(1)), (300, 0));
    assert!(!bench.driver.is_running());
    bench.set_up_queue(0, 300);
    assert!(!bench.driver.is_running(), "the other queue has no notifications");
    bench.set_up_queue(1, 0);
    assert_eq!(bench.fake.register(0, start_index(0)), 300);
}

#[test]
fn an_index_that_was_given_counts_until_an_entry_is_returned() {
    let mut bench = Bench::new();
    bench.driver.set_features(&mut bench.fake, ALL).unwrap();
    bench.set_memory().unwrap();
    bench.set_up_queue(0, 65_535);
    bench.set_up_queue(1, 65_530);
    assert_eq!(bench.fake.register(0, start_index(0)), 65_535);
    assert_eq!(bench.halt(1), 65_530);
    bench.set_up_queue(1, 65_530);
    bench.set_used(0, 2);
    bench.set_used(1, 65_535);
    assert_eq!((bench.halt(0), bench.halt(1)), (2, 65_535));
    assert!(bench.driver.set_next(&mut bench.fake, 0, 65_536).is_err());
}

#[test]
fn features_that_are_not_offered_are_refused() {
    let mut bench = Bench::new();
    assert_eq!(bench.driver.offered(&mut bench.fake).unwrap(), ALL);
    let merged = bench.driver.set_features(&mut bench.fake, ALL | 1 << 15);
    assert_eq!(merged.unwrap_err(), "the features 0x8000 are not offered");
    let old = bench.driver.set_features(&mut bench.fake, 1 << 5);
    assert!(old.unwrap_err().contains("use one for virtio 1.0"));
}

#[test]
fn rings_outside_of_the_memory_are_refused() {
    let mut bench = Bench::new();
    bench.set_up();
    let rings = [USER, USER + MEMORY - 0x100, USER + 0x2000];
    let refused = bench.driver.set_addresses(&mut bench.fake, 0, rings);
    assert!(refused.unwrap_err().contains("no memory for a ring of 262 bytes at 0x7f000000ff00"));
    assert!(!bench.fake.is_alive());
    for rings in [[u64::MAX; 3], [0; 3], [USER, USER, USER - 1]] {
        assert!(bench.driver.set_addresses(&mut bench.fake, 0, rings).is_err());
    }
}

#[test]
fn sizes_and_queues_that_do_not_exist_are_refused() {
    let mut bench = Bench::new();
    for size in [0, 3, 512, 65_536] {
        let refused = bench.driver.set_size(&mut bench.fake, 0, size).unwrap_err();
        assert_eq!(refused, "a queue has at most 256 entries, a power of 2");
    }
    assert_eq!(bench.set_kick_of(2), Err("the device has no queue 2".to_owned()));
    assert!(bench.driver.halt(&mut bench.fake, 7).is_err());
    assert!(bench.driver.set_call(u32::MAX, None).is_err());
}

impl Bench {
    fn set_kick_of(&mut self, queue: u32) -> Outcome<()> {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let kick = Kick::new(OwnedFd::from(ours).into(), &self.poller, 9).unwrap();
        self.driver.set_kick(&mut self.fake, queue, kick)
    }
}

#[test]
fn memory_changes_while_the_device_is_at_rest() {
    let mut bench = Bench::new();
    bench.set_up();
    bench.set_used(1, 5);
    bench.fake.notes();
    bench.set_memory().unwrap();
    let order = "reset unmap map reset start notify0@3000 notify1@3004";
    assert_eq!(bench.fake.notes(), order);
    assert_eq!(bench.fake.register(0, start_index(1)), 5);
    bench.driver.release(&mut bench.fake).unwrap();
    assert_eq!(bench.fake.notes(), "reset unmap");
    bench.set_up();
    assert_eq!(bench.fake.register(0, start_index(1)), 0, "nothing is left of the last use");
}

#[test]
fn a_device_that_does_not_end_its_reset_is_reported() {
    let mut bench = Bench::new();
    bench.set_up();
    bench.fake.reset_cycles = u64::MAX;
    let problem = bench.driver.halt(&mut bench.fake, 0).unwrap_err();
    assert_eq!(problem, "the device does not end its reset");
}

#[test]
fn notifications_reach_a_device_that_runs() {
    let mut bench = Bench::new();
    bench.set_up();
    bench.fake.notes();
    bench.kicks[1].as_ref().unwrap().write_all(&[1; 8]).unwrap();
    let tokens: Vec<u64> = bench.poller.wait(None).unwrap().collect();
    assert_eq!(tokens, [1]);
    bench.driver.kicked(&mut bench.fake, 1).unwrap();
    assert_eq!(bench.fake.notes(), "notify1@3004");
    bench.driver.enable(&mut bench.fake, 0, false).unwrap();
    bench.fake.notes();
    bench.driver.kicked(&mut bench.fake, 1).unwrap();
    assert_eq!(bench.fake.notes(), "");
    bench.driver.enable(&mut bench.fake, 0, true).unwrap();
    assert!(bench.driver.is_running());
    bench.kicks[1] = None;
    bench.driver.kicked(&mut bench.fake, 1).unwrap();
    assert!(!bench.driver.is_running(), "nobody can notify it any more");
    let none = bench.poller.wait(Some(std::time::Duration::ZERO)).unwrap().count();
    assert_eq!(none, 0, "the descriptor is not watched any more");
}

#[test]
fn interrupts_and_errors_are_signalled() {
    let mut bench = Bench::new();
    let (ours, mut call) = UnixStream::pair().unwrap();
    let signal = Signal::new(OwnedFd::from(ours).into()).unwrap();
    bench.driver.set_call(0, Some(signal)).unwrap();
    let (ours, mut error) = UnixStream::pair().unwrap();
    let signal = Signal::new(OwnedFd::from(ours).into()).unwrap();
    bench.driver.set_error(1, Some(signal)).unwrap();
    bench.set_up();
    bench.driver.interrupt(0);
    bench.driver.interrupt(1);
    let mut signals = [0; 24];
    call.read_exact(&mut signals).unwrap();
    assert!(!bench.driver.configuration_changed(&mut bench.fake).unwrap());
    bench.fake.status |= NEEDS_RESET;
    assert!(bench.driver.configuration_changed(&mut bench.fake).unwrap());
    error.read_exact(&mut signals[..8]).unwrap();
    drop(call);
    bench.driver.interrupt(0);
}

#[test]
fn the_configuration_ends_in_zeros() {
    let mut bench = Bench::new();
    let config = bench.driver.config(&mut bench.fake, 4, 6).unwrap();
    assert_eq!(config, [5, 6, 7, 8, 0, 0]);
    assert!(bench.driver.config(&mut bench.fake, 0, 257).is_err());
    assert!(bench.driver.config(&mut bench.fake, u32::MAX, u32::MAX).is_err());
}

#[test]
fn random_messages_never_change_a_running_device() {
    // The fake asserts that queues and memory change only while the device is at rest.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut starts = 0;
    for _ in 0..40 {
        let mut bench = Bench::new();
        bench.fake.reset_cycles = random(300);
        for _ in 0..200 {
            let queue = random(2) as u32;
            let it = &mut bench;
            // Refusals are all right.
            let _ = match random(14) {
                0 => it.driver.set_features(&mut it.fake, ALL),
                1 => it.driver.set_features(&mut it.fake, FEATURES),
                2 | 3 => it.set_memory(),
                4 => it.driver.set_size(&mut it.fake, queue, 1 << random(10)),
                5 | 6 => it.set_rings(queue),
                7 => it.driver.set_next(&mut it.fake, queue, random(65_536) as u32),
                8 => it.driver.halt(&mut it.fake, queue).map(drop),
                9 | 10 => it.set_kick(queue),
                11 => it.driver.enable(&mut it.fake, queue, random(4) > 0),
                12 if random(8) == 0 => it.driver.release(&mut it.fake),
                12 => it.driver.kicked(&mut it.fake, queue as usize),
                _ => {
                    it.set_used(queue as usize, random(65_536) as u16);
                    Ok(())
                }
            };
            assert_eq!(bench.driver.is_running(), bench.fake.status & DRIVER_OK != 0);
            starts += bench.fake.notes().matches("start").count();
        }
        bench.driver.release(&mut bench.fake).unwrap();
        assert!(!bench.fake.mapped);
    }
    assert!(starts > 100, "{starts}");
}

#[test]
fn regions_that_cannot_be_memory_are_refused() {
    let bench = Bench::new();
    let good = Place { guest: GUEST, user: USER, size: MEMORY, offset: OFFSET };
    let map = |places: &[Place]| {
        let with_file = |place: &Place| (*place, bench.file.try_clone().unwrap());
        Memory::map(places.iter().map(with_file).collect()).err()
    };
    assert_eq!(map(&[good]), None);
    let other = Place { guest: GUEST + MEMORY - 1, user: 0, ..good };
    assert_eq!(map(&[good, other]), Some(format!("the regions at {:#x} overlap", other.guest)));
    for wrong in [
        Place { size: 0, ..good },
        Place { size: MEMORY + 1, ..good },
        Place { offset: u64::MAX, ..good },
        Place { guest: u64::MAX, ..good },
        Place { user: u64::MAX - 5, ..good },
        Place { offset: OFFSET + 1, ..good },
    ] {
        assert!(map(&[wrong]).is_some(), "{wrong:?}");
    }
}
