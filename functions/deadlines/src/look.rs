//! One run: everything that is due, kind by kind, each sale on its own.

use crate::chase;
use audit::{Change, Context, Journal};
use domain::{
    Alert, CheckoutSession, Sale, SessionId, StepError, Timestamp,
    alert::Severity,
    mail::{Letter, Mail},
    message::{self, Message, OrderedBy},
    money::Authorisation,
    open_work::{OpenWork, Work},
    ports::{Ledger, Meter, OpenSales, PaymentError, Payments, Queue, SaleData, SaleMails, StorageError, Versioned},
    sale::Event,
    words::InvalidWords,
};
use refund::Decision;
use std::time::Duration;

/// What the function needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub open: &'a dyn OpenSales,
    pub payments: &'a dyn Payments,
    pub ledger: &'a dyn Ledger,
    pub orders: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub mails: &'a dyn Queue,
    pub retries: &'a dyn Queue,
    pub data: &'a dyn SaleData,
    pub sale_mails: &'a dyn SaleMails,
    pub meter: &'a dyn Meter,
    /// Purchases in USDC, where any are sold.
    pub settlements: Option<settlement::Ports<'a>>,
}

/// How a run goes about it.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether what the content filter held for 24 h without a decision is refunded (content filter, GAP-J).
    pub refund_held: bool,
    /// How many sales of one kind are looked at,
    pub most: usize,
    /// and how long: while Stripe hangs, the refunds that wait for it must not keep lost orders waiting too.
    pub share: Duration,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Sales that were listed as due.
    pub due: usize,
    /// Those, and lists, that could not be dealt with: they stay due.
    pub failed: usize,
    /// Those that the time of their kind was too short for: they stay due.
    pub left: usize,
}

/// A run that did not get through: the function's alarm shows it, and the next run tries again.
#[derive(Debug, thiserror::Error)]
#[error("{0} of the due could not be dealt with")]
pub struct Incomplete(usize);

impl Report {
    /// Whether everything that was due was dealt with, or left to the next run for want of time.
    ///
    /// # Errors
    /// [`Incomplete`].
    pub const fn complete(self) -> Result<(), Incomplete> {
        if self.failed == 0 { Ok(()) } else { Err(Incomplete(self.failed)) }
    }
}

/// Looks at everything that is due. One sale that cannot be dealt with holds up no other.
pub(crate) async fn run(ports: Ports<'_>, settings: Settings) -> Report {
    let mut report = Report::default();
    for work in Work::ALL {
        if let Err(error) = look_at_all(ports, settings, work, &mut report).await {
            report.failed += 1;
            tracing::error!(work = work.as_str(), error = runtime::telemetry::chain(&error), "no list of what is due");
        }
    }
    if let Some(settlements) = ports.settlements {
        match settlement::run(settlements).await {
            Ok(looked) => {
                report.due += looked.due;
                report.failed += looked.failed;
                report.left += looked.left;
            }
            Err(error) => {
                report.failed += 1;
                tracing::error!(error = runtime::telemetry::chain(&error), "no list of purchases in USDC");
            }
        }
    }
    report
}

async fn look_at_all(
    ports: Ports<'_>,
    settings: Settings,
    work: Work,
    report: &mut Report,
) -> Result<(), StorageError> {
    // The whole list first: what is dealt with leaves it, and must not move the pages.
    let clock = ports.journal.clock;
    let until = clock.now().plus(settings.share);
    for session in listed(ports, work, settings.most).await? {
        report.due += 1;
        if clock.now() >= until {
            report.left += 1;
            continue;
        }
        if let Err(error) = look(ports, settings, &session).await {
            report.failed += 1;
            let (code, error) = (error.code().as_str(), runtime::telemetry::chain(&error));
            tracing::error!(session = session.prefix(), work = work.as_str(), code, error, "still due");
        }
    }
    Ok(())
}

/// What is due, the most urgent first, at most so many.
async fn listed(ports: Ports<'_>, work: Work, most: usize) -> Result<Vec<SessionId>, StorageError> {
    let now = ports.journal.clock.now();
    let (mut found, mut from) = (Vec::new(), None);
    loop {
        let page = ports.open.open(work, Some(now), from.as_deref()).await?;
        found.extend(page.sessions);
        found.truncate(most);
        from = page.next;
        if from.is_none() || found.len() == most {
            return Ok(found);
        }
    }
}

