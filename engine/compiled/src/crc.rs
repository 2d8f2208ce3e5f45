//! CRCs of short strings by carry-less multiplication (V. Gopal et al., "Fast CRC Computation for
//! Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009). A table takes a load for each
//! byte, this a few multiplications for 16 bytes.
//!
//! A string is right-aligned in 16 or 32 bytes, with zeros before it, and read as little-endian
//! words. A CRC with an initial value begins with the value added to the first bytes.

#![allow(unsafe_code)]

#[cfg(any(target_arch = "x86_64", test))]
mod multipliers;

use netkv_ir::HashAlgorithm;

/// Bytes of the longest string.
pub(crate) const LONGEST: u32 = 32;

/// A CRC whose code is a function of two or four words.
pub(crate) struct Crc {
    /// The functions for 16 and for 32 bytes.
    pub(crate) of: [*const (); 2],
    /// The bits that are added to the first four bytes, and to the result.
    pub(crate) added: u32,
}

impl Crc {
    /// The CRC of an algorithm; none if this machine cannot multiply in this way.
    pub(crate) fn new(algorithm: HashAlgorithm) -> Option<Self> {
        match algorithm {
            HashAlgorithm::Crc32 | HashAlgorithm::Crc32Custom => {
                let of = functions::<CRC32>()?;
                Some(Self { of, added: u32::MAX })
            }
            HashAlgorithm::Crc16 | HashAlgorithm::Crc16Custom => {
                let of = functions::<CRC16>()?;
                Some(Self { of, added: 0 })
            }
            _ => None,
        }
    }
}

/// 0x04C11DB7.
const CRC32: u32 = 0x04c1_1db7;
/// 0x8005 with degree 16, times x^16: so the remainder has 32 bits, of which the lower 16 are 0.
const CRC16: u32 = 0x8005_0000;

#[cfg(target_arch = "x86_64")]
fn functions<const POLYNOMIAL: u32>() -> Option<[*const (); 2]> {
    let possible = is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("sse4.1");
    possible
        .then_some([x86::of_16::<POLYNOMIAL> as *const (), x86::of_32::<POLYNOMIAL> as *const ()])
}

#[cfg(not(target_arch = "x86_64"))]
fn functions<const POLYNOMIAL: u32>() -> Option<[*const (); 2]> {
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_clmulepi64_si128, _mm_extract_epi32, _mm_set_epi32,
        _mm_set_epi64x, _mm_srli_si128, _mm_xor_si128,
    };

    use super::multipliers::Multipliers;

    struct Of<const POLYNOMIAL: u32>;

    impl<const POLYNOMIAL: u32> Of<POLYNOMIAL> {
        const MULTIPLIERS: Multipliers = Multipliers::of(POLYNOMIAL);
    }

    /// The CRC of 16 bytes.
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub(super) unsafe extern "C" fn of_16<const POLYNOMIAL: u32>(first: u64, second: u64) -> u64 {
        remainder::<POLYNOMIAL>(_mm_set_epi64x(second as i64, first as i64))
    }

    /// The CRC of 32 bytes.
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub(super) unsafe extern "C" fn of_32<const POLYNOMIAL: u32>(
        first: u64,
        second: u64,
        third: u64,
        fourth: u64,
    ) -> u64 {
        let [low, high] = Of::<POLYNOMIAL>::MULTIPLIERS.fold;
        let by = _mm_set_epi64x(high as i64, low as i64);
        let front = _mm_set_epi64x(second as i64, first as i64);
        let back = _mm_set_epi64x(fourth as i64, third as i64);
        let moved = _mm_xor_si128(
            _mm_clmulepi64_si128(front, by, 0x00),
            _mm_clmulepi64_si128(front, by, 0x11),
        );
        remainder::<POLYNOMIAL>(_mm_xor_si128(moved, back))
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn remainder<const POLYNOMIAL: u32>(bytes: __m128i) -> u64 {
        let Multipliers { fold, halve, reduce } = Of::<POLYNOMIAL>::MULTIPLIERS;
        let words = _mm_set_epi32(0, -1, 0, -1);
        // 128 bits to 96, and to 64.
        let by = _mm_set_epi64x(fold[1] as i64, halve as i64);
        let front = _mm_clmulepi64_si128(bytes, by, 0x10);
        let left = _mm_xor_si128(_mm_srli_si128(bytes, 8), front);
        let front = _mm_clmulepi64_si128(_mm_and_si128(left, words), by, 0x00);
        let left = _mm_xor_si128(_mm_srli_si128(left, 4), front);
        // Barrett's reduction to 32 bits.
        let by = _mm_set_epi64x(reduce[0] as i64, reduce[1] as i64);
        let times = _mm_clmulepi64_si128(_mm_and_si128(left, words), by, 0x10);
        let product = _mm_clmulepi64_si128(_mm_and_si128(times, words), by, 0x00);
        let rest = _mm_xor_si128(left, product);
        u64::from(_mm_extract_epi32(rest, 1) as u32)
    }
}

