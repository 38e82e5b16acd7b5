//! The figures of a forge and of a smoke test that a text gives.

use crate::forge::ForgeFigures;

/// The figures of a text.
#[derive(Default)]
pub(super) struct FoundFigures {
    pub(super) figures: ForgeFigures,
    /// The text gives an impossible figure, such as a smoke score of 6/5 or a loss of "0.3 * 10".
    pub(super) has_unusable: bool,
    /// The text gives a smoke score without stating clearly that it is the result.
    pub(super) is_unclear: bool,
    /// The positions of the losses.
    pub(super) losses_at: Vec<usize>,
}
