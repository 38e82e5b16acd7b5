//! Conditions under which a field is left out of stored JSON.

/// Whether a count is zero.
#[must_use]
pub fn is_zero<N: Default + PartialEq>(count: &N) -> bool {
    *count == N::default()
}
