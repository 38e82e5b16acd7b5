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

/// A run saves its position this often, so that one that is cut off loses at most this.
pub(crate) const SAVED_EVERY: Duration = Duration::from_secs(60);

/// A position in one of Stripe's lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Position {
    /// Its first page.
    #[default]
    Start,
    /// The page after this object.
    Page(String),
    /// Every page was read.
    End,
}

impl Position {
    /// The position after a page, which names the next one if there is one.
    pub(crate) fn after(next: Option<String>) -> Self {
        next.map_or(Self::End, Self::Page)
    }

    /// The page to ask for; `None` is the first one.
    pub(crate) fn page(&self) -> Option<&str> {
        match self {
            Self::Page(page) => Some(page),
            Self::Start | Self::End => None,
        }
    }
}

/// The positions in the lists of reports. They are read in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reports {
    /// Refunds and disputes.
    pub(crate) payments: Position,
    /// Subscriptions and invoices.
    pub(crate) billing: Position,
}

impl Reports {
    /// Whether every list was read to its end.
    pub(crate) fn are_read(&self) -> bool {
        self.payments == Position::End && self.billing == Position::End
    }
}

/// One reading of Stripe's list of sessions, by one run or by several, and the reports that are left.
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
    /// How far the reports are.
    #[serde(default)]
    pub(crate) reports: Reports,
    /// Whether the list of sessions was read to its end, and only reports are left. The next run reads the list anew.
    #[serde(default)]
    pub(crate) is_compared: bool,
}

impl Pass {
    /// A comparison that begins now, with all reports.
    pub(crate) const fn new(began: Timestamp, since: Timestamp) -> Self {
        let reports = Reports { payments: Position::Start, billing: Position::Start };
        Self { began, since, from: None, is_bad: false, reports, is_compared: false }
    }
}

/// The function's notes.
pub(crate) struct Progress {
    /// When the last comparison of every sale began; `None` before the first one.
    pub(crate) complete: Versioned<Notebook<Option<Timestamp>>>,
    /// The comparison that is in work or was cut off.
    pub(crate) pass: Versioned<Notebook<Option<Pass>>>,
    /// When the comparison was saved, or the notes were loaded.
    pub(crate) saved_at: Timestamp,
}

impl Progress {
    /// Loads the notes.
    ///
    /// # Errors
    /// [`StorageError`] when the table could not be read.
    pub(crate) async fn load(journal: FunctionJournal<'_>, now: Timestamp) -> Result<Self, StorageError> {
        Ok(Self { complete: journal.load().await?, pass: of_pass(journal).load().await?, saved_at: now })
    }

    /// The comparison that is to be continued.
    pub(crate) fn begun(&self, now: Timestamp) -> Option<&Pass> {
        self.pass.value.memory.as_ref().filter(|pass| now.since(pass.began) < CONTINUED_FOR)
    }

    /// Saves how far a comparison is, unless that was done within the last minute.
    ///
    /// # Errors
    /// [`CommitError`]: it is not saved, or it is and the reply was lost.
    pub(crate) async fn advance(
        &mut self,
        journal: FunctionJournal<'_>,
        pass: &Pass,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        if self.saved_at.plus(SAVED_EVERY) <= now { self.save(journal, pass, now).await } else { Ok(()) }
    }

    /// Saves how far a comparison is.
    ///
    /// # Errors
    /// [`CommitError`]: it is not saved, or it is and the reply was lost.
    pub(crate) async fn save(
        &mut self,
        journal: FunctionJournal<'_>,
        pass: &Pass,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        let save = |stored: &mut Option<Pass>, _| {
            *stored = Some(pass.clone());
            Noted::save(())
        };
        self.pass = of_pass(journal).commit(self.pass.clone(), save).await?.settle().await.0;
        self.saved_at = now;
        Ok(())
    }

    /// Notes that a comparison that began then has compared every sale.
    ///
    /// # Errors
    /// [`CommitError`]: it is not saved, or it is and the reply was lost.
    pub(crate) async fn complete(&mut self, journal: FunctionJournal<'_>, began: Timestamp) -> Result<(), CommitError> {
        let complete = |stored: &mut Option<Timestamp>, _| {
            *stored = (*stored).max(Some(began));
            Noted::save(())
        };
        self.complete = journal.commit(self.complete.clone(), complete).await?.settle().await.0;
        Ok(())
    }

    /// Ends a comparison: after a crash before, the next run continues it and notes its end again.
    ///
    /// # Errors
    /// [`CommitError`]: it is not saved, or it is and the reply was lost.
    pub(crate) async fn end(self, journal: FunctionJournal<'_>) -> Result<(), CommitError> {
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
            saved_at: began,
        };
        progress.pass.value.memory = Some(Pass::new(began, began));
        for (millis, is_continued) in [(0, true), (604_799_999, true), (604_800_000, false)] {
            let now = Timestamp::from_millis(began.as_millis() + millis);
            assert_eq!(progress.begun(now).is_some(), is_continued, "{millis}");
        }
    }
}
