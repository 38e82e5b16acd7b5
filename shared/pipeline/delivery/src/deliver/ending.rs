//! How an attempt ends: sent, failed and to be tried again, held, given up.

use super::{Attempt, Delivery, Outcome, Ports};
use crate::failure::{self, Failure, Next, judge};
use audit::{Change, Committed, Record, Status};
use domain::{
    Alert, Sale, StepError, Timestamp,
    alert::Severity,
    mail::{Letter, Mail},
    ports::Versioned,
    sale::Fulfilment,
};

/// Keeps the object of a dead letter. Its alert has been raised and its state saved; when the object cannot be
/// written, operators hear of that too (Email Retry, FM-04).
pub(super) async fn keep_dead_letter(ports: Ports<'_>, sale: &Sale, letter: Letter) {
    let dead = failure::dead_letter(sale, letter).filter(|_| !sale.smoke);
    let Some((died_at, document)) = dead else { return };
    if let Err(error) = ports.dead_letters.keep(&sale.session_id, letter, died_at, &document.to_string()).await {
        let (now, detail) = (ports.journal.clock.now(), format!("dead letter not kept: {}", error.operation));
        let alert = Alert::event("ORACLE-EMAIL", Severity::Critical, now, "DEAD_LETTER", &sale.session_id, &detail);
        ports.journal.alerts.raise(alert).await;
    }
}

