//! A run in progress: its ports, its saved state and the changes to it.

use crate::{
    error::WatchError,
    state::{Ended, InboxState, MessageInWork, digest},
};
use audit::{AuditKey, AuditKeys, CommitError, FunctionJournal, Journal, Notebook, Noted};
use domain::{
    Alert, EmailAddress, Timestamp,
    ports::{
        Broadcast, Inbox, Mailbox, Meter, Pause, Queue, RelayDrafts, SaleStore, SecretSource, Submissions, Versioned,
    },
};
use serde_json::{Value, json};
use std::time::Duration;

/// The name of the function's state and of its stream in the log.
pub const FUNCTION: &str = "inbox-watch";

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: FunctionJournal<'a>,
    pub store: &'a dyn SaleStore,
    pub submissions: &'a dyn Submissions,
    pub orders: &'a dyn Queue,
    pub bridges: bridge::Ports<'a>,
    pub inbox: &'a dyn Inbox,
    /// The sales of mails that another service has sent.
    pub relayed: &'a dyn RelayDrafts,
    pub mailbox: &'a dyn Mailbox,
    pub broadcast: &'a dyn Broadcast,
    pub pause: &'a dyn Pause,
    pub audit_keys: &'a dyn SecretSource,
    pub meter: &'a dyn Meter,
}

/// The keys of one run.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    /// The key that hashes the senders' addresses.
    pub(crate) current: &'a AuditKey,
    /// All keys that the addresses of sales were hashed with, including the current one.
    pub(crate) all: &'a AuditKeys,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The mailbox's own address, which is never answered.
    pub own: EmailAddress,
    /// The lease of one run; longer than the function's time-out.
    pub lease: Duration,
    /// No message is begun after this time.
    pub budget: Duration,
    /// The most time for the list of messages, and for one message; together with the budget it is shorter than the function's
    /// time-out.
    pub limit: Duration,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Whether the inbox was checked.
    pub looked: bool,
    /// Messages that were new.
    pub new: usize,
    /// Messages that are completed.
    pub finished: usize,
    /// Messages for which a step failed.
    pub failed: usize,
}

/// A run in progress.
pub(crate) struct Watch<'a> {
    pub(crate) ports: Ports<'a>,
    pub(crate) keys: Keys<'a>,
    pub(crate) settings: &'a Settings,
    pub(crate) id: &'a str,
    pub(crate) notebook: Versioned<Notebook<InboxState>>,
    pub(crate) report: Report,
}

impl Watch<'_> {
    pub(crate) fn now(&self) -> Timestamp {
        self.ports.journal.clock.now()
    }

    pub(crate) fn at_hand(&self, id: &str) -> Option<MessageInWork> {
        self.notebook.value.memory.find(id).cloned()
    }

    /// The journal of sales.
    pub(crate) const fn sales(&self) -> Journal<'_> {
        let FunctionJournal { log, alerts, clock, .. } = self.ports.journal;
        Journal { store: self.ports.store, log, alerts, clock }
    }

    pub(crate) async fn commit<A: Send>(
        &mut self,
        decide: impl Fn(&mut InboxState, Timestamp) -> Noted<A> + Send + Sync,
    ) -> Result<A, CommitError> {
        let (notebook, answer) = self.ports.journal.commit(self.notebook.clone(), decide).await?.settle().await;
        self.notebook = notebook;
        Ok(answer)
    }

    /// Saves a change of the state, unless another run has taken the lease.
    pub(crate) async fn commit_state<A: Send>(
        &mut self,
        decide: impl Fn(&mut InboxState, Timestamp) -> Noted<A> + Send + Sync,
    ) -> Result<A, WatchError> {
        let id = self.id;
        let committed = self.commit(
            |state, now| {
                if state.is_run(id) { decide(state, now).map(Some) } else { Noted::nothing(None) }
            },
        );
        committed.await?.ok_or(WatchError::Overtaken)
    }

    /// Completes a message; the log says how it ended (Inbox Watch, G3).
    pub(crate) async fn finish(
        &mut self,
        id: &str,
        outcome: &'static str,
        ended: Ended,
        alert: Option<Alert>,
    ) -> Result<(), WatchError> {
        let finish = |state: &mut InboxState, _| {
            let sender = state.finish(id, ended);
            let facts: Value = json!({ "message": digest(id), "sender": sender, "outcome": outcome });
            Noted::save(()).recording("auto_response", facts).alerting_all(alert.clone())
        };
        self.commit_state(finish).await
    }
}
