//! Tables of numbers that the build script writes as bytes.

use std::borrow::Cow;

/// Numbers of 16 bits as little-endian bytes. The embedded ones are read in place: copying them would slow every cold
/// start.
#[derive(Clone, Debug)]
pub(crate) struct Numbers(pub(crate) Cow<'static, [[u8; 2]]>);

impl Numbers {
    pub(crate) fn embedded(bytes: &'static [u8]) -> Numbers {
        Numbers(Cow::Borrowed(bytes.as_chunks().0))
    }

    pub(crate) fn as_slice(&self) -> NumberSlice<'_> {
        NumberSlice(&self.0)
    }

    pub(crate) fn get(&self, index: usize) -> Option<u16> {
        self.as_slice().get(index)
    }
}

impl From<Vec<u16>> for Numbers {
    fn from(numbers: Vec<u16>) -> Numbers {
        Numbers(numbers.into_iter().map(u16::to_le_bytes).collect())
    }
}

/// Borrowed [`Numbers`], for loops: reading one does not ask who owns them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberSlice<'n>(&'n [[u8; 2]]);

impl NumberSlice<'_> {
    pub(crate) fn get(self, index: usize) -> Option<u16> {
        self.0.get(index).map(|bytes| u16::from_le_bytes(*bytes))
    }
}
