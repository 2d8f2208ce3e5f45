//! Mutants: programs with one fault.

use std::sync::Arc;

use netkv_dataplane::Switch;
use netkv_difftest::{Executors, Rng};
use netkv_ir::{BinaryOp, Block, Expr, Op, Program, Terminator, Value};

/// The original program as reference, and the mutant `wrong` as the tested one.
pub fn against(wrong: Program) -> Executors {
    let wrong = Arc::new(wrong);
    Executors {
        reference: Box::new(|program, options| Switch::new(program.clone(), options)),
        tested: Box::new(move |_, options| Switch::new(wrong.clone(), options)),
    }
}

/// A mutant and a description of its fault; none if there was no suitable place.
pub fn mutant(program: &Program, seed: u64) -> Option<(Program, String)> {
    let mut rng = Rng::new(seed, "mutant");
    let mut wrong = program.clone();
    let graphs = [
        &mut wrong.parser,
        &mut wrong.verify_checksum,
        &mut wrong.ingress,
        &mut wrong.egress,
        &mut wrong.compute_checksum,
        &mut wrong.deparser,
    ];
    let mut blocks: Vec<&mut Block> = graphs.into_iter().flat_map(|g| &mut g.blocks).collect();
    let sites: usize = blocks.iter().map(|block| block.ops.len() + 1).sum();
    let mut site = rng.below(sites);
    let block = blocks.iter_mut().find(|block| {
        let here = site <= block.ops.len();
        if !here {
            site -= block.ops.len() + 1;
        }
        here
    })?;
    let what = if site == block.ops.len() {
        terminator(&mut block.terminator, &mut rng)?
    } else if rng.chance(40) {
        let gone = block.ops.remove(site);
        block.spans.remove(site);
        format!("without {gone:?}")
    } else {
        let before = block.ops[site].clone();
        operation(&mut block.ops[site], &mut rng)?;
        format!("{:?} instead of {before:?}", block.ops[site])
    };
    Some((wrong, what))
}

fn terminator(terminator: &mut Terminator, rng: &mut Rng) -> Option<String> {
    match terminator {
        Terminator::Branch { cond, then, otherwise } => {
            if rng.chance(50) {
                std::mem::swap(then, otherwise);
                return Some("branches swapped".to_owned());
            }
            expression(cond, rng).then(|| format!("condition {cond:?}"))
        }
        Terminator::Select { keys, cases, .. } => {
            if cases.len() > 1 && rng.chance(50) {
                let (first, last) = (cases[0].target, cases[cases.len() - 1].target);
                (first != last).then(|| {
                    cases.swap_remove(0);
                    "a case is missing".to_owned()
                })
            } else {
                let key = rng.below(keys.len());
                expression(&mut keys[key], rng).then(|| "select key".to_owned())
            }
        }
        Terminator::Apply(apply) => {
            if apply.keys.is_empty() {
                return None;
            }
            let key = rng.below(apply.keys.len());
            expression(&mut apply.keys[key], rng).then(|| "table key".to_owned())
        }
        Terminator::Jump(_) | Terminator::Exit => None,
    }
}

fn operation(op: &mut Op, rng: &mut Rng) -> Option<()> {
    let broken = match op {
        Op::Assign { value, .. } | Op::AssignSlice { value, .. } => expression(value, rng),
        Op::StoreElement { index, value, .. } | Op::RegisterWrite { index, value, .. } => {
            expression(if rng.chance(50) { index } else { value }, rng)
        }
        Op::RegisterRead { index, .. }
        | Op::Count { index, .. }
        | Op::ExecuteMeter { index, .. } => expression(index, rng),
        Op::Hash { data, .. } | Op::UpdateChecksum { data, .. } if data.len() > 1 => {
            data.swap(0, 1);
            data[0] != data[1]
        }
        Op::SetValid(header) => {
            *op = Op::SetInvalid(*header);
            true
        }
        Op::Digest { values, .. } if !values.is_empty() => {
            let at = rng.below(values.len());
            expression(&mut values[at], rng)
        }
        Op::Verify { cond, .. } => expression(cond, rng),
        Op::Advance(bits) => expression(bits, rng),
        _ => false,
    };
    broken.then_some(())
}

/// Inserts a fault into an expression, without a change of its width.
fn expression(expr: &mut Expr, rng: &mut Rng) -> bool {
    match expr {
        Expr::Const(value) => {
            let bit = rng.below(value.width as usize);
            value.words[bit / 64] ^= 1 << (bit % 64);
            true
        }
        Expr::Binary { op, left, right, .. } => match rng.below(3) {
            0 => expression(left, rng),
            1 => expression(right, rng),
            _ => {
                *op = match op {
                    BinaryOp::Add => BinaryOp::Sub,
                    BinaryOp::Sub => BinaryOp::SatSubUnsigned,
                    BinaryOp::SatAddUnsigned => BinaryOp::Add,
                    BinaryOp::SatAddSigned => BinaryOp::SatAddUnsigned,
                    BinaryOp::SatSubSigned => BinaryOp::Sub,
                    BinaryOp::And => BinaryOp::Or,
                    BinaryOp::Or => BinaryOp::Xor,
                    BinaryOp::Shl => BinaryOp::Shr,
                    BinaryOp::SarSigned => BinaryOp::Shr,
                    BinaryOp::Eq => BinaryOp::LeUnsigned,
                    BinaryOp::LtUnsigned => BinaryOp::LeUnsigned,
                    BinaryOp::LtSigned => BinaryOp::LtUnsigned,
                    BinaryOp::LeSigned => BinaryOp::LtSigned,
                    _ => return false,
                };
                true
            }
        },
        Expr::Mux { then, otherwise, .. } => {
            std::mem::swap(then, otherwise);
            then != otherwise
        }
        Expr::Unary { arg, .. } => expression(arg, rng),
        Expr::Concat(left, right) => expression(if rng.chance(50) { left } else { right }, rng),
        Expr::Slice { high, low, .. } if *low > 0 => {
            (*high, *low) = (*high - 1, *low - 1);
            true
        }
        _ => {
            // Off by one.
            let width = expr.width();
            *expr = Expr::Binary {
                op: BinaryOp::Xor,
                left: Box::new(expr.clone()),
                right: Box::new(Expr::Const(Value::new(width, 1))),
                width,
            };
            true
        }
    }
}
