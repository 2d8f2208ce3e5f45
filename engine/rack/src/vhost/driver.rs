//! A driver of a function that does what a vhost-user front end asks for.
//!
//! Rules
//! 1. The device runs while it has memory, features, and every queue is ready: enabled, with a
//!    size, addresses, and a descriptor for notifications.
//! 2. Before a change, a running device is stopped: reset, and its status read until it is 0. From
//!    then on it accesses no memory of the guest.
//! 3. A stopped queue goes on at the index in its used ring, if the device has written that. Chains
//!    that the device has fetched and not returned are fetched again: a frame may be sent twice,
//!    and no entry is lost.
//! 4. After a start, both sides look at their rings: an earlier signal may have been lost.

use std::mem;

use super::request::PROTOCOL_FEATURES;
use super::{Function, Memory, Outcome};
use crate::sys::{Kick, Signal};

/// Queues of a function: receive queue, transmit queue.
pub const QUEUES: usize = 2;

/// Registers of BAR 0: the common configuration of virtio 1.2 (4.1.4.3) is at 0.
mod bar {
    pub const DEVICE_FEATURE_SELECT: u16 = 0x00;
    pub const DEVICE_FEATURE: u16 = 0x04;
    pub const DRIVER_FEATURE_SELECT: u16 = 0x08;
    pub const DRIVER_FEATURE: u16 = 0x0c;
    pub const CONFIG_VECTOR: u16 = 0x10;
    pub const STATUS: u16 = 0x14;
    pub const QUEUE_SELECT: u16 = 0x16;
    pub const QUEUE_SIZE: u16 = 0x18;
    pub const QUEUE_VECTOR: u16 = 0x1a;
    pub const QUEUE_ENABLE: u16 = 0x1c;
    pub const NOTIFY_OFFSET: u16 = 0x1e;
    /// Addresses of descriptor table, available ring and used ring: two words each.
    pub const QUEUE_ADDRESSES: [u16; 3] = [0x20, 0x28, 0x30];
    pub const DEVICE: u16 = 0x2000;
    pub const NOTIFY: u16 = 0x3000;
    /// The index of the next available entry of each queue.
    pub const START_INDEX: u16 = 0x4000;
}

const ACKNOWLEDGE: u32 = 1;
const DRIVER: u32 = 2;
const DRIVER_OK: u32 = 4;
const FEATURES_OK: u32 = 8;
const NEEDS_RESET: u32 = 0x40;

const VERSION_1: u64 = 1 << 32;

/// Cycles from one look at the status to the next.
const LOOK_CYCLES: u64 = 64;
/// Cycles after which a device that is reset must have come to rest.
const MAX_RESET_CYCLES: u64 = 1_000_000;
/// Bytes of the device configuration that the device has: MAC address and status.
const CONFIG_BYTES: u32 = 8;
/// Bytes of the device configuration that a front end may read; virtio 1.2 has fewer.
const MAX_CONFIG_BYTES: u32 = 256;

/// A queue as the front end describes it.
#[derive(Default)]
struct Queue {
    size: u16,
    /// Addresses in the front end: descriptor table, available ring, used ring.
    addresses: Option<[u64; 3]>,
    /// Index of the next entry of the available ring; while the device runs, at its start.
    next: u16,
    /// The index in the used ring at the start.
    used: Option<u16>,
    enabled: bool,
    kick: Option<Kick>,
    call: Option<Signal>,
    error: Option<Signal>,
    /// Where the device takes notifications, once it has been started.
    notify: u16,
}

impl Queue {
    fn is_ready(&self) -> bool {
        self.enabled && self.size > 0 && self.addresses.is_some() && self.kick.is_some()
    }

    /// Bytes of descriptor table, available ring and used ring.
    fn lengths(&self) -> [u64; 3] {
        let size = u64::from(self.size);
        [16 * size, 6 + 2 * size, 6 + 8 * size]
    }
}

/// The driver of one function.
#[derive(Default)]
pub struct Driver {
    features: Option<u64>,
    memory: Option<Memory>,
    queues: [Queue; QUEUES],
    running: bool,
}

impl Driver {
    /// Whether the device may access the memory of the guest.
    pub fn is_running(&self) -> bool {
        self.running
    }

    // ---- features and configuration -----------------------------------------------------------
    /// Features that the device offers, and that of vhost-user.
    pub fn offered(&self, device: &mut impl Function) -> Outcome<u64> {
        let mut words = [0; 2];
        for (select, word) in (0..).zip(&mut words) {
            device.write(bar::DEVICE_FEATURE_SELECT, 4, select)?;
            *word = device.read(bar::DEVICE_FEATURE, 4)?;
        }
        Ok(u64::from(words[0]) | u64::from(words[1]) << 32 | PROTOCOL_FEATURES)
    }