/// Bits to add to the words of a string that begins at byte `start`, so that `bits` are added to
/// its first four bytes.
pub(crate) fn at_start(bits: u32, start: u32) -> [u64; 4] {
    let mut bytes = [0; LONGEST as usize];
    bytes[start as usize..start as usize + 4].copy_from_slice(&bits.to_le_bytes());
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_le_bytes(words[at]))
}

#[cfg(test)]
mod tests {
    use super::multipliers::Multipliers;
    use super::*;

    /// Bit by bit.
    fn expected(algorithm: HashAlgorithm, data: &[u8]) -> u64 {
        let (polynomial, added) = match algorithm {
            HashAlgorithm::Crc32 | HashAlgorithm::Crc32Custom => (0xedb8_8320, u32::MAX),
            _ => (0xa001, 0),
        };
        let rest = data.iter().fold(added, |rest, byte| {
            (0..8).fold(rest ^ u32::from(*byte), |rest, _| {
                if rest & 1 == 1 { rest >> 1 ^ polynomial } else { rest >> 1 }
            })
        });
        u64::from(rest ^ added)
    }

    fn crc(algorithm: HashAlgorithm, data: &[u8]) -> Option<u64> {
        let crc = Crc::new(algorithm)?;
        let size = if data.len() <= 16 { 16 } else { 32 };
        let start = size - data.len();
        let mut bytes = [0; 32];
        bytes[start..size].copy_from_slice(data);
        let added = at_start(crc.added, start as u32);
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> =
            words.iter().zip(added).map(|(word, bits)| u64::from_le_bytes(*word) ^ bits).collect();
        // SAFETY: the functions have these signatures.
        let found = unsafe {
            if size == 16 {
                let of: unsafe extern "C" fn(u64, u64) -> u64 = std::mem::transmute(crc.of[0]);
                of(words[0], words[1])
            } else {
                let of: unsafe extern "C" fn(u64, u64, u64, u64) -> u64 =
                    std::mem::transmute(crc.of[1]);
                of(words[0], words[1], words[2], words[3])
            }
        };
        Some(found ^ u64::from(crc.added))
    }

    #[test]
    fn all_lengths_give_what_the_definition_gives() {
        let data: Vec<u8> = (0..32u32).map(|i| (i * i * 37 + 11 * i + 200) as u8).collect();
        for algorithm in [
            HashAlgorithm::Crc32,
            HashAlgorithm::Crc32Custom,
            HashAlgorithm::Crc16,
            HashAlgorithm::Crc16Custom,
        ] {
            for length in 4..=data.len() {
                let data = &data[..length];
                if let Some(found) = crc(algorithm, data) {
                    assert_eq!(found, expected(algorithm, data), "{algorithm:?} of {length} bytes");
                }
            }
        }
    }

    #[test]
    fn multipliers_are_the_published_ones() {
        let Multipliers { fold, halve, reduce } = Multipliers::of(CRC32);
        assert_eq!(fold, [0x1_7519_97d0, 0xccaa_009e]);
        assert_eq!(halve, 0x1_63cd_6124);
        assert_eq!(reduce, [0x1_f701_1641, 0x1_db71_0641]);
    }
}
