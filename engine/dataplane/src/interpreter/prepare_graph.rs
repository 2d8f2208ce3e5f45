//! Converts the graphs of a validated program to the prepared form.

use netkv_ir::{
    Apply as IrApply, Block as IrBlock, Cfg, Expr, HashInput, MatchKind, Op, Pattern, Program,
    SelectCase, Terminator,
};

use crate::bits::mask;
use crate::interpreter::prepare_expr::ExprPreparer;
use crate::interpreter::prepared_expr::{Elements, WideExpr};
use crate::interpreter::prepared_graph::{
    Apply, Block, BlockEnd, Case, ElementPlace, HashPart, HashValue, Step, Target, Test,
    WidePattern,
};

/// Prepares all blocks of a graph.
pub(crate) fn prepare_graph(program: &Program, cfg: &Cfg) -> Vec<Block> {
    let prepare = GraphPreparer { program, expr: ExprPreparer { stacks: &program.stacks } };
    cfg.blocks.iter().map(|block| prepare.prepare_block(block)).collect()
}

struct GraphPreparer<'a> {
    program: &'a Program,
    expr: ExprPreparer<'a>,
}

impl GraphPreparer<'_> {
    fn prepare_block(&self, block: &IrBlock) -> Block {
        Block {
            steps: block.ops.iter().map(|op| self.prepare_step(op)).collect(),
            end: self.prepare_terminator(&block.terminator),
        }
    }

    fn prepare_terminator(&self, terminator: &Terminator) -> BlockEnd {
        match terminator {
            Terminator::Jump(block) => BlockEnd::Jump(*block),
            Terminator::Branch { cond, then, otherwise } => BlockEnd::Branch {
                cond: self.expr.prepare_narrow(cond),
                then: *then,
                otherwise: *otherwise,
            },
            Terminator::Select { keys, cases, default } => {
                self.prepare_select(keys, cases, *default)
            }
            Terminator::Apply(apply) => BlockEnd::Apply(Box::new(self.prepare_apply(apply))),
            Terminator::Exit => BlockEnd::Exit,
        }
    }

    fn prepare_select(&self, keys: &[Expr], cases: &[SelectCase], default: u32) -> BlockEnd {
        if let [key] = keys
            && key.width() <= 64
            && let Some(cases) = cases.iter().map(prepare_narrow_case).collect()
        {
            return BlockEnd::SelectNarrow { key: self.expr.prepare_narrow(key), cases, default };
        }
        let starts: Vec<usize> = keys
            .iter()
            .scan(0, |next, key| {
                let from = *next;
                *next += key.width().div_ceil(64) as usize;
                Some(from)
            })
            .collect();
        let cases = cases
            .iter()
            .map(|case| Case {
                target: case.target,
                patterns: case
                    .patterns
                    .iter()
                    .enumerate()
                    .filter_map(|(i, pattern)| {
                        prepare_wide_pattern(pattern, starts.get(i).copied().unwrap_or(0))
                    })
                    .collect(),
            })
            .collect();
        BlockEnd::Select {
            keys: keys.iter().map(|key| self.expr.prepare_wide(key)).collect(),
            cases,
            default,
        }
    }

    fn prepare_apply(&self, apply: &IrApply) -> Apply {
        let table = &self.program.tables[apply.table as usize];
        let of_kind = |selector: bool| {
            apply
                .keys
                .iter()
                .zip(&table.keys)
                .filter(move |(_, key)| (key.kind == MatchKind::Selector) == selector)
                .map(|(expr, _)| expr)
        };
        Apply {
            table: apply.table,
            keys: of_kind(false).map(|key| self.expr.prepare_wide(key)).collect(),
            selector: of_kind(true).map(|key| self.prepare_hash_part(key, None, None)).collect(),
            hit: apply.hit,
            action_run: apply.action_run,
            targets: apply
                .targets
                .iter()
                .map(|target| Target {
                    params: target.params.iter().map(|p| (p.word, p.words())).collect(),
                    block: target.block,
                })
                .collect(),
        }
    }

    fn prepare_hash_data(&self, data: &[HashInput]) -> Vec<HashPart> {
        data.iter()
            .map(|input| {
                let valid = input.header.map(|id| self.program.headers[id as usize].valid);
                self.prepare_hash_part(&input.value, valid, input.varbit_length)
            })
            .collect()
    }

    fn prepare_hash_part(&self, expr: &Expr, valid: Option<u32>, varbit: Option<u32>) -> HashPart {
        let width = expr.width();
        let value = match varbit {
            Some(word) => HashValue::Varbit(self.expr.prepare_wide(expr), word),
            None if width <= 64 => HashValue::Narrow(self.expr.prepare_narrow(expr)),
            None => HashValue::Wide(self.expr.prepare_wide(expr)),
        };
        HashPart { valid, value, width }
    }

    fn prepare_step(&self, op: &Op) -> Step {
        let expr = self.expr;
        match op {
            Op::Assign { to, value } => match value {
                Expr::Const(value) if to.width <= 64 => {
                    Step::Set { to: to.word, value: value.words.first().copied().unwrap_or(0) }
                }
                Expr::Load(from) if to.width <= 64 => Step::Copy { to: to.word, from: from.word },
                Expr::Load(from) => {
                    Step::CopyWords { to: to.word, from: from.word, words: to.words() }
                }
                _ if to.width <= 64 => {
                    Step::Assign { to: to.word, value: expr.prepare_narrow(value) }
                }
                _ => Step::AssignWide {
                    to: to.word,
                    words: to.words(),
                    value: expr.prepare_wide(value),
                },
            },
            Op::AssignSlice { to, high, low, value } => {
                let width = high - low + 1;
                if to.width <= 64 {
                    let mask = mask(width);
                    let value = expr.prepare_narrow(value);
                    Step::AssignSlice { to: to.word, low: *low, mask, value }
                } else {
                    Step::AssignSliceWide {
                        to: *to,
                        low: *low,
                        width,
                        value: expr.prepare_wide(value),
                    }
                }
            }
            Op::StoreElement { stack, index, place, value } => {
                let stack = &self.program.stacks[*stack as usize];
                let elements = Elements { size: u64::from(stack.size), stride: stack.stride };
                let to = ElementPlace { elements, word: place.word, words: place.words() };
                Step::StoreElement {
                    to,
                    index: expr.prepare_saturated(index),
                    value: expr.prepare_wide(value),
                }
            }
            Op::CopyHeader { to, from } => Step::CopyHeader { to: *to, from: *from },
            Op::CopyWords { to, from, words } => {
                Step::CopyWords { to: *to, from: *from, words: *words }
            }
            Op::ZeroWords { to, words } => Step::ZeroWords { to: *to, words: *words },
            Op::SetValid(header) => Step::SetValid(*header),
            Op::SetInvalid(header) => Step::SetInvalid(*header),
            Op::SetValidElement { stack, index, valid } => {
                let index = expr.prepare_saturated(index);
                Step::SetValidElement { stack: *stack, index, valid: *valid }
            }
            Op::PushFront { stack, count } => Step::PushFront { stack: *stack, count: *count },
            Op::PopFront { stack, count } => Step::PopFront { stack: *stack, count: *count },
            Op::Extract(header) => Step::Extract(*header),
            Op::ExtractNext(stack) => Step::ExtractNext(*stack),
            Op::ExtractVarbit { header, bits } => {
                Step::ExtractVarbit { header: *header, bits: expr.prepare_saturated(bits) }
            }
            Op::Lookahead { to, skip, need } => {
                Step::Lookahead { to: *to, skip: *skip, need: *need }
            }
            Op::Advance(bits) => Step::Advance(expr.prepare_saturated(bits)),
            Op::Verify { cond, error } => {
                Step::Verify { cond: expr.prepare_narrow(cond), error: expr.prepare_narrow(error) }
            }
            Op::CheckStackLast(stack) => Step::CheckStackLast(*stack),
            Op::Reject => Step::Reject,
            Op::Emit(header) => Step::Emit(*header),
            Op::EmitStack(stack) => Step::EmitStack(*stack),
            _ => self.prepare_extern(op),
        }
    }

    /// Prepares a call of a v1model extern.
    fn prepare_extern(&self, op: &Op) -> Step {
        let expr = self.expr;
        match op {
            Op::RegisterRead { register, index, to } => Step::RegisterRead {
                register: *register,
                index: expr.prepare_saturated(index),
                to: to.word,
                words: to.words(),
            },
            Op::RegisterWrite { register, index, value } => {
                let (register, index) = (*register, expr.prepare_saturated(index));
                if value.width() <= 64 {
                    Step::RegisterWriteNarrow { register, index, value: expr.prepare_narrow(value) }
                } else {
                    Step::RegisterWrite { register, index, value: expr.prepare_wide(value) }
                }
            }
            Op::Count { counter, index } => {
                Step::Count { counter: *counter, index: expr.prepare_saturated(index) }
            }
            Op::ExecuteMeter { meter, index, to } => {
                Step::ExecuteMeter { meter: *meter, index: expr.prepare_saturated(index), to: *to }
            }
            Op::ReadDirectMeter { meter, to } => Step::ReadDirectMeter { meter: *meter, to: *to },
            Op::Hash { to, algorithm, base, data, max } => Step::Hash {
                to: *to,
                algorithm: *algorithm,
                base: expr.prepare_truncated(base),
                data: self.prepare_hash_data(data),
                max: expr.prepare_truncated(max),
            },
            Op::Random { to, low, high } => Step::Random {
                to: *to,
                low: expr.prepare_truncated(low),
                high: expr.prepare_truncated(high),
            },
            Op::VerifyChecksum { cond, data, checksum, algorithm, with_payload } => {
                Step::VerifyChecksum {
                    cond: expr.prepare_narrow(cond),
                    data: self.prepare_hash_data(data),
                    checksum: expr.prepare_truncated(checksum),
                    algorithm: *algorithm,
                    with_payload: *with_payload,
                }
            }
            Op::UpdateChecksum { cond, data, to, header, algorithm, with_payload } => {
                Step::UpdateChecksum {
                    cond: expr.prepare_narrow(cond),
                    data: self.prepare_hash_data(data),
                    to: *to,
                    valid: header.map(|id| self.program.headers[id as usize].valid),
                    algorithm: *algorithm,
                    with_payload: *with_payload,
                }
            }
            Op::Clone { session, field_list, .. } => {
                Step::Clone { session: expr.prepare_truncated(session), field_list: *field_list }
            }
            Op::Resubmit { field_list } => Step::Resubmit(*field_list),
            Op::Recirculate { field_list } => Step::Recirculate(*field_list),
            Op::Digest { digest, values } => Step::Digest {
                digest: *digest,
                values: values.iter().map(|value| expr.prepare_wide(value)).collect(),
            },
            Op::Truncate(bytes) => Step::Truncate(expr.prepare_truncated(bytes)),
            Op::Assert { cond, assertion } => {
                Step::Assert { cond: expr.prepare_narrow(cond), assertion: *assertion }
            }
            Op::Log { .. } => Step::Log,
            // `prepare_step` handles all operations except externs, so only this one remains.
            _ => {
                debug_assert!(matches!(op, Op::MarkToDrop), "{op:?} has no prepared form");
                Step::MarkToDrop
            }
        }
    }
}

