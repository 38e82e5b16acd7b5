//! The records of a sale's events, and what they count. Only this file defines which records an event has. The file
//! has more than 300 lines because each event has an arm of its own.

use crate::{Body, Record, Source, Status, hash::sha256};
use domain::{
    Colour, Metric, Timestamp,
    erasure::Store,
    mail::{Letter, MailOutcome, Next, Progress},
    message::OrderedBy,
    money::{Authorisation, RefundStep},
    operator::Operator,
    sale::{AuthorityDecision, Charge, Event, HeldAt},
    verdict::Comparison,
};
use serde_json::{Value, json};

/// The facts for the log beyond the event itself.
#[derive(Clone, Debug)]
pub struct Context {
    /// When the event happened.
    pub now: Timestamp,
    /// When the event that triggered it reached us (Audit Trail, invariant 6: latency counts from there).
    pub triggered_at: Timestamp,
    /// Records of the checks that led to it; they come first.
    pub evidence: Vec<Record>,
    /// How the verdict was made, if the model was asked.
    pub details: Option<Value>,
}

impl Context {
    /// An event that was triggered at `triggered_at`.
    #[must_use]
    pub const fn new(now: Timestamp, triggered_at: Timestamp) -> Self {
        Self { now, triggered_at, evidence: Vec::new(), details: None }
    }

    /// An event without a trigger, decided at this moment.
    #[must_use]
    pub const fn at(now: Timestamp) -> Self {
        Self::new(now, now)
    }

