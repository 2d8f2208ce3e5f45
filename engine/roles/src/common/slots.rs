//! Entries under small numbers that are reused.

/// Keeps entries and gives each a number.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Adds an entry and returns its number, which no other present entry has.
    #[inline(always)]
    pub(crate) fn add(&mut self, entry: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.slots[number as usize] = Some(entry);
            return number;
        }
        self.slots.push(Some(entry));
        (self.slots.len() - 1) as u32
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.slots.get(number as usize)?.as_ref()
    }

    /// Removes an entry.
    #[inline(always)]
    pub(crate) fn take(&mut self, number: u32) -> Option<T> {
        let entry = self.slots.get_mut(number as usize)?.take();
        if entry.is_some() {
            self.free.push(number);
        }
        entry
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The numbers of all entries.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        (0..self.slots.len() as u32).filter(|number| self.get(*number).is_some()).collect()
    }
}
