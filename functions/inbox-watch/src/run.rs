//! One run: handles the new messages of the inbox, one by one.

use crate::{
    alerts::{alert, alert_backlog, alert_on_change, alert_unanswered, severity_and_code},
    answer::{self, Unanswered},
    disclosure::disclosure,
    error::WatchError,
    link::{DELIVERY_REPORT, Linked},
    state::{Begun, Claimed, Ended, InboxState, Kind, MOST_SEEN, MessageInWork, digest},
    watch::{Keys, Ports, Report, Settings, Watch},
};
use audit::Noted;
use authority::Refusal;
use domain::{
    EmailAddress, Timestamp,
    alert::Severity,
    inbox::{Arrivals, Incoming, Order, ReceivedAt, is_authenticated},
    ports::MailError,
};
use runtime::within;
use serde_json::json;

/// The number of messages that are listed: all that may have been seen, and room for new ones behind them, so that
/// every run reaches new messages if there are any.
const MOST_LISTED: usize = 2 * MOST_SEEN + 100;

/// Checks the inbox once. `id` identifies this run.
///
/// # Errors
/// [`WatchError`]. Saved steps stay saved, and the next run continues from there.
pub(crate) async fn run(ports: Ports<'_>, keys: Keys<'_>, settings: &Settings, id: &str) -> Result<Report, WatchError> {
    let notebook = ports.journal.load::<InboxState>().await?;
    let mut watch = Watch { ports, keys, settings, id, notebook, report: Report::default() };
    let (begun_at, lease) = (watch.now(), settings.lease);
    let begun = watch.commit(|state, _| match state.begin(id, begun_at, lease) {
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

impl Watch<'_> {
    /// The first run, or one without saved state: the messages in the inbox count as seen, none is acknowledged, and an
    /// alert says so (Inbox Watch, invariant 2, FM-2, FM-3, G7).
    async fn seed(&mut self) -> Result<(), WatchError> {
        let since = ReceivedAt::earliest();
        let unread = self.arrived(&since, Order::NewestFirst, MOST_SEEN).await?;
        let (count, more) = (unread.messages.len(), unread.more);
        let seed = |state: &mut InboxState, now| {
            state.seed(&unread, now);
            let or_more = if more { " or more" } else { "" };
            let detail = format!("first run: {count}{or_more} message(s) taken as seen, nobody is answered");
            Noted::save(()).recording("inbox_seeded", json!({ "unread": count, "more": more })).alerting(alert(
                Severity::Warn,
                now,
                "SEED",
                "-",
                &detail,
            ))
        };
        self.commit_state(seed).await?;
        self.report.looked = true;
        Ok(())
    }

    /// Lists messages. A list of many pages, or one that hangs, takes at most the time of one message.
    async fn arrived(&self, since: &ReceivedAt, order: Order, most: usize) -> Result<Arrivals, WatchError> {
        let listed = self.ports.inbox.arrived(since, order, most);
        Ok(within(self.ports.pause, self.settings.limit, listed).await??)
    }

    /// Takes new messages into work, and handles those in work. These are handled also if the list fails, because they are
    /// fetched by their ids.
    async fn look(&mut self, until: Timestamp) -> Result<(), WatchError> {
        if let Some(id) = self.notebook.value.memory.fatal_message().map(str::to_owned) {
            tracing::error!(message = digest(&id), "the process died while it handled a message");
            self.failed(&id).await?;
        }
        let since = self.notebook.value.memory.since();
        let listed = match self.arrived(&since, Order::OldestFirst, MOST_LISTED).await {
            Ok(unread) => {
                self.report.looked = true;
                let take = |state: &mut InboxState, now| {
                    let before = state.clone();
                    let taken = state.take(&unread);
                    let alert = state.update_backlog(&unread).map(|has_begun| alert_backlog(has_begun, now));
                    // Most runs find nothing new. What is in work is claimed again before anything is done about it.
                    let is_idle = state.at_hand.is_empty() && *state == before;
                    let noted = if is_idle { Noted::nothing(taken) } else { Noted::save(taken) };
                    noted.alerting_all(alert)
                };
                self.report.new = self.commit_state(take).await?;
                Ok(())
            }
            Err(error) if error.wait().is_some() => return Err(error),
            Err(error) => Err(error),
        };
        for id in self.notebook.value.memory.in_order() {
            if self.now() >= until {
                break;
            }
            let (pause, limit) = (self.ports.pause, self.settings.limit);
            let handled = within(pause, limit, self.handle(&id)).await;
            match handled.unwrap_or_else(|interrupted| Err(interrupted.into())) {
                Ok(()) => self.report.finished += 1,
                Err(error) if error.wait().is_some() || matches!(error, WatchError::Overtaken) => return Err(error),
                Err(error) => {
                    self.report.failed += 1;
                    let error = runtime::telemetry::chain(&error);
                    tracing::error!(message = digest(&id), error, "a message could not be handled");
                    // If the list failed too, the mailbox is down. That uses up no message's attempts.
                    if listed.is_err() {
                        break;
                    }
                    self.failed(&id).await?;
                }
            }
        }
        listed
    }

    /// Handles one message, from the point where an earlier run left it.
    async fn handle(&mut self, id: &str) -> Result<(), WatchError> {
        let Some(at_hand) = self.at_hand(id) else { return Ok(()) };
        if self.notebook.value.memory.follows_dead_run() {
            self.save_begun_message(id).await?;
        }
        if let Some(draft) = at_hand.answer.as_ref().and_then(|answer| answer.draft.clone()) {
            return self.settle(id, &draft).await;
        }
        let Some(message) = self.ports.inbox.message(id).await? else {
            return self.finish(id, "gone", Ended::Gone, None).await;
        };
        if at_hand.answered {
            return self.announce(id, &message).await;
        }
        let address = match answer::recipient(&message, &self.settings.own) {
            Ok(address) => address,
            Err(reason) => {
                if !at_hand.alerted {
                    self.announce(id, &message).await?;
                }
                // Once the search for its sale has failed too often, an alert has asked to read it.
                let is_report = answer::is_delivery_report(&message) && !at_hand.unlinked;
                let alert = if is_report { self.link_report(id, &message).await? } else { None };
                let outcome = if alert.is_some() { DELIVERY_REPORT } else { reason.code() };
                return self.finish(id, outcome, Ended::Well, alert).await;
            }
        };
        let text = self.read(id, &message).await;
        // While the text cannot be read, the subject is evaluated alone.
        let known = text.as_ref().ok().and_then(Option::as_deref).unwrap_or_default();
        let disclosed = disclosure(&message, known, None);
        if let Some(disclosed) = &disclosed {
            let by_subject = !matches!(text, Ok(Some(_)));
            self.record_disclosure(id, &message, &address, disclosed, by_subject).await?;
        }
        let announced = if at_hand.alerted { Ok(()) } else { self.announce(id, &message).await };
        // An announcement that fails withholds no sources of help. The next runs try it again.
        if announced.is_err() && disclosed.is_none() {
            return announced;
        }
        self.answer(&at_hand, &message, address, text?, disclosed.is_some()).await.and(announced)
    }

    /// Saves that a message is begun, so that the next run counts a failure if the process dies.
    async fn save_begun_message(&mut self, id: &str) -> Result<(), WatchError> {
        let begin = |state: &mut InboxState, _| {
            state.begin_message(id);
            Noted::save(())
        };
        self.commit_state(begin).await
    }

    /// Announces a message to operators.
    async fn announce(&mut self, id: &str, message: &Incoming) -> Result<(), WatchError> {
        self.ports.broadcast.announce(&answer::broadcast(message)).await?;
        self.record_announcement(id).await
    }

    /// Records that operators were alerted to a message.
    pub(crate) async fn record_announcement(&mut self, id: &str) -> Result<(), WatchError> {
        let record = |state: &mut InboxState, _| {
            state.record_alert(id);
            Noted::save(())
        };
        self.commit_state(record).await
    }

    /// Links a person's message and answers it. `text` is its new text, if it could be read.
    async fn answer(
        &mut self,
        at_hand: &MessageInWork,
        message: &Incoming,
        address: EmailAddress,
        text: Option<String>,
        is_disclosure: bool,
    ) -> Result<(), WatchError> {
        let id = at_hand.id.as_str();
        let is_authenticated = is_authenticated(message);
        let text = text.filter(|_| is_authenticated);
        // Only a person's message is linked: an out-of-office reply is no work for an operator.
        let (mut session, mut country, mut answer) = (None, None, None);
        if at_hand.unlinked {
            // The list holds operators to the time that the acknowledgement promises. An answer is claimed only after a
            // search that succeeded, or after this.
            if at_hand.answer.is_none()
                && let Err(error) = self.inquire(id, &address).await
            {
                let error = runtime::telemetry::chain(&error);
                tracing::error!(message = digest(id), error, "a message whose sale is unknown is on no list");
            }
        } else {
            match self.link(id, message, &address, text.as_deref()).await? {
                Linked::Sale { session: of, locale, answer: asked } => {
                    (session, country, answer) = (Some(of), locale, asked);
                }
                Linked::Bridge { name, is_posted } => {
                    if !is_posted {
                        self.inquire(id, &address).await?;
                    }
                    session = name;
                }
                Linked::Nothing => self.inquire(id, &address).await?,
            }
        }
        if !is_authenticated {
            return self.finish(id, Unanswered::Unauthenticated.code(), Ended::Well, None).await;
        }
        // The sale's country selects the sources of help.
        let text = is_disclosure.then(|| text.as_deref().unwrap_or_default());
        let disclosed = text.and_then(|text| disclosure(message, text, country.as_deref()));
        let (kind, body) = match (&disclosed, answer) {
            (Some(disclosed), _) => (Kind::Help, Refusal::of(disclosed).map(|refusal| refusal.text())),
            (None, Some(answer)) => (Kind::Followup, Some(answer)),
            (None, None) => (Kind::Acknowledgement, None),
        };
        let sender = self.keys.current.email_tag(&address);
        let claim = |state: &mut InboxState, now| Noted::save(state.claim_answer(id, &sender, kind, now));
        let claimed = self.commit_state(claim).await?;
        let outcome = match claimed {
            Claimed::Granted => {
                let body = body.unwrap_or_else(|| answer::BODY.to_owned());
                return self.acknowledge(id, address, answer::subject(kind, &message.subject), body, session).await;
            }
            Claimed::Cooldown => "skipped_cooldown",
            Claimed::Full => "skipped_full",
        };
        self.finish(id, outcome, Ended::Well, alert_unanswered(kind, claimed, id, self.now())).await
    }

    /// The new text of a message. In the end one that cannot be read is handled without its text.
    async fn read(&self, id: &str, message: &Incoming) -> Result<Option<String>, WatchError> {
        let may_lack_text = || {
            let subject_discloses = disclosure(message, "", None).is_some();
            self.notebook.value.memory.may_lack_text(id, subject_discloses)
        };
        match self.ports.inbox.new_text(id).await {
            Err(error) if !matches!(error, MailError::Throttled { .. }) && may_lack_text() => Ok(None),
            read => Ok(read?),
        }
    }

    /// Ends the run, and alerts once when something stops working, and once when it works again.
    async fn end(mut self, error: Option<WatchError>) -> Result<Report, WatchError> {
        if matches!(error, Some(WatchError::Overtaken)) {
            return Err(WatchError::Overtaken);
        }
        let wait = error.as_ref().and_then(WatchError::wait);
        let trouble = error.as_ref().map(severity_and_code);
        let end = |state: &mut InboxState, now| {
            state.end(now, wait);
            let alert = alert_on_change(state, trouble.as_ref(), now);
            state.trouble = trouble.as_ref().map(|(_, code)| code.clone());
            Noted::save(()).alerting_all(alert)
        };
        let ended = self.commit_state(end).await;
        match error {
            Some(error) => Err(error),
            None => ended.map(|()| self.report),
        }
    }
}
