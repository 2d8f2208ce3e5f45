//! A short campaign with all programs; `netkv p4 fuzz` runs long ones.

use netkv_difftest::{
    Campaign, Case, Executors, Progress, Request, Step, SubjectProgram, generated, program,
};

use crate::programs;

fn plan(subjects: Vec<SubjectProgram>, generated: bool, seeds: u64, packets: usize) -> Campaign {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Campaign {
        subjects,
        generated,
        first_seed: 1,
        seeds: Some(seeds),
        time: None,
        packets,
        threads,
    }
}

fn agrees(plan: &Campaign) -> Progress {
    let progress = Progress::default();
    plan.run(&Executors::interpreter_and_compiled(), &progress);
    let reports: Vec<String> = progress.findings().into_iter().map(|found| found.report).collect();
    assert!(reports.is_empty(), "{}", reports.join("\n"));
    progress
}

#[test]
fn executors_agree_on_the_repositorys_programs() {
    let subject =
        |(name, program, recorded)| SubjectProgram { name, program, source: None, recorded };
    let subjects: Vec<SubjectProgram> = programs::programs().into_iter().map(subject).collect();
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

/// Generated programs have the features on which evaluation order, copy-out and priorities depend.
#[test]
fn generated_programs_have_calls_exits_and_priorities() {
    let texts: Vec<String> = (0..400).map(program::generate).collect();
    let common = |what: &str, has: &dyn Fn(&str) -> bool| {
        let count = texts.iter().filter(|text| text.lines().any(|line| has(line.trim()))).count();
        assert!(count >= 10, "{what}: in {count} of {} programs", texts.len());
    };
    common("an exit", &|line| line == "exit;");
    common("a clone without metadata", &|line| line.starts_with("clone(CloneType.E2E"));
    common("an action with an output", &|line| {
        line.starts_with("action ") && (line.contains("out ") || line.contains("inout "))
    });
    common("a compound assignment", &|line| {
        [" += ", " -= ", " <<= ", " >>= ", " |+|= ", " ^= "].iter().any(|op| line.contains(op))
    });
    common("an index with a call, assigned a call", &|line| {
        line.starts_with("h.st") && line.contains("[f") && line.matches("(").count() > 1
    });
    common("an entry with @priority", &|line| line.contains(" @priority("));
    common("an entry with a priority", &|line| line.starts_with("priority = "));
    let nested = texts.iter().filter(|text| calls_an_action_in_an_action(text)).count();
    assert!(nested >= 10, "an action in an action: in {nested} of {} programs", texts.len());
}

fn calls_an_action_in_an_action(text: &str) -> bool {
    let mut inside = false;
    text.lines().any(|line| {
        if line.trim_start().starts_with("action ") {
            inside = true;
        } else if line == "    }" {
            inside = false;
        }
        let call = line.trim_start().strip_prefix('a').and_then(|rest| rest.split_once('('));
        inside && call.is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_digit()))
    })
}

/// Compiled code goes on with the fields of a recirculated packet only if the parser extracts what
/// the deparser emits, and no pass needs the bytes before that.
#[test]
fn some_generated_programs_let_a_recirculated_packet_keep_its_fields() {
    let headers = |text: &str, call: &str| -> Vec<String> {
        let names =
            text.lines().filter_map(|line| line.trim().strip_prefix(call)?.strip_suffix(");"));
        names.filter(|name| *name != "dump").map(str::to_owned).collect()
    };
    let needs_bytes = ["lookahead", "advance", "resubmit", "CloneType.I2E"];
    let keeps_fields = |text: &String| {
        let extracted = headers(text, "p.extract(h.");
        text.contains("recirculate")
            && !extracted.is_empty()
            && extracted == headers(text, "p.emit(h.")
            && !needs_bytes.iter().any(|call| text.contains(call))
    };
    let programs: Vec<String> = (0..200).map(program::generate).filter(keeps_fields).collect();
    assert!(programs.len() > 20, "{}", programs.len());
    let over_sum = |text: &&String| {
        ["verify_checksum(", "update_checksum("].iter().all(|call| {
            text.lines().any(|line| line.trim().starts_with(call) && line.contains(", h.h0.sum,"))
        })
    };
    assert!(programs.iter().filter(over_sum).count() > 5);
}

extern "C" fn ends_the_process() {
    panic!("a function that machine code calls");
}

#[test]
fn a_panic_that_ends_the_process_names_its_case() {
    const CHILD: &str = "NETKV_DIFFER_CHILD";
    const NAME: &str = "short::a_panic_that_ends_the_process_names_its_case";
    if std::env::var_os(CHILD).is_some() {
        let mut executors = Executors::interpreter_and_compiled();
        executors.tested = Box::new(|_, _| {
            ends_the_process();
            unreachable!()
        });
        let plan = Campaign { first_seed: 17, ..plan(Vec::new(), true, 1, 10) };
        plan.run(&executors, &Progress::default());
    } else {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let command = command.args(["--exact", NAME, "--nocapture"]).env(CHILD, "1");
        let output = command.output().unwrap();
        assert!(!output.status.success());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("The case is generated, seed 17, 10 packets a case."), "{text}");
    }
}

/// Compiled code prefetches what packets look up in tables with many entries.
#[test]
fn some_cases_have_tables_with_many_entries() {
    let program = |seed| generated(seed).unwrap_or_else(|finding| panic!("{}", finding.report));
    let crowded = (0..200).filter(|seed| {
        let case = Case::new(program(*seed).program, *seed, 1, &[]);
        let inserts = |step: &&Step| matches!(step, Step::Control(Request::Insert(_)));
        case.steps.iter().filter(inserts).count() > 2_000
    });
    assert!(crowded.count() > 3);
}

#[test]
fn a_seed_determines_a_program_that_compiles() {
    for seed in 1_000..1_200 {
        let subject = generated(seed).unwrap_or_else(|finding| panic!("{}", finding.report));
        assert_eq!(subject.source, Some(program::generate(seed)));
    }
}
