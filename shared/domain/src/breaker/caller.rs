//! The functions that call models. Each has circuits of its own, because their time-outs differ: a model that is too slow
//! for the chat still answers orders.

use std::borrow::Cow;

/// Who calls a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The verdict function.
    Orders,
    /// The chat function.
    Chat,
    /// The toll function.
    Toll,
}

impl Caller {
    /// Every caller.
    pub const ALL: [Self; 3] = [Self::Orders, Self::Chat, Self::Toll];

    /// The name of a model's circuit for this caller.
    #[must_use]
    pub fn circuit(self, model: &str) -> Cow<'_, str> {
        match self {
            Self::Orders => model.into(),
            Self::Chat => format!("chat/{model}").into(),
            Self::Toll => format!("toll/{model}").into(),
        }
    }
}
