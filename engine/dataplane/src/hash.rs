//! The hash algorithms of v1model.

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

/// Tables of the slicing-by-8 algorithm. Table `k` has the effect of a byte that is followed by `k`
/// more bytes.
const fn tables(polynomial: u32) -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    tables[0] = reflected_table(polynomial);
    let mut k = 1;
    while k < 8 {
        let mut i = 0;
        while i < 256 {
            let before = tables[k - 1][i];
            tables[k][i] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            i += 1;
        }
        k += 1;
    }
    tables
}

/// Reflected polynomial 0x04C11DB7.
static CRC32: [[u32; 256]; 8] = tables(0xedb8_8320);
/// Reflected polynomial 0x8005.
static CRC16: [[u32; 256]; 8] = tables(0xa001);

fn crc(tables: &[[u32; 256]; 8], init: u32, data: &[u8]) -> u32 {
    let (eights, rest) = data.as_chunks::<8>();
    let crc = eights.iter().fold(init, |crc, eight| {
        let bytes = (u64::from_le_bytes(*eight) ^ u64::from(crc)).to_le_bytes();
        (0..8).fold(0, |all, k| all ^ tables[7 - k][usize::from(bytes[k])])
    });
    // The last bytes in one step as well: byte after byte, each would wait for the one before it.
    let unused = crc.checked_shr(8 * rest.len() as u32).unwrap_or(0);
    rest.iter().enumerate().fold(unused, |all, (k, byte)| {
        let before = if k < 4 { (crc >> (8 * k)) as u8 } else { 0 };
        all ^ tables[rest.len() - 1 - k][usize::from(byte ^ before)]
    })
}

/// The data as big-endian 16-bit words. An odd last byte is the high byte of its word.
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

/// The hash of `data`. The custom CRCs use the standard polynomials, as in bmv2 by default, because
/// P4Runtime cannot set others.
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
    fn slicing_by_8_equals_bit_by_bit_crc() {
        let mut random = Random::new(2);
        let data: Vec<u8> = (0..100).map(|_| random.next() as u8).collect();
        for (tables, polynomial, init) in [(&CRC32, 0xedb8_8320, u32::MAX), (&CRC16, 0xa001, 0)] {
            for length in 0..data.len() {
                let expected = data[..length].iter().fold(init, |crc, byte| {
                    (0..8).fold(crc ^ u32::from(*byte), |crc: u32, _| {
                        if crc & 1 == 1 { (crc >> 1) ^ polynomial } else { crc >> 1 }
                    })
                });
                assert_eq!(crc(tables, init, &data[..length]), expected, "{length} bytes");
            }
        }
    }

    #[test]
    fn hashes_match_the_published_check_values() {
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