/// Prepares a case with one pattern of at most 64 bits. `None`: it needs the general form.
fn prepare_narrow_case(case: &SelectCase) -> Option<(Test, u32)> {
    let word = |value: &netkv_ir::Value| value.words.first().copied().unwrap_or(0);
    let test = match case.patterns.as_slice() {
        [Pattern::Any] => Test::Mask { value: 0, mask: 0 },
        [Pattern::Value(value)] => Test::Mask { value: word(value), mask: u64::MAX },
        [Pattern::Mask(value, mask)] => {
            Test::Mask { value: word(value) & word(mask), mask: word(mask) }
        }
        [Pattern::Range(low, high)] => Test::Range { low: word(low), high: word(high) },
        _ => return None,
    };
    Some((test, case.target))
}

/// Prepares a pattern of any width for the key that starts at word `from`. `None`: it matches
/// every value.
fn prepare_wide_pattern(pattern: &Pattern, from: usize) -> Option<WidePattern> {
    match pattern {
        Pattern::Any => None,
        Pattern::Value(value) => Some(WidePattern::Mask {
            from,
            value: value.words.clone(),
            mask: vec![u64::MAX; value.words.len()],
        }),
        Pattern::Mask(value, mask) => Some(WidePattern::Mask {
            from,
            value: value.words.iter().zip(&mask.words).map(|(v, m)| v & m).collect(),
            mask: mask.words.clone(),
        }),
        Pattern::Range(low, high) => {
            Some(WidePattern::Range { from, low: low.words.clone(), high: high.words.clone() })
        }
        Pattern::ValueSet(set) => Some(WidePattern::ValueSet(*set)),
    }
}

/// Pushes the words of all keys onto the scratch stack, in the layout that patterns expect. Returns
/// the index of the first word.
pub(crate) fn push_keys(keys: &[WideExpr], state: &mut crate::packet::State) -> usize {
    let at = state.scratch.len();
    for key in keys {
        key.push(state);
    }
    at
}
