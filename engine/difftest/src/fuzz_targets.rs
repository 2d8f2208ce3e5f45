//! The functions behind the fuzz targets in `engine/fuzz`, and the mutation of source texts.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use netkv_dataplane::{Output, Switch};
use netkv_ir::{Program, Value};
use netkv_p4::{Options, compile_source};

use crate::case::{Case, Step};
use crate::compare::{self, Executors};
use crate::rng::Rng;
use crate::{program, source_edits};

/// Programs of `packet_path`, besides generated ones: files in `tests`. They are read at run time,
/// so the build does not need them.
const PROGRAMS: &[&str] = &[
    "golden/arith",
    "golden/cache_read",
    "golden/calls",
    "golden/hashes",
    "golden/parse",
    "golden/registers",
    "golden/replicate",
    "golden/tables",
    "p4/features",
];
/// Number of generated programs of `packet_path`.
const GENERATED_PROGRAMS: u64 = 40;
/// Maximum number of frames of one input.
const MAX_FRAMES: usize = 64;

/// Compiles a text. It may be invalid; then there must be an error message.
///
/// # Panics
///
/// If the front end rejects the text without an error message.
pub fn front_end(text: &str) {
    if let Err(errors) = compile_source("fuzz.p4", text, &Options::default()) {
        assert!(!errors.0.is_empty(), "neither a program nor an error");
        assert!(!errors.to_string().is_empty());
    }
}

/// Words that a mutation inserts.
const WORDS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    ";",
    ",",
    ".",
    "=",
    "++",
    "|+|",
    "&&&",
    "..",
    "_",
    "?",
    ":",
    "@",
    "0",
    "1",
    "-1",
    "8w255",
    "9s3",
    "1 << 70000",
    "0xFFFFFFFFFFFFFFFFFFFF",
    "bit<8>",
    "bit<0>",
    "int<1>",
    "int",
    "bool",
    "varbit<64>",
    "error",
    "tuple<bit<8>>",
    "header",
    "struct",
    "enum",
    "typedef",
    "type",
    "const",
    "parser",
    "control",
    "state",
    "table",
    "action",
    "apply",
    "key",
    "actions",
    "entries",
    "default_action",
    "select",
    "transition",
    "accept",
    "reject",
    "if",
    "else",
    "switch",
    "return",
    "exit",
    "in",
    "out",
    "inout",
    "this",
    "true",
    "default",
    "h",
    "m",
    "s",
    "p",
    ".next",
    ".last",
    ".lastIndex",
    "[1:0]",
    "[0]",
    ".isValid()",
    ".setValid()",
    ".apply()",
    ".hit",
    ".action_run",
    "extract",
    "lookahead<bit<8>>()",
    "#define X X X\n",
    "#if 1\n",
    "#endif\n",
    "#include <core.p4>\n",
    "@name(\"x\")",
    "\"",
    "/*",
    "*/",
    "//",
    "\\",
    "\u{e4}",
    "register<bit<8>>(4) r;",
    "value_set<bit<8>>(4) v;",
    "{#}",
    "...",
];

/// The nearest character boundary at or before a position of a text.
fn char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Mutates a text at statements and words.
pub fn mutate(text: &str, seed: u64) -> String {
    let mut rng = Rng::new(seed, "mutate");
    let mut mutated = text.to_owned();
    for _ in 0..=rng.below(3) {
        mutated = mutate_once(&mutated, &mut rng);
    }
    mutated
}

fn mutate_once(text: &str, rng: &mut Rng) -> String {
    let place = |rng: &mut Rng| char_boundary(text, rng.below(text.len() + 1));
    let at = place(rng);
    let (head, tail) = text.split_at(at);
    match rng.below(10) {
        0 => program::generate(rng.bits() % 4096),
        1..4 => {
            // Removes a part of the program, or replaces the enclosing part by it.
            let edits = source_edits::edits(text);
            rng.pick_any(&edits).map_or_else(String::new, |edit| edit.apply(text))
        }
        4..7 => format!("{head} {} {tail}", rng.pick(WORDS)),
        7 => {
            // Replaces a word by another one of the text.
            let words: Vec<&str> = text
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|w| !w.is_empty())
                .collect();
            let (Some(from), Some(to)) = (rng.pick_any(&words), rng.pick_any(&words)) else {
                return text.to_owned();
            };
            match tail.find(*from) {
                Some(found) => {
                    let end = found + from.len();
                    format!("{head}{}{to}{}", &tail[..found], &tail[end..])
                }
                None => text.to_owned(),
            }
        }
        8 => {
            // Duplicates a range at another position.
            let end = char_boundary(text, (at + rng.below(120)).min(text.len()));
            let to = place(rng);
            format!("{}{}{}", &text[..to], &text[at..end], &text[to..])
        }
        _ => {
            let end = char_boundary(text, (at + rng.below(60)).min(text.len()));
            format!("{head}{}", &text[end..])
        }
    }
}

/// A program with its two switches. It is loaded once, since an input consists of packets only.
struct Loaded {
    program: Arc<Program>,
    switches: Option<(Switch, Switch)>,
}

thread_local! {
    static LOADED: RefCell<Vec<Option<Loaded>>> = const { RefCell::new(Vec::new()) };
}

fn load(number: usize) -> Loaded {
    let text = match PROGRAMS.get(number) {
        Some(name) => {
            let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
            let path = tests.join(name).with_extension("p4");
            std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        }
        None => program::generate((number - PROGRAMS.len()) as u64),
    };
    let compiled = compile_source("fuzz.p4", &text, &Options::default());
    let program = Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors}")).program);
    // State with entries that packets hit, the same in every run.
    let case = Case::new(program.clone(), number as u64, 1, &[]);
    let mut switches = compare::load_switches(&case, &Executors::interpreter_and_compiled()).ok();
    if let Some((reference, tested)) = &mut switches {
        for step in &case.steps {
            if let Step::Control(request) = step {
                let _ = (request.apply(reference), request.apply(tested));
            }
        }
    }
    Loaded { program, switches }
}

/// Sends packets through both executors. The first byte of the input selects the program. Each
/// frame follows two bytes, its length and port.
///
/// # Panics
///
/// If the results differ.
pub fn packet_path(data: &[u8]) {
    let Some((first, mut rest)) = data.split_first() else { return };
    let number = *first as usize % (PROGRAMS.len() + GENERATED_PROGRAMS as usize);
    LOADED.with_borrow_mut(|all| {
        if all.len() <= number {
            all.resize_with(number + 1, || None);
        }
        let loaded = all[number].get_or_insert_with(|| load(number));
        let Some((reference, tested)) = &mut loaded.switches else { return };
        for register in &loaded.program.registers {
            // State of earlier inputs would make the result of an input depend on them.
            let zero = Value::new(register.width, 0);
            for switch in [&mut *reference, &mut *tested] {
                let _ = switch.write_register(register.identity.id, None, &zero);
            }
        }
        for now_ns in 0..MAX_FRAMES as u64 {
            let [length, port, more @ ..] = rest else { break };
            let (frame, after) = more.split_at(more.len().min(*length as usize));
            rest = after;
            let (mut a, mut b) = (Output::new(), Output::new());
            reference.process(now_ns * 1_000, u16::from(*port), frame, &mut a);
            tested.process(now_ns * 1_000, u16::from(*port), frame, &mut b);
            let name = &loaded.program.name;
            assert!(a.frames().eq(b.frames()), "program {number} ({name}): other frames leave");
            assert_eq!(reference.take_digests(), tested.take_digests(), "program {number}");
            assert_eq!(reference.statistics(), tested.statistics(), "program {number}");
        }
    });
}