    /// Takes the features that the guest accepts. With the feature of vhost-user, the front end
    /// enables queues one by one; without it, they are enabled.
    pub fn set_features(&mut self, device: &mut impl Function, features: u64) -> Outcome<()> {
        let offered = self.offered(device)?;
        if features & !offered != 0 {
            return Err(format!("the features {:#x} are not offered", features & !offered));
        }
        if features & VERSION_1 == 0 {
            return Err("the guest has a driver for virtio 0.9; use one for virtio 1.0".to_owned());
        }
        if self.features == Some(features) {
            return Ok(());
        }
        self.change(device, |driver| {
            driver.features = Some(features);
            if features & PROTOCOL_FEATURES == 0 {
                driver.queues.iter_mut().for_each(|queue| queue.enabled = true);
            }
        })
    }

    /// Reads the device configuration. Fields that the device does not have are 0.
    pub fn config(&self, device: &mut impl Function, offset: u32, length: u32) -> Outcome<Vec<u8>> {
        let end = offset.saturating_add(length);
        if end > MAX_CONFIG_BYTES {
            return Err(format!("the device configuration has no byte {}", end - 1));
        }
        let read = |at: u32| match at {
            0..CONFIG_BYTES => device.read(bar::DEVICE + at as u16, 1).map(|byte| byte as u8),
            _ => Ok(0),
        };
        (offset..end).map(read).collect()
    }

    // ---- memory and queues --------------------------------------------------------------------
    /// Takes the memory of the guest; the old one is no longer used.
    pub fn set_memory(&mut self, device: &mut impl Function, memory: Memory) -> Outcome<()> {
        self.stop(device)?;
        device.unmap()?;
        self.memory = None;
        device.map(&memory)?;
        self.memory = Some(memory);
        self.start_if_ready(device)
    }

    /// Takes the entries of a queue.
    pub fn set_size(&mut self, device: &mut impl Function, queue: u32, size: u32) -> Outcome<()> {
        let index = check(queue)?;
        device.write(bar::QUEUE_SELECT, 2, queue)?;
        let max = match self.running {
            // The register has the size in use.
            true => u32::from(u16::MAX),
            false => device.read(bar::QUEUE_SIZE, 2)?,
        };
        let size = u16::try_from(size).ok().filter(|size| size.is_power_of_two());
        let Some(size) = size.filter(|&size| u32::from(size) <= max) else {
            return Err(format!("a queue has at most {max} entries, a power of 2"));
        };
        self.change(device, |driver| driver.queues[index].size = size)
    }

    /// Takes the addresses of descriptor table, available ring and used ring in the front end.
    pub fn set_addresses(
        &mut self,
        device: &mut impl Function,
        queue: u32,
        addresses: [u64; 3],
    ) -> Outcome<()> {
        let index = check(queue)?;
        self.change(device, |driver| driver.queues[index].addresses = Some(addresses))
    }

    /// Takes the index at which a queue begins.
    pub fn set_next(&mut self, device: &mut impl Function, queue: u32, next: u32) -> Outcome<()> {
        let index = check(queue)?;
        let next = u16::try_from(next).map_err(|_| format!("{next} is no index of a ring"))?;
        self.change(device, |driver| driver.queues[index].next = next)
    }

    /// Stops a queue; returns the index at which it would go on.
    pub fn halt(&mut self, device: &mut impl Function, queue: u32) -> Outcome<u16> {
        let index = check(queue)?;
        self.stop(device)?;
        self.queues[index].kick = None;
        Ok(self.queues[index].next)
    }

    /// Takes the descriptor for notifications of a queue, which makes it ready.
    pub fn set_kick(&mut self, device: &mut impl Function, queue: u32, kick: Kick) -> Outcome<()> {
        let index = check(queue)?;
        self.change(device, |driver| driver.queues[index].kick = Some(kick))
    }

    /// Takes the descriptor for interrupts of a queue.
    pub fn set_call(&mut self, queue: u32, call: Option<Signal>) -> Outcome<()> {
        let index = check(queue)?;
        self.queues[index].call = call;
        self.interrupt(index);
        Ok(())
    }

    /// Takes the descriptor for errors of a queue.
    pub fn set_error(&mut self, queue: u32, error: Option<Signal>) -> Outcome<()> {
        self.queues[check(queue)?].error = error;
        Ok(())
    }

    /// Enables or disables a queue. The device is at rest while one is disabled.
    pub fn enable(&mut self, device: &mut impl Function, queue: u32, on: bool) -> Outcome<()> {
        let index = check(queue)?;
        if self.queues[index].enabled == on {
            return Ok(());
        }
        self.change(device, |driver| driver.queues[index].enabled = on)
    }

    /// Stops the device and forgets everything that the front end has said.
    pub fn release(&mut self, device: &mut impl Function) -> Outcome<()> {
        let stopped = self.stop(device);
        // A device that does not come to rest would answer requests for memory with errors.
        device.unmap()?;
        *self = Self::default();
        stopped
    }

    // ---- signals ------------------------------------------------------------------------------
    /// The guest has put entries into a queue.
    pub fn kicked(&mut self, device: &mut impl Function, queue: usize) -> Outcome<()> {
        let Some(Queue { kick: Some(kick), notify, .. }) = self.queues.get(queue) else {
            return Ok(());
        };
        if !kick.take() {
            return self.halt(device, queue as u32).map(drop);
        }
        if self.running { device.write(*notify, 2, queue as u32) } else { Ok(()) }
    }

