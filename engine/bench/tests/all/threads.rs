//! Pipelines on threads of their own: that the measured traffic is what it is meant to be.

use netkv_bench::{Case, measure_threads, subject};
use netkv_dataplane::pipeline_of;

fn case(path: &str, pipelines: usize) -> Case {
    Case { entries: 100, pipelines, ..Case::new("cache_read", path) }
}

#[test]
fn each_pipeline_has_frames_of_its_own() {
    for pipelines in [1, 2, 4] {
        let case = case("read-hit", pipelines);
        let traffic = subject("cache_read").unwrap().traffic_of_pipelines(&case).unwrap();
        let of: Vec<usize> = traffic.iter().map(|it| pipeline_of(it.port, pipelines)).collect();
        assert_eq!(of, (0..pipelines).collect::<Vec<_>>());
    }
}

#[test]
fn hits_stay_in_their_pipeline_and_misses_leave_it() {
    for (path, crossed) in [("read-hit", 0.0), ("read-miss", 1.0), ("write", 1.0)] {
        for pipelines in [2, 4] {
            let found = measure_threads(&case(path, pipelines), 0.1).unwrap();
            assert!(found.all > 0.0 && found.one > 0.0 && found.ratio > 0.0, "{found:?}");
            assert_eq!((found.crossed, found.dropped), (crossed, 0.0), "{path}: {found:?}");
        }
    }
}

#[test]
fn a_program_without_frames_for_each_pipeline_is_refused() {
    let case = Case { pipelines: 2, ..Case::new("forwarding", "read-miss") };
    let error = subject("forwarding").unwrap().traffic_of_pipelines(&case).unwrap_err();
    assert_eq!(
        error.to_string(),
        "The benchmark has no frames of 'forwarding' for each of 2 pipelines; it has those of the \
         yardstick cache_read."
    );
}
