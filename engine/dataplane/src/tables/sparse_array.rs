//! A sparse array of up to 256 numbers.

/// Numbers at indices 0 to 255. A bitmap has the occupied indices, and a list the numbers in order.
#[derive(Debug, Default)]
pub(super) struct SparseArray {
    present: [u64; 4],
    /// Number of items before each word of `present`.
    before: [u8; 4],
    items: Vec<u32>,
}

impl SparseArray {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub(super) fn get(&self, index: u8) -> Option<u32> {
        self.has(index).then(|| self.items[self.position(index)])
    }

    /// The number with the smallest index.
    pub(super) fn first(&self) -> Option<u32> {
        self.items.first().copied()
    }

    /// The smallest occupied index.
    pub(super) fn first_index(&self) -> Option<u8> {
        let word = self.present.iter().position(|word| *word != 0)?;
        Some(64 * word as u8 + self.present[word].trailing_zeros() as u8)
    }

    /// Sets the number at an index.
    pub(super) fn set(&mut self, index: u8, item: u32) {
        let at = self.position(index);
        if self.has(index) {
            self.items[at] = item;
        } else {
            self.items.insert(at, item);
            self.present[usize::from(index / 64)] |= 1 << (index % 64);
            self.count();
        }
    }

    /// Removes the number at an index, if there is one.
    pub(super) fn remove(&mut self, index: u8) {
        if self.has(index) {
            self.items.remove(self.position(index));
            self.present[usize::from(index / 64)] &= !(1 << (index % 64));
            self.count();
        }
    }

    /// The number at the first occupied index of `index`, `index / 2`, `index / 4` … 1.
    #[inline]
    pub(super) fn nearest_ancestor(&self, mut index: u8) -> Option<u32> {
        if self.items.is_empty() {
            return None;
        }
        while index > 0 {
            if self.has(index) {
                return Some(self.items[self.position(index)]);
            }
            index /= 2;
        }
        None
    }

    #[inline]
    fn has(&self, index: u8) -> bool {
        (self.present[usize::from(index / 64)] >> (index % 64)) & 1 == 1
    }

    /// Number of items before an index.
    #[inline]
    fn position(&self, index: u8) -> usize {
        let word = usize::from(index / 64);
        let lower = self.present[word] & ((1 << (index % 64)) - 1);
        usize::from(self.before[word]) + lower.count_ones() as usize
    }

    fn count(&mut self) {
        for word in 1..4 {
            self.before[word] = self.before[word - 1] + self.present[word - 1].count_ones() as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn numbers_are_found_at_their_indices_only() {
        let (mut sparse, mut model) = (SparseArray::default(), [None; 256]);
        let mut random = Random::new(3);
        for round in 0..4000 {
            let index = random.between(0, 255) as u8;
            if random.between(0, 1500) > round % 2000 {
                sparse.set(index, round as u32);
                model[usize::from(index)] = Some(round as u32);
            } else {
                sparse.remove(index);
                model[usize::from(index)] = None;
            }
            assert_eq!(sparse.get(index), model[usize::from(index)]);
        }
        for index in 0..=255 {
            assert_eq!(sparse.get(index), model[usize::from(index)]);
            let ancestors = std::iter::successors(Some(index), |index| Some(index / 2));
            let nearest = ancestors.take(8).find_map(|index| match index {
                0 => None,
                _ => model[usize::from(index)],
            });
            assert_eq!(sparse.nearest_ancestor(index), nearest, "{index}");
        }
        assert_eq!(sparse.first(), model.iter().find_map(|item| *item));
        let first = model.iter().position(Option::is_some);
        assert_eq!(sparse.first_index().map(usize::from), first);
        assert_eq!(sparse.len(), model.iter().flatten().count());
    }

    #[test]
    fn all_256_indices_fit() {
        let mut sparse = SparseArray::default();
        (0..=255).for_each(|index| sparse.set(index, u32::from(index) + 7));
        assert!((0..=255).all(|index| sparse.get(index) == Some(u32::from(index) + 7)));
    }
}
