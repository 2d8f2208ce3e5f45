//! Things under way by a small number that is used again.

/// Keeps things and gives each a number.
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
    /// Keeps a thing; its number is that of none that is there.
    pub(crate) fn add(&mut self, thing: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.slots[number as usize] = Some(thing);
            return number;
        }
        self.slots.push(Some(thing));
        (self.slots.len() - 1) as u32
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.as_mut()
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.slots.get(number as usize)?.as_ref()
    }

    /// Takes a thing out.
    pub(crate) fn take(&mut self, number: u32) -> Option<T> {
        let thing = self.slots.get_mut(number as usize)?.take();
        if thing.is_some() {
            self.free.push(number);
        }
        thing
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The numbers of all that are there.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        (0..self.slots.len() as u32).filter(|number| self.get(*number).is_some()).collect()
    }
}