    /// Adds the record of a check.
    #[must_use]
    pub fn with_evidence(mut self, evidence: impl IntoIterator<Item = Record>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Adds the facts of how the verdict was made.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    fn record(&self, body: Body) -> Record {
        Record::new(self.now, self.triggered_at, body)
    }

    fn pipeline(&self, source: Source, status: Status, detail: Option<&str>) -> Record {
        Record::pipeline(self.now, self.triggered_at, source, status, detail)
    }

    /// A pipeline record with the facts of how the verdict was made.
    fn detailed(&self, source: Source, status: Status, detail: Option<&str>) -> Record {
        let record = self.pipeline(source, status, detail);
        match &self.details {
            Some(details) => record.with_details(details.clone()),
            None => record,
        }
    }

    fn refund(&self, step: RefundStep, authorisation: &Authorisation, charge: &Charge, error: Option<&str>) -> Record {
        self.record(Body::Refund {
            step,
            by: authorisation.by().to_owned(),
            reason: authorisation.reason().to_owned(),
            identity: authorisation.identity().cloned(),
            amount_total: charge.amount_total,
            currency: charge.currency.clone(),
            error: error.map(str::to_owned),
        })
    }

    fn operator(&self, operator: &Operator, action: impl Into<String>) -> Record {
        Record::new(self.now, self.now, Body::operator(operator, action))
    }

    /// A pipeline record of the end of an order without a verdict, with the facts of how one was attempted.
    fn failed(&self, detail: &str) -> Record {
        self.detailed(Source::Webhook, Status::Error, Some(detail)).measuring([Metric::VerdictFailed.once()])
    }

    /// The records of a verdict: the first one, or a regenerated one that is compared with the first.
    fn verdict(&self, colour: Colour, regenerated: Option<&Comparison>) -> (Option<Record>, Record) {
        let (check, verdict) = match regenerated {
            Some(compared) => {
                let check = self.record(Body::regen_divergence_check(compared.first, compared.second));
                (Some(check), self.detailed(Source::ResultPage, Status::Regenerated, Some("cache_miss")))
            }
            None => {
                let waited = Metric::OrderToVerdict.of(self.now.millis_since(self.triggered_at));
                let first = self.detailed(Source::Webhook, Status::Ok, None);
                (None, first.measuring([of_colour(colour).once(), waited]))
            }
        };
        (check, verdict.with_detail("colour", colour.word()))
    }
}

/// The records of an event, in their order.
#[must_use]
pub fn records(event: &Event, context: &Context) -> Vec<Record> {
    let mut records = context.evidence.clone();
    match event {
        Event::PaymentDetail
        | Event::Ordered
        | Event::ModelUnavailable
        | Event::MailDrafted(_)
        | Event::FoundAgain
        | Event::Held(HeldAt::Page) => {}
        Event::VerdictReady { colour, regenerated } => {
            let (check, verdict) = context.verdict(*colour, regenerated.as_ref());
            records.extend(check);
            records.push(verdict);
        }
        Event::Restored => {
            records.push(context.pipeline(Source::ResultPage, Status::Cached, Some("restored from the archive")));
        }
        Event::Served => records.push(context.pipeline(Source::CacheHit, Status::Cached, Some("cache_hit"))),
        Event::Held(HeldAt::BeforeCache) => {
            records.push(context.failed("held by the content filter at gate 1"));
        }
        Event::Held(HeldAt::AuthorityGate) => {
            records.push(context.failed("held by the authority gate"));
        }
        Event::Held(HeldAt::Mail(_)) => {
            let detail = "held by the content filter at gate 2";
            records.push(context.pipeline(Source::EmailService, Status::EmailFailed, Some(detail)));
        }
        Event::ModelFailed { reason, failures, due } => {
            // Another attempt follows, so the order has not ended.
            let record = context.detailed(Source::Webhook, Status::Error, Some(reason));
            records.push(record.with_detail("failures", *failures).with_detail("next_attempt_at", due.to_iso()));
        }
        Event::Failed { reason } => records.push(context.failed(reason)),
        Event::Unusable { reason } => records.push(unusable(context, reason)),
        Event::DropRecorded { found_now, reason, charge } => {
            // The paid event (Audit Trail, invariant 2), unless it was recorded when the state was set.
            records.extend(found_now.then(|| unusable(context, reason)));
            let Charge { amount_total, currency } = charge.clone();
            records.push(context.record(Body::SilentDrop { amount_total, currency, reason: reason.clone() }));
        }
        Event::MailSent { letter, progress, waited_ms } => {
            let detail = "accepted by the mailbox (202)";
            let record = context.pipeline(Source::EmailService, Status::EmailSent, Some(detail));
            let record = attempted(record, *letter, progress, ("DELIVERED", None));
            records.push(match waited_ms {
                Some(waited) => {
                    record.with_detail("order_to_mail_ms", *waited).measuring([Metric::OrderToMail.of(*waited)])
                }
                None => record,
            });
        }
        Event::MailNoAddress { letter, progress } => {
            let record = context.pipeline(Source::EmailService, Status::EmailFailed, Some(no_address(*letter)));
            records.push(attempted(record, *letter, progress, ("NO_ADDRESS", None)));
        }
        Event::MailFailed { letter, progress, next, detail } => {
            let record = context.pipeline(Source::EmailService, Status::EmailFailed, Some(detail));
            let retry = match next {
                Next::AtOnce => ("RETRYING", None),
                Next::At(due) => ("RETRYING", Some(*due)),
                Next::Dead => ("DEAD", None),
                Next::Unknown => ("UNKNOWN", None),
            };
            records.push(attempted(record, *letter, progress, retry));
        }
        Event::RefundAuthorised { authorisation, charge } => {
            records.push(context.refund(RefundStep::Authorised, authorisation, charge, None));
        }
        Event::RefundAnswered { step, authorisation, decided_at, error, charge, .. } => {
            let decided = Context::new(context.now, *decided_at);
            records.push(decided.refund(*step, authorisation, charge, error.as_deref()));
        }
        Event::PaymentChanged { payment, change, report, returned, charge, confirms } => {
            records.push(context.record(Body::PaymentChange {
                payment: payment.clone(),
                change: *change,
                object: report.id().cloned(),
                amount_returned: *returned,
                amount_total: charge.amount_total,
                currency: charge.currency.clone(),
            }));
            records.extend(confirms.as_ref().map(|(authorisation, decided_at)| {
                Context::new(context.now, *decided_at).refund(RefundStep::Confirmed, authorisation, charge, None)
            }));
        }
        Event::SentAgain(operator) => records.push(context.operator(operator, "mail sent again: verdict")),
        Event::FindingDismissed(operator) => records.push(context.operator(operator, "finding dismissed")),
        Event::RefundedByHand(operator) => records.push(context.operator(operator, "refunded by hand")),
        Event::AmountNoted { charge, price } => {
            let Charge { amount_total, currency } = charge.clone();
            records.push(context.record(Body::AmountDiffers { amount_total, currency, price: *price }));
        }
        Event::Freed { decision, operator, received_at, verdict } => {
            records.push(context.operator(operator, decision.as_str()));
            if let Some((colour, regenerated)) = verdict {
                let facts = json!({ "ordered_by": OrderedBy::Operator, "decision": decision.as_str() });
                let made = Context::new(context.now, *received_at).with_details(facts);
                let (check, verdict) = made.verdict(*colour, regenerated.as_ref());
                records.extend(check);
                records.push(verdict);
            }
        }
        Event::AuthorityDecided { operator, role, credential, decision } => {
            let action = match decision {
                AuthorityDecision::Approved { count, needed } => format!("authority approve {count} of {needed}"),
                AuthorityDecision::Rejected => "authority reject".to_owned(),
                AuthorityDecision::OverrideRefused => "authority override refused".to_owned(),
            };
            records.push(context.operator(operator, format!("{action} as {role} by {credential}")));
        }
        Event::FollowupDeclined { ordered_by, evaluation } => {
            let details = json!({ "ordered_by": ordered_by, "authority": evaluation });
            records.push(context.record(Body::AuthorityEvaluated { details }));
        }
        Event::CacheRemoved(operator) => records.push(context.operator(operator, "remove_cached_verdict")),
        Event::Reattempted(operator) => records.push(context.operator(operator, "reattempt")),
        Event::Redriven(operator, letters) => {
            let record = |letter: &Letter| context.operator(operator, format!("redrive {}", letter.as_str()));
            records.extend(letters.iter().map(record));
        }
        Event::MailsSettled(operator, letters, found) => {
            let action = match found {
                MailOutcome::Sent => "found sent",
                MailOutcome::NotSent => "found not sent",
            };
            let record = |letter: &Letter| context.operator(operator, format!("{action}: {}", letter.as_str()));
            records.extend(letters.iter().map(record));
        }
        Event::Replied { reply, .. } => records.push(context.record(Body::CustomerReply {
            message: message_digest(&reply.message),
            from_buyer: reply.from_buyer,
            is_report: reply.is_report,
        })),
        Event::Erased(operator) => records.push(context.operator(operator, "erase")),
        Event::ErasureFinished => {
            let removed = Store::ALL.map(Store::as_str).to_vec();
            records.push(context.record(Body::Erasure { removed }));
        }
        Event::RepliesSettled(operator, _) => records.push(context.operator(operator, "settle replies")),
    }
    records
}

fn unusable(context: &Context, reason: &str) -> Record {
    let detail = format!("paid but unusable: {reason}");
    context.pipeline(Source::Webhook, Status::Error, Some(&detail)).measuring([Metric::VerdictFailed.once()])
}

/// The metric that counts the verdicts of a colour.
const fn of_colour(colour: Colour) -> Metric {
    match colour {
        Colour::Green => Metric::VerdictGreen,
        Colour::Amber => Metric::VerdictAmber,
        Colour::Red => Metric::VerdictRed,
        Colour::Null => Metric::VerdictNull,
    }
}

/// The reason why a mail without an address is not sent (Email Retry, FM-06), for the log and for operators.
#[must_use]
pub const fn no_address(letter: Letter) -> &'static str {
    match letter {
        Letter::Verdict | Letter::Divergence => {
            "the session has no e-mail address: the verdict is on the result page only"
        }
        Letter::Refund => "the session has no e-mail address: what the mail says is on the result page only",
        Letter::SilentDrop => "the session has no e-mail address: the customer cannot be asked for the question",
    }
}

/// The digest that replaces a message's id in the log: the first 16 hexadecimal digits of its SHA-256.
#[must_use]
pub fn message_digest(id: &str) -> String {
    sha256(id.as_bytes())[..16].to_owned()
}

/// Adds the state of the attempts at a mail, with the time of the next one (Email Retry, INV-09: every transition is a
/// line of its own).
fn attempted(
    record: Record,
    letter: Letter,
    progress: &Progress,
    (status, next_attempt_at): (&str, Option<Timestamp>),
) -> Record {
    record.with_details(json!({
        "letter": letter,
        "retry_status": status,
        "failures": progress.failures,
        "next_attempt_at": next_attempt_at.map(Timestamp::to_iso),
        "body_hash": progress.body_hash,
    }))
}
