//! Samples of the load generator as JSON: counts, and latency as a histogram that can be stored and
//! merged.

use hdrhistogram::Histogram;
use netkv_roles::{ClientStats, Nanos, SECOND, Summary, VerifyReport, Violation};
use serde_json::{Value, json};

use crate::latencies;

/// A sample of `interval`; `verified` is the report of a finished verification.
pub fn document(stats: &ClientStats, interval: Nanos, verified: Option<VerifyReport>) -> Value {
    let mut document = json!({
        "interval_s": interval as f64 / SECOND as f64,
        "latency": latencies::encode(&stats.latency),
        "latency_ns": summary(&stats.latency),
        "socket": {},
    });
    if let Some(of_other) = &stats.latency_of_other {
        document["latency_of_other"] = json!(latencies::encode(of_other));
    }
    for (name, count) in stats.counts.list().chain(stats.own.iter().copied()) {
        document[name] = json!(count);
    }
    if let Some(report) = verified {
        document["acked_writes_lost"] = json!(report.acked_writes_lost);
        document["verified"] = json!(report.checked);
        document["unread"] = json!(report.unread);
    }
    document
}

/// Adds the checker's findings since the start to a sample: whether the history is linearizable, and the first
/// violations. `linearizable` is null if nothing was checked, or if there is no violation but some
/// keys could not be checked.
pub fn add_history(document: &mut Value, history: Option<(Summary, Vec<Violation>)>) {
    let linearizable = history.as_ref().and_then(|(summary, _)| summary.linearizable());
    let (summary, violations) = history.unwrap_or_default();
    document["linearizable"] = json!(linearizable);
    document["checked_ops"] = json!(summary.checked_ops);
    document["unchecked_keys"] = json!(summary.unchecked_keys);
    document["violation_count"] = json!(summary.violations);
    document["violations"] = json!(violations);
}

fn summary(histogram: &Histogram<u64>) -> Value {
    json!({
        "mean": histogram.mean(),
        "p50": histogram.value_at_quantile(0.5),
        "p95": histogram.value_at_quantile(0.95),
        "p99": histogram.value_at_quantile(0.99),
        "p999": histogram.value_at_quantile(0.999),
        "max": histogram.max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::Latencies;
    use netkv_roles::ViolationKind;

    #[test]
    fn merged_samples_have_the_latency_of_the_whole_run() {
        let mut merged = Latencies::default();
        for sample in 1..=2u64 {
            let mut stats = ClientStats::default();
            for microseconds in 1..=1000 {
                stats.latency.record(sample * microseconds * 1000).unwrap();
            }
            stats.counts.completed = 1000;
            let document = document(&stats, SECOND / 2, None);
            assert_eq!(document["interval_s"], 0.5);
            assert_eq!(document["completed"], 1000);
            let median = document["latency_ns"]["p50"].as_u64().unwrap();
            assert!(median.abs_diff(sample * 500_000) < 1000 * sample, "{median}");
            let decoded = Latencies::decode(document["latency"].as_str().unwrap()).unwrap();
            merged.add(&decoded).unwrap();
        }
        assert_eq!(merged.len(), 2000);
        assert!(merged.at(100.0).abs_diff(2_000_000) < 2000);
    }

    #[test]
    fn lost_writes_are_reported_only_after_a_verification() {
        let stats = ClientStats::default();
        assert!(document(&stats, SECOND, None).get("acked_writes_lost").is_none());
        let report = VerifyReport { checked: 10, acked_writes_lost: 2, unread: 1 };
        let document = document(&stats, SECOND, Some(report));
        assert_eq!(document["acked_writes_lost"], 2);
        assert_eq!(document["verified"], 10);
    }

    #[test]
    fn a_sample_reports_violations_and_unchecked_keys() {
        let mut document = json!({});
        add_history(&mut document, None);
        assert_eq!(document["linearizable"], Value::Null, "reads are not checked");
        add_history(&mut document, Some((Summary::default(), Vec::new())));
        assert_eq!(document["linearizable"], Value::Null, "nothing was read or written");
        let right = Summary { checked_ops: 9, ..Summary::default() };
        add_history(&mut document, Some((right, Vec::new())));
        assert_eq!(document["linearizable"], true);
        assert_eq!(document["checked_ops"], 9);
        let not_all = Summary { unchecked_keys: 1, ..right };
        add_history(&mut document, Some((not_all, Vec::new())));
        assert_eq!(document["linearizable"], Value::Null);
        let violation = Violation {
            key: "00".into(),
            kind: ViolationKind::StaleRead,
            text: "A sentence.".into(),
            operations: Vec::new(),
        };
        let wrong = Summary { violations: 3, ..not_all };
        add_history(&mut document, Some((wrong, vec![violation])));
        assert_eq!(document["linearizable"], false);
        assert_eq!(document["violation_count"], 3);
        assert_eq!(document["violations"][0]["kind"], "stale-read");
    }
}
