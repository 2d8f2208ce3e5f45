//! For any input text, the front end returns a program or errors, and never crashes.

use std::path::Path;

use netkv_p4::{Options, compile_source};

/// Programs to mutate.
fn sources() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut paths: Vec<_> = ["golden", "p4"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("the folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "p4"))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a program")).collect()
}

/// A small random number generator with a fixed seed: every run has the same mutations.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn compile(text: &str) {
    match compile_source("mutated.p4", text, &Options::default()) {
        Ok(_) => {}
        Err(errors) => {
            assert!(!errors.0.is_empty(), "no program and no error for:\n{text}");
            assert!(!errors.to_string().is_empty());
        }
    }
}

const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    ";",
    ",",
    "0",
    "-1",
    "8w255",
    "1 << 70000",
    "header",
    "struct",
    "apply",
    "exit;",
    "return;",
    "h",
    "m",
    "table",
    "action",
    "if",
    "else",
    "#if",
    "#endif\n",
    "#define X X X\n",
    "@name(\"x\")",
    "[3]",
    "[100:0]",
    "bit<0>",
    "int<1>",
    "bit<99999>",
    "...",
    "{#}",
    "_",
    "default",
    "=",
    "==",
    "\"",
    "/*",
    "error.",
    ".next",
    ".last",
    "++",
    "?",
    ":",
    "this",
    "\u{e4}",
    "\\",
];

#[test]
fn mutated_programs_never_crash_the_front_end() {
    let sources = sources();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..4000 {
        let source = &sources[round % sources.len()];
        let mut text: Vec<char> = source.chars().collect();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            match random.below(5) {
                0 => text.truncate(at),
                1 => drop(text.drain(at..(at + random.below(40)).min(text.len()))),
                2 => {
                    let piece = PIECES[random.below(PIECES.len())];
                    text.splice(at..at, piece.chars());
                }
                3 => {
                    let end = (at + random.below(80)).min(text.len());
                    let copy: Vec<char> = text[at..end].to_vec();
                    let to = random.below(text.len());
                    text.splice(to..to, copy);
                }
                _ => {
                    let other = random.below(text.len().max(1));
                    if at < text.len() && other < text.len() {
                        text.swap(at, other);
                    }
                }
            }
        }
        compile(&text.iter().collect::<String>());
    }
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, close) in
        [("(", ")"), ("{", "}"), ("-", ""), ("!", ""), ("a.", ""), ("a[", "]"), ("a+", "a")]
    {
        let text = format!("const bit<8> x = {}1{};", open.repeat(100_000), close.repeat(100_000));
        compile(&text);
    }
    compile(&format!("control c() {{ apply {{ {} }} }}", "if (true) ".repeat(100_000)));
    compile(&"tuple<".repeat(100_000));
    compile(&format!("#if {}1\n#endif", "(".repeat(100_000)));
}

#[test]
fn exponential_growth_is_an_error() {
    let mut macros = String::from("#define A0 x x\n");
    let mut structs = String::from("struct s0 { bit<8> x; }\n");
    let mut consts = String::from("const int c0 = 3;\n");
    let mut functions = String::from("void f0(inout bit<8> x) { x = x + 1; x = x * x; }\n");
    for i in 1..60 {
        let of = i - 1;
        macros += &format!("#define A{i} A{of} A{of}\n");
        structs += &format!("struct s{i} {{ s{of} a; s{of} b; }}\n");
        consts += &format!("const int c{i} = c{of} * c{of};\n");
        functions += &format!("void f{i}(inout bit<8> x) {{ f{of}(x); f{of}(x); }}\n");
    }
    compile(&format!("{macros} A59"));
    compile(&structs);
    compile(&consts);
    let program = format!(
        "#include <v1model.p4>\n{functions}
        struct headers_t {{ }} struct meta_t {{ bit<8> x; }}
        parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {{ state start {{ transition accept; }} }}
        control V(inout headers_t h, inout meta_t m) {{ apply {{ }} }}
        control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{ apply {{ f59(m.x); }} }}
        control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{ apply {{ }} }}
        control D(packet_out p, in headers_t h) {{ apply {{ }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    );
    let errors = compile_source("large.p4", &program, &Options::default()).unwrap_err();
    assert!(errors.to_string().contains("too large"), "{errors}");
}
