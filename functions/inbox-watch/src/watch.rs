//! One run: what is new in the inbox, message by message.

use crate::{
    answer,
    memory::{AtHand, Begun, Claimed, Ended, MOST_SEEN, Memory, digest},
};
use audit::{AuditKey, Body, Change, CommitError, FunctionJournal, Journal, Notebook, Noted, Record};
use domain::{
    Alert, EmailAddress, Sale, SessionId, Timestamp,
    alert::Severity,
    inbox::{Incoming, Order, Reply, ReplyNoted},
    ports::{Broadcast, Inbox, MailError, Mailbox, SaleStore, StorageError, Versioned},
};
use serde_json::{Value, json};
use std::time::Duration;

/// The name of the function's memory and of its stream in the log.
pub(crate) const FUNCTION: &str = "inbox-watch";

/// So many unread messages are listed: those that may have been seen, and room for new ones behind them, so that
/// every run gets to something new if there is anything.
const MOST_LISTED: usize = 2 * MOST_SEEN + 100;

/// What a run needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: FunctionJournal<'a>,
    pub store: &'a dyn SaleStore,
    pub inbox: &'a dyn Inbox,
    pub mailbox: &'a dyn Mailbox,
    pub broadcast: &'a dyn Broadcast,
    pub audit_key: &'a AuditKey,
}

/// How a run goes about it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The mailbox's own address, which is never answered.
    pub own: EmailAddress,
    /// How long one run has the right to work; longer than the function's time-out.
    pub lease: Duration,
    /// After this time no further message is begun; shorter than the function's time-out.
    pub budget: Duration,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether the inbox was looked at.
    pub looked: bool,
    /// Messages that were new.
    pub new: usize,
    /// Messages about which nothing is left to do.
    pub finished: usize,
    /// Messages about which something failed.
    pub failed: usize,
}

/// Why a run ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Another run has taken over.
    #[error("another run has taken over")]
    Overtaken,
    /// The memory or a sale could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The memory or a sale could not be saved.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The mailbox did not do what was asked.
    #[error(transparent)]
    Mailbox(#[from] MailError),
}

impl WatchError {
    /// How long the mailbox asked to be left alone.
    const fn wait(&self) -> Option<Duration> {
        match self {
            Self::Mailbox(MailError::Throttled(wait)) => Some(*wait),
            _ => None,
        }
    }
}

/// Looks at the inbox once. `id` tells this run from all others.
///
/// # Errors
/// [`WatchError`]. What was noted stays noted, and the next run goes on from there.
pub async fn run(ports: Ports<'_>, settings: &Settings, id: &str) -> Result<Report, WatchError> {
    let notebook = ports.journal.load::<Memory>().await?;
    let mut watch = Watch { ports, settings, id, notebook, report: Report::default() };
    let (begun_at, lease) = (watch.now(), settings.lease);
    let begun = watch.commit(|memory| match memory.begin(id, begun_at, lease) {
        begun @ (Begun::Seed | Begun::Go) => Noted::save(begun),
        begun @ (Begun::Busy | Begun::Waiting) => Noted::nothing(begun),
    });
    let outcome = match begun.await? {
        Begun::Busy | Begun::Waiting => return Ok(watch.report),
        Begun::Seed => watch.seed().await,
        Begun::Go => watch.look(begun_at.plus(settings.budget)).await,
    };
    watch.end(outcome.err()).await
}

/// A run at work.
pub(crate) struct Watch<'a> {
    pub(crate) ports: Ports<'a>,
    settings: &'a Settings,
    id: &'a str,
    notebook: Versioned<Notebook<Memory>>,
    report: Report,
}