impl Delivery<'_> {
    pub(super) async fn sent(&self, sale: Versioned<Sale>) -> Result<Outcome, StepError> {
        let sent = Mail::Sent { at: self.now() };
        self.end(sale, sent, Status::EmailSent, "accepted by the mailbox (202)", None).await
    }

    /// Email Retry FM-06: no mail, a warning, the verdict stays on the page.
    pub(super) async fn no_address(&self, sale: Versioned<Sale>) -> Result<Outcome, StepError> {
        let detail = match self.order.letter {
            Letter::Verdict | Letter::Divergence => {
                "the session has no e-mail address: the verdict is on the result page only"
            }
            Letter::SilentDrop => "the session has no e-mail address: the customer cannot be asked for the question",
        };
        let alert = self.event(Severity::Warn, "EMAIL_SEND", detail);
        self.end(sale, Mail::NoAddress, Status::EmailFailed, detail, Some(alert)).await
    }

    /// Counts a failed attempt, records it, and decides what follows (Email Retry, INV-02, INV-05, INV-08).
    /// Nothing follows in `.1` when the next attempt is to be made at once.
    pub(super) async fn failed(
        &self,
        failed: Versioned<Sale>,
        failure: &Failure,
    ) -> Result<(Versioned<Sale>, Option<Attempt>), StepError> {
        let (letter, owner) = (self.order.letter, &self.order.message_id);
        let schedule = self.settings.schedule(letter, failed.value.smoke);
        let (tag, hash) = (failed.value.email_tag.clone(), body_hash(failed.value.letter(letter)));
        let count = |sale: &mut Sale, now| {
            let Some(progress) = sale.delivering(letter, owner) else { return Change::nothing(None) };
            progress.failures.push(failure.code.clone());
            progress.body_hash = progress.body_hash.take().or_else(|| hash.clone());
            let progress = progress.clone();
            if sale.email_tag.is_none() {
                sale.email_tag.clone_from(&tag);
            }
            let next = judge(failure, &progress, &schedule, now);
            let record = failure::with_progress(
                self.record(now, Status::EmailFailed, &failure.detail),
                letter,
                &progress,
                Some(&next),
            );
            let alert = failure::alert(sale, letter, failure, &next, now);
            match &next {
                Next::AtOnce => {}
                Next::At(due) => {
                    *sale.letter_mut(letter) = Mail::Retrying { due: *due, progress };
                }
                Next::Dead => *sale.letter_mut(letter) = Mail::Dead { at: now, progress },
                Next::Unknown => *sale.letter_mut(letter) = Mail::Unknown { at: now },
            }
            Change { alerts: alert.into_iter().collect(), ..Change::recorded(vec![record], Some(next)) }
        };
        let counted = self.ports.journal.commit(failed, count).await?;
        let attempt = match counted.answer() {
            None => Attempt::Busy,
            Some(Next::AtOnce) => return Ok((counted.unsettled().0, None)),
            Some(Next::At(due)) => Attempt::Again(*due),
            Some(Next::Unknown) => Attempt::Ended,
            Some(Next::Dead) => {
                keep_dead_letter(self.ports, counted.state(), letter).await;
                Attempt::Ended
            }
        };
        let (sale, _) = counted.settle().await;
        Ok((sale, Some(attempt)))
    }

    /// Content filter at gate 2: the raw mail into the quarantine first, then the hold (GAP-L, fail closed).
    pub(super) async fn hold(
        &self,
        sale: Versioned<Sale>,
        gate: &gates::Run,
        record: Record,
        raw: &serde_json::Value,
    ) -> Result<Outcome, StepError> {
        let now = self.now();
        let payload = gate.held_payload(&self.order.session_id, sale.value.tier, now, raw);
        self.ports.quarantine.hold(&self.order.session_id, now, &payload).await?;
        let hold = |sale: &mut Sale, _| {
            if sale.delivering(self.order.letter, &self.order.message_id).is_none() {
                return Change::nothing(());
            }
            *sale.letter_mut(self.order.letter) = Mail::Held;
            sale.fulfilment = Fulfilment::InReview { gate: 2, at: now };
            let failed = self.record(now, Status::EmailFailed, "held by the content filter at gate 2");
            let alert = Alert::quarantine(now, 2, &self.order.session_id, gate.term_count());
            Change::recorded(vec![record.clone(), failed], ()).alerting(alert)
        };
        self.ports.journal.commit(sale, hold).await?.settle().await;
        Ok(Outcome::Ended(Attempt::Ended))
    }

    /// Ends the delivery, with its record, if it is still ours.
    async fn end(
        &self,
        sale: Versioned<Sale>,
        mail: Mail,
        status: Status,
        detail: &str,
        alert: Option<Alert>,
    ) -> Result<Outcome, StepError> {
        let letter = self.order.letter;
        let end = |sale: &mut Sale, now: Timestamp| {
            let Some(progress) = sale.delivering(letter, &self.order.message_id).cloned() else {
                return Change::nothing(());
            };
            *sale.letter_mut(letter) = mail.clone();
            sale.chased = 0;
            let mut record = failure::with_progress(self.record(now, status, detail), letter, &progress, None);
            if status == Status::EmailSent && letter == Letter::Verdict {
                record = record.with_detail("order_to_mail_ms", now.millis_since(sale.waiting_since));
            }
            Change { alerts: alert.iter().cloned().collect(), ..Change::recorded(vec![record], ()) }
        };
        self.ports.journal.commit(sale, end).await?.settle().await;
        Ok(Outcome::Ended(Attempt::Ended))
    }

    /// Ends the claim at once, so that the next delivery of the order need not wait for the lease. If this fails
    /// too, the lease ends by itself.
    pub(super) async fn release(&self) {
        let give_up = |sale: &mut Sale, now| {
            if sale.delivering(self.order.letter, &self.order.message_id).is_none() {
                return Change::nothing(());
            }
            sale.release_mail(self.order.letter, now);
            Change::save(())
        };
        if let Ok(sale) = self.ports.journal.load(&self.order.session_id, self.order.ordered_at).await {
            let _ = self.ports.journal.commit(sale, give_up).await.map(Committed::unsettled);
        }
    }
}

fn body_hash(mail: &Mail) -> Option<String> {
    match mail {
        Mail::Sending { progress, .. } => progress.body_hash.clone(),
        _ => None,
    }
}
