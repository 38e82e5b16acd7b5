//! One run: handles all due work, kind by kind, each sale separately.

use crate::{
    Ports, Settings, chase, policy,
    remind::{remind, remind_of_mode, reminder},
    sign_in_mails, unpublished,
};
use audit::{Change, Context};
use domain::{
    Alert, Sale, SessionId, SessionStage, StepError, Timestamp,
    alert::Severity,
    due::{self, Report},
    mail::{Letter, Mail},
    message::{Message, OrderedBy},
    open_work::Work,
    ports::{PaymentError, Queue, StorageError, Versioned},
    sale::SLOWEST_PAYMENT,
};
use std::time::Duration;

/// Handles all due work. A sale that fails does not hold up any other.
pub(crate) async fn run(ports: Ports<'_>, settings: Settings) -> Report {
    let mut report = Report::default();
    let clock = ports.journal.clock;
    let until = clock.now().plus(settings.budget);
    for work in Work::ALL {
        let share = settings.share_of(until.since(clock.now()));
        if share.is_zero() {
            tracing::warn!(list = work.as_str(), "this run has no time left for the list");
            continue;
        }
        add(&mut report, handle_due_sales(ports, settings, work, share).await, work.as_str());
    }
    add(&mut report, settlement::run(ports.settlements, ports.notes).await, "purchases in USDC");
    add(&mut report, forgetting::run(ports.memories).await, "erasures of memories");
    let published = unpublished::publish(ports.memories.journal, ports.notebooks).await;
    add(&mut report, published, "unpublished records");
    add(&mut report, bridge::mail_letters(ports.letters).await, "letters about Bridges");
    add(&mut report, sign_in_mails::remove(ports.stored_mails, clock).await, "expired sign-in mails");
    report
}

/// Adds the report of one list. A list that cannot be read counts as one failure.
fn add<E: std::error::Error + 'static>(report: &mut Report, report_of: Result<Report, E>, list: &'static str) {
    *report += report_of.unwrap_or_else(|error| {
        tracing::error!(list, error = runtime::telemetry::chain(&error), "the list of due work cannot be read");
        Report { failed: 1, ..Report::default() }
    });
}

