//! Checks the changes of a sale's mails.

use super::{OPERATOR, Step};
use crate::{
    checker::{Checked, Seen, messages::kind},
    rules::Rule,
};
use domain::{
    mail::{Letter, Mail, Progress},
    money::Money,
    sale::{AuditEntry, Fulfilment},
};

impl Step<'_> {
    pub(super) fn mail(&self, letter: Letter, seen: &Seen, added: &[AuditEntry]) -> Checked {
        let (old, new) = (self.old.letter(letter), self.new.letter(letter));
        if old == new {
            return Ok(());
        }
        if self.new.regenerated_at() != self.old.regenerated_at() {
            let same = without_hash(old) == without_hash(new);
            return Rule::States.require(same, || "a reopened sale's mail changes more than its text".to_owned());
        }
        match (old, new) {
            (Mail::NotOrdered, Mail::Ordered) if letter == Letter::Refund => {
                let is_right = matches!(self.new.money(), Money::Refunded { .. }) || self.new.is_crisis();
                Rule::Money.require(is_right, || "a refund letter is ordered without a refund".to_owned())
            }
            (Mail::NotOrdered, Mail::Ordered) => {
                let can_be_read = matches!(
                    self.new.fulfilment(),
                    Fulfilment::Ready { .. } | Fulfilment::Unusable { .. } | Fulfilment::InReview { .. }
                );
                Rule::CacheBeforeMail.require(can_be_read, || "a mail is ordered without a verdict".to_owned())
            }
            (Mail::NotOrdered | Mail::Ordered, Mail::Sending { progress, .. }) => {
                Rule::States.require(*progress == Progress::default(), || "a mail begins in the middle".to_owned())
            }
            (
                Mail::Sending { owner: before, lease_until, progress: had },
                Mail::Sending { owner: now, progress: has, .. },
            ) => {
                let alive = before != now && lease_until.as_millis() > self.state.now;
                Rule::Claims.require(!alive || !self.clocks_are_right, || {
                    "a living worker's claim on the mail was taken".to_owned()
                })?;
                self.progress(had, has, added)
            }
            (Mail::Retrying { progress: had, .. }, Mail::Sending { progress: has, .. }) => {
                self.progress(had, has, added)
            }
            (Mail::Sending { progress: had, .. }, Mail::Retrying { due, progress: has }) => {
                Rule::PaidOnly
                    .require(self.customer.paid_at.is_some(), || "a retry for an unpaid session".to_owned())?;
                let early = had.early.is_some() && has.failures == had.failures && *due >= had.early.unwrap_or(*due);
                let failed = has.failures.len() == had.failures.len() + 1 && has.failures.len() <= 4;
                Rule::States
                    .require(failed || early || self.customer.operated, || "a retry without a failure".to_owned())?;
                self.progress(had, has, added)
            }
            (Mail::Sending { .. }, Mail::Sent { .. }) => {
                let out =
                    |it: &testkit::world::Delivered| it.session == *self.session && kind(&it.subject) == Some(letter);
                let times = self.state.sent.iter().filter(|(_, it)| out(it)).count();
                let is_second = letter == Letter::Verdict && self.new.is_sent_again();
                Rule::OneMail.require(times > usize::from(is_second), || "said to be sent, and is not".to_owned())?;
                Self::recorded(added, "\"status\":\"EMAIL_SENT\"")
            }
            (Mail::Sending { .. }, Mail::NoAddress) => {
                Rule::States.require(!self.customer.has_address, || "there is an address".to_owned())?;
                Self::recorded(added, "\"status\":\"EMAIL_FAILED\"")
            }
            (Mail::Sending { .. }, Mail::Held) => Self::recorded(added, "\"status\":\"EMAIL_FAILED\""),
            (Mail::Sending { progress, .. }, Mail::Dead { .. } | Mail::Unknown { .. }) => {
                let most = if letter == Letter::Divergence { 1 } else { 4 };
                let used_up = progress.failures.len() >= most;
                let another_text = self.customer.mishap.is_some() || self.customer.operated;
                let cause = used_up || matches!(new, Mail::Dead { .. }) && (seen.mail_refused || another_text);
                Rule::Needless
                    .require(cause, || "a mail is a dead letter before its retries are used up".to_owned())?;
                Self::recorded(added, "\"status\":\"EMAIL_FAILED\"")
            }
            (Mail::Dead { progress: had, .. }, Mail::Retrying { progress: has, .. }) => {
                let kept = had.draft == has.draft;
                Rule::OneMail.require(kept, || "a recorded draft was forgotten".to_owned())?;
                Self::recorded(added, OPERATOR)
            }
            _ => {
                let what = format!("{} mail: {} became {}", letter.as_str(), mail_word(old), mail_word(new));
                Rule::States.require(self.customer.operated, || what)?;
                Self::recorded(added, OPERATOR)
            }
        }
    }

    /// A recorded draft is never replaced, and every failure has its record.
    fn progress(&self, had: &Progress, has: &Progress, added: &[AuditEntry]) -> Checked {
        let kept = had.draft.is_none() || had.draft == has.draft;
        Rule::OneMail.require(kept, || "a recorded draft was replaced".to_owned())?;
        if has.failures == had.failures {
            return Ok(());
        }
        let more = has.failures.starts_with(&had.failures);
        Rule::States.require(more || self.customer.operated, || "a failure was forgotten".to_owned())?;
        Self::recorded(added, "\"status\":\"EMAIL_FAILED\"")
    }
}

/// A mail without the hash of the text that its attempts have rendered.
fn without_hash(mail: &Mail) -> Mail {
    let mut mail = mail.clone();
    if let Mail::Sending { progress, .. } | Mail::Retrying { progress, .. } | Mail::Dead { progress, .. } = &mut mail {
        progress.body_hash = None;
    }
    mail
}

const fn mail_word(mail: &Mail) -> &'static str {
    match mail {
        Mail::NotOrdered => "not ordered",
        Mail::Ordered => "ordered",
        Mail::Sending { .. } => "sending",
        Mail::Sent { .. } => "sent",
        Mail::NoAddress => "no address",
        Mail::Held => "held",
        Mail::Retrying { .. } => "retrying",
        Mail::Dead { .. } => "dead",
        Mail::Unknown { .. } => "unknown",
    }
}
