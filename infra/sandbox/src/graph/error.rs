//! Graph's reply to a refused call.

/// A refused call.
#[derive(Debug)]
pub(crate) struct GraphError {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl GraphError {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "ErrorItemNotFound", "The specified object was not found in the store.")
    }
}
