//! The ends of an attempt: sent, to be retried, held, dead letter.

use super::{Attempt, Delivery, Outcome, Ports};
use crate::failure;
use audit::{Change, Record, sale_events};
use domain::{
    Alert, Sale, StepError, Timestamp,
    alert::Severity,
    mail::{Failure, Letter, Mail, Next},
    ports::Versioned,
    sale::{Event, HeldBy, Refused, Rendered},
};

/// Writes the object of a dead letter. Its alert has been sent and its state saved; if the object cannot be written,
/// operators are alerted to that too (Email Retry, FM-04).
pub(super) async fn keep_dead_letter(ports: Ports<'_>, sale: &Sale, letter: Letter) {
    let dead = failure::dead_letter(sale, letter).filter(|_| !sale.smoke());
    let Some((died_at, document)) = dead else { return };
    if let Err(error) = ports.dead_letters.keep(sale.session_id(), letter, died_at, &document.to_string()).await {
        let (now, detail) = (ports.journal.clock.now(), format!("dead letter not kept: {}", error.operation));
        let alert = Alert::event("ORACLE-EMAIL", Severity::Critical, now, "DEAD_LETTER", sale.session_id(), &detail);
        ports.journal.alerts.raise(alert).await;
    }
}

impl Delivery<'_> {
    pub(super) async fn sent(&self, sale: Versioned<Sale>) -> Result<Outcome, StepError> {
        let (letter, owner) = (self.order.letter, &self.order.message_id);
        self.end(sale, None, |sale, now| sale.mail_sent(letter, owner, now)).await
    }

    /// Email Retry FM-06: no mail, a warning, the verdict stays on the page.
    pub(super) async fn no_address(&self, sale: Versioned<Sale>) -> Result<Outcome, StepError> {
        let (letter, owner) = (self.order.letter, &self.order.message_id);
        let alert = self.event(Severity::Warn, "EMAIL_SEND", sale_events::no_address(letter));
        self.end(sale, Some(alert), |sale, _| sale.mail_no_address(letter, owner)).await
    }

    /// Counts a failed attempt, records it, and decides what follows (Email Retry, INV-02, INV-05, INV-08). `.1` is
    /// `None` when the next attempt follows immediately.
    pub(super) async fn failed(
        &self,
        failed: Versioned<Sale>,
        failure: &Failure,
        rendered: Option<&Rendered>,
    ) -> Result<(Versioned<Sale>, Option<Attempt>), StepError> {
        let (letter, owner) = (self.order.letter, &self.order.message_id);
        let schedule = self.settings.schedule(letter, failed.value.smoke());
        let count = |sale: &mut Sale, now| {
            let Ok(event) = sale.mail_failed(letter, owner, failure, rendered, &schedule, now) else {
                return Change::nothing(None);
            };
            let Event::MailFailed { next, .. } = event else { return Change::nothing(None) };
            let alert = failure::alert(sale, letter, failure, next, now);
            Change::of(&event, &self.context(now), Some(next)).alerting_all(alert)
        };
        let counted = self.ports.journal.commit(failed, count).await?;
        let (sale, next) = counted.settle_unless(|_, next| matches!(next, Some(Next::AtOnce))).await;
        let attempt = match next {
            None => Attempt::Later,
            Some(Next::AtOnce) => return Ok((sale, None)),
            Some(Next::At(due)) => match sale.value.letter(letter) {
                Mail::Retrying { progress, .. } => Attempt::Again(self.ports.circuit.next_look(progress, due).await),
                _ => Attempt::Again(due),
            },
            Some(Next::Unknown) => Attempt::Ended,
            Some(Next::Dead) => {
                keep_dead_letter(self.ports, &sale.value, letter).await;
                Attempt::Ended
            }
        };
        Ok((sale, Some(attempt)))
    }

    /// Holds a mail at gate 2.
    pub(super) async fn hold(
        &self,
        sale: Versioned<Sale>,
        gate: &gates::Run,
        record: Record,
        raw: &serde_json::Value,
    ) -> Result<Outcome, StepError> {
        let now = self.now();
        let payload = gate.held_payload(&self.order.session_id, sale.value.tier(), now, raw);
        self.ports.quarantine.hold(&self.order.session_id, now, &payload).await?;
        let held_by = HeldBy::Mailer { owner: &self.order.message_id, letter: self.order.letter };
        let context = self.context(now).with_evidence([record]);
        let hold = |sale: &mut Sale, _| gate.hold(sale, held_by, &context);
        self.ports.journal.commit(sale, hold).await?.settle().await;
        Ok(Outcome::Ended(Attempt::Ended))
    }

    /// Ends the delivery, with its record, if this worker still holds the claim.
    async fn end(
        &self,
        sale: Versioned<Sale>,
        alert: Option<Alert>,
        end: impl Fn(&mut Sale, Timestamp) -> Result<Event, Refused> + Send + Sync,
    ) -> Result<Outcome, StepError> {
        let end = |sale: &mut Sale, now| {
            let Ok(event) = end(sale, now) else { return Change::nothing(()) };
            Change::of(&event, &self.context(now), ()).alerting_all(alert.clone())
        };
        let (sale, ()) = self.ports.journal.commit(sale, end).await?.settle().await;
        // Another worker may have abandoned the mail meanwhile, and crashed before it kept the dead letter. This message is
        // the last one about it.
        keep_dead_letter(self.ports, &sale.value, self.order.letter).await;
        Ok(Outcome::Ended(Attempt::Ended))
    }

    /// Releases the claim at once. A claim with a recorded draft is kept until its lease ends: the mailbox may be sending
    /// the draft while it still shows it.
    pub(super) async fn release(&self) {
        let (letter, owner) = (self.order.letter, &self.order.message_id);
        let release = |sale: &mut Sale, now| {
            let has_draft = sale.delivering(letter, owner).is_some_and(|progress| progress.draft.is_some());
            !has_draft && sale.release_mail(letter, owner, now).is_ok()
        };
        self.ports.journal.release(&self.order.session_id, self.order.ordered_at, release).await;
    }
}
