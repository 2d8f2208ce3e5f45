//! Sets correct checksums in generated packets, so that they pass a program's verification.

use netkv_ir::{Expr, HashAlgorithm, Op, Program, Value, Word};

use crate::bits::{self, BitString};
use crate::path::Template;
use crate::traversal;

/// An Internet checksum that a program verifies.
#[derive(Debug, Clone)]
pub(crate) struct Checksum {
    at: Word,
    data: Vec<(Word, u32)>,
    with_payload: bool,
}

impl Checksum {
    /// The checksums over plain fields that a program verifies.
    pub(crate) fn verified_by(program: &Program) -> Vec<Self> {
        let ops = traversal::blocks(program).flat_map(|block| &block.ops);
        ops.filter_map(|op| match op {
            Op::VerifyChecksum {
                data,
                checksum: Expr::Load(at),
                algorithm: HashAlgorithm::Csum16,
                with_payload,
                ..
            } => {
                let fields = data.iter().map(|input| match &input.value {
                    Expr::Load(place) => Some((place.word, place.width)),
                    _ => None,
                });
                let data = fields.collect::<Option<Vec<_>>>()?;
                Some(Self { at: at.word, data, with_payload: *with_payload })
            }
            _ => None,
        })
        .collect()
    }

    /// Writes the correct checksum into a packet that has all its fields.
    pub(crate) fn set(&self, template: &mut Template) {
        let offset =
            |word| template.fields.iter().find(|field| field.word == word).map(|f| f.offset);
        let Some(at) = offset(self.at) else { return };
        let mut data = BitString::default();
        for (word, width) in &self.data {
            let Some(offset) = offset(*word) else { return };
            data.append(&bits::read(&template.bytes, offset, *width));
        }
        if self.with_payload {
            let rest = template.bytes.get(template.parsed.div_ceil(8)..).unwrap_or(&[]);
            rest.iter().for_each(|byte| data.append(&Value::new(8, u128::from(*byte))));
        }
        let mut sum = 0u64;
        for pair in data.bytes.chunks(2) {
            sum += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        bits::write(&mut template.bytes, at, &Value::new(16, u128::from(!sum as u16)));
    }
}
