//! Validates operations.

use netkv_ir::{HashInput, Op};

use super::validator::{Validator, Validity, ensure, index, same_width, validate_slice};

impl Validator<'_> {
    pub(super) fn validate_op(&self, op: &Op) -> Validity {
        let program = self.program;
        match op {
            Op::Assign { to, value } => {
                self.validate_place(*to)?;
                self.validate_expr_of_width(value, to.width)
            }
            Op::AssignSlice { to, high, low, value } => {
                self.validate_place(*to)?;
                validate_slice(*high, *low, to.width)?;
                self.validate_expr_of_width(value, high - low + 1)
            }
            Op::StoreElement { stack, index, place, value } => {
                self.validate_element(*stack, *place)?;
                self.validate_expr(index)?;
                self.validate_expr_of_width(value, place.width)
            }
            Op::CopyHeader { to, from } => {
                index(&program.headers, *to, "header")?;
                index(&program.headers, *from, "header").map(|_| ())
            }
            Op::CopyWords { to, from, words } => {
                self.validate_words(*to, *words)?;
                self.validate_words(*from, *words)
            }
            Op::ZeroWords { to, words } => self.validate_words(*to, *words),
            Op::SetValid(header)
            | Op::SetInvalid(header)
            | Op::Extract(header)
            | Op::Emit(header) => index(&program.headers, *header, "header").map(|_| ()),
            Op::SetValidElement { stack, index: at, .. } => {
                index(&program.stacks, *stack, "stack")?;
                self.validate_expr(at)
            }
            Op::PushFront { stack, .. }
            | Op::PopFront { stack, .. }
            | Op::ExtractNext(stack)
            | Op::CheckStackLast(stack)
            | Op::EmitStack(stack) => index(&program.stacks, *stack, "stack").map(|_| ()),
            Op::ExtractVarbit { header, bits } => {
                index(&program.headers, *header, "header")?;
                self.validate_expr(bits)
            }
            Op::Lookahead { to, skip, need } => {
                self.validate_place(*to)?;
                let end = skip.checked_add(to.width);
                ensure(end.is_some_and(|end| end <= *need), || {
                    "a lookahead reads more than it checks for".to_owned()
                })
            }
            Op::Advance(expr) | Op::Truncate(expr) => self.validate_expr(expr),
            Op::Verify { cond, error } => {
                self.validate_expr_of_width(cond, 1)?;
                self.validate_narrow_expr(error)
            }
            Op::RegisterRead { register, index: at, to } => {
                self.validate_place(*to)?;
                self.validate_expr(at)?;
                same_width(index(&program.registers, *register, "register")?.width, to.width)
            }
            Op::RegisterWrite { register, index: at, value } => {
                self.validate_expr(at)?;
                self.validate_expr_of_width(
                    value,
                    index(&program.registers, *register, "register")?.width,
                )
            }
            Op::Count { counter, index: at } => {
                index(&program.counters, *counter, "counter")?;
                self.validate_expr(at)
            }
            Op::ExecuteMeter { meter, index: at, to } => {
                index(&program.meters, *meter, "meter")?;
                self.validate_expr(at)?;
                self.validate_place(*to)
            }
            Op::ReadDirectMeter { meter, to } => {
                index(&program.meters, *meter, "meter")?;
                self.validate_place(*to)
            }
            Op::Hash { to, base, data, max, .. } => {
                self.validate_place(*to)?;
                self.validate_expr(base)?;
                self.validate_expr(max)?;
                self.validate_hash_inputs(data)
            }
            Op::Random { to, low, high } => {
                self.validate_place(*to)?;
                self.validate_expr(low)?;
                self.validate_expr(high)
            }
            Op::VerifyChecksum { cond, data, checksum, .. } => {
                self.validate_expr_of_width(cond, 1)?;
                self.validate_expr(checksum)?;
                self.validate_hash_inputs(data)
            }
            Op::UpdateChecksum { cond, data, to, header, .. } => {
                self.validate_expr_of_width(cond, 1)?;
                self.validate_place(*to)?;
                if let Some(header) = header {
                    index(&program.headers, *header, "header")?;
                }
                self.validate_hash_inputs(data)
            }
            Op::Clone { session, .. } => self.validate_expr(session),
            Op::Digest { digest, values } => {
                let digest = index(&program.digests, *digest, "digest")?;
                ensure(digest.members.len() == values.len(), || {
                    format!("digest '{}' has other members", digest.identity.name)
                })?;
                let pairs = values.iter().zip(&digest.members);
                pairs.into_iter().try_for_each(|(value, member)| {
                    self.validate_expr_of_width(value, member.width)
                })
            }
            Op::Log { args, .. } => args.iter().try_for_each(|arg| self.validate_expr(arg)),
            Op::Assert { cond, assertion } => {
                index(&program.assertions, *assertion, "assertion")?;
                self.validate_expr_of_width(cond, 1)
            }
            Op::Reject | Op::MarkToDrop | Op::Resubmit { .. } | Op::Recirculate { .. } => Ok(()),
        }
    }

    fn validate_hash_inputs(&self, data: &[HashInput]) -> Validity {
        data.iter().try_for_each(|input| {
            self.validate_expr(&input.value)?;
            input.varbit_length.map_or(Ok(()), |word| self.validate_words(word, 1))?;
            let header = input.header.map(|id| index(&self.program.headers, id, "header"));
            header.transpose().map(|_| ())
        })
    }
}
