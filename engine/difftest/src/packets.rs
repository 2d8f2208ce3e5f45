//! Generates packets for a program: packets that take a chosen path, and mutations of them.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use netkv_dataplane::{EventKind, Output, Switch, Trace};
use netkv_ir::{Program, Value};

use crate::bits;
use crate::checksum::Checksum;
use crate::path::{self, Template};
use crate::rng::Rng;
use crate::value_pool::ValuePool;

/// Number of packets that are generated for a path or taken from a recording.
const BUILT_TEMPLATES: usize = 48;
/// Maximum number of templates, including mutations with new coverage.
const MAX_TEMPLATES: usize = 400;
/// Maximum length of an Ethernet frame.
const MAX_FRAME_BYTES: usize = 1514;

/// A recorded frame and its ingress port.
pub type Recorded = (u16, Vec<u8>);

/// Generates packets for one program.
pub struct PacketGenerator {
    templates: Vec<Template>,
    checksums: Vec<Checksum>,
}

impl PacketGenerator {
    /// A generator with some of the recorded packets as templates. Their fields are added to the
    /// pool.
    pub fn new(
        program: &Program,
        recorded: &[Recorded],
        pool: &mut ValuePool,
        rng: &mut Rng,
    ) -> Self {
        let mut templates = Vec::new();
        for _ in 0..recorded.len().min(BUILT_TEMPLATES) {
            let (port, bytes) = rng.pick(recorded);
            let template = path::recorded(program, *port, bytes, pool, rng);
            for field in &template.fields {
                let value = bits::read(&template.bytes, field.offset, field.width);
                pool.add_recorded(field.word, value);
            }
            templates.push(template);
        }
        Self { templates, checksums: Checksum::verified_by(program) }
    }

    /// Adds templates that take random paths through parser and ingress.
    pub fn build_templates(&mut self, program: &Program, pool: &mut ValuePool, rng: &mut Rng) {
        for _ in 0..BUILT_TEMPLATES {
            let mut template = path::packet(program, pool, rng);
            self.set_checksums(&mut template);
            self.templates.push(template);
        }
    }

    /// Coverage-guided search: runs mutations on a switch and keeps those with new coverage. So
    /// packets of a case satisfy several conditions one after the other.
    pub fn explore(
        &mut self,
        switch: &mut Switch,
        tries: usize,
        pool: &mut ValuePool,
        rng: &mut Rng,
    ) {
        let mut seen = HashSet::new();
        let mut output = Output::new();
        let mut is_new = |template: &mut Template, now_ns: u64| {
            output.clear();
            let port = template.port.unwrap_or(1);
            let trace = switch.trace(now_ns, port, &template.bytes, &mut output);
            let before = seen.len();
            let features: HashSet<u64> = features(&trace).collect();
            template.coverage = features.len();
            seen.extend(features);
            seen.len() > before
        };
        for template in &mut self.templates {
            is_new(template, 0);
        }
        for now_ns in 0..tries as u64 {
            if self.templates.len() >= MAX_TEMPLATES {
                return;
            }
            let mut mutation = self.mutation(pool, rng);
            if is_new(&mut mutation, now_ns) {
                self.templates.push(mutation);
            }
        }
    }

    /// A packet and its ingress port.
    pub fn packet(&self, pool: &mut ValuePool, rng: &mut Rng) -> (u16, Vec<u8>) {
        let Template { port, bytes, .. } = self.mutation(pool, rng);
        (port.unwrap_or(0), bytes)
    }

    fn set_checksums(&self, template: &mut Template) {
        for checksum in &self.checksums {
            checksum.set(template);
        }
    }

