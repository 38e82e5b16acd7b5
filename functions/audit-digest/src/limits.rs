//! The limits and the counts of one run.

/// The number of objects read, or messages deleted, concurrently.
pub(crate) const AT_ONCE: usize = 32;

/// The number of unreadable objects that a digest may leave to a later one, and a comparison may leave out. With more,
/// the store itself is failing.
pub(crate) const UNREADABLE: usize = 32;

/// The limits of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The most objects in one digest; further ones go into the next digest.
    pub entries: usize,
    /// The most digests in one run; the rest waits for the next run.
    pub documents: usize,
    /// The length in bytes of the longest object that is read.
    pub bytes: u64,
    /// The least number of already digested objects that one run compares again.
    pub rechecked: usize,
}

/// The counts of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Digests that were completed.
    pub documents: u64,
    /// Objects in these digests.
    pub entries: u64,
    /// Messages that are not S3 notifications. They end in the dead-letter queue.
    pub unreadable: u64,
    /// Objects left out because they are too long or could not be read. Their messages also end in the dead-letter
    /// queue.
    pub left: u64,
    /// Whether another run stored a digest first; that run continues.
    pub overtaken: bool,
}
