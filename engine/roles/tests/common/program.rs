//! A program as it ships, or with one place edited; that of NetCache unless another is named.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use netkv_ir::Program;
use netkv_p4::{Compiled, Options, compile_source};

/// One change of the program's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    pub find: &'static str,
    pub replace: &'static str,
}

const NETCACHE: &str = "netcache";

pub fn main_file() -> PathBuf {
    main_file_of(NETCACHE)
}

/// `p4/NAME/NAME.p4`.
pub fn main_file_of(name: &str) -> PathBuf {
    folder().join(name).join(name).with_extension("p4")
}

/// Where programs look for what they include.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4")
}

/// How the file of a program is compiled.
pub fn options() -> Options {
    Options { include_dirs: vec![folder()], defines: Vec::new() }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The program and the files that it includes, in one text. (They include nothing themselves.)
pub fn flat() -> String {
    flat_of(NETCACHE)
}

pub fn flat_of(name: &str) -> String {
    let mut text = String::new();
    for line in read(&main_file_of(name)).lines() {
        match line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) {
            Some(included) => text += &read(&folder().join(included)),
            None => text += line,
        }
        text.push('\n');
    }
    text
}

/// The text after the edit.
///
/// # Errors
///
/// A sentence, unless the place is found exactly once: a mutation that changes nothing, or more
/// than it says, proves nothing.
pub fn apply(text: &str, edit: &Edit) -> Result<String, String> {
    match text.matches(edit.find).count() {
        1 => Ok(text.replacen(edit.find, edit.replace, 1)),
        0 => Err(format!(
            "The program and its includes have no '{}' any more, so this mutation takes nothing \
             out: point it to where that protection is now.",
            edit.find
        )),
        count => Err(format!(
            "The program and its includes have '{}' {count} times, so it is not clear what this \
             mutation takes out: quote more of the place.",
            edit.find
        )),
    }
}

pub fn compile(text: &str) -> Compiled {
    compile_as(NETCACHE, text)
}

/// Compiles a text as that of the program with this name.
pub fn compile_as(name: &str, text: &str) -> Compiled {
    let file = main_file_of(name);
    compile_source(&file.to_string_lossy(), text, &Options::default())
        .unwrap_or_else(|found| panic!("{found}"))
}

/// The program that ships.
pub fn shipped() -> Arc<Program> {
    static SHIPPED: OnceLock<Arc<Program>> = OnceLock::new();
    Arc::clone(SHIPPED.get_or_init(|| Arc::new(compile(&flat()).program)))
}

/// The program with one place edited.
pub fn edited(edit: &Edit) -> Arc<Program> {
    let text = apply(&flat(), edit).unwrap_or_else(|why| panic!("{why}"));
    Arc::new(compile(&text).program)
}