impl Watch<'_> {
    pub(crate) fn now(&self) -> Timestamp {
        self.ports.journal.clock.now()
    }

    pub(crate) fn at_hand(&self, id: &str) -> Option<AtHand> {
        self.notebook.value.memory.find(id).cloned()
    }

    async fn commit<A: Send>(
        &mut self,
        decide: impl Fn(&mut Memory) -> Noted<A> + Send + Sync,
    ) -> Result<A, CommitError> {
        let (notebook, answer) = self.ports.journal.commit(self.notebook.clone(), decide).await?;
        self.notebook = notebook;
        Ok(answer)
    }

    /// Notes something, as long as nobody else has taken over.
    pub(crate) async fn note<A: Send>(
        &mut self,
        decide: impl Fn(&mut Memory) -> Noted<A> + Send + Sync,
    ) -> Result<A, WatchError> {
        let id = self.id;
        let noted = self.commit(|memory| {
            if memory.is_run(id) {
                let Noted { events, alerts, save, answer } = decide(memory);
                Noted { events, alerts, save, answer: Some(answer) }
            } else {
                Noted::nothing(None)
            }
        });
        noted.await?.ok_or(WatchError::Overtaken)
    }

    /// The first run, or one without a memory: what is unread is taken as seen, nobody is answered, and that is said
    /// (Inbox Watch, invariant 2, FM-2, FM-3, G7).
    async fn seed(&mut self) -> Result<(), WatchError> {
        let since = domain::inbox::ReceivedAt::earliest();
        let unread = self.ports.inbox.unread(&since, Order::NewestFirst, MOST_SEEN).await?;
        let (count, more, now) = (unread.messages.len(), unread.more, self.now());
        let seed = |memory: &mut Memory| {
            memory.seed(&unread, now);
            let or_more = if more { " or more" } else { "" };
            let detail = format!("first run: {count}{or_more} unread message(s) taken as seen, nobody is answered");
            Noted::save(()).recording("inbox_seeded", json!({ "unread": count, "more": more })).alerting(alert(
                Severity::Warn,
                now,
                "SEED",
                "-",
                &detail,
            ))
        };
        self.note(seed).await?;
        self.report.looked = true;
        Ok(())
    }

    /// Takes up what is new, and works on what is at hand.
    async fn look(&mut self, until: Timestamp) -> Result<(), WatchError> {
        let since = self.notebook.value.memory.since();
        let unread = self.ports.inbox.unread(&since, Order::OldestFirst, MOST_LISTED).await?;
        self.report.looked = true;
        self.report.new = self.note(|memory| Noted::save(memory.take(&unread))).await?;
        let at_hand: Vec<String> = self.notebook.value.memory.at_hand.iter().map(|it| it.id.clone()).collect();
        for id in at_hand {
            if self.now() >= until {
                break;
            }
            match self.handle(&id).await {
                Ok(()) => self.report.finished += 1,
                Err(error) if error.wait().is_some() || matches!(error, WatchError::Overtaken) => return Err(error),
                Err(error) => {
                    self.report.failed += 1;
                    let error = runtime::telemetry::chain(&error);
                    tracing::error!(message = digest(&id), error, "a message could not be dealt with");
                    self.failed(&id).await?;
                }
            }
        }
        Ok(())
    }

    /// One message, from wherever a run before this one has left it.
    async fn handle(&mut self, id: &str) -> Result<(), WatchError> {
        let Some(at_hand) = self.at_hand(id) else { return Ok(()) };
        if let Some(draft) = at_hand.answer.as_ref().and_then(|answer| answer.draft.clone()) {
            return self.settle(id, &draft).await;
        }
        let Some(message) = self.ports.inbox.message(id).await? else {
            return self.finish(id, "gone", Ended::Well, None).await;
        };
        if !at_hand.told {
            self.ports.broadcast.tell(&answer::broadcast(&message)).await?;
            self.note(|memory| {
                memory.told(id);
                Noted::save(())
            })
            .await?;
        }
        let address = match answer::recipient(&message, &self.settings.own) {
            Ok(address) => address,
            Err(reason) => return self.finish(id, reason.code(), Ended::Well, None).await,
        };
        let (sender, now) = (self.ports.audit_key.email_tag(&address), self.now());
        // A person's only: that somebody is out of office is no work for an operator.
        self.link(id, &message, &sender).await?;
        match self.note(|memory| Noted::save(memory.claim_answer(id, &sender, now))).await? {
            Claimed::Granted => self.acknowledge(id, address, &message.subject).await,
            Claimed::Cooldown => self.finish(id, "skipped_cooldown", Ended::Well, None).await,
            Claimed::Full => {
                let detail = "too many senders today: no acknowledgement";
                let alert = alert(Severity::Error, now, "AUTORESPONSE", "-", detail);
                self.finish(id, "skipped_full", Ended::Well, Some(alert)).await
            }
        }
    }

    /// Puts a reply on the sale that it belongs to (Silent Drop, GAP-SD-09).
    async fn link(&self, id: &str, message: &Incoming, sender: &str) -> Result<(), WatchError> {
        let Some(conversation) = &message.conversation else { return Ok(()) };
        let Some(session) = self.ports.inbox.sale_of(conversation).await? else { return Ok(()) };
        let Some(sale) = self.ports.store.load(&session).await? else {
            tracing::warn!(session = session.prefix(), "a reply to a mail of a sale that is not known");
            return Ok(());
        };
        let FunctionJournal { log, alerts, clock, .. } = self.ports.journal;
        let journal = Journal { store: self.ports.store, log, alerts, clock };
        let now = self.now();
        let (sale, changed) = journal.commit(sale, |sale| replied(sale, id, sender, now)).await?;
        if changed {
            journal.settle(sale).await;
        } else {
            journal.flush(sale).await;
        }
        Ok(())
    }

    /// Nothing is left to do about a message; the log says how it ended (Inbox Watch, G3).
    pub(crate) async fn finish(
        &mut self,
        id: &str,
        outcome: &'static str,
        ended: Ended,
        alert: Option<Alert>,
    ) -> Result<(), WatchError> {
        let finish = |memory: &mut Memory| {
            let sender = memory.finish(id, ended);
            let facts: Value = json!({ "message": digest(id), "sender": sender, "outcome": outcome });
            let noted = Noted::save(()).recording("auto_response", facts);
            Noted { alerts: alert.clone().into_iter().collect(), ..noted }
        };
        self.note(finish).await
    }

    /// Something about a message failed. It is tried again in the next run, some times.
    async fn failed(&mut self, id: &str) -> Result<(), WatchError> {
        let too_often = self.note(|memory| Noted::save(memory.failed(id))).await?;
        if !too_often {
            return Ok(());
        }
        let drafted = self.at_hand(id).and_then(|it| it.answer).is_some_and(|answer| answer.draft.is_some());
        let (outcome, detail) = if drafted {
            ("unknown", "an acknowledgement may or may not have gone: it is not sent again")
        } else {
            ("given_up", "a message could not be dealt with: look into the inbox")
        };
        let alert = alert(Severity::Error, self.now(), "AUTORESPONSE", &digest(id), detail);
        self.finish(id, outcome, Ended::Well, Some(alert)).await
    }

    /// Ends the run, and says what has stopped to work or works again: once each.
    async fn end(mut self, error: Option<WatchError>) -> Result<Report, WatchError> {
        if matches!(error, Some(WatchError::Overtaken)) {
            return Err(WatchError::Overtaken);
        }
        let (now, wait) = (self.now(), error.as_ref().and_then(WatchError::wait));
        let trouble = error.as_ref().map(trouble);
        let end = |memory: &mut Memory| {
            memory.end(now, wait);
            let alert = changed(memory, trouble.as_ref(), now);
            memory.trouble = trouble.as_ref().map(|(_, code)| code.clone());
            Noted { alerts: alert.into_iter().collect(), ..Noted::save(()) }
        };
        let ended = self.note(end).await;
        match error {
            Some(error) => Err(error),
            None => ended.map(|()| self.report),
        }
    }
}

