//! v1model's hash algorithms over a string of bytes.

use netkv_ir::HashAlgorithm;

use crate::random::Random;

const fn reflected_table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut value = i as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ polynomial } else { value >> 1 };
            bit += 1;
        }
        table[i] = value;
        i += 1;
    }
    table
}

/// 0x04C11DB7 reflected.
static CRC32: [u32; 256] = reflected_table(0xedb8_8320);
/// 0x8005 reflected.
static CRC16: [u32; 256] = reflected_table(0xa001);

fn crc(table: &[u32; 256], init: u32, data: &[u8]) -> u32 {
    data.iter()
        .fold(init, |crc, byte| (crc >> 8) ^ table[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

/// 16-bit words, big-endian; an odd last byte is the high one.
fn words16(data: &[u8]) -> impl Iterator<Item = u16> {
    data.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
}

/// The Internet checksum (RFC 1071).
fn csum16(data: &[u8]) -> u16 {
    let mut sum: u64 = words16(data).map(u64::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The hash of `data`. The custom CRCs are the standard ones until someone sets another
/// polynomial, as in bmv2; nothing in P4Runtime does.
pub(crate) fn hash(algorithm: HashAlgorithm, data: &[u8], random: &mut Random) -> u64 {
    match algorithm {
        HashAlgorithm::Crc32 | HashAlgorithm::Crc32Custom => {
            u64::from(!crc(&CRC32, u32::MAX, data))
        }
        HashAlgorithm::Crc16 | HashAlgorithm::Crc16Custom => u64::from(crc(&CRC16, 0, data)),
        HashAlgorithm::Random => random.next(),
        HashAlgorithm::Identity => crate::bits::load_be(&data[..data.len().min(8)]),
        HashAlgorithm::Csum16 => u64::from(csum16(data)),
        HashAlgorithm::Xor16 => u64::from(words16(data).fold(0, |all, word| all ^ word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_give_the_published_check_values() {
        let mut random = Random::new(1);
        let mut of = |algorithm| hash(algorithm, b"123456789", &mut random);
        assert_eq!(of(HashAlgorithm::Crc32), 0xcbf4_3926);
        assert_eq!(of(HashAlgorithm::Crc16), 0xbb3d);
        assert_eq!(of(HashAlgorithm::Identity), 0x3132_3334_3536_3738);
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xc0, 0xa8, 0x00, 0x01,
            0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(hash(HashAlgorithm::Csum16, &header, &mut random), 0xb861);
        assert_eq!(hash(HashAlgorithm::Xor16, &[1, 2, 3], &mut random), 0x0202);
    }
}
