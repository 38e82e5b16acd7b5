//! What an operator decided about a declined sale.

/// The result of an operator's decision about a declined sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorityDecision {
    /// An approval was added; the verdict is ordered once there are enough.
    Approved {
        /// The number of approvals.
        count: usize,
        /// The number of approvals that are needed.
        needed: usize,
    },
    /// The money goes back.
    Rejected,
    /// An attempt to override a lock. It changed nothing.
    OverrideRefused,
}
