use std::path::Path;
fn main() {
    for arg in std::env::args().skip(1) {
        match netkv_p4::compile_file(Path::new(&arg), &netkv_p4::Options::default()) {
            Ok(c) => { println!("{arg}: ok state={} blocks={} ops={}", c.program.state_words, c.program.ingress.blocks.len(), c.program.ingress.blocks.iter().map(|b| b.ops.len()).sum::<usize>());
                for w in &c.warnings { println!("{w}"); }
                if std::env::var("DUMP").is_ok() { println!("{:#?}", c.program.ingress); }
            }
            Err(e) => println!("{arg}: FAILED\n{e}"),
        }
    }
}
