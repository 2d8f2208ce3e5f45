//! Values with small numbers, which are used again.

/// Values by number.
#[derive(Debug)]
pub struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds a value; returns its number.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = Some(value);
            return number;
        }
        self.values.push(Some(value));
        self.values.len() as u32 - 1
    }

    /// A value, if there is one of this number.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.values.get_mut(number as usize)?.as_mut()
    }

    /// Removes a value.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let value = self.values.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(value)
    }

    /// Removes and returns all values.
    pub fn take_all(&mut self) -> impl Iterator<Item = (u32, T)> + use<T> {
        self.free.clear();
        let values = std::mem::take(&mut self.values);
        (0..).zip(values).filter_map(|(number, value)| Some((number, value?)))
    }
}
