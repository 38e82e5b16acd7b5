//! The context of a request, for the checker.

use domain::Timestamp;

/// The context of a request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) person: usize,
    /// The method and path, without ids.
    pub(super) call: &'static str,
    pub(super) exchange: Option<u64>,
    pub(super) began: Timestamp,
    /// The exchanges in the person's account or memory when the request began.
    pub(super) had: Vec<u64>,
    /// The cookie of the session that the browser sends.
    pub(super) cookie: Option<String>,
    /// The cookies of the sessions that the request ends if it is a sign-out.
    pub(super) ends: Vec<String>,
}
