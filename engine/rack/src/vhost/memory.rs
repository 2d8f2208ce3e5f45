//! Memory of a guest, as its front end shares it.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use super::Outcome;
use crate::sys::Mapping;

/// Where a region of a guest's memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Address at which the guest has it: in descriptors and in registers of the device.
    pub guest: u64,
    /// Address at which the front end has it: in messages.
    pub user: u64,
    /// Bytes.
    pub size: u64,
    /// Where it begins in its file.
    pub offset: u64,
}

/// A region: its place and its bytes.
pub struct Region {
    /// Its place.
    pub place: Place,
    /// The file from byte 0 on.
    pub mapping: Arc<Mapping>,
}

/// All regions of a guest.
pub struct Memory(Vec<Region>);

impl Memory {
    /// Maps the files. They must be as long as the regions need.
    pub fn map(regions: Vec<(Place, File)>) -> Outcome<Self> {
        let mut mapped: Vec<Region> = Vec::with_capacity(regions.len());
        for (place, file) in regions {
            let Some(end) = end(place.offset, place.size)
                .filter(|_| end(place.guest, place.size).is_some())
                .filter(|_| end(place.user, place.size).is_some())
                .and_then(|end| usize::try_from(end).ok())
                .filter(|_| place.size > 0)
            else {
                return Err(format!("a region of {} bytes has no place", place.size));
            };
            let overlaps = |other: &Region| {
                place.guest < other.place.guest + other.place.size
                    && other.place.guest < place.guest + place.size
            };
            if mapped.iter().any(overlaps) {
                return Err(format!("the regions at {:#x} overlap", place.guest));
            }
            let mapping = Mapping::of_file(&file, end)
                .map_err(|error| format!("a region of {} bytes: {error}", place.size))?;
            mapped.push(Region { place, mapping: Arc::new(mapping) });
        }
        Ok(Self(mapped))
    }

    /// The regions.
    pub fn regions(&self) -> &[Region] {
        &self.0
    }

    /// The guest's address of `length` bytes that are at `user` in the front end.
    pub fn guest_address(&self, user: u64, length: u64) -> Option<u64> {
        self.find(user, length).map(|(region, from)| region.place.guest + from)
    }

    /// Reads a number that the device alone writes, at `user` in the front end.
    pub fn read_u16(&self, user: u64) -> Option<u16> {
        let (region, from) = self.find(user, 2)?;
        let mut bytes = [0; 2];
        region.mapping.copy_to((region.place.offset + from) as usize, &mut bytes);
        Some(u16::from_le_bytes(bytes))
    }

    /// The region with `length` bytes at `user`, and where in it they begin.
    fn find(&self, user: u64, length: u64) -> Option<(&Region, u64)> {
        self.0.iter().find_map(|region| {
            let Range { start, end } = region.place.user..region.place.user + region.place.size;
            let from = user.checked_sub(start)?;
            (user.checked_add(length)? <= end).then_some((region, from))
        })
    }
}

fn end(start: u64, size: u64) -> Option<u64> {
    start.checked_add(size)
}