    /// The device has returned entries of a queue.
    pub fn interrupt(&self, queue: usize) {
        if let Some(call) = &self.queues[queue].call {
            call.raise();
        }
    }

    /// The device has changed its configuration or its state. Returns whether it needs a reset: it
    /// has stopped, because it found a ring that makes no sense.
    pub fn configuration_changed(&self, device: &mut impl Function) -> Outcome<bool> {
        let needs_reset = self.running && device.read(bar::STATUS, 1)? & NEEDS_RESET != 0;
        if needs_reset {
            self.queues.iter().filter_map(|queue| queue.error.as_ref()).for_each(Signal::raise);
        }
        Ok(needs_reset)
    }

    // ---- start and stop -----------------------------------------------------------------------
    fn change(&mut self, device: &mut impl Function, what: impl FnOnce(&mut Self)) -> Outcome<()> {
        self.stop(device)?;
        what(self);
        self.start_if_ready(device)
    }

    fn start_if_ready(&mut self, device: &mut impl Function) -> Outcome<()> {
        let (Some(features), Some(memory)) = (self.features, &self.memory) else { return Ok(()) };
        if !self.queues.iter().all(Queue::is_ready) {
            return Ok(());
        }
        let mut addresses = [[0; 3]; QUEUES];
        for (queue, found) in self.queues.iter().zip(&mut addresses) {
            let rings = queue.addresses.unwrap_or_default();
            for ((user, length), address) in rings.into_iter().zip(queue.lengths()).zip(found) {
                *address = memory.guest_address(user, length).ok_or_else(|| {
                    format!("there is no memory for a ring of {length} bytes at {user:#x}")
                })?;
            }
        }
        reset(device)?;
        device.write(bar::STATUS, 1, ACKNOWLEDGE)?;
        device.write(bar::STATUS, 1, ACKNOWLEDGE | DRIVER)?;
        let accepted = features & !PROTOCOL_FEATURES;
        for (select, word) in [(0, accepted as u32), (1, (accepted >> 32) as u32)] {
            device.write(bar::DRIVER_FEATURE_SELECT, 4, select)?;
            device.write(bar::DRIVER_FEATURE, 4, word)?;
        }
        device.write(bar::STATUS, 1, ACKNOWLEDGE | DRIVER | FEATURES_OK)?;
        if device.read(bar::STATUS, 1)? & FEATURES_OK == 0 {
            return Err(format!("the device refuses the features {accepted:#x}"));
        }
        device.write(bar::CONFIG_VECTOR, 2, 0)?;
        for ((index, queue), found) in (0..).zip(&mut self.queues).zip(addresses) {
            queue.used = used_index(&self.memory, queue);
            device.write(bar::QUEUE_SELECT, 2, index)?;
            device.write(bar::QUEUE_SIZE, 2, u32::from(queue.size))?;
            device.write(bar::QUEUE_VECTOR, 2, 1 + index)?;
            for (register, address) in bar::QUEUE_ADDRESSES.into_iter().zip(found) {
                device.write(register, 4, address as u32)?;
                device.write(register + 4, 4, (address >> 32) as u32)?;
            }
            device.write(start_index(index), 4, u32::from(queue.next))?;
            device.write(bar::QUEUE_ENABLE, 2, 1)?;
            queue.notify = bar::NOTIFY + 4 * device.read(bar::NOTIFY_OFFSET, 2)? as u16;
        }
        device.write(bar::STATUS, 1, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)?;
        self.running = true;
        for (index, queue) in (0..).zip(&self.queues) {
            device.write(queue.notify, 2, index)?;
            self.interrupt(index as usize);
        }
        Ok(())
    }

    fn stop(&mut self, device: &mut impl Function) -> Outcome<()> {
        if !mem::take(&mut self.running) {
            return Ok(());
        }
        reset(device)?;
        for queue in &mut self.queues {
            let used = used_index(&self.memory, queue);
            if used != queue.used {
                queue.next = used.unwrap_or(queue.next);
            }
        }
        Ok(())
    }
}

/// Resets the device, and waits until it has completed its accesses.
fn reset(device: &mut impl Function) -> Outcome<()> {
    device.write(bar::STATUS, 1, 0)?;
    for _ in 0..MAX_RESET_CYCLES / LOOK_CYCLES {
        if device.read(bar::STATUS, 1)? == 0 {
            return Ok(());
        }
        device.run(LOOK_CYCLES)?;
    }
    Err("the device does not end its reset".to_owned())
}

/// The index in the used ring of a queue: the device has returned the entries before it.
fn used_index(memory: &Option<Memory>, queue: &Queue) -> Option<u16> {
    let [_, _, ring] = queue.addresses?;
    memory.as_ref()?.read_u16(ring.checked_add(2)?)
}

fn start_index(queue: u32) -> u16 {
    bar::START_INDEX + 4 * queue as u16
}

fn check(queue: u32) -> Outcome<usize> {
    let index = queue as usize;
    if index < QUEUES { Ok(index) } else { Err(format!("the device has no queue {queue}")) }
}

#[cfg(test)]
mod tests;
