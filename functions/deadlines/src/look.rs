//! One run: handles all due work, kind by kind, each sale separately.
//! The file has more than 300 lines because each kind of due work has a short handler, and the handlers call each other
//! and share the reminder.

use crate::chase;
use audit::{Change, Context, Journal};
use domain::{
    Alert, CheckoutSession, Sale, SessionId, SessionStage, StepError, Timestamp,
    alert::Severity,
    due::{self, Report},
    mail::{Letter, Mail},
    message::{self, Message, OrderedBy},
    money::Authorisation,
    open_work::{OpenWork, Work},
    ports::{
        AlertSummaries, Ledger, Meter, OpenSales, PaymentError, Payments, Queue, SaleData, SaleMails, StorageError,
        Versioned,
    },
    sale::Event,
    words::InvalidWords,
};
use refund::Decision;
use std::time::Duration;

/// The ports that the function uses.
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
    pub summaries: &'a dyn AlertSummaries,
    /// Purchases in USDC, if the deployment sells any.
    pub settlements: Option<settlement::Ports<'a>>,
    /// Memories of the chat whose erasure was interrupted.
    pub memories: Option<forgetting::Ports<'a>>,
    /// Letters to members of the Bridge.
    pub letters: Option<bridge::Letters<'a>>,
}

/// The settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether a verdict that the content filter has held for 24 h without a decision is refunded (content filter,
    /// GAP-J).
    pub refund_held: bool,
    /// The most sales of one kind that a run handles.
    pub most: usize,
    /// The most time for one kind: if Stripe hangs, refunds that wait for it must not delay lost orders.
    pub share: Duration,
}

/// Handles all due work. A sale that fails does not hold up any other.
pub(crate) async fn run(ports: Ports<'_>, settings: Settings) -> Report {
    let mut report = Report::default();
    for work in Work::ALL {
        add(&mut report, look_at_all(ports, settings, work).await, work.as_str());
    }
    if let Some(settlements) = ports.settlements {
        add(&mut report, settlement::run(settlements).await, "purchases in USDC");
    }
    if let Some(memories) = ports.memories {
        add(&mut report, forgetting::run(memories).await, "erasures of memories");
    }
    if let Some(letters) = ports.letters {
        add(&mut report, bridge::mail_letters(letters).await, "letters about Bridges");
    }
    report
}

/// Adds the report of one list. A list that cannot be read counts as one failure.
fn add(report: &mut Report, looked: Result<Report, StorageError>, list: &'static str) {
    *report += looked.unwrap_or_else(|error| {
        tracing::error!(list, error = runtime::telemetry::chain(&error), "no list of what is due");
        Report { failed: 1, ..Report::default() }
    });
}

async fn look_at_all(ports: Ports<'_>, settings: Settings, work: Work) -> Result<Report, StorageError> {
    // Reads all pages before handling any: a handled sale leaves the index and would shift the next page.
    let due = listed(ports, work, settings.most).await?;
    let look = |session: SessionId| async move {
        look(ports, settings, &session).await.inspect_err(|error| {
            let (code, error) = (error.code().as_str(), runtime::telemetry::chain(error));
            tracing::error!(session = session.prefix(), work = work.as_str(), code, error, "still due");
        })
    };
    Ok(due::run(ports.journal.clock, settings.share, due, look).await)
}

/// The due sales, the most urgent first, at most `most`.
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

/// Handles one sale. The index lags behind, so the sale's own state decides.
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
        // This refund has no switch: money for a question that must not be answered is not kept. A follow-up has no
        // money of its own.
        Work::Declined if !sale.value.is_followup() => refund_by_policy(ports, sale).await,
        Work::NotPaid => ask_again(ports, sale).await,
        Work::Declined
        | Work::RefundFailed
        | Work::Dispute
        | Work::Review
        | Work::Reply
        | Work::Unusable
        | Work::Failed
        | Work::Owed
        | Work::DeadLetter
        | Work::UnknownMail
        | Work::Finding => remind(ports, sale).await,
    }
}

/// Whether the customer has a verdict although a later one, or its mail that was sent again, is held. A customer of a
/// follow-up has the first verdict, so only a human refunds the money of both (infra/decisions/followup.md).
fn is_served(sale: &Sale) -> bool {
    matches!(sale.mail(), Mail::Sent { .. }) || sale.is_sent_again() || sale.is_followup()
}

/// Removes the data of an erased sale once more. A failure of the erasure does not hold up the sale's refund.
async fn erase(ports: Ports<'_>, session: &SessionId) -> Result<(), StepError> {
    let erasing = erasure::Ports { journal: ports.journal, data: ports.data, mails: ports.sale_mails };
    let erased = erasure::carry_out(erasing, session).await;
    refund::carry_out(refund_ports(ports), session).await?;
    erased.map(drop)
}

/// Carries out a refund, and orders the letter about it. If that message is lost, a later run sends it again.
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

/// Restarts a sale. The messages are sent before the restart is saved: after a crash in between they are sent again,
/// and duplicates do no harm.
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

/// Asks Stripe again about a session that was not paid: orders the verdict if it is paid now, and ends the sale if it
/// can no longer be paid.
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
    if session.is_some_and(|session| session.stage != SessionStage::Over) {
        return remind(ports, sale).await;
    }
    let lapse = |sale: &mut Sale, now| match sale.lapse(now) {
        Ok(event) => Change::of(&event, &Context::at(now), ()),
        Err(_) => reminder(sale, now),
    };
    ports.journal.commit(sale, lapse).await?.settle().await;
    Ok(())
}

/// Alerts operators again to a sale that waits for a human.
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
        Work::Owed => "erased, paid and not delivered: refund it (oracle refunds issue)",
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

/// The policy that the log names as the authorisation.
fn policy(work: Work) -> Result<Authorisation, InvalidWords> {
    match work {
        Work::Declined => Authorisation::by_policy("authority-gate", "the question must not be answered"),
        _ => Authorisation::by_policy("quarantine-24h", "held by the content filter for 24 hours without a decision"),
    }
}

/// Refunds a sale that the content filter has held for too long (content filter, failure mode 3 and
/// GAP-J), or a sale that the authority gate declined and no human approved.
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

/// The decision by policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decided {
    /// No change, because a human has acted in the meantime.
    Nothing,
    /// The money cannot go back: an operator is alerted, as for any other sale that waits.
    Reminded,
    /// The money goes back.
    Refund,
}

/// Decides by policy on the sale's current state.
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
