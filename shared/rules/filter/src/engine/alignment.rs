//! The places of a term's letters in a view.

/// One occurrence of a pattern's letters, in order, in a view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alignment {
    pub(crate) pattern: u16,
    /// Index of the first unit.
    pub(crate) first: usize,
    /// Index of the last unit.
    pub(crate) last: usize,
    /// The role of every unit from first to last.
    pub(crate) roles: Vec<Role>,
    /// Letters and gaps are adjacent, as the term writes them, apart from case.
    pub(crate) as_written: bool,
}

impl Alignment {
    pub(super) fn place(&mut self, pattern: u16, first: usize, last: usize, as_written: bool) {
        (self.pattern, self.first, self.last, self.as_written) = (pattern, first, last, as_written);
    }
}

/// The role of a unit inside an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The element of the pattern with this index.
    Element(u8),
    /// A repetition of the element with this index.
    Repeat(u8),
    /// A separator before the element with this index.
    Gap(u8),
}
