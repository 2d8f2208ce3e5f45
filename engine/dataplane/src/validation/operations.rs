//! Validates operations.

use netkv_ir::{HashInput, Op};

use super::{Validator, Validity, ensure, index, same_width, slice};

impl Validator<'_> {
    pub(super) fn op(&self, op: &Op) -> Validity {
        let program = self.program;
        match op {
            Op::Assign { to, value } => {
                self.place(*to)?;
                self.expr_of_width(value, to.width)
            }
            Op::AssignSlice { to, high, low, value } => {
                self.place(*to)?;
                slice(*high, *low, to.width)?;
                self.expr_of_width(value, high - low + 1)
            }
            Op::StoreElement { stack, index, place, value } => {
                self.element(*stack, *place)?;
                self.expr(index)?;
                self.expr_of_width(value, place.width)
            }
            Op::CopyHeader { to, from } => {
                index(&program.headers, *to, "header")?;
                index(&program.headers, *from, "header").map(|_| ())
            }
            Op::CopyWords { to, from, words } => {
                self.words(*to, *words)?;
                self.words(*from, *words)
            }
            Op::ZeroWords { to, words } => self.words(*to, *words),
            Op::SetValid(header)
            | Op::SetInvalid(header)
            | Op::Extract(header)
            | Op::Emit(header) => index(&program.headers, *header, "header").map(|_| ()),
            Op::SetValidElement { stack, index: at, .. } => {
                index(&program.stacks, *stack, "stack")?;
                self.expr(at)
            }
            Op::PushFront { stack, .. }
            | Op::PopFront { stack, .. }
            | Op::ExtractNext(stack)
            | Op::CheckStackLast(stack)
            | Op::EmitStack(stack) => index(&program.stacks, *stack, "stack").map(|_| ()),
            Op::ExtractVarbit { header, bits } => {
                index(&program.headers, *header, "header")?;
                self.expr(bits)
            }
            Op::Lookahead { to, skip, need } => {
                self.place(*to)?;
                let end = skip.checked_add(to.width);
                ensure(end.is_some_and(|end| end <= *need), || {
                    "a lookahead reads more than it checks for".to_owned()
                })
            }
            Op::Advance(expr) | Op::Truncate(expr) => self.expr(expr),
            Op::Verify { cond, error } => {
                self.expr_of_width(cond, 1)?;
                self.narrow_expr(error)
            }
            Op::RegisterRead { register, index: at, to } => {
                self.place(*to)?;
                self.expr(at)?;
                same_width(index(&program.registers, *register, "register")?.width, to.width)
            }
            Op::RegisterWrite { register, index: at, value } => {
                self.expr(at)?;
                self.expr_of_width(value, index(&program.registers, *register, "register")?.width)
            }
            Op::Count { counter, index: at } => {
                index(&program.counters, *counter, "counter")?;
                self.expr(at)
            }
            Op::ExecuteMeter { meter, index: at, to } => {
                index(&program.meters, *meter, "meter")?;
                self.expr(at)?;
                self.place(*to)
            }
            Op::ReadDirectMeter { meter, to } => {
                index(&program.meters, *meter, "meter")?;
                self.place(*to)
            }
            Op::Hash { to, base, data, max, .. } => {
                self.place(*to)?;
                self.expr(base)?;
                self.expr(max)?;
                self.hash_inputs(data)
            }
            Op::Random { to, low, high } => {
                self.place(*to)?;
                self.expr(low)?;
                self.expr(high)
            }
            Op::VerifyChecksum { cond, data, checksum, .. } => {
                self.expr_of_width(cond, 1)?;
                self.expr(checksum)?;
                self.hash_inputs(data)
            }
            Op::UpdateChecksum { cond, data, to, header, .. } => {
                self.expr_of_width(cond, 1)?;
                self.place(*to)?;
                if let Some(header) = header {
                    index(&program.headers, *header, "header")?;
                }
                self.hash_inputs(data)
            }
            Op::Clone { session, .. } => self.expr(session),
            Op::Digest { digest, values } => {
                let digest = index(&program.digests, *digest, "digest")?;
                ensure(digest.members.len() == values.len(), || {
                    format!("digest '{}' has other members", digest.identity.name)
                })?;
                let pairs = values.iter().zip(&digest.members);
                pairs
                    .into_iter()
                    .try_for_each(|(value, member)| self.expr_of_width(value, member.width))
            }
            Op::Log { args, .. } => args.iter().try_for_each(|arg| self.expr(arg)),
            Op::Assert(cond) => self.expr_of_width(cond, 1),
            Op::Reject | Op::MarkToDrop | Op::Resubmit { .. } | Op::Recirculate { .. } => Ok(()),
        }
    }

    fn hash_inputs(&self, data: &[HashInput]) -> Validity {
        data.iter().try_for_each(|input| {
            self.expr(&input.value)?;
            input.varbit_length.map_or(Ok(()), |word| self.words(word, 1))?;
            let header = input.header.map(|id| index(&self.program.headers, id, "header"));
            header.transpose().map(|_| ())
        })
    }
}