    /// A mutation of a template, with a port.
    fn mutation(&self, pool: &mut ValuePool, rng: &mut Rng) -> Template {
        // Mostly the one of several with the largest coverage: many end at the first check.
        let others = if rng.chance(60) { 1 + rng.below(5) } else { 0 };
        let mut best = rng.pick(&self.templates);
        for _ in 0..others {
            let other = rng.pick(&self.templates);
            if other.coverage > best.coverage {
                best = other;
            }
        }
        let mut packet = best.clone();
        match rng.below(100) {
            0..20 => {}
            20..65 => {
                change_fields(&mut packet, pool, rng);
                if rng.chance(85) {
                    self.set_checksums(&mut packet);
                }
            }
            65..75 => flip_bits(&mut packet.bytes, rng),
            75..88 => packet.bytes.truncate(rng.below(packet.bytes.len() + 1)),
            88..92 => {
                change_fields(&mut packet, pool, rng);
                packet.bytes.truncate(rng.below(packet.bytes.len() + 1));
            }
            92..95 => {
                let count = rng.below(100);
                packet = Template { bytes: rng.bytes(count), ..Template::default() };
            }
            95..97 => packet.bytes.truncate(rng.below(3)),
            97..98 => {
                let missing = MAX_FRAME_BYTES.saturating_sub(packet.bytes.len());
                packet.bytes.extend(rng.bytes(missing));
            }
            _ => {
                let other = &rng.pick(&self.templates).bytes;
                let cut = rng.below(packet.bytes.len() + 1);
                packet.bytes.truncate(cut);
                packet.bytes.extend_from_slice(&other[cut.min(other.len())..]);
            }
        }
        packet.port = Some(match (packet.port, rng.below(20)) {
            (Some(port), 0..14) => port,
            (_, 19) => *rng.pick(&[0, 255, 256, 510, 511]),
            (_, 18) => rng.below(512) as u16,
            (_, 17) => pool.port(rng),
            _ => rng.below(5) as u16,
        });
        packet
    }
}

/// Coverage features of a trace: hashes of the events, without most of their values.
fn features(trace: &Trace) -> impl Iterator<Item = u64> + '_ {
    trace.events.iter().map(|event| {
        let mut hasher = DefaultHasher::new();
        (event.line, &event.file, std::mem::discriminant(&event.kind)).hash(&mut hasher);
        match &event.kind {
            EventKind::Branch { taken } => taken.hash(&mut hasher),
            EventKind::Enter { label } => label.hash(&mut hasher),
            EventKind::Table { table, hit, action, .. } => (table, hit, action).hash(&mut hasher),
            EventKind::RegisterRead { register, value, .. }
            | EventKind::RegisterWrite { register, value, .. } => {
                (register, value.is_some()).hash(&mut hasher);
            }
            EventKind::Extract { header, .. } | EventKind::Emit { header } => {
                header.hash(&mut hasher);
            }
            EventKind::ParserError { error } => error.hash(&mut hasher),
            EventKind::Validity { header, valid } => (header, valid).hash(&mut hasher),
            EventKind::Pass { pipeline, .. } | EventKind::Drop { pipeline } => {
                pipeline.hash(&mut hasher);
            }
            EventKind::Meter { colour, .. } => colour.hash(&mut hasher),
            EventKind::ChecksumVerified { ok } => ok.hash(&mut hasher),
            _ => {}
        }
        hasher.finish()
    })
}

fn change_fields(packet: &mut Template, pool: &mut ValuePool, rng: &mut Rng) {
    let count = *rng.pick(&[1, 1, 1, 1, 2, 2, 3, 5]);
    for _ in 0..count {
        // Later fields are preferred: the first ones are in the checks at the start.
        let at = rng.below(packet.fields.len()).max(rng.below(packet.fields.len()));
        let Some(field) = packet.fields.get(at) else {
            return overwrite(&mut packet.bytes, pool, rng);
        };
        let value = pool.value(rng, field.width, Some(field.word));
        bits::write(&mut packet.bytes, field.offset, &value);
    }
}

/// Writes a value of the pool at a random position of a packet without known fields.
fn overwrite(bytes: &mut [u8], pool: &mut ValuePool, rng: &mut Rng) {
    let width = *rng.pick(&[8, 16, 32, 64, 128]);
    let value = pool.value(rng, width, None);
    bits::write(bytes, 8 * rng.below(bytes.len()), &value);
}

fn flip_bits(bytes: &mut [u8], rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let offset = rng.below(bytes.len() * 8);
        let flipped = bits::read(bytes, offset, 1).words[0] ^ 1;
        bits::write(bytes, offset, &Value::new(1, u128::from(flipped)));
    }
}

/// The frames in an STF file; none if the text is not STF.
pub fn recorded_in_stf(text: &str) -> Vec<Recorded> {
    netkv_dataplane::stf::frames(text, "recorded frames").unwrap_or_default()
}
