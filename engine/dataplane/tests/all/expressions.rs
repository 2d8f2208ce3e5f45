//! Compares operators at widths around the word boundaries with arithmetic on `u128`.

use crate::common::{ProgramBuilder, binary, block, constant, load, send};

use netkv_dataplane::Random;
use netkv_ir::*;

use BinaryOp::*;

const OPERATORS: [BinaryOp; 19] = [
    Add,
    Sub,
    Mul,
    SatAddUnsigned,
    SatSubUnsigned,
    SatAddSigned,
    SatSubSigned,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    SarSigned,
    Eq,
    Ne,
    LtUnsigned,
    LeUnsigned,
    LtSigned,
    LeSigned,
];
const WIDTHS: [u32; 12] = [1, 7, 8, 31, 32, 63, 64, 65, 96, 127, 128, 48];

fn mask(width: u32) -> u128 {
    if width == 128 { u128::MAX } else { (1 << width) - 1 }
}

fn signed(value: u128, width: u32) -> i128 {
    let shift = 128 - width;
    ((value << shift) as i128) >> shift
}

/// Result that the specification defines, for signed results of at most 127 bits and unsigned ones
/// of at most 128 bits.
fn reference(op: BinaryOp, a: u128, b: u128, width: u32) -> u128 {
    let (x, y) = (signed(a, width), signed(b, width));
    let (most, least) = ((mask(width) >> 1) as i128, -((mask(width) >> 1) as i128) - 1);
    let clamp = |value: Option<i128>, over: i128| value.unwrap_or(over).clamp(least, most) as u128;
    let result = match op {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        SatAddUnsigned => a.saturating_add(b).min(mask(width)),
        SatSubUnsigned => a.saturating_sub(b),
        SatAddSigned => clamp(x.checked_add(y), if x < 0 { least } else { most }),
        SatSubSigned => clamp(x.checked_sub(y), if x < 0 { least } else { most }),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Shl if b >= u128::from(width) => 0,
        Shl => a << b,
        Shr if b >= u128::from(width) => 0,
        Shr => a >> b,
        SarSigned => (x >> b.min(127)) as u128,
        Eq => u128::from(a == b),
        Ne => u128::from(a != b),
        LtUnsigned => u128::from(a < b),
        LeUnsigned => u128::from(a <= b),
        LtSigned => u128::from(x < y),
        LeSigned => u128::from(x <= y),
    };
    result & mask(width)
}

/// Runs expressions over the fields of a header. The program returns 256 bits per expression.
struct Bench {
    build: ProgramBuilder,
    input: HeaderId,
    fields: Vec<Place>,
    ops: Vec<Op>,
    outputs: Vec<HeaderId>,
}

impl Bench {
    fn new(widths: &[u32]) -> Self {
        let mut build = ProgramBuilder::new();
        let names: Vec<String> = (0..widths.len()).map(|i| format!("f{i}")).collect();
        let mut fields: Vec<(&str, u32)> =
            names.iter().map(String::as_str).zip(widths.iter().copied()).collect();
        // A header takes whole bytes.
        let bits: u32 = widths.iter().sum();
        if !bits.is_multiple_of(8) {
            fields.push(("padding", 8 - bits % 8));
        }
        let (input, fields) = build.header("in", &fields);
        Self { build, input, fields, ops: Vec::new(), outputs: Vec::new() }
    }

    fn answer(&mut self, expr: Expr) {
        let name = format!("out{}", self.outputs.len());
        let (header, places) = self.build.header(&name, &[("v", 256)]);
        let value = Expr::Unary { op: UnaryOp::ZeroExtend, arg: Box::new(expr), width: 256 };
        self.ops.push(Op::SetValid(header));
        self.ops.push(Op::Assign { to: places[0], value });
        self.outputs.push(header);
    }

    fn run(mut self, inputs: &[Vec<u8>]) -> Vec<Vec<u128>> {
        let program = &mut self.build.program;
        program.parser.blocks = vec![block(vec![Op::Extract(self.input)], Terminator::Exit)];
        program.ingress.blocks = vec![block(self.ops, Terminator::Exit)];
        let emit = self.outputs.iter().map(|header| Op::Emit(*header)).collect();
        program.deparser.blocks = vec![block(emit, Terminator::Exit)];
        let mut switch = self.build.switch();
        let low = |chunk: &[u8]| u128::from_be_bytes(chunk[16..].try_into().unwrap());
        inputs
            .iter()
            .map(|input| send(&mut switch, 0, input)[0].1.chunks_exact(32).map(low).collect())
            .collect()
    }
}

/// Concatenates fields, and pads them to whole bytes.
fn pack(fields: &[(u128, u32)]) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    for (value, width) in fields {
        bits.extend((0..*width).rev().map(|i| (value >> i) & 1 == 1));
    }
    bits.resize(bits.len().div_ceil(8) * 8, false);
    bits.chunks(8).map(|byte| byte.iter().fold(0, |all, bit| (all << 1) | u8::from(*bit))).collect()
}

