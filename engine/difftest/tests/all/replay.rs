//! Recorded STF files can be replayed.

use netkv_dataplane::{Switch, SwitchOptions, stf};
use netkv_difftest::{Medium, sample};

use crate::programs;

#[test]
fn a_recorded_file_replays_without_a_mismatch() {
    for (name, program, _) in programs::programs() {
        let (setup, frames) = sample(&program, 7, 60, Medium::Stf);
        assert_eq!(frames.len(), 60, "{name}");
        let switch = || Switch::new(program.clone(), SwitchOptions::default()).expect("a switch");
        let text = stf::record(&mut switch(), &setup, &frames, &name)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{setup}"));
        let report = stf::run(&mut switch(), &text, &name)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        assert!(report.passed(), "{report}");
        assert_eq!(report.packets, 60);
        assert_eq!(stf::frames(&text, &name).expect("frames"), frames);
    }
}

#[test]
fn setup_frames_are_omitted_and_an_invalid_line_is_named() {
    let programs = programs::programs();
    let (_, program, _) = programs.iter().find(|(name, ..)| name == "tables").expect("tables.p4");
    let mut switch = Switch::new(program.clone(), SwitchOptions::default()).expect("a switch");
    let setup = "# state\nsetdefault I.t_exact I.set_exact(v:7)\npacket 0 00\nexpect 0 00 $\n";
    let text = stf::record(&mut switch, setup, &[(1, vec![0; 40])], "set-up").expect("a file");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["# state", "setdefault I.t_exact I.set_exact(v:7)"]);
    assert!(
        lines[2].starts_with("packet 1 0000") && lines[3].starts_with("expect 1 0007"),
        "{text}"
    );
    let error =
        stf::record(&mut switch, "\nadd nothing x:1 y()", &[], "set-up").expect_err("an error");
    assert!(error.to_string().starts_with("set-up:2: There is no table 'nothing'"), "{error}");
}
