//! Every kind of program that p4c's front end refuses, from the messages in its source.
//!
//! `files/p4c_errors.txt` has a program for each: declarations before the ingress control, `--`,
//! the control's body, and after `=>` our message. `//!` marks the line of the error.
//!
//! `NETKV_UPDATE_FILES=1 cargo test -p netkv-p4 --test p4c_errors` writes the messages anew; look
//! at the difference before you commit it.

use crate::common;

use std::fmt::Write;
use std::path::Path;

use netkv_p4::{Diagnostic, Severity};

/// Line and message of the first error.
fn first_error(globals: &str, ingress: &str) -> Option<Diagnostic> {
    let found = common::compile(globals, ingress).err()?;
    found.0.into_iter().find(|found| found.severity == Severity::Error)
}

#[test]
fn every_kind_of_error_of_p4c_is_found_on_its_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/p4c_errors.txt");
    let text = format!("\n{}", std::fs::read_to_string(&path).expect("the list"));
    let (mut wrong, mut updated, mut cases) = (Vec::new(), String::new(), 0);
    for section in text.split("\n== ").filter(|section| !section.is_empty()) {
        let (name, rest) = section.split_once('\n').expect("a name");
        let (program, expected) = rest.split_once("\n=> ").expect("a message");
        let (globals, ingress) = program.split_once("--\n").expect("a control");
        let source = common::program(globals, ingress);
        let lines: Vec<u32> =
            (1..).zip(source.lines()).filter(|(_, l)| l.contains("//!")).map(|(n, _)| n).collect();
        assert_eq!(lines.len(), 1, "'{name}' marks one line");
        let Some(found) = first_error(globals, ingress) else {
            wrong.push(format!("'{name}' is accepted"));
            continue;
        };
        if found.line != lines[0] {
            wrong.push(format!("'{name}': line {} and not {}: {found}", found.line, lines[0]));
        } else if found.message != expected.trim_end() {
            wrong.push(format!("'{name}': {}", found.message));
        }
        let _ = write!(updated, "== {name}\n{program}\n=> {}\n", found.message);
        cases += 1;
    }
    if std::env::var_os("NETKV_UPDATE_FILES").is_some() {
        std::fs::write(&path, updated).expect("a file that can be written");
        return;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases > 250, "{cases} kinds");
}
