//! Test double of the controller: admits and evicts at random, retries every message.

use std::collections::BTreeMap;

use netkv_roles::{MILLISECOND, Nanos};
use netkv_wire::{
    CONTROLLER_IP, CONTROLLER_SENDER, CacheMetadata, FrameView, Key, Message, Op, SERVICE_IP,
    Status, chunks_for,
};
use netkv_workload::Random;

use crate::common::frame_of;
use crate::common::switch::Entry;
use crate::switch::Switch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Admitting,
    Installing,
    Cached,
    Evicting,
}

#[derive(Debug, Clone, Copy)]
struct Cached {
    stage: Stage,
    generation: u32,
    request: u32,
    slot: Option<usize>,
    retry_at: Nanos,
    tries: u32,
}

pub struct Controller {
    keys: BTreeMap<Key, Cached>,
    free: Vec<usize>,
    next_request: u32,
    next_generation: u32,
    pub installs: u64,
    pub outgrown: u64,
}

impl Controller {
    pub fn new(slots: usize) -> Self {
        Self {
            keys: BTreeMap::new(),
            free: (0..slots).collect(),
            next_request: 1,
            next_generation: 1,
            installs: 0,
            outgrown: 0,
        }
    }

    fn message(&self, op: Op, key: &Key, request: u32, generation: u32) -> Vec<u8> {
        let (from, to) = (CONTROLLER_IP, SERVICE_IP);
        let metadata = CacheMetadata { generation, version: 0, bitmap: 0 };
        let message = Message::request(from, to, op, CONTROLLER_SENDER, request, *key);
        frame_of(&message.with_cache_metadata(metadata))
    }

    fn request(&mut self) -> u32 {
        self.next_request += 1;
        self.next_request
    }

    /// Admits `key` if it is not cached and there is room, evicts it if it is.
    pub fn toggle(&mut self, now: Nanos, key: &Key, switch: &mut Switch, out: &mut Vec<Vec<u8>>) {
        match self.keys.get(key).map(|it| it.stage) {
            None if self.free.len() > self.keys.len() => {
                let (request, generation) = (self.request(), self.next_generation);
                self.next_generation += 1;
                let stage = Stage::Admitting;
                let retry_at = now + MILLISECOND;
                let cached = Cached { stage, generation, request, slot: None, retry_at, tries: 1 };
                self.keys.insert(*key, cached);
                out.push(self.message(Op::Admit, key, request, generation));
            }
            Some(Stage::Cached) => self.evict(now, key, switch, out),
            _ => {}
        }
    }

    fn evict(&mut self, now: Nanos, key: &Key, switch: &mut Switch, out: &mut Vec<Vec<u8>>) {
        let request = self.request();
        let Some(cached) = self.keys.get_mut(key) else { return };
        switch.remove(key);
        cached.stage = Stage::Evicting;
        cached.request = request;
        cached.retry_at = now + MILLISECOND;
        cached.tries = 1;
        let generation = cached.generation;
        out.push(self.message(Op::Evicted, key, request, generation));
    }

    pub fn on_frame(
        &mut self,
        now: Nanos,
        bytes: &[u8],
        random: &mut Random,
        switch: &mut Switch,
        out: &mut Vec<Vec<u8>>,
    ) {
        let frame = FrameView::parse(bytes).expect("servers write frames that parse");
        let key = frame.key();
        if frame.op() == Op::Outgrown {
            let generation =
                frame.cache_metadata().expect("OUTGROWN has cache metadata").generation;
            let current = self.keys.get(&key).filter(|it| it.generation == generation);
            let stage = current.map(|it| it.stage);
            if stage == Some(Stage::Installing) {
                // It overtook the INSTALL reply. It is not answered, so that it is sent again: if
                // it were answered without an eviction, a useless entry would remain forever.
                return;
            }
            out.push(frame_of(&frame.reply(Status::Ok)));
            if stage == Some(Stage::Cached) {
                self.outgrown += 1;
                self.evict(now, &key, switch, out);
            }
            return;
        }
        let Some(mut cached) = self.keys.get(&key).copied() else { return };
        if frame.request() != cached.request {
            return;
        }
        match (frame.op(), frame.status()) {
            (Op::AdmitReply, Status::Ok) => {
                // Sometimes with spare capacity, in any of the arrays.
                let spare = usize::from(random.below(2) == 0);
                let chunks = (chunks_for(frame.length().into()) + spare).clamp(1, 8);
                let mut bitmap = 0u8;
                while bitmap.count_ones() < chunks as u32 {
                    bitmap |= 1 << random.below(8);
                }
                let slot = self.free.pop().expect("admissions are limited by the free slots");
                let generation = cached.generation;
                switch.insert(&key, Entry { slot, generation, bitmap });
                cached.slot = Some(slot);
                cached.stage = Stage::Installing;
                cached.request = self.request();
                cached.retry_at = now + MILLISECOND;
                cached.tries = 1;
                self.keys.insert(key, cached);
                out.push(self.message(Op::Install, &key, cached.request, generation));
            }
            (Op::AdmitReply, _) => {
                self.keys.remove(&key);
            }
            (Op::InstallReply, Status::Ok) => {
                self.installs += 1;
                cached.stage = Stage::Cached;
                self.keys.insert(key, cached);
            }
            (Op::InstallReply, _) => self.evict(now, &key, switch, out),
            (Op::EvictedReply, _) => {
                self.free.extend(cached.slot);
                self.keys.remove(&key);
            }
            _ => {}
        }
    }

    /// Admits every key again after a switch restart, with a new generation.
    pub fn reinstall(&mut self, now: Nanos, out: &mut Vec<Vec<u8>>) {
        let keys: Vec<Key> = self.keys.keys().copied().collect();
        for key in keys {
            let Some(old) = self.keys.remove(&key) else { continue };
            self.free.extend(old.slot);
            let (request, generation) = (self.request(), self.next_generation);
            self.next_generation += 1;
            let (stage, slot, retry_at) = (Stage::Admitting, None, now + MILLISECOND);
            self.keys.insert(key, Cached { stage, generation, request, slot, retry_at, tries: 1 });
            out.push(self.message(Op::Admit, &key, request, generation));
        }
    }

    pub fn deadline(&self) -> Option<Nanos> {
        let busy = self.keys.values().filter(|it| it.stage != Stage::Cached);
        busy.map(|it| it.retry_at).min()
    }

    pub fn on_timer(&mut self, now: Nanos, out: &mut Vec<Vec<u8>>) {
        let mut due = Vec::new();
        for (key, it) in &mut self.keys {
            let op = match it.stage {
                Stage::Admitting => Op::Admit,
                Stage::Installing => Op::Install,
                Stage::Evicting => Op::Evicted,
                Stage::Cached => continue,
            };
            if it.retry_at <= now {
                it.tries += 1;
                it.retry_at = now + (MILLISECOND << it.tries.min(6));
                due.push((op, *key, it.request, it.generation));
            }
        }
        for (op, key, request, generation) in due {
            out.push(self.message(op, &key, request, generation));
        }
    }
}
