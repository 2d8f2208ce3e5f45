//! The lists of fields whose Internet checksum code computes itself.

use netkv_ir::{HashAlgorithm, HashInput};

/// The fields of each header of a list that are next to each other in it.
pub(crate) fn by_header(data: &[HashInput]) -> impl Iterator<Item = &[HashInput]> {
    data.chunk_by(|a, b| a.header == b.header)
}

/// Whether code adds the words of a list itself: there is no varbit, and the fields of a header
/// that are next to each other are whole bytes.
pub(crate) fn adds_words(algorithm: HashAlgorithm, data: &[HashInput]) -> bool {
    let bits = |of: &[HashInput]| of.iter().map(|it| it.value.width()).sum::<u32>();
    algorithm == HashAlgorithm::Csum16
        && data.iter().all(|input| input.varbit_length.is_none())
        && by_header(data).all(|of| bits(of).is_multiple_of(8))
}
