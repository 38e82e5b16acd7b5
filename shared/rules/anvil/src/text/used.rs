//! Marks the tokens that a reader has used.

use super::token::Tokens;

/// Which tokens a reader has used.
pub(super) struct Used(Vec<bool>);

impl Used {
    pub(super) fn new(tokens: &Tokens<'_>) -> Self {
        Self(vec![false; tokens.len()])
    }

    /// Marks the tokens from `from` up to, but not including, `to`.
    pub(super) fn mark(&mut self, from: usize, to: usize) {
        let to = to.min(self.0.len());
        if let Some(range) = self.0.get_mut(from.min(to)..to) {
            range.fill(true);
        }
    }

    pub(super) fn is_used(&self, at: usize) -> bool {
        self.0.get(at).copied().unwrap_or(true)
    }
}
