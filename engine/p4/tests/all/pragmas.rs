//! `@pragma NAME BODY` is an annotation up to the end of its line.

use crate::common::{compile, program};
use netkv_p4::{Options, compile_source};

#[test]
fn a_pragma_stands_wherever_an_annotation_may() {
    let globals = "
        @pragma a 1
        const bit<8> one = 1;
        @pragma b
        typedef bit<8> byte_t;
        @pragma c \"x\" (y, z)
        type bit<8> new_t;
        @pragma d
        enum bit<8> kind_t {
            @pragma e
            first = 1,
            @pragma f
            second = 2
        }
        @pragma g
        header extra_t {
            @pragma h
            bit<8> x;
        }
        @pragma i
        struct inner_t { byte_t x; }
        error { Odd }
        @pragma j
        bit<8> twice(@pragma k
                     in bit<8> x) @pragma l
        { return x + x; }
        @pragma m
        parser Sub(packet_in p, @pragma n
                   out headers h) {
            @pragma o
            value_set<bit<8>>(4) values;
            @pragma p
            bit<8> local;
            @pragma q
            state start {
                @pragma r
                { local = 1; }
                transition accept;
            }
        }
        @pragma s
        control Inner(inout metadata m)(@pragma t
                                        bit<8> n) {
            apply @pragma u
            { m.a = n; }
        }";
    let ingress = "
        @pragma a
        counter(4, CounterType.packets) packets;
        @pragma b
        Inner(3) inner;
        @pragma c stage 3
        action set(@pragma d
                   bit<8> v) @pragma e
        { meta.a = v; }
        @pragma f
        table t {
            @pragma g
            key = {
                meta.a: exact @pragma h
                ;
            }
            @pragma i
            actions = {
                @pragma j
                set;
                @pragma defaultonly
                NoAction;
            }
            @pragma k
            const entries = {
                1: set(2) @pragma l
                ;
            }
            @pragma m
            size = 16;
            default_action = NoAction();
        }
        apply {
            @pragma n
            bit<8> x = 1;
            @pragma o
            {
                t.apply();
            }
            @pragma p
            if (x == 1) @pragma q
            { inner.apply(meta); }
            for (@pragma r
                 bit<8> i in 1 .. 2) { x = x + i; }
        }";
    if let Err(found) = compile(globals, ingress) {
        panic!("{found}");
    }
}

#[test]
fn a_pragma_is_the_annotation_of_its_name() {
    let table = |annotation: &str| {
        let body =
            format!("{annotation} table t {{ actions = {{ NoAction; }} }} apply {{ t.apply(); }}");
        compile("", &body).expect("a program").program.tables[0].identity.name.clone()
    };
    assert_eq!(table("@pragma name \".other\"\n"), table("@name(\".other\")"));
    assert_eq!(table("@pragma stage 3\n"), "MyIngress.t");
}

#[test]
fn the_body_of_a_pragma_ends_with_its_line() {
    let compiles = |pragma: &str| {
        let text = program("", &format!("{pragma} action a() {{ }} apply {{ a(); }}"));
        compile_source("test.p4", &text, &Options::default()).map_err(|found| found.to_string())
    };
    let accepted = [
        "@pragma stage 3 // a comment\n",
        "@pragma stage \\\n 3\n",
        "@pragma stage 3\r\n",
        "@pragma stage /* a\n comment */ ",
        "@pragma stage 3 @pragma other 4\n",
        "@pragma pa_solitary ingress hdr.ipv4.ttl\n@pragma stage 3\n@name(\"x\") ",
        "@pragma odd { < ; } @\n",
        "#define STAGE @pragma stage 3\nSTAGE\n",
    ];
    for pragma in accepted {
        if let Err(found) = compiles(pragma) {
            panic!("{pragma:?}: {found}");
        }
    }
    for pragma in ["@pragma\n", "@pragma 3\n", "@pragma a (1\n", "@pragma a )\n", "@pragma a"] {
        let found = compiles(pragma).expect_err(pragma);
        assert!(found.contains("pragma") || found.contains("apply"), "{found}");
    }
    // With a space, this is an annotation called 'pragma', as any other.
    assert!(compile("", "@ pragma action a() { } apply { a(); }").is_ok());
    assert!(compile("", "@pragmatic action a() { } apply { a(); }").is_ok());
}