#[test]
fn every_operator_is_correct_at_every_width() {
    let mut random = Random::new(3);
    for width in WIDTHS {
        let mut bench = Bench::new(&[width, width]);
        let (a, b) = (load(bench.fields[0]), load(bench.fields[1]));
        for op in OPERATORS {
            bench.answer(binary(op, a.clone(), b.clone()));
        }
        let mut pairs = Vec::new();
        for _ in 0..100 {
            let mut draw = || {
                let full = (u128::from(random.next()) << 64) | u128::from(random.next());
                let special = [0, 1, mask(width), mask(width) >> 1, (mask(width) >> 1) + 1];
                let value = match random.between(0, 9) {
                    i @ 0..5 => special[i as usize],
                    5 => u128::from(random.between(0, 140)),
                    _ => full,
                };
                value & mask(width)
            };
            pairs.push((draw(), draw()));
        }
        let inputs: Vec<_> = pairs.iter().map(|(a, b)| pack(&[(*a, width), (*b, width)])).collect();
        for ((a, b), answers) in pairs.iter().zip(bench.run(&inputs)) {
            for (op, answer) in OPERATORS.into_iter().zip(answers) {
                let right = reference(op, *a, *b, width);
                let right = if matches!(op, Eq | Ne | LtUnsigned | LeUnsigned | LtSigned | LeSigned)
                {
                    right & 1
                } else {
                    right
                };
                assert_eq!(answer, right, "{op:?} on {width} bits: {a:#x}, {b:#x}");
            }
        }
    }
}

#[test]
fn slices_casts_concat_and_mux_work_across_words() {
    let value = 0x8123_4567_89ab_cdef_fedc_ba98_7654_3210u128;
    let mut bench = Bench::new(&[128, 8]);
    let (wide, small) = (load(bench.fields[0]), load(bench.fields[1]));
    let slice = |high, low| Expr::Slice { arg: Box::new(wide.clone()), high, low };
    let unary = |op, arg: &Expr, width| Expr::Unary { op, arg: Box::new(arg.clone()), width };
    let shifted = binary(Shr, wide.clone(), constant(8, 4));
    let mut expected = Vec::new();
    let mut ask = |expr, right: u128| {
        bench.answer(expr);
        expected.push(right);
    };
    ask(slice(95, 32), (value >> 32) & mask(64));
    ask(slice(127, 64), value >> 64);
    ask(slice(100, 3), (value >> 3) & mask(98));
    ask(Expr::Slice { arg: Box::new(shifted), high: 70, low: 60 }, (value >> 64) & mask(11));
    ask(unary(UnaryOp::Not, &wide, 128), !value);
    ask(unary(UnaryOp::Neg, &wide, 128), value.wrapping_neg());
    ask(unary(UnaryOp::ZeroExtend, &wide, 40), value & mask(40));
    ask(unary(UnaryOp::SignExtend, &wide, 100), value & mask(100));
    ask(unary(UnaryOp::SignExtend, &small, 128), signed(0x9c, 8) as u128);
    ask(unary(UnaryOp::SignExtend, &small, 20), signed(0x9c, 8) as u128 & mask(20));
    ask(
        Expr::Concat(Box::new(small.clone()), Box::new(slice(99, 0))),
        (0x9c << 100) | (value & mask(100)),
    );
    ask(Expr::Concat(Box::new(slice(3, 0)), Box::new(small.clone())), 0x09c);
    let choice = |cond| Expr::Mux {
        cond: Box::new(constant(1, cond)),
        then: Box::new(wide.clone()),
        otherwise: Box::new(constant(128, 5)),
    };
    ask(choice(1), value);
    ask(choice(0), 5);
    // A shift by an amount wider than 64 bits.
    ask(binary(Shl, small.clone(), wide.clone()), 0);
    ask(binary(SarSigned, wide.clone(), wide.clone()), u128::MAX);
    ask(Expr::PacketLength, 17);
    let input = pack(&[(value, 128), (0x9c, 8)]);
    assert_eq!(bench.run(&[input])[0], expected);
}

#[test]
fn values_beyond_128_bits_keep_all_their_bits() {
    let mut bench = Bench::new(&[1024]);
    let wide = load(bench.fields[0]);
    let all = constant(1024, 1);
    let sum = binary(Add, wide.clone(), all);
    bench.answer(Expr::Slice { arg: Box::new(sum.clone()), high: 1023, low: 896 });
    bench.answer(binary(Eq, wide.clone(), binary(Sub, sum, constant(1024, 1))));
    let shifted = binary(Shr, wide, constant(16, 1000));
    bench.answer(Expr::Unary { op: UnaryOp::ZeroExtend, arg: Box::new(shifted), width: 128 });
    let mut input = vec![0xff; 128];
    input[0] = 0x12;
    let mut carried = vec![0; 16];
    carried[0] = 0x13;
    let first = u128::from_be_bytes(carried.try_into().unwrap());
    assert_eq!(bench.run(&[input])[0], [first, 1, 0x12_ffff]);
}
