//! Latencies as a histogram with three digits, in the text that samples and stored runs have: HDR
//! V2, compressed with zlib, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use netkv_roles::Nanos;

/// How often each latency was seen, in nanoseconds.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are possible"))
    }
}

impl Latencies {
    /// The latencies in a text.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn decode(text: &str) -> Result<Self, String> {
        let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
        let decoded = Deserializer::new().deserialize(&mut bytes.as_slice());
        decoded.map(Self).map_err(|error| error.to_string())
    }

    /// The text.
    pub fn encode(&self) -> String {
        encode(&self.0)
    }

    /// Adds those of another histogram.
    ///
    /// # Errors
    ///
    /// Why they cannot be added.
    pub fn add(&mut self, other: &Self) -> Result<(), String> {
        self.0.add(&other.0).map_err(|error| error.to_string())
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mean; 0 without latencies.
    pub fn mean(&self) -> f64 {
        let sums = self.0.iter_recorded().map(|each| {
            let middle = self.0.median_equivalent(each.value_iterated_to());
            u128::from(middle) * u128::from(each.count_since_last_iteration())
        });
        sums.sum::<u128>() as f64 / self.len().max(1) as f64
    }

    /// The latency that `percentile` of them do not exceed, with their number rounded to the nearest
    /// one; 0 without latencies.
    pub fn at(&self, percentile: f64) -> Nanos {
        let count = ((percentile.min(100.0) * self.len() as f64 / 100.0 + 0.5) as u64).max(1);
        let found = self.points().find(|(_, until)| *until >= count);
        found.map_or(0, |(latency, _)| latency)
    }

    /// Each recorded latency, rising, with the number of those up to it. It is the highest of the
    /// latencies that are counted together.
    pub fn points(&self) -> impl Iterator<Item = (Nanos, u64)> {
        self.0.iter_recorded().scan(0, |until, each| {
            *until += each.count_since_last_iteration();
            Some((each.value_iterated_to(), *until))
        })
    }
}

/// The text of a histogram.
pub(crate) fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory does not fail");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(values: impl IntoIterator<Item = Nanos>) -> Latencies {
        let mut found = Latencies::default();
        values.into_iter().for_each(|value| found.0.record(value).unwrap());
        found
    }

    #[test]
    fn text_has_all_latencies_and_a_sum_has_those_of_both() {
        let all = latencies((1..=4000).map(|at| at * 1000));
        let mut sum = latencies((1..=2000).map(|at| at * 1000));
        sum.add(
            &Latencies::decode(&latencies((2001..=4000).map(|at| at * 1000)).encode()).unwrap(),
        )
        .unwrap();
        assert!(sum.points().eq(all.points()));
        assert_eq!((sum.len(), sum.mean(), sum.at(99.0)), (4000, all.mean(), all.at(99.0)));
        assert_eq!(Latencies::default().mean(), 0.0);
    }

    #[test]
    fn percentile_is_the_latency_of_the_nearest_count() {
        let four = latencies([10, 20, 30, 40]);
        let found =
            [0.0, 12.4, 37.4, 37.5, 50.0, 100.0, 200.0].map(|percentile| four.at(percentile));
        assert_eq!(found, [10, 10, 10, 20, 20, 40, 40]);
        assert_eq!(Latencies::default().at(50.0), 0);
        assert_eq!(latencies([1_000_000]).at(50.0), 1_000_447, "three digits");
    }

    #[test]
    fn damaged_texts_say_what_is_wrong() {
        let text = latencies([5, 900]).encode();
        for damaged in ["", "AAAA", "no base64!", &text[..text.len() / 2], &text[4..]] {
            assert!(!Latencies::decode(damaged).unwrap_err().is_empty(), "{damaged}");
        }
    }
}