/// Looks at one sale. The list it was on lags behind: what the sale itself says counts.
async fn look(ports: Ports<'_>, settings: Settings, session: &SessionId) -> Result<(), StepError> {
    let journal = ports.journal;
    let Some(sale) = journal.store.load(session).await? else { return Ok(()) };
    let sale = journal.flush(sale).await;
    let Some(open) = sale.value.due_work(journal.clock.now()) else { return Ok(()) };
    match open.work {
        Work::InFlight => chase(ports, sale).await,
        Work::Erasure => erase(ports, session).await,
        Work::Refund => give_back(ports, session).await,
        Work::Review if settings.refund_held && !is_served(&sale.value) => refund_by_policy(ports, sale).await,
        // Nothing switches this off: what must not be answered is not kept. A follow-up has no money of its own.
        Work::Declined if !sale.value.is_followup() => refund_by_policy(ports, sale).await,
        Work::NotPaid => ask_again(ports, sale).await,
        Work::Declined
        | Work::RefundFailed
        | Work::Dispute
        | Work::Review
        | Work::Reply
        | Work::Unusable
        | Work::Failed
        | Work::DeadLetter
        | Work::UnknownMail
        | Work::Finding => remind(ports, sale).await,
    }
}

/// Whether the customer has a verdict, although a later one is held. Who has ordered a follow-up has the first one:
/// only a human gives the money of both back (infra/decisions/followup.md).
fn is_served(sale: &Sale) -> bool {
    matches!(sale.mail(), Mail::Sent { .. }) || sale.is_followup()
}

/// Removes what is kept of an erased sale once more, and what its money still waits for is not kept waiting by it.
async fn erase(ports: Ports<'_>, session: &SessionId) -> Result<(), StepError> {
    let erasing = erasure::Ports { journal: ports.journal, data: ports.data, mails: ports.sale_mails };
    let erased = erasure::carry_out(erasing, session).await;
    refund::carry_out(refund_ports(ports), session).await?;
    erased.map(drop)
}

/// Carries a refund out, and sends the letter that tells of it on its way. What is lost of it is chased.
async fn give_back(ports: Ports<'_>, session: &SessionId) -> Result<(), StepError> {
    refund::carry_out(refund_ports(ports), session).await?;
    let Some(sale) = ports.journal.store.load(session).await? else { return Ok(()) };
    if sale.value.is_to_send(Letter::Refund) && *sale.value.letter(Letter::Refund) == Mail::Ordered {
        let (session_id, ordered_at) = (session.clone(), ports.journal.clock.now());
        let letter = Message::Mail { v: message::VERSION, session_id, ordered_at, letter: Letter::Refund };
        ports.mails.send(&letter).await?;
    }
    Ok(())
}

const fn refund_ports(ports: Ports<'_>) -> refund::Ports<'_> {
    refund::Ports { journal: ports.journal, payments: ports.payments, ledger: ports.ledger }
}

/// Sends a sale on its way again. The messages come first: a process that dies after them is followed by one that
/// sends them again, and two are as good as one.
async fn chase(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    let now = ports.journal.clock.now();
    for message in chase::messages(&sale.value, now) {
        if let Err(error) = queue(ports, &message).send(&message).await {
            let refused = |sale: &mut Sale, now| match sale.chase_refused(now) {
                Ok(_) => Change::save(()).alerting(chase::refused(sale, now)),
                Err(_) => Change::nothing(()),
            };
            ports.journal.commit(sale, refused).await?.settle().await;
            return Err(error.into());
        }
    }
    let chased = |sale: &mut Sale, now| {
        let Some(open) = sale.due_work(now) else { return Change::nothing(()) };
        let Ok(Event::Chased(times)) = sale.chase(now) else { return Change::nothing(()) };
        Change::save(()).alerting(chase::alert(sale, open.since, times, now))
    };
    ports.journal.commit(sale, chased).await?.settle().await;
    Ok(())
}

fn queue<'a>(ports: Ports<'a>, message: &Message) -> &'a dyn Queue {
    match message {
        Message::Notice { .. } => ports.notices,
        Message::Mail { .. } => ports.mails,
        Message::MailRetry { .. } => ports.retries,
        Message::Order { .. } | Message::PaymentChanged { .. } | Message::SubscriptionChanged { .. } => ports.orders,
    }
}

/// Asks Stripe once more about a session that was not paid: it is ordered if somebody paid, and ends if nobody can.
async fn ask_again(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    let session_id = sale.value.session_id().clone();
    let session = match ports.payments.session(&session_id.paid_session()).await {
        Ok(session) => Some(session),
        Err(PaymentError::NotFound) => None,
        Err(error) => return Err(error.into()),
    };
    if session.as_ref().is_some_and(|session| sale.value.is_covered_by(session)) {
        let (received_at, ordered_by) = (sale.value.received_at(), OrderedBy::Deadlines);
        ports.orders.send(&Message::Order { v: message::VERSION, session_id, received_at, ordered_by }).await?;
        return remind(ports, sale).await;
    }
    // A closed session without a payment has expired; one with a payment waits for a slow method.
    let over = session.is_none_or(|session| !session.open && session.payment.is_none());
    if !over {
        return remind(ports, sale).await;
    }
    let lapse = |sale: &mut Sale, now| match sale.lapse(now) {
        Ok(event) => Change::of(&event, &Context::at(now), ()),
        Err(_) => reminder(sale, now),
    };
    ports.journal.commit(sale, lapse).await?.settle().await;
    Ok(())
}

