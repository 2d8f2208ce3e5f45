//! Filled switches with netkv's programs.

use std::path::Path;
use std::sync::Arc;

use netkv_bench::{Case, Contender, Executor, subject};
use netkv_dataplane::Output;
use netkv_p4::{Options, compile_file};

/// A small case of a path of a program.
pub fn case(program: &str, path: &str) -> Case {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
    let (directory, stem) = program.split_once('-').unwrap_or((program, program));
    let file = Some(folder.join(format!("{directory}/{stem}.p4")));
    Case { file, include_dirs: vec![folder], entries: 100, ..Case::new(program, path) }
}

/// A filled switch.
pub fn filled(case: &Case) -> Contender {
    let subject = subject(&case.program).unwrap();
    let file = case.file.as_ref().unwrap();
    let options = Options { include_dirs: case.include_dirs.clone(), ..Options::default() };
    let program = compile_file(file, &options).unwrap_or_else(|e| panic!("{e}"));
    let program = Arc::new(program.program);
    Contender::new(Executor::Interpreter, case, subject, &program).unwrap().unwrap()
}

/// A filled switch after all frames of the path, and the sent frames.
pub fn run(case: &Case) -> (Contender, Vec<(u16, Vec<u8>)>) {
    let mut contender = filled(case);
    let traffic = subject(&case.program).unwrap().traffic(case).unwrap();
    let mut out = Output::new();
    contender.process(0, traffic.port, &traffic.frames.slices(), &mut out);
    (contender, out.frames().map(|(port, frame)| (port, frame.to_vec())).collect())
}