/// What does not work: how bad it is, and a code.
fn trouble(error: &WatchError) -> (Severity, String) {
    match error {
        WatchError::Mailbox(error) => {
            let severity = if error.is_retriable() { Severity::Error } else { Severity::Critical };
            (severity, error.code())
        }
        WatchError::Storage(_) | WatchError::Commit(_) | WatchError::Overtaken => (Severity::Error, "store".to_owned()),
    }
}

fn changed(memory: &Memory, trouble: Option<&(Severity, String)>, now: Timestamp) -> Option<Alert> {
    match (&memory.trouble, trouble) {
        (None, None) => None,
        (Some(before), Some((_, code))) if before == code => None,
        (_, Some((severity, code))) => {
            let detail = format!("the inbox cannot be watched ({code}): replies and inquiries wait");
            Some(alert(*severity, now, "INBOX_READ", "-", &detail))
        }
        (Some(_), None) => Some(alert(Severity::Warn, now, "INBOX_READ", "-", "the inbox is watched again")),
    }
}

/// A reply on its sale. Whether the sale changed.
fn replied(sale: &mut Sale, message: &str, sender: &str, now: Timestamp) -> Change<bool> {
    let from_buyer = sale.email_tag.as_deref().map(|buyer| buyer == sender);
    let reply = Reply { message: message.to_owned(), at: now, from_buyer, settled_at: None };
    let noted = sale.note_reply(reply);
    if noted == ReplyNoted::Known {
        return Change::nothing(false);
    }
    let body = Body::CustomerReply { message: digest(message), from_buyer };
    let detail = match noted {
        ReplyNoted::Full => "a reply has come, and the sale keeps no more of them: look into the inbox",
        ReplyNoted::Added | ReplyNoted::Known => "a reply has come: oracle replies show",
    };
    let alert = reply_alert(&sale.session_id, now, detail);
    Change::recorded(vec![Record { timestamp: now, triggered_at: now, body }], true).alerting(alert)
}

fn reply_alert(session: &SessionId, now: Timestamp, detail: &str) -> Alert {
    Alert::event("ORACLE-INBOX", Severity::Warn, now, "REPLY", session, detail)
}

/// An alert of this function's; of a message it names the digest at most.
pub(crate) fn alert(severity: Severity, now: Timestamp, operation: &str, subject: &str, detail: &str) -> Alert {
    Alert::about("ORACLE-INBOX", severity, now, operation, subject, detail)
}
