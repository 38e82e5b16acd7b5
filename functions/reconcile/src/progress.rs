//! The progress of the comparison. The function's notes keep it, so that the next run continues one that was cut off.

use audit::{CommitError, FunctionJournal, Notebook, Noted};
use domain::{
    Timestamp,
    ports::{StorageError, Versioned},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The name of the note about the comparison that is in work. It is a note of its own, because earlier versions must
/// be able to read the other one after a rollback.
const PASS: &str = "reconcile-pass";

/// How long a comparison that was cut off is continued. Sessions that were completed after it began wait for a new one.
const CONTINUED_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// One reading of Stripe's list of sessions, by one run or by several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pass {
    /// When it began. Sessions that are completed later are left to the next one.
    pub(crate) began: Timestamp,
    /// Sessions that were created before are not compared.
    pub(crate) since: Timestamp,
    /// The position of the next page in the list; `None` at its start. The list has the newest sessions first.
    pub(crate) from: Option<String>,
    /// Whether a sale could not be compared.
    pub(crate) is_bad: bool,
}

impl Pass {
    /// A comparison that begins now.
    pub(crate) const fn new(began: Timestamp, since: Timestamp) -> Self {
        Self { began, since, from: None, is_bad: false }
    }
}

/// The function's notes.
pub(crate) struct Progress {
    /// When the last comparison of every sale began; `None` before the first one.
    pub(crate) complete: Versioned<Notebook<Option<Timestamp>>>,
    /// The comparison that is in work or was cut off.
    pub(crate) pass: Versioned<Notebook<Option<Pass>>>,
}

impl Progress {
    /// Loads the notes.
    ///
    /// # Errors
    /// [`StorageError`] when the table could not be read.
    pub(crate) async fn load(journal: FunctionJournal<'_>) -> Result<Self, StorageError> {
        Ok(Self { complete: journal.load().await?, pass: of_pass(journal).load().await? })
    }

    /// The comparison that is to be continued.
    pub(crate) fn begun(&self, now: Timestamp) -> Option<&Pass> {
        self.pass.value.memory.as_ref().filter(|pass| now.since(pass.began) < CONTINUED_FOR)
    }

    /// Saves how far a comparison is.
    ///
    /// # Errors
    /// [`CommitError`]: it is not saved, or it is and the reply was lost.
    pub(crate) async fn advance(self, journal: FunctionJournal<'_>, pass: &Pass) -> Result<Self, CommitError> {
        let advance = |stored: &mut Option<Pass>, _| {
            *stored = Some(pass.clone());
            Noted::save(())
        };
        let pass = of_pass(journal).commit(self.pass, advance).await?.settle().await.0;
        Ok(Self { pass, ..self })
    }

    /// Ends a comparison. `began` is its beginning if it compared every sale, and else `None`.
    ///
    /// # Errors
    /// [`CommitError`]: it is not saved, or it is and the reply was lost.
    pub(crate) async fn end(self, journal: FunctionJournal<'_>, began: Option<Timestamp>) -> Result<(), CommitError> {
        if began.is_some() {
            let complete = |stored: &mut Option<Timestamp>, _| {
                *stored = (*stored).max(began);
                Noted::save(())
            };
            journal.commit(self.complete, complete).await?.settle().await;
        }
        // Last: after a crash in between, the next run continues the comparison and notes its end again.
        if self.pass.value.memory.is_some() {
            let end = |stored: &mut Option<Pass>, _| {
                *stored = None;
                Noted::save(())
            };
            of_pass(journal).commit(self.pass, end).await?.settle().await;
        }
        Ok(())
    }
}

const fn of_pass(journal: FunctionJournal<'_>) -> FunctionJournal<'_> {
    FunctionJournal { function: PASS, ..journal }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_that_was_cut_off_is_continued_for_less_than_a_week() {
        let began = Timestamp::from_seconds(1_800_000_000);
        let mut progress = Progress {
            complete: Versioned { value: Notebook::default(), version: 0 },
            pass: Versioned { value: Notebook::default(), version: 0 },
        };
        progress.pass.value.memory = Some(Pass::new(began, began));
        for (millis, is_continued) in [(0, true), (604_799_999, true), (604_800_000, false)] {
            let now = Timestamp::from_millis(began.as_millis() + millis);
            assert_eq!(progress.begun(now).is_some(), is_continued, "{millis}");
        }
    }
}
