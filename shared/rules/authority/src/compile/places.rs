//! Finds shifts with which every hash of a table has a place of its own ([`Places`]).

use std::cmp::Reverse;

use super::DataError;
use super::generate::Generator;
use crate::tables::Places;

/// The average number of hashes that share a shift.
const GROUP: usize = 5;

/// One place in this many stays empty, so that a shift is found soon.
const EMPTY: usize = 32;

impl Generator {
    /// Writes the shifts, and returns the number of the hash at each place. A place without one has the first hash, whose
    /// own place is another.
    pub(super) fn places(&mut self, name: &str, hashes: &[u32]) -> Result<Vec<usize>, DataError> {
        let (shifts, at) = distinct(hashes).ok_or_else(|| DataError {
            file: "all files".to_owned(),
            line: 1,
            rule: name.to_owned(),
            problem: "two hashes are equal, or no shift gives them places of their own".to_owned(),
        })?;
        let count = at.len();
        self.line(format!("pub(crate) static {name}: Places = Places {{ shifts: &{shifts:?}, count: {count} }};"));
        Ok(at.into_iter().map(Option::unwrap_or_default).collect())
    }
}

fn distinct(hashes: &[u32]) -> Option<(Vec<u16>, Vec<Option<usize>>)> {
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); hashes.len() / GROUP + 1];
    let mut shifts = vec![0; groups.len()];
    for (number, hash) in hashes.iter().enumerate() {
        groups[Places::group(*hash, shifts.len())].push(number);
    }
    let mut at: Vec<Option<usize>> = vec![None; hashes.len() + hashes.len() / EMPTY];
    let mut order: Vec<usize> = (0..groups.len()).collect();
    // The largest groups come first, while there are many empty places.
    order.sort_by_key(|group| Reverse(groups[*group].len()));
    for group in order {
        let placed = |shift: u16| {
            let mut places: Vec<usize> = Vec::new();
            for number in &groups[group] {
                let place = Places::shifted(hashes[*number], shift, at.len());
                if at[place].is_some() || places.contains(&place) {
                    return None;
                }
                places.push(place);
            }
            Some((shift, places))
        };
        let (shift, places) = (0..=u16::MAX).find_map(placed)?;
        shifts[group] = shift;
        for (number, place) in groups[group].iter().zip(places) {
            at[place] = Some(*number);
        }
    }
    Some((shifts, at))
}