/// Brings a sale that waits for a human to mind again.
async fn remind(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    ports.journal.commit(sale, reminder).await?.settle().await;
    Ok(())
}

fn reminder(sale: &mut Sale, now: Timestamp) -> Change<()> {
    let Some(open) = sale.due_work(now) else { return Change::nothing(()) };
    let what = match open.work {
        Work::RefundFailed => "a refund came back: issue it again, or give the money back by hand and record it",
        Work::Dispute => "Stripe waits for an answer to the bank (oracle list names the deadline)",
        Work::Review => "held by the content filter: approve, replace or refund it",
        Work::Declined => "the authority gate lets nobody answer it: approve it (oracle authority queue), or refund it",
        Work::Reply => "the customer has written back: read it (oracle replies show), and settle it",
        // Silent Drop, output 3: after 72 h a human decides, and only a human.
        Work::Unusable => "the customer has not said what was asked: try again with their reply, or refund it",
        Work::NotPaid => "nobody has paid for it: give it away (oracle reattempt), or erase it",
        Work::Failed => "there is no verdict: try again or refund it",
        Work::DeadLetter => "its mail was given up: send it on its way again",
        Work::UnknownMail => "its mail may or may not have gone: look into the mailbox",
        Work::Finding => {
            "the block list holds back what was delivered: oracle findings show, then dismiss, replace or refund"
        }
        Work::InFlight | Work::Refund | Work::Erasure => return Change::nothing(()),
    };
    match sale.remind(now) {
        Ok(_) => Change::save(()).alerting(escalation(sale, open, what, now)),
        Err(_) => Change::nothing(()),
    }
}

fn escalation(sale: &Sale, open: OpenWork, what: &str, now: Timestamp) -> Alert {
    let hours = now.since(open.since).as_secs() / 3600;
    let detail = format!("waits for a human for {hours} h: {what}");
    Alert::event("ORACLE-DEADLINES", Severity::Critical, now, open.work.as_str(), sale.session_id(), &detail)
}

/// The policy as the authorisation in the log names it.
fn policy(work: Work) -> Result<Authorisation, InvalidWords> {
    match work {
        Work::Declined => Authorisation::by_policy("authority-gate", "the question must not be answered"),
        _ => Authorisation::by_policy("quarantine-24h", "held by the content filter for 24 hours without a decision"),
    }
}

/// Refunds a sale that the content filter has held for too long (content filter, failure mode "quarantine backlog",
/// GAP-J), or that the authority gate declined and nobody approved.
async fn refund_by_policy(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    let session = sale.value.session_id().clone();
    let checkout = ports.payments.session(&session).await?;
    let Some(work) = sale.value.open_work().map(|open| open.work) else { return Ok(()) };
    let policy = policy(work)?;
    let decide = |sale: &mut Sale, now| by_policy(sale, work, &checkout, &policy, now);
    let (_, decided) = ports.journal.commit(sale, decide).await?.settle().await;
    if decided == Decided::Refund {
        give_back(ports, &session).await?;
    }
    Ok(())
}

/// What came of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decided {
    /// A human has done something in between.
    Nothing,
    /// No money can go back: an operator is alerted, as for any other sale that waits.
    Reminded,
    /// The money goes back.
    Refund,
}

/// Decides by policy, on the sale as it is at that moment.
fn by_policy(
    sale: &mut Sale,
    work: Work,
    checkout: &CheckoutSession,
    policy: &Authorisation,
    now: Timestamp,
) -> Change<Decided> {
    let Some(open) =
        sale.due_work(now).filter(|open| open.work == work && (work == Work::Declined || !is_served(sale)))
    else {
        return Change::nothing(Decided::Nothing);
    };
    let decided = refund::decide(sale, checkout, policy, now);
    if decided.answer == Decision::Authorised {
        let alert = escalation(sale, open, "nobody decided, so the money goes back by policy", now);
        return Change::recorded(decided.records, Decided::Refund).alerting(alert);
    }
    let Change { alerts, .. } = reminder(sale, now);
    Change { alerts, ..Change::save(Decided::Reminded) }
}

#[cfg(test)]
mod tests;
