//! Timing model of a switch: the rate of its pipelines, its latency, and the bandwidth of its
//! recirculation.

use netkv_dataplane::pipeline_of;
use netkv_roles::Nanos;

use super::config::SwitchConfig;

const PICOS: u64 = 1000;

/// Computes when packets enter and leave the pipelines of a switch.
#[derive(Debug, Clone)]
pub struct Pipes {
    latency: Nanos,
    /// Time between two packets of a pipeline, in picoseconds.
    gap: u64,
    /// Longest wait for a pipeline, in picoseconds.
    limit: u64,
    /// When each pipeline accepts the next packet, in picoseconds; one entry for all if they work
    /// one at a time.
    free_at: Vec<u64>,
    recirculation_picos_per_byte: u64,
    recirculation_free_at: u64,
    /// When output of the current packet leaves, by its number of further passes.
    out_after: Vec<Nanos>,
    /// The pipeline of the current packet.
    pipeline: usize,
    /// Packets that were dropped because too many waited for their pipeline.
    pub dropped: u64,
}

impl Pipes {
    /// Idle pipelines.
    pub fn new(config: &SwitchConfig) -> Self {
        let queues = if config.parallel { config.pipelines } else { 1 };
        let gap = (queues as f64 * 1e12 / config.packet_rate).round() as u64;
        Self {
            latency: (config.latency_s * 1e9).round() as Nanos,
            gap,
            limit: gap.saturating_mul(config.queue_packets),
            free_at: vec![0; queues],
            recirculation_picos_per_byte: (8e12 / config.recirculation_bps).round() as u64,
            recirculation_free_at: 0,
            out_after: Vec::new(),
            pipeline: 0,
            dropped: 0,
        }
    }

    /// A packet arrives at `port` at `now`. Returns when it leaves, or `None` if it is dropped.
    pub fn enter(&mut self, now: Nanos, port: u16) -> Option<Nanos> {
        let pipeline = pipeline_of(port, self.free_at.len());
        let free_at = &mut self.free_at[pipeline];
        let now = now * PICOS;
        let start = now.max(*free_at);
        if start - now > self.limit {
            self.dropped += 1;
            return None;
        }
        *free_at = start + self.gap;
        Some(start / PICOS + self.latency)
    }

    /// Starts the output of a packet from `port`: without recirculation it leaves at `out`.
    pub fn begin(&mut self, out: Nanos, port: u16) {
        self.pipeline = pipeline_of(port, self.free_at.len());
        self.out_after.clear();
        self.out_after.push(out);
    }

    /// Returns when a frame of `bytes` leaves after `passes` further passes. All frames of one
    /// packet share its passes: if a request is split, each pass emits one part and recirculates
    /// the rest.
    pub fn recirculate(&mut self, bytes: usize, passes: u32) -> Nanos {
        let passes = passes as usize;
        while self.out_after.len() <= passes {
            let out = self.out_after[self.out_after.len() - 1];
            // The packet waits for bytes that others have recirculated, not for its own earlier
            // passes. Each pass reserves bandwidth from the first one on, so that packets that
            // arrive between two passes do not wait for the later one.
            let own = (self.out_after.len() - 1) as u64;
            let cost = bytes as u64 * self.recirculation_picos_per_byte;
            let first = self.out_after[0] * PICOS;
            let wait = self.recirculation_free_at.saturating_sub(first + own * cost);
            self.recirculation_free_at = self.recirculation_free_at.max(first) + cost;
            // A pass delays packets of the pipeline like a new packet that arrives now, because
            // arrivals at the time of the pass are not known yet.
            self.free_at[self.pipeline] += self.gap;
            self.out_after.push(out + (wait + cost) / PICOS + self.latency);
        }
        self.out_after[passes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipes(pipelines: usize, parallel: bool) -> Pipes {
        Pipes::new(&SwitchConfig {
            latency_s: 500e-9,
            packet_rate: 1e9 * pipelines as f64,
            pipelines,
            parallel,
            table_write_gap_s: 0.0,
            queue_packets: 3,
            recirculation_bps: 8e9,
        })
    }

    #[test]
    fn a_pipeline_drops_packets_that_wait_too_long() {
        let mut pipes = pipes(2, true);
        assert_eq!(pipes.enter(0, 4), Some(500));
        assert_eq!(pipes.enter(0, 2), Some(501), "the same pipeline");
        assert_eq!(pipes.enter(0, 1), Some(500), "the other one");
        assert_eq!([pipes.enter(0, 4), pipes.enter(0, 4)], [Some(502), Some(503)]);
        assert_eq!(pipes.enter(0, 4), None);
        assert_eq!(pipes.dropped, 1);
    }

    #[test]
    fn pipelines_that_take_turns_have_one_queue_and_the_rate_of_all() {
        let mut pipes = pipes(4, false);
        let out: Vec<_> = (0..6).map(|port| pipes.enter(0, port)).collect();
        let expected = [Some(500), Some(500), Some(500), Some(500), None, None];
        assert_eq!(out, expected, "a quarter of a nanosecond each, and three wait");
    }

    #[test]
    fn recirculated_packets_share_the_bandwidth() {
        let mut pipes = pipes(1, true);
        pipes.begin(500, 0);
        assert_eq!(pipes.recirculate(100, 1), 1100, "100 ns for its bytes, 500 ns for the pass");
        pipes.begin(500, 0);
        assert_eq!(pipes.recirculate(100, 1), 1200, "behind the first");
        pipes.begin(5_000, 0);
        assert_eq!(pipes.recirculate(100, 2), 6_200);
    }

    #[test]
    fn a_pass_with_output_and_recirculation_is_made_once() {
        let mut pipes = pipes(1, true);
        pipes.begin(500, 0);
        let parts: Vec<_> = (0..4).map(|passes| pipes.recirculate(100, passes)).collect();
        assert_eq!(parts, [500, 1100, 1700, 2300]);
        pipes.begin(500, 0);
        assert_eq!(
            pipes.recirculate(100, 1),
            1400,
            "three packets of 100 bytes were recirculated, not six"
        );
    }

    #[test]
    fn frequent_recirculation_does_not_block_others() {
        let mut pipes = pipes(1, true);
        pipes.begin(500, 0);
        assert_eq!(pipes.recirculate(100, 10), 6500, "ten rounds of 600 ns");
        pipes.begin(2500, 0);
        assert_eq!(pipes.recirculate(100, 1), 3100, "the port is free after 1 us of bytes");
    }

    #[test]
    fn recirculated_packets_delay_new_ones() {
        let mut pipes = pipes(1, true);
        let out = pipes.enter(0, 0).unwrap();
        pipes.begin(out, 0);
        pipes.recirculate(100, 2);
        assert_eq!(pipes.enter(0, 0), Some(503), "after three packets");
    }
}
