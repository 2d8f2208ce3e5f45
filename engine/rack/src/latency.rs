//! Latencies between two samples, as an HDR histogram that can be stored and merged.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::time::Duration;

/// Nanoseconds that the histogram tells apart at best.
const RESOLUTION: u64 = 64;
/// Longer latencies count as this, in nanoseconds.
const LONGEST: u64 = 60_000_000_000;
/// Decimal digits that are right.
const DIGITS: u8 = 3;

/// Latencies since the last [`Latency::take`].
pub struct Latency {
    histogram: Histogram<u64>,
}

/// What [`Latency::take`] returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The histogram of nanoseconds: HDR V2, zlib-compressed.
    pub encoded: Vec<u8>,
    /// Mean in nanoseconds.
    pub mean: f64,
    /// Percentiles by name, and the maximum, in nanoseconds.
    pub quantiles: [(&'static str, u64); 5],
}

impl Default for Latency {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(RESOLUTION, LONGEST, DIGITS)
            .expect("the bounds are constants that hdrhistogram accepts");
        Self { histogram }
    }
}

impl Latency {
    /// Counts one operation.
    pub fn record(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(LONGEST);
        self.histogram.saturating_record(nanoseconds);
    }

    /// What was recorded since the last call.
    pub fn take(&mut self) -> Summary {
        let mut encoded = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.histogram, &mut encoded)
            .expect("writing to memory does not fail");
        let histogram = &self.histogram;
        let at = |quantile| histogram.value_at_quantile(quantile);
        let summary = Summary {
            encoded,
            mean: histogram.mean(),
            quantiles: [
                ("p50", at(0.5)),
                ("p95", at(0.95)),
                ("p99", at(0.99)),
                ("p999", at(0.999)),
                ("max", histogram.max()),
            ],
        };
        self.histogram.reset();
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn a_sample_has_each_latency_once_and_can_be_merged() {
        let mut latency = Latency::default();
        for microseconds in 1..=1000 {
            latency.record(Duration::from_micros(microseconds));
        }
        let first = latency.take();
        let near = |value: u64, expected: u64| value.abs_diff(expected) <= expected / 500;
        assert!(near(first.quantiles[0].1, 500_000), "p50 is {}", first.quantiles[0].1);
        assert!(near(first.quantiles[4].1, 1_000_000));
        latency.record(Duration::from_secs(3600));
        let second = latency.take();
        let decode = |summary: &Summary| -> Histogram<u64> {
            Deserializer::new().deserialize(&mut summary.encoded.as_slice()).unwrap()
        };
        let mut merged = decode(&first);
        merged.add(decode(&second)).unwrap();
        assert_eq!(merged.len(), 1001);
        assert!(near(merged.max(), LONGEST));
    }
}
