//! Every rule of cpp that p4c's preprocessor follows, with its section of the C standard (C23).
//!
//! The expected texts are what `cpp -undef -nostdinc -x assembler-with-cpp` of GCC 12 writes.

use super::{Output, run};
use crate::diagnostics::{Diagnostic, Reporter, Severity};
use crate::sources::Includes;
use crate::{Options, compile_source};

fn preprocess(text: &str) -> (Output, Vec<Diagnostic>) {
    let mut reporter = Reporter::default();
    let (out, _) = run("main.p4", text, &Options::default(), Includes::Any, &mut reporter);
    (out, reporter.into_diagnostics())
}

/// The text with one space in place of each run of white space, and messages in their order.
fn shown(text: &str) -> String {
    let (out, found) = preprocess(text);
    let text: String = out.text.iter().collect();
    let mut parts: Vec<String> = text.split_whitespace().map(str::to_string).collect();
    for found in found {
        let kind = if found.severity == Severity::Error { "error" } else { "warning" };
        parts.push(format!("[{kind} {}:{}: {}]", found.line, found.column, found.message));
    }
    parts.join(" ")
}

/// Asserts for each row (rule, source, expected text) what the preprocessor makes of the source.
fn check(rows: &[(&str, &str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(_, source, expected)| shown(source) != *expected)
        .map(|(rule, source, expected)| {
            format!("{rule}\n{source}\n  expected {expected}\n  found    {}", shown(source))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn lines_are_joined_before_tokens() {
    check(&[
        ("5.1.1.2 2: in a name", "ab\\\ncd", "abcd"),
        ("in a number", "8w\\\n255", "8w255"),
        ("in an operator", "a <\\\n< b", "a << b"),
        ("in a string", "\"ab\\\ncd\"", "\"abcd\""),
        ("in a comment of one line", "a // b \\\nc\nd", "a d"),
        ("in a directive's name", "#def\\\nine A 3\nA", "3"),
        ("in a macro's name", "#define LO\\\nNG 3\nLONG", "3"),
        ("in a macro's body", "#define A 1 + \\\n 2\nA", "1 + 2"),
        ("at the start of a comment", "a /\\\n* b *\\\n/ c", "a c"),
        ("with \\r\\n", "ab\\\r\ncd\r\n#define A 3\r\nA", "abcd 3"),
        ("twice", "a\\\n\\\nb", "ab"),
        ("with spaces after it, as GCC", "a\\  \t\nb", "ab"),
        ("at the end of the file", "ab\\", "ab"),
        ("at the end of the last line", "ab\\\n", "ab"),
        ("no backslash before the end of the line", "a \\b", "a \\b"),
    ]);
}

#[test]
fn a_byte_order_mark_is_ignored_at_the_start_only() {
    check(&[
        ("before a directive", "\u{feff}#define A 3\nA", "3"),
        ("before a name", "\u{feff}abc", "abc"),
        ("elsewhere", "a \u{feff}b", "a \u{feff}b"),
    ]);
}

#[test]
fn comments_are_one_space() {
    check(&[
        ("5.1.1.2 3", "a/**/b", "a b"),
        ("over lines, in a directive", "#define A /* \n */ 3\nA", "3"),
        ("before a directive", "/* a */ #define A 3\nA", "3"),
        ("no comment in a string", "\"/* a */ // b\"", "\"/* a */ // b\""),
        ("no comment in a comment", "/* // */ a", "a"),
        ("after a directive", "#define A 3 // three\n#if A /* x */ == 3 // y\nA\n#endif // A", "3"),
        ("without end", "a /* b", "a [error 1:3: This comment has no end; '*/' is missing.]"),
    ]);
}

#[test]
fn preprocessing_numbers_are_one_token() {
    check(&[
        ("6.4.8: with letters", "#define FF x\n0xFF 8w0xFF FF", "0xFF 8w0xFF x"),
        ("with dots", "#define A 3\n1..A 1 .. A", "1..A 1 .. 3"),
        ("with a sign after an exponent", "#define A 3\n0x1E+A 0x1F+A", "0x1E+A 0x1F+3"),
    ]);
}

#[test]
fn object_like_macros_are_replaced() {
    check(&[
        ("6.10.4 9", "#define A 3\nA A", "3 3"),
        ("empty", "#define A\nx A y", "x y"),
        ("without value in #if", "#define A\n#ifdef A\nyes\n#endif", "yes"),
        ("not in strings", "#define A 3\n\"A\" 'A'", "\"A\" 'A'"),
        ("later definitions", "#define A B\n#define B 3\nA", "3"),
        ("6.10.4.5 #undef", "#define A 3\n#undef A\nA", "A"),
        ("#undef of what is not defined", "#undef A\nA", "A"),
        ("6.10.4 2: the same definition again", "#define A 1 + 2\n#define A 1  +  2\nA", "1 + 2"),
        (
            "another definition",
            "#define A 1\n#define A 2\nA",
            "2 [warning 2:9: Macro 'A' is defined again, with another body.]",
        ),
        ("no space after the name", "#define A+1\nA", "+1"),
    ]);
}

#[test]
fn function_like_macros_take_arguments() {
    check(&[
        ("6.10.4 10", "#define F(a, b) b a\nF(1, 2)", "2 1"),
        ("space before the parenthesis", "#define F(a) <a>\nF (1)", "<1>"),
        ("over lines", "#define F(a, b) b a\nF\n(\n1\n,\n2\n) 3", "2 1 3"),
        ("no call without parenthesis", "#define F(a) <a>\nF; F", "F; F"),
        ("no parameters", "#define F() 3\nF() F( )", "3 3"),
        ("empty arguments", "#define F(a, b) [a|b]\nF(,) F(1,) F(,2)", "[|] [1|] [|2]"),
        ("one empty argument", "#define F(a) [a]\nF()", "[]"),
        ("commas in parentheses", "#define F(a, b) b a\nF((1,2), 3)", "3 (1,2)"),
        ("commas in other brackets separate", "#define F(a, b) b-a\nF({1,2})", "2}-{1"),
        ("object-like: a space before '('", "#define F (a)\nF(1)", "(a)(1)"),
        (
            "6.10.4 4: too few",
            "#define F(a, b) b a\nF(1) x",
            "x [error 2:1: Macro 'F' takes 2 arguments, but 1 is given.]",
        ),
        (
            "too many",
            "#define F(a) a\nF(1, 2) x",
            "x [error 2:1: Macro 'F' takes 1 argument, but 2 are given.]",
        ),
        (
            "none taken",
            "#define F() a\nF(1)",
            "[error 2:1: Macro 'F' takes 0 arguments, but 1 is given.]",
        ),
        ("no end", "#define F(a) a\nF(1", "[error 2:1: The call of macro 'F' has no closing ')'.]"),
        ("directives in arguments", "#define F(a) a\nF(1\n#if 0\n2\n#else\n3\n#endif\n)", "1 3"),
        ("definitions in arguments", "#define F(a) a\nF(\n#define Z 2\nZ)", "2"),
        ("a directive between name and '('", "#define F(a) <a>\nF\n#define X\n(1)", "F (1)"),
    ]);
}

#[test]
fn arguments_are_expanded_before_the_body() {
    check(&[
        ("6.10.4.1", "#define A 1\n#define F(a) [a]\nF(A)", "[1]"),
        ("calls in arguments", "#define F(a) [a]\nF(F(1))", "[[1]]"),
        (
            "an expanded argument is one",
            "#define P 1, 2\n#define F(a) [a]\n#define G(a) F(a)\nF(P)",
            "[1, 2]",
        ),
        (
            "commas count after rescanning",
            "#define P 1, 2\n#define F(a, b) b a\n#define G(a) F(a)\nG(P)",
            "2 1",
        ),
    ]);
}

#[test]
fn hash_makes_a_string_of_an_argument() {
    check(&[
        ("6.10.4.2", "#define S(a) #a\nS(x + y)", "\"x + y\""),
        ("white space", "#define S(a) # a\nS(  x   +\ny )", "\"x + y\""),
        ("not expanded", "#define A 1\n#define S(a) #a\nS(A)", "\"A\""),
        (
            "expanded by way of another",
            "#define A 1\n#define S(a) #a\n#define T(a) S(a)\nT(A)",
            "\"1\"",
        ),
        ("strings", "#define S(a) #a\nS(\"a\\n\" 'b')", "\"\\\"a\\\\n\\\" 'b'\""),
        ("empty", "#define S(a) #a\nS()", "\"\""),
        ("no parameter: text", "#define S(a) {#}\nS(1)", "{#}"),
        ("object-like: text", "#define S # x\na S", "a # x"),
    ]);
}

#[test]
fn double_hash_joins_tokens() {
    check(&[
        ("6.10.4.3", "#define C(a, b) a##b\nC(x, y) C(x, 1) C(1, 2)", "xy x1 12"),
        ("P4 numbers", "#define C(a, b) a##b\nC(8w, 255) C(8w0x, FF) C(0x, F)", "8w255 8w0xFF 0xF"),
        ("operators", "#define C(a, b) a##b\nC(<, <) C(+, =)", "<< +="),
        ("operators of P4 only", "#define C(a, b) a##b\nC(|, +|)", "|+|"),
        ("not expanded", "#define A 1\n#define C(a, b) a ## b\nC(A, A)", "AA"),
        ("the result is expanded", "#define AB 3\n#define C(a, b) a ## b\nC(A, B)", "3"),
        ("empty arguments", "#define C(a, b) [a ## b]\nC(, x) C(x, ) C(,)", "[x] [x] []"),
        ("three", "#define C(a, b, c) a##b##c\nC(1, , 3) C(x, y, z)", "13 xyz"),
        ("object-like", "#define C a ## b\nC", "ab"),
        ("only the first and last token", "#define C(a, b) a##b\nC(1 2, 3 4)", "1 23 4"),
        (
            "no operator from an argument",
            "#define H # ## #\n#define S(a) # a\n#define T(a) S(a)\n#define J(c, d) T(c H d)\nJ(x, y)",
            "\"x ## y\"",
        ),
        (
            "6.10.4.3 1: at an end",
            "#define C ## x\n#define D x ##",
            "[error 1:11: The body of macro 'C' starts or ends with '##'.] \
             [error 2:13: The body of macro 'D' starts or ends with '##'.]",
        ),
    ]);
}

#[test]
fn a_macro_is_not_expanded_in_itself() {
    check(&[
        ("6.10.4.4 2", "#define A A + 1\nA", "A + 1"),
        ("by way of another", "#define A B\n#define B A\nA B", "A B"),
        ("function-like", "#define F(a) F(a + 1)\nF(1)", "F(1 + 1)"),
        ("in an argument", "#define F(a) [a]\nF(F)(1)", "[F](1)"),
        (
            "rescanned with what follows",
            "#define F(a) a * G\n#define G(a) F(a)\nF(2)(9)",
            "2 * 9 * G",
        ),
        ("a name from the end of an expansion", "#define G F\n#define F(a) <a>\nG(1)", "<1>"),
        ("not painted by its own end", "#define F(a) a F\nF(1)(2)", "1 F(2)"),
        ("open call", "#define F(a) <a>\n#define G F(\nG 1)", "<1>"),
        (
            "the standard's example",
            "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n\
             #define z z[0]\n#define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n\
             f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);\ng(x+(3,4)-w) | h 5) & m\n(f)^m(m);",
            "f(2 * (y+1)) + f(2 * (f(2 * (z[0])))) % f(2 * (0)) + t(1); \
             f(2 * (2 +(3,4)-0,1)) | f(2 * (~ 5)) & f(2 * (0,1))^m(0,1);",
        ),
        (
            "deferred calls",
            "#define NOTHING\n#define D(a) a NOTHING\n#define O(a) <a>\n#define E(a) a\n\
             D(O)(1) E(D(O)(1))",
            "O (1) <1>",
        ),
    ]);
}

#[test]
fn variadic_macros_take_the_remaining_arguments() {
    check(&[
        ("6.10.4 12", "#define V(...) [__VA_ARGS__]\nV() V(1) V(1, (2,3))", "[] [1] [1, (2,3)]"),
        ("after others", "#define V(a, ...) a[__VA_ARGS__]\nV(1) V(1,) V(1,2,3)", "1[] 1[] 1[2,3]"),
        ("call", "#define CALL(f, ...) f(__VA_ARGS__)\nCALL(set, 7) CALL(go)", "set(7) go()"),
        ("GNU: named", "#define V(a, b...) a[b]\nV(1) V(1, 2, 3)", "1[] 1[2, 3]"),
        ("as a string", "#define V(a, ...) #__VA_ARGS__\nV(1, x,  y) V(1)", "\"x, y\" \"\""),
        ("joined", "#define V(...) a ## __VA_ARGS__\nV(b, c) V()", "ab, c a"),
        (
            "GNU: , ##",
            "#define V(a, ...) f(a, ## __VA_ARGS__)\nV(1) V(1,) V(1,2)",
            "f(1) f(1,) f(1,2)",
        ),
        ("GNU: , ## with a name", "#define V(a, b...) f(a, ## b)\nV(1) V(1,2,3)", "f(1) f(1,2,3)"),
        (
            "GNU: , ## with nothing else",
            "#define V(...) f(x, ## __VA_ARGS__)\nV() V(1)",
            "f(x) f(x,1)",
        ),
        (
            "6.10.4.2: __VA_OPT__",
            "#define V(a, ...) f(a __VA_OPT__(,) __VA_ARGS__)\nV(1) V(1,) V(1,2)",
            "f(1 ) f(1 ) f(1 , 2)",
        ),
        (
            "__VA_OPT__ after expansion",
            "#define NOTHING\n#define V(...) f(0 __VA_OPT__(,) __VA_ARGS__)\nV(NOTHING)",
            "f(0 )",
        ),
        (
            "__VA_OPT__ with parameters, # and ##",
            "#define V(a, ...) a##__VA_OPT__(b##a) #__VA_OPT__(c a)\nV(1, 2) V(1)",
            "1b1 \"c 1\" 1 \"\"",
        ),
        ("__VA_OPT__ beside a name", "#define V(...) __VA_OPT__(a)b\nV(1) V()", "a b b"),
        (
            "a parameter is missing",
            "#define V(a, b, ...) a\nV(1)",
            "[error 2:1: Macro 'V' takes at least 2 arguments, but 1 is given.]",
        ),
    ]);
}

#[test]
fn wrong_definitions_are_errors() {
    check(&[
        ("no name", "#define", "[error 1:2: Expected the name of a macro after '#define'.]"),
        (
            "a number",
            "#define 3 x",
            "[error 1:9: Expected the name of a macro after '#define', not '3'. Names are \
             identifiers.]",
        ),
        (
            "6.10.9 1: defined",
            "#define defined x",
            "[error 1:9: 'defined' is reserved and cannot be the name of a macro.]",
        ),
        (
            "6.10.4 5: __VA_ARGS__",
            "#define __VA_ARGS__ 3",
            "[error 1:9: '__VA_ARGS__' is reserved and cannot be the name of a macro.]",
        ),
        (
            "two parameters of one name",
            "#define F(a, a) x",
            "[error 1:14: In the definition of macro 'F': there are two parameters 'a'.]",
        ),
        (
            "no comma",
            "#define F(a b) x",
            "[error 1:13: In the definition of macro 'F': expected ',' or ')' after a parameter, \
             not 'b'.]",
        ),
        (
            "no parameter after a comma",
            "#define F(a,) x",
            "[error 1:13: In the definition of macro 'F': expected the name of a parameter, not \
             ')'.]",
        ),
        (
            "no end",
            "#define F(a",
            "[error 1:10: In the definition of macro 'F': expected ',' or ')' after a parameter, \
             not the end of the line.]",
        ),
        (
            "a parameter after ...",
            "#define F(..., a) x",
            "[error 1:14: In the definition of macro 'F': expected ')' after '...', not ','.]",
        ),
    ]);
}

#[test]
fn conditions_are_integer_expressions_of_c() {
    let holds = [
        "1",
        "0 || 1",
        "!0",
        "~0 == -1",
        "-1 < 0",
        "+1 == 1",
        "7 % 3 == 1",
        "-7 / 2 == -3",
        "1 << 4 == 16",
        "-1 >> 1 == -1",
        "(1 | 2) == 3",
        "(3 & 6) == 2",
        "(3 ^ 6) == 5",
        "1 + 2 * 3 == 7",
        "2 > 1 && 1 < 2 && 1 <= 1 && 1 >= 1 && 1 != 2",
        "1 ? 2 : 0",
        "0 ? 0 : 1 ? 1 : 0",
        "0x10 == 16",
        "010 == 8",
        "0b101 == 5",
        "0XfF == 255",
        "10u == 10 && 10UL == 10 && 10ll == 10 && 10LLU == 10",
        "-1 > 0u",
        "0 - 1u > 0",
        "18446744073709551615 > 0",
        "9223372036854775807 > 0",
        "1 || 1/0",
        "!(0 && 1/0)",
        "1 ? 1 : 1/0",
        "(2, 1)",
        "'a' == 97",
        "'\\n' == 10",
        "'\\0' == 0",
        "'\\x41' == 65",
        "'\\101' == 65",
        "'ab' == 24930",
        "'\\'' == 39",
        "'\\377' < 0",
        "L'a' == 97",
        "L'\\377' == 255",
        "L'\u{e9}' == 233",
        "L'ab' == 98",
        "foo == 0",
        "!foo",
        "defined A",
        "defined(A)",
        "!defined B && !defined(B)",
        "A",
        "F(2) == 3",
        "INDIRECT",
        "defined __LINE__ && defined __FILE__ && defined __has_include",
        "__LINE__ == 4",
        "__has_include(<core.p4>)",
        "__has_include(\"v1model.p4\")",
        "!__has_include(<none.p4>)",
        "__has_include(CORE)",
        "!__has_attribute(unused)",
        "defined __TARGET_BMV2__",
    ];
    for condition in holds {
        let before =
            "#define A 1\n#define F(a) (a + 1)\n#define INDIRECT defined(A) && !defined(B)";
        let source = format!("{before}\n#if {condition}\nyes\n#endif\n#define CORE <core.p4>\n");
        let source = match condition.contains("CORE") {
            true => format!("#define CORE <core.p4>\n{source}"),
            false => source,
        };
        assert_eq!(shown(&source), "yes", "{condition}");
    }
}

#[test]
fn wrong_conditions_are_errors() {
    let integer = "is not an integer of C, as conditions have: 10, 012, 0x0A, 0b1010, 10UL.";
    let cases = [
        ("#if", "[error 1:2: Expected a condition after '#if'.]".to_string()),
        ("#if 1 +", "[error 1:7: Expected a value at the end of this condition.]".into()),
        (
            "#if 1 2",
            "[error 1:7: Expected an operator or the end of the condition, not '2'.]".into(),
        ),
        (
            "#if 1 = 1",
            "[error 1:7: Expected an operator or the end of the condition, not '='.]".into(),
        ),
        ("#if (1", "[error 1:6: Expected ')' in this condition.]".into()),
        ("#if 1 ? 2", "[error 1:9: Expected ':' in this condition.]".into()),
        ("#if \"a\"", "[error 1:5: Expected a value in this condition, not string \"a\".]".into()),
        ("#if 1 / 0", "[error 1:7: This condition divides by zero.]".into()),
        ("#if 1.5", format!("[error 1:5: '1.5' {integer}]")),
        ("#if 8w1", format!("[error 1:5: '8w1' {integer}]")),
        ("#if 09", format!("[error 1:5: '09' {integer}]")),
        (
            "#if defined",
            "[error 1:5: Expected the name of a macro after 'defined': defined(NAME).]".into(),
        ),
        ("#if defined(A", "[error 1:13: Expected ')' after 'defined(A'.]".into()),
        (
            "#if __has_include(x)",
            "[error 1:5: Expected <file> or \"file\" in '__has_include'.]".into(),
        ),
        (
            "#if 99999999999999999999",
            "[error 1:5: '99999999999999999999' does not fit in 64 bits.]".into(),
        ),
        (
            "#if true",
            "[warning 1:5: 'true' is not a macro, so its value is 0 here, as in p4c. Write 1.]"
                .into(),
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(shown(&format!("{source}\n#endif\n")), expected, "{source}");
    }
}

#[test]
fn conditionals_choose_one_branch() {
    check(&[
        ("6.10.2", "#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif\ne", "b e"),
        ("nested", "#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c"),
        ("#ifdef", "#define A\n#ifdef A\na\n#else\nb\n#endif", "a"),
        ("#ifndef", "#ifndef A\na\n#else\nb\n#endif", "a"),
        ("#elifdef", "#define B\n#ifdef A\na\n#elifdef B\nb\n#endif", "b"),
        ("#elifndef", "#ifdef A\na\n#elifndef B\nb\n#endif", "b"),
        ("6.10.2 13: skipped text", "#if 0\n#bogus\n#error a\n\" ' #if (\n#endif\nb", "b"),
        ("conditions that are not evaluated", "#if 1\na\n#elif 1/0\n#endif", "a"),
        ("skipped conditions", "#if 0\n#if (\n#elif /\n#endif\n#endif\nb", "b"),
        ("null directive", "#\na\n # \nb", "a b"),
        ("space around the #", "  #  define A 3\nA", "3"),
        ("no directive inside a line", "a # define A", "a # define A"),
        ("no directive from a macro", "#define H #\nH define A 3\nA", "# define A 3 A"),
        ("#endif alone", "#endif", "[error 1:2: '#endif' without '#if' before it.]"),
        ("#else alone", "#else", "[error 1:2: '#else' without '#if' before it.]"),
        (
            "#elif after #else",
            "#if 1\n#else\n#elif 1\n#endif",
            "[error 3:2: '#elif' after '#else'.]",
        ),
        ("no #endif", "a\n#if 1\nb", "a b [error 2:2: This conditional has no '#endif'.]"),
        ("no name", "#ifdef\n#endif", "[error 1:2: Expected the name of a macro after '#ifdef'.]"),
        (
            "text after the name",
            "#define A\n#ifdef A B\na\n#endif",
            "a [warning 2:10: The text from 'B' on at the end of '#ifdef' is ignored.]",
        ),
    ]);
}

#[test]
fn other_directives_and_macros_of_the_preprocessor() {
    check(&[
        ("6.10.6 #error", "#error it's  \"bad\"", "[error 1:2: #error it's \"bad\"]"),
        ("#warning", "#warning old\na", "a [warning 1:2: #warning old]"),
        ("6.10.7 #pragma", "#pragma foo bar\na", "a"),
        (
            "GCC: push_macro",
            "#define A 1\n#pragma push_macro(\"A\")\n#undef A\n#define A 2\nA\n#pragma pop_macro(\"A\")\nA",
            "2 1",
        ),
        ("#ident", "#ident \"x\"\na", "a"),
        (
            "unknown",
            "#incude <a>",
            "[error 1:2: 'incude' is not a preprocessor directive. Did you mean 'include'?]",
        ),
        (
            "a comment of p4c",
            "#TODO: more\na",
            "a [warning 1:2: 'TODO' is not a preprocessor directive. The line is ignored.]",
        ),
        (
            "6.10.5 #line",
            "#line 20 \"other.p4\"\n__LINE__ __FILE__\n__LINE__",
            "20 \"other.p4\" 21",
        ),
        ("#line of a macro", "#define N 33\n#line N\n__LINE__ __FILE__", "33 \"main.p4\""),
        ("line marker", "# 7 \"x.p4\" 1\n__LINE__ __FILE__", "7 \"x.p4\""),
        (
            "#line without a number",
            "#line x",
            "[error 1:7: Expected a line number from 1 to 1073741824.]",
        ),
        (
            "#line with a name that is no string",
            "#line 3 4",
            "[error 1:9: Expected the name of a file, not '4'.]",
        ),
        ("__LINE__ of the use", "#define L __LINE__\n#define F(a) a\n\nL F(\nL)", "4 5"),
        ("__LINE__ in a joined line", "a \\\n__LINE__", "a 2"),
        ("__COUNTER__", "__COUNTER__ __COUNTER__ __COUNTER__", "0 1 2"),
        ("__INCLUDE_LEVEL__, __BASE_FILE__", "__INCLUDE_LEVEL__ __BASE_FILE__", "0 \"main.p4\""),
        ("dates do not depend on the time", "__DATE__ __TIME__", "\"??? ?? ????\" \"??:??:??\""),
        ("#undef of one", "#undef __LINE__\n__LINE__", "__LINE__"),
        (
            "empty #include",
            "#include",
            "[error 1:2: Expected <file> or \"file\" after '#include'.]",
        ),
        (
            "#include <>",
            "#include <>",
            "[error 1:2: Expected <file> or \"file\" after '#include'.]",
        ),
    ]);
}

#[test]
fn tokens_join_where_p4c_joins_them() {
    check(&[
        ("operators of C stay apart", "#define P +\nP+ +P", "+ + + +"),
        ("operators of P4 join", "#define P +\n|P|", "|+|"),
        ("around an empty macro", "#define E\n|E+| &&E&", "|+| &&&"),
        ("names and numbers stay apart", "#define E\n#define A x\nAE A(y) A 1", "AE x(y) x 1"),
        ("digraphs are not read", "<: :> <% %>", "<: :> <% %>"),
    ]);
}

/// p4c's lexer lets a string go on in the next lines, with all of its white space.
#[test]
fn strings_may_span_lines() {
    let (out, found) = preprocess("@a(\"x\n  // y\n#if 0\") z\n#if 0\n\"\n#endif\n");
    assert!(found.is_empty(), "{found:?}");
    let text: String = out.text.iter().collect();
    assert_eq!(text, "\n@a(\"x\n  // y\n#if 0\") z");
}

#[test]
fn expansion_without_end_is_an_error() {
    let mut text = String::from("#define A0 x x\n");
    for i in 1..40 {
        text.push_str(&format!("#define A{i} A{} A{}\n", i - 1, i - 1));
    }
    let limit = "Macros expand to more than 2000000 tokens.";
    assert!(shown(&(text + "A39\n")).contains(limit));
    let mut text = String::from("#define S(a) #a\n#define T(a) S(a)\n");
    text.push_str(&format!("{}\"\"{}\n", "T(".repeat(40), ")".repeat(40)));
    assert!(shown(&text).contains("'#' and '##' make more than 16 MiB of text."));
    let text = format!("#define F(a) a\n{}1{}\n", "F(".repeat(2000), ")".repeat(2000));
    assert!(shown(&text).contains("Macros are nested too deeply."));
}

/// Line and column of the first error.
fn place(text: &str) -> (u32, u32, String) {
    let found = compile_source("main.p4", text, &Options::default()).expect_err("a wrong program");
    (found.0[0].line, found.0[0].column, found.0[0].message.clone())
}

#[test]
fn errors_are_where_the_program_has_them() {
    let cases = [
        ("after a joined line", "const bit<8> a \\\n  = b;", 2, 5),
        ("a name that is joined", "const bit<8> a = b\\\nc;", 1, 18),
        ("after a multi-line comment", "/* a\n b */ const bit<8> a = b;", 2, 24),
        ("use of a macro", "#define V b\n\nconst bit<8> a = V;", 3, 18),
        ("argument of a macro", "#define F(x) x\nconst bit<8> a = F(\n  b);", 3, 3),
        ("body of a macro", "#define F(x) x + b\nconst bit<8> a = F(\n  1);", 2, 18),
        ("argument in a string's neighbour", "#define F(x) @a(#x) const bit<8> c = x;\nF(b)", 2, 3),
        ("with \\r\\n", "const bit<8> a = 1;\r\nconst bit<8> c = b;\r\n", 2, 18),
        ("after a byte order mark", "\u{feff}const bit<8> a = b;", 1, 18),
        ("after a tab", "\tconst bit<8> a = b;", 1, 19),
    ];
    for (case, text, line, column) in cases {
        let (found_line, found_column, message) = place(text);
        assert_eq!((found_line, found_column), (line, column), "{case}: {message}");
    }
}

/// The work at a marker is that of the lines up to the next one: with the whole rest of the file,
/// it would not end within an hour.
#[test]
fn many_line_markers_take_no_longer_than_their_text() {
    let markers = 200_000;
    let text = "# 7 \"a.p4\"\n".repeat(markers) + "\n#line 20 \"b.p4\"\n\nconst bit<8> a = b;\n";
    let found = compile_source("main.p4", &text, &Options::default()).expect_err("a wrong program");
    assert_eq!((&*found.0[0].file, found.0[0].line, found.0[0].column), ("b.p4", 21, 18));
    assert_eq!(found.0[0].source_line, "const bit<8> a = b;");
}

#[test]
fn a_long_name_does_not_make_a_long_message() {
    let (_, _, message) = place(&format!("const bit<8> a = {};", "b".repeat(1_000_000)));
    assert!(message.len() < 2000, "{} bytes", message.len());
}

#[test]
fn a_text_from_elsewhere_includes_no_file_outside() {
    let directory = std::env::temp_dir().join(format!("netkv-includes-{}", std::process::id()));
    std::fs::create_dir_all(directory.join("inner/next")).expect("a directory");
    let write = |name: &str, text: &str| {
        std::fs::write(directory.join(name), text).expect("a file that can be written");
    };
    write("outside.p4", "const bit<8> a = secret;\n");
    write("inner/inside.p4", "#pragma once\n#include_next <inside.p4>\nconst bit<8> b = 1;\n");
    write("inner/next/inside.p4", "const bit<8> c = 1;\n");
    let include_dirs = vec![directory.join("inner"), directory.join("inner/next")];
    let options = Options { include_dirs, defines: Vec::new() };
    let errors = |text: &str| {
        let found = compile_source("x.p4", text, &options).expect_err("no main");
        found.0.iter().map(|found| found.message.clone()).collect::<Vec<_>>().join(" ")
    };
    let absolute = directory.join("outside.p4").display().to_string();
    for path in ["../outside.p4", "./../outside.p4", "next/../../outside.p4", &absolute] {
        for form in ["include", "inc\\\nlude", "import", "include_next"] {
            let found = errors(&format!("#{form} \"{path}\"\n"));
            assert!(found.contains("cannot be included"), "{form} {path}: {found}");
            assert!(!found.contains("secret"), "{found}");
        }
        let asked = format!("#if __has_include(\"{path}\")\n#error it exists\n#endif\n");
        assert!(!errors(&asked).contains("it exists"), "{path}");
    }
    let twice = "#include <inside.p4>\n#include \"inside.p4\"\n#import <next/inside.p4>\n";
    let found = errors(twice);
    // The second #include of the file is nothing; the #import is another path to its neighbour.
    assert!(found.contains("'c' is already") || found.contains("c'"), "{found}");
    assert!(!found.contains("'b'"), "{found}");
    std::fs::remove_dir_all(&directory).expect("removed");
}

#[test]
fn comments_may_have_other_encodings() {
    let path = std::env::temp_dir().join(format!("netkv-latin1-{}.p4", std::process::id()));
    std::fs::write(&path, b"// gr\xfc\xdfe\nconst bit<8> a = b;\n").expect("a file");
    let found = crate::compile_file(&path, &Options::default()).expect_err("b is not declared");
    assert_eq!(found.0[0].line, 2, "{found}");
    assert!(found.0[0].message.contains("'b' is not declared"), "{found}");
    std::fs::remove_file(&path).expect("removed");
}
