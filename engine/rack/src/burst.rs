//! Corruption of a frame: a burst of flipped bits.

use netkv_wire::is_damaged;
use netkv_workload::Random;

/// Maximum number of bits from the first flipped one to the last. An Internet checksum detects
/// every burst of up to 15 bits in what it covers (RFC 1071 sums words of 16 bits).
pub const MAX_BURST: u32 = 15;
/// Half of the bursts are single bits.
const SINGLE: f64 = 0.5;

/// Flipped bits of a frame: the first and the last of a burst, and those between them by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// The place of the burst as a share of all places, in units of 2^-64.
    place: u64,
    /// Bits from the first flipped one to the last.
    length: u32,
    /// The flipped bits, the first is bit `length - 1`.
    pattern: u64,
}

impl Burst {
    /// Draws a burst.
    pub fn draw(random: &mut Random) -> Self {
        let place = random.bits();
        if random.unit() < SINGLE {
            return Self { place, length: 1, pattern: 1 };
        }
        let length = 2 + random.below(u64::from(MAX_BURST) - 1) as u32;
        let between = random.bits() & ((1 << (length - 1)) - 1) & !1;
        Self { place, length, pattern: 1 << (length - 1) | between | 1 }
    }

    /// Flips its bits in a frame whose checksums are right. Of two bursts in one frame, the second
    /// may make its checksums right again: changes that these do not detect are left out.
    pub fn strike(self, frame: &mut [u8]) {
        if !is_damaged(frame) {
            self.flip(frame);
        }
    }

    /// Flips its bits in a frame. All places at which the whole burst is in the frame are equally
    /// probable. A frame that is shorter than the burst stays as it is.
    fn flip(self, frame: &mut [u8]) {
        let bits = 8 * frame.len() as u64;
        let Some(last) = bits.checked_sub(u64::from(self.length)) else { return };
        let start = ((u128::from(self.place) * u128::from(last + 1)) >> 64) as u64;
        let (byte, offset) = ((start / 8) as usize, (start % 8) as u32);
        // The burst is in at most three bytes.
        let flips = ((self.pattern << (24 - offset - self.length)) as u32).to_be_bytes();
        for (bits, flip) in frame[byte..].iter_mut().zip(&flips[1..]) {
            *bits ^= flip;
        }
    }
}

#[cfg(test)]
mod tests {
    use netkv_wire::{FrameView, Message, Op, client_ip, server_ip, write_frame};

    use super::*;

    /// First and last flipped bit of a frame of zeros, and their number.
    fn flipped(burst: Burst, bytes: usize) -> (usize, usize, u32) {
        let mut frame = vec![0; bytes];
        burst.flip(&mut frame);
        let set: Vec<usize> =
            (0..8 * bytes).filter(|bit| frame[bit / 8] >> (7 - bit % 8) & 1 == 1).collect();
        (set[0], set[set.len() - 1], set.len() as u32)
    }

    fn bursts() -> impl Iterator<Item = Burst> {
        let mut random = Random::new(5, 5);
        (0..100_000).map(move |_| Burst::draw(&mut random))
    }

    #[test]
    fn bursts_have_all_lengths_and_half_of_them_are_single_bits() {
        let mut lengths = [0u32; 1 + MAX_BURST as usize];
        for burst in bursts() {
            let (first, last, count) = flipped(burst, 60);
            assert_eq!((last - first + 1) as u32, burst.length);
            assert_eq!(count, burst.pattern.count_ones());
            lengths[burst.length as usize] += 1;
        }
        assert!((49_000..51_000).contains(&lengths[1]), "{lengths:?}");
        assert!(lengths[2..].iter().all(|&count| (3_300..3_850).contains(&count)), "{lengths:?}");
    }

    #[test]
    fn every_bit_of_a_frame_is_equally_likely_to_begin_a_burst() {
        let mut starts = [0u32; 8 * 20];
        for burst in bursts().filter(|burst| burst.length == 1) {
            let (first, last, _) = flipped(burst, 20);
            assert_eq!(first, last);
            starts[first] += 1;
        }
        // 50,000 of 160 places: the standard deviation of each is 17.6.
        assert!(starts.iter().all(|&count| (220..410).contains(&count)), "{starts:?}");
    }

    /// A switch that is not the end of the transport forwards a damaged frame to the next link.
    #[test]
    fn no_two_bursts_leave_a_frame_with_other_contents_and_right_checksums() {
        let (from, to) = (client_ip(1), server_ip(0));
        let message = Message::request(from, to, Op::Put, 1, 2, *b"0123456789abcdef");
        let mut frame = Vec::new();
        write_frame(&mut frame, &message.with_value(b"a value of 20 bytes."));
        let mut random = Random::new(7, 7);
        let mut twice = 0;
        for _ in 0..200_000 {
            let mut damaged = frame.clone();
            Burst::draw(&mut random).strike(&mut damaged);
            let once = damaged.clone();
            Burst::draw(&mut random).strike(&mut damaged);
            twice += u32::from(damaged != once);
            if FrameView::parse(&damaged).is_ok() {
                assert_eq!(damaged[26..34], frame[26..34], "the addresses");
                assert_eq!(damaged[42..], frame[42..], "the payload");
            }
        }
        assert!(twice > 1_000, "those whose first burst is in the Ethernet header");
    }

    #[test]
    fn bursts_stay_within_the_shortest_frames() {
        for bytes in 0..6 {
            for burst in bursts().take(10_000) {
                let mut frame = vec![0; bytes];
                burst.flip(&mut frame);
                let flips: u32 = frame.iter().map(|byte| byte.count_ones()).sum();
                let fits = 8 * bytes as u32 >= burst.length;
                assert_eq!(flips, if fits { burst.pattern.count_ones() } else { 0 });
            }
        }
    }
}
