//! A short run of the fuzzer over everything; `netkv p4 fuzz` runs long ones.

use netkv_differ::{Plan, Progress, Sides, Subject, generated, program};

use crate::programs;

fn plan(subjects: Vec<Subject>, generated: bool, seeds: u64, packets: usize) -> Plan {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Plan { subjects, generated, first_seed: 1, seeds: Some(seeds), time: None, packets, threads }
}

fn agrees(plan: &Plan) -> Progress {
    let progress = Progress::default();
    plan.run(&Sides::executors(), &progress);
    let reports: Vec<String> = progress.findings().into_iter().map(|found| found.report).collect();
    assert!(reports.is_empty(), "{}", reports.join("\n"));
    progress
}

#[test]
fn executors_agree_on_the_repositorys_programs() {
    let subject = |(name, program, recorded)| Subject { name, program, source: None, recorded };
    let subjects: Vec<Subject> = programs::programs().into_iter().map(subject).collect();
    let count = subjects.len() as u64;
    let progress = agrees(&plan(subjects, false, 2, 2_000));
    let packets = progress.packets.into_inner();
    assert_eq!(packets, count * 2 * 2_000);
    assert!(progress.frames_out.into_inner() * 2 > packets, "most packets must do something");
}

#[test]
fn executors_agree_on_generated_programs() {
    let progress = agrees(&plan(Vec::new(), true, 60, 100));
    assert_eq!(progress.programs.into_inner(), 60);
    assert!(progress.frames_out.into_inner() * 2 > progress.packets.into_inner());
}

#[test]
fn a_seed_always_makes_the_same_program_and_it_compiles() {
    for seed in 1_000..1_200 {
        let subject = generated(seed).unwrap_or_else(|finding| panic!("{}", finding.report));
        assert_eq!(subject.source, Some(program::generate(seed)));
    }
}
