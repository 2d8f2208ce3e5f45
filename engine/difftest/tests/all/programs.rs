//! Programs of the repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netkv_difftest::Recorded;
use netkv_ir::Program;
use netkv_p4::{Options, compile_file};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every program of the repository: name, program, recorded frames.
pub fn programs() -> Vec<(String, Arc<Program>, Vec<Recorded>)> {
    let generated = root().join("tests/p4programs/generated");
    assert!(
        generated.is_dir(),
        "{} is not there. Run 'make packet-tests', which writes it.",
        generated.display()
    );
    let options = Options { include_dirs: vec![root().join("p4")], defines: Vec::new() };
    let mut paths = Vec::new();
    for folder in ["p4", "tests/golden", "tests/p4", "tests/p4rt"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("the folder") {
            let path = entry.expect("an entry").path();
            // A folder NAME of `p4/` has the program NAME.p4.
            let program = path.join(path.file_name().unwrap_or_default()).with_extension("p4");
            paths.push(if path.is_dir() { program } else { path });
        }
    }
    paths.retain(|path| path.is_file() && path.extension().is_some_and(|it| it == "p4"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let compiled =
                compile_file(&path, &options).unwrap_or_else(|errors| panic!("{errors}"));
            let mut stf = path.with_extension("stf");
            if !stf.exists() {
                stf = generated.join(format!("{name}.stf"));
            }
            let text = std::fs::read_to_string(stf).unwrap_or_default();
            (name, Arc::new(compiled.program), netkv_difftest::recorded_in_stf(&text))
        })
        .collect()
}
