//! File tests of the front end: a program beside what the compiler makes of it.
//!
//! - `files/ir/NAME.p4` and `NAME.ir`: the program as text (`netkv p4 ir`);
//! - `files/refused/NAME.p4` and `NAME.errors`: all errors, with line and column.
//!
//! `NETKV_UPDATE_FILES=1 cargo test -p netkv-p4 --test files` writes the second file of each pair
//! anew; look at the difference before you commit it.

use std::path::{Path, PathBuf};

use netkv_p4::{Options, Severity, compile_file};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

fn programs(name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(name)).expect("the folder of the tests");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "p4"))
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

/// Compares each program's text with the file beside it, and reports all that differ.
fn compare(name: &str, extension: &str, text: impl Fn(&Path) -> String) {
    let update = std::env::var_os("NETKV_UPDATE_FILES").is_some();
    let mut wrong = Vec::new();
    for program in programs(name) {
        let (found, beside) = (text(&program), program.with_extension(extension));
        if update {
            std::fs::write(&beside, &found).expect("a file that can be written");
        } else if std::fs::read_to_string(&beside).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", beside.display()));
        }
    }
    assert!(wrong.is_empty(), "These files differ. Found:\n{}", wrong.join("\n"));
}

#[test]
fn programs_become_the_expected_ir() {
    compare("ir", "ir", |program| match compile_file(program, &Options::default()) {
        Ok(compiled) => netkv_ir::program_text(&compiled.program),
        Err(found) => format!("{found}\n"),
    });
}

#[test]
fn programs_are_refused_with_the_expected_errors() {
    compare("refused", "errors", |program| {
        let Err(found) = compile_file(program, &Options::default()) else {
            panic!("{} is accepted", program.display());
        };
        let errors = found.0.iter().filter(|found| found.severity == Severity::Error);
        errors
            .map(|error| {
                let file = Path::new(&error.file).file_name().unwrap_or_default();
                let (line, column) = (error.line, error.column);
                assert!(line > 0, "{} has an error without a line", program.display());
                format!("{}:{line}:{column}: {}\n", file.to_string_lossy(), error.message)
            })
            .collect()
    });
}
