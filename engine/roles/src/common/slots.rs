//! Entries under small numbers that are reused.

/// Keeps entries and gives each a number.
#[derive(Debug)]
pub struct Slots<T> {
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
    pub fn add(&mut self, entry: T) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| self.grow());
        self.slots[number as usize] = Some(entry);
        number
    }

    /// The number of a new slot.
    #[cold]
    fn grow(&mut self) -> u32 {
        self.slots.push(None);
        (self.slots.len() - 1) as u32
    }

    /// An entry, if there is one of this number.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    /// An entry, if there is one of this number.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.slots.get(number as usize)?.as_ref()
    }

    /// Removes an entry.
    #[inline(always)]
    pub fn take(&mut self, number: u32) -> Option<T> {
        let entry = self.slots.get_mut(number as usize)?.take();
        if entry.is_some() {
            self.free.push(number);
        }
        entry
    }

    /// Number of entries.
    #[allow(clippy::len_without_is_empty)] // no caller needs it
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The numbers of all entries.
    pub fn numbers(&self) -> Vec<u32> {
        (0..self.slots.len() as u32).filter(|number| self.get(*number).is_some()).collect()
    }

    /// All entries, in the order of their numbers.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().flatten()
    }
}