async fn handle_due_sales(
    ports: Ports<'_>,
    settings: Settings,
    work: Work,
    share: Duration,
) -> Result<Report, StorageError> {
    // Reads all pages before handling any: a handled sale leaves the index and would shift the next page.
    let due = listed(ports, work, settings.most).await?;
    let handle = |session: SessionId| async move {
        handle_sale(ports, settings, &session).await.inspect_err(|error| {
            let (code, error) = (error.code().as_str(), runtime::telemetry::chain(error));
            tracing::error!(session = session.prefix(), work = work.as_str(), code, error, "the work stays due");
        })
    };
    Ok(due::run(ports.journal.clock, share, due, handle).await)
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
async fn handle_sale(ports: Ports<'_>, settings: Settings, session: &SessionId) -> Result<(), StepError> {
    let journal = ports.journal;
    let Some(sale) = journal.store.load(session).await? else { return Ok(()) };
    let sale = journal.flush(sale).await;
    let Some(open) = sale.value.due_work(journal.clock.now()) else { return Ok(()) };
    let is_refundable = sale.value.may_be_refunded_by_policy();
    match open.work {
        Work::InFlight => chase(ports, sale).await,
        Work::Erasure => erase(ports, session).await,
        Work::Refund => give_back(ports, session).await,
        Work::Review if settings.refund_held && is_refundable => refund_by_policy(ports, sale).await,
        // This refund has no switch: money for a question that must not be answered is not kept.
        Work::Declined if is_refundable => refund_by_policy(ports, sale).await,
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

/// Removes the data of an erased sale once more. A failure of the erasure does not hold up the sale's refund.
async fn erase(ports: Ports<'_>, session: &SessionId) -> Result<(), StepError> {
    let erasing = erasure::Ports { journal: ports.journal, data: ports.data, mails: ports.stored_mails };
    let erased = erasure::carry_out(erasing, session).await;
    refund::carry_out(refund_ports(ports), session).await?;
    erased.map(drop)
}

/// Refunds a sale that the content filter has held for too long, or whose question was declined, if the policy still
/// applies.
async fn refund_by_policy(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    let session = sale.value.session_id().clone();
    if policy::decide(ports, sale).await? { give_back(ports, &session).await } else { Ok(()) }
}

/// Carries out a refund, and orders the letter about it. If that message is lost, a later run sends it again.
async fn give_back(ports: Ports<'_>, session: &SessionId) -> Result<(), StepError> {
    refund::carry_out(refund_ports(ports), session).await?;
    let Some(sale) = ports.journal.store.load(session).await? else { return Ok(()) };
    if sale.value.is_to_send(Letter::Refund) && *sale.value.letter(Letter::Refund) == Mail::Ordered {
        ports.mails.send(&Message::mail(session.clone(), ports.journal.clock.now(), Letter::Refund)).await?;
    }
    Ok(())
}

const fn refund_ports(ports: Ports<'_>) -> refund::Ports<'_> {
    refund::Ports { journal: ports.journal, payments: ports.payments, ledger: ports.ledger }
}

/// Restarts a sale. The messages are sent before the restart is saved: after a crash in between they are sent again,
/// and duplicates do no harm.
async fn chase(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    if ports.journal.stopped_by_session(sale.value.session_id()).await? {
        return wait_for_session(ports, sale).await;
    }
    let now = ports.journal.clock.now();
    for message in chase::messages(&sale.value, now) {
        if let Err(error) = queue(ports, &message).send(&message).await {
            let refused = |sale: &mut Sale, now| match sale.chase_refused(now) {
                Ok(()) => Change::save(()).alerting(chase::refused(sale, now)),
                Err(_) => Change::nothing(()),
            };
            ports.journal.commit(sale, refused).await?.settle().await;
            return Err(error.into());
        }
    }
    let chased = |sale: &mut Sale, now| {
        let Some(open) = sale.due_work(now) else { return Change::nothing(()) };
        let Ok(times) = sale.chase(now) else { return Change::nothing(()) };
        Change::save(()).alerting(chase::alert(sale, open.since, times, now))
    };
    ports.journal.commit(sale, chased).await?.settle().await;
    Ok(())
}

/// Leaves a follow-up unchanged while its session's refund or erasure is under way. Its end also ends the follow-up.
async fn wait_for_session(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    let wait = |sale: &mut Sale, now| match sale.chase(now) {
        Ok(_) => Change::save(()).alerting(chase::stopped(sale, now)),
        Err(_) => Change::nothing(()),
    };
    ports.journal.commit(sale, wait).await?.settle().await;
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

/// Asks Stripe again about a session that was not paid: orders the verdict if it is paid now, and ends the sale if the
/// session is over or unknown, or if it was completed so long ago that its payment has failed. A session that our key
/// cannot see may be paid, so its sale waits for a human as long as a payment may take.
async fn ask_again(ports: Ports<'_>, sale: Versioned<Sale>) -> Result<(), StepError> {
    let session_id = sale.value.session_id().clone();
    let paid = session_id.paid_session();
    // Asked before and after the session: the key may be replaced at any time, and a session that one of the keys cannot
    // see must not count as unknown. A key that cannot be read counts as one of our mode.
    let is_of_other_mode = ports.payments.is_of_other_mode(&paid).await;
    let session = match ports.payments.session(&paid).await {
        Ok(session) => Some(session),
        Err(PaymentError::NotFound) => None,
        Err(error) => return Err(error.into()),
    };
    if session.as_ref().is_some_and(|session| sale.value.is_covered_by(session)) {
        ports.orders.send(&Message::order(session_id, sale.value.received_at(), OrderedBy::Deadlines)).await?;
        ports.journal.commit(sale, paid_after_all).await?.settle().await;
        return Ok(());
    }
    let is_late = sale.value.received_at().plus(SLOWEST_PAYMENT) <= ports.journal.clock.now();
    if session.is_none() && !is_late && (is_of_other_mode || ports.payments.is_of_other_mode(&paid).await) {
        return remind_of_mode(ports, sale).await;
    }
    if session.is_some_and(|session| session.stage != SessionStage::Over && !is_late) {
        return remind(ports, sale).await;
    }
    let lapse = |sale: &mut Sale, now| match sale.lapse(now) {
        Ok(event) => Change::of(&event, &Context::at(now), ()),
        Err(_) => reminder(sale, now),
    };
    ports.journal.commit(sale, lapse).await?.settle().await;
    Ok(())
}

/// Tells operators that a sale whose reminder is due was paid.
fn paid_after_all(sale: &mut Sale, now: Timestamp) -> Change<()> {
    if sale.remind(now).is_err() {
        return Change::nothing(());
    }
    let (work, detail) = (Work::NotPaid.as_str(), "Stripe shows its payment now: ordered");
    Change::save(()).alerting(Alert::event("ORACLE-DEADLINES", Severity::Warn, now, work, sale.session_id(), detail))
}

#[cfg(test)]
mod tests;
