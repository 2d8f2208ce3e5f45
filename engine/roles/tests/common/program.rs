//! Programs of `p4/`, unchanged or with one edit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use netkv_ir::Program;
use netkv_p4::{Compiled, Options, compile_file, compile_source};

/// One change of a program's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edit {
    pub find: &'static str,
    pub replace: &'static str,
}

/// The source of a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Source {
    name: &'static str,
    edit: Option<Edit>,
    define: Option<(&'static str, u8)>,
}

/// `p4/NAME/NAME.p4`, or `p4/FOLDER/NAME.p4` for `FOLDER/NAME`, edited if an edit is given. Each is
/// compiled once.
pub fn program(name: &'static str, edit: Option<Edit>) -> Arc<Program> {
    compiled_once(Source { name, edit, define: None })
}

/// These programs; an edit is made in those of them that have its text.
pub fn programs(names: &[&'static str], edit: Option<Edit>) -> Vec<Arc<Program>> {
    let concerns = |name: &str| edit.filter(|edit| flat(name).contains(edit.find));
    let found = names.iter().any(|name| concerns(name).is_some());
    assert!(edit.is_none() || found, "none of {names:?} has the text of {edit:?}");
    names.iter().map(|name| program(name, concerns(name))).collect()
}

/// The program with a macro that has this value.
pub fn program_with(name: &'static str, define: (&'static str, u8)) -> Arc<Program> {
    compiled_once(Source { name, edit: None, define: Some(define) })
}

fn compiled_once(source: Source) -> Arc<Program> {
    static COMPILED: LazyLock<Mutex<HashMap<Source, Arc<Program>>>> = LazyLock::new(Mutex::default);
    if let Some(known) = COMPILED.lock().unwrap().get(&source) {
        return Arc::clone(known);
    }
    let compiled = match source.edit {
        Some(edit) => {
            let text = apply(&flat(source.name), &edit).unwrap_or_else(|why| panic!("{why}"));
            compile_text(source.name, &text)
        }
        None => compile_main_file(source.name, source.define),
    };
    let program = Arc::new(compiled.program);
    COMPILED.lock().unwrap().entry(source).or_insert(program).clone()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4")
}

fn main_file(name: &str) -> PathBuf {
    let path =
        if name.contains('/') { folder().join(name) } else { folder().join(name).join(name) };
    path.with_extension("p4")
}

/// Compiles the main file of a program.
fn compile_main_file(name: &str, define: Option<(&str, u8)>) -> Compiled {
    let defines = define.map(|(name, value)| (name.to_owned(), Some(value.to_string())));
    let options = Options { include_dirs: vec![folder()], defines: defines.into_iter().collect() };
    compile_file(&main_file(name), &options).unwrap_or_else(|found| panic!("{found}"))
}

/// Compiles a text as the main file of the program with this name.
fn compile_text(name: &str, text: &str) -> Compiled {
    compile_source(&main_file(name).to_string_lossy(), text, &Options::default())
        .unwrap_or_else(|found| panic!("{found}"))
}

/// The program and the files that it includes, in one text.
fn flat(name: &str) -> String {
    flat_file(&main_file(name))
}

fn flat_file(path: &Path) -> String {
    let read = std::fs::read_to_string(path);
    let read = read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    for line in read.lines() {
        match line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) {
            Some(included) => text += &flat_file(&folder().join(included)),
            None => text += line,
        }
        text.push('\n');
    }
    text
}

/// The text to which edits apply compiles to the shipped program.
pub fn assert_edits_are_of_what_ships(name: &str) {
    let text = compile_text(name, &flat(name));
    assert_eq!(text.source_hash, compile_main_file(name, None).source_hash);
}

/// The text after the edit.
///
/// # Errors
///
/// A sentence, unless the text occurs exactly once: a mutation that changes nothing, or several
/// places, proves nothing.
pub fn apply(text: &str, edit: &Edit) -> Result<String, String> {
    match text.matches(edit.find).count() {
        1 => Ok(text.replacen(edit.find, edit.replace, 1)),
        0 => Err(format!(
            "The program and its includes have no '{}' any more, so this mutation disables \
             nothing: quote the current text of the protection.",
            edit.find
        )),
        count => Err(format!(
            "The program and its includes have '{}' {count} times, so it is ambiguous what this \
             mutation disables: quote more text.",
            edit.find
        )),
    }
}
