//! Lists the sales with open work for operators.

use crate::authority_gate;
use domain::{
    Sale, SessionId, Tier, Timestamp,
    mail::{Letter, Mail},
    money::Money,
    open_work::Work,
    ports::{OpenSales, PaymentError, Payments, SaleStore, StorageError},
    sale::Fulfilment,
};
use serde::Serialize;

/// The ports of the lists.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub open: &'a dyn OpenSales,
    pub store: &'a dyn SaleStore,
}

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The sale.
    pub session_id: SessionId,
    /// The open work.
    pub work: Work,
    /// Since when it is open, UTC.
    pub since: String,
    /// When it is due, UTC.
    pub due: String,
    /// Whether it is overdue.
    pub overdue: bool,
    /// The tier, if known.
    pub tier: Option<Tier>,
    /// Details as codes, without customer text.
    pub detail: String,
    /// When the authority gate declined the question, UTC: `oracle authority approve` and `reject` take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<String>,
    /// Stripe's deadline for an answer to the customer's bank, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respond_by: Option<String>,
    /// The number of unread replies of the customer.
    pub replies: usize,
    /// Whether a decision about the money is open: try again, or refund.
    #[serde(skip)]
    pub(crate) undecided: bool,
    /// The keyed hash of the buyer's address.
    #[serde(skip)]
    pub email_tag: Option<String>,
}

/// Everything that waits for a human, most urgent first: the lists for humans, and the overdue work of functions.
///
/// # Errors
/// [`StorageError`].
pub async fn everything(ports: Ports<'_>, now: Timestamp) -> Result<Vec<Row>, StorageError> {
    of_works(ports, &Work::ALL, now).await
}

/// The sales that need a decision about their money: try again, or refund.
///
/// # Errors
/// [`StorageError`].
pub async fn undecided(ports: Ports<'_>, now: Timestamp) -> Result<Vec<Row>, StorageError> {
    const OF_MONEY: [Work; 7] =
        [Work::Failed, Work::Owed, Work::Unusable, Work::Review, Work::Refund, Work::RefundFailed, Work::Reply];
    let rows = of_works(ports, &OF_MONEY, now).await?;
    Ok(rows.into_iter().filter(|row| row.work != Work::Reply || row.undecided).collect())
}

/// Selects the rows of a list that a bulk decision applies to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only rows that have been on the list since this time or later.
    pub since: Option<Timestamp>,
    /// Only rows whose detail contains this text, ignoring case.
    pub reason_like: Option<String>,
}

impl Filter {
    /// Whether the row is selected.
    #[must_use]
    pub fn matches(&self, row: &Row) -> bool {
        let is_since = self.since.is_none_or(|since| row.since >= since.to_iso());
        let is_like = |text: &String| row.detail.to_lowercase().contains(&text.to_lowercase());
        is_since && self.reason_like.as_ref().is_none_or(is_like)
    }
}

/// The sales on the lists of these kinds of work, most urgent first; of the sales in flight only those that are overdue.
///
/// # Errors
/// [`StorageError`].
pub async fn of_works(ports: Ports<'_>, works: &[Work], now: Timestamp) -> Result<Vec<Row>, StorageError> {
    let mut found = Vec::new();
    for work in works {
        let until = (*work == Work::InFlight).then_some(now);
        let sales = sales(ports, *work, until).await?;
        found.extend(sales.iter().filter_map(|sale| Some((sale.open_work()?.due, row(sale, now)?))));
    }
    found.sort_by(|(due, row), (other_due, other)| (due, &row.session_id).cmp(&(other_due, &other.session_id)));
    // The index lags, so a sale that moves from one list to another can be on both for a moment.
    found.dedup_by(|(_, row), (_, other)| row.session_id == other.session_id);
    Ok(found.into_iter().map(|(_, row)| row).collect())
}

/// The sales with this work. The index lags behind, so each sale is loaded and checked again.
pub(crate) async fn sales(ports: Ports<'_>, work: Work, until: Option<Timestamp>) -> Result<Vec<Sale>, StorageError> {
    let mut sales = Vec::new();
    let mut from = None;
    loop {
        let page = ports.open.open(work, until, from.as_deref()).await?;
        for session in &page.sessions {
            let Some(sale) = ports.store.load(session).await? else { continue };
            if sale.value.open_work().is_some_and(|open| open.work == work && until.is_none_or(|t| open.due <= t)) {
                sales.push(sale.value);
            }
        }
        from = page.next;
        if from.is_none() {
            return Ok(sales);
        }
    }
}

fn row(sale: &Sale, now: Timestamp) -> Option<Row> {
    let open = sale.open_work()?;
    Some(Row {
        session_id: sale.session_id().clone(),
        work: open.work,
        since: open.since.to_iso(),
        due: open.due.to_iso(),
        overdue: open.due <= now,
        tier: sale.tier(),
        detail: detail(sale, open.work, now),
        decided: sale.declined().map(|declined| declined.at.to_iso()),
        respond_by: sale.payment().to_answer().and_then(|dispute| dispute.respond_by).map(Timestamp::to_iso),
        replies: sale.waiting_replies().count(),
        email_tag: sale.email_tag().map(str::to_owned),
        undecided: *sale.money() == Money::Kept
            && matches!(sale.fulfilment(), Fulfilment::Failed { .. } | Fulfilment::Unusable { .. })
            && !sale.is_declined_for_good(),
    })
}

/// The sales with unread replies or reports of returned mails, whatever other work they have.
///
/// # Errors
/// [`StorageError`].
pub async fn replied(ports: Ports<'_>, now: Timestamp) -> Result<Vec<Row>, StorageError> {
    // A sale is only on the list of its first work. The others of these works, and work in flight, precede a reply.
    let works = [Work::Reply, Work::Review, Work::Declined, Work::Dispute, Work::Refund, Work::RefundFailed];
    let mut found = of_works(ports, &works, now).await?;
    for sale in sales(ports, Work::InFlight, None).await? {
        found.extend(row(&sale, now));
    }
    found.retain(|row| row.replies > 0);
    found.sort_by(|a, b| (&a.due, &a.session_id).cmp(&(&b.due, &b.session_id)));
    found.dedup_by(|a, b| a.session_id == b.session_id);
    Ok(found)
}

fn detail(sale: &Sale, work: Work, now: Timestamp) -> String {
    let detail = detail_of(sale, work, now);
    let detail = if sale.is_followup() { format!("follow-up: {detail}") } else { detail };
    let reports = sale.waiting_replies().filter(|reply| reply.is_report).count();
    let waiting = [
        counted(sale.waiting_replies().count() - reports, "reply", "replies"),
        counted(reports, "returned mail", "returned mails"),
    ];
    waiting.into_iter().flatten().chain([detail]).collect::<Vec<_>>().join("; ")
}

fn counted(count: usize, one: &str, more: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { more }))
}

fn detail_of(sale: &Sale, work: Work, now: Timestamp) -> String {
    if let (Work::Declined, Some(declined)) = (work, sale.declined()) {
        return authority_gate::describe(declined, now);
    }
    match work {
        Work::Refund => return "authorised, not confirmed by Stripe".to_owned(),
        Work::RefundFailed => {
            return with_letters(format!("the refund came back: {}", refund::ISSUE_AGAIN), sale);
        }
        Work::Dispute => return with_letters(dispute(sale), sale),
        Work::Finding => return finding(sale),
        Work::Owed => return "erased, paid and not delivered: refund it".to_owned(),
        _ => {}
    }
    if matches!(work, Work::DeadLetter | Work::UnknownMail) {
        return letters(sale).join("; ");
    }
    match sale.fulfilment() {
        Fulfilment::InReview { gate, .. } => format!("held at gate {gate}"),
        Fulfilment::Failed { reason, .. } => reason.clone(),
        Fulfilment::Unusable { .. } if matches!(sale.notice(), Mail::Sent { .. }) => {
            let returned = if sale.may_be_unreached() { ", and a mail came back" } else { "" };
            format!("the customer was asked{returned}")
        }
        Fulfilment::Unusable { .. } => format!("the customer was not asked: mail {}", mail_state(sale.notice())),
        Fulfilment::Erased { .. } => "decided: what is kept is removed once more".to_owned(),
        Fulfilment::Ordered { .. } => "ordered".to_owned(),
        Fulfilment::Generating { .. } => "its worker is silent".to_owned(),
        Fulfilment::Ready { archived: false, .. } => "not archived".to_owned(),
        Fulfilment::Ready { .. } => format!("mail {}", mail_state(sale.mail())),
    }
}

/// The letters about which a human has to decide.
fn letters(sale: &Sale) -> Vec<String> {
    let letters = Letter::ALL.into_iter().filter_map(|letter| match sale.letter(letter) {
        Mail::Dead { progress, .. } => {
            let last = progress.failures.last().map_or("?", String::as_str);
            Some(format!("{} mail, last error {last}", letter.as_str()))
        }
        Mail::Unknown { .. } => Some(format!("{} mail may have gone", letter.as_str())),
        _ => None,
    });
    letters.collect()
}

/// Work about money precedes the letters on the lists, so its row names them.
fn with_letters(detail: String, sale: &Sale) -> String {
    std::iter::once(detail).chain(letters(sale)).collect::<Vec<_>>().join("; ")
}

/// The finding of a newer block list in a delivered verdict.
fn finding(sale: &Sale) -> String {
    sale.open_finding().map_or_else(
        || "settled".to_owned(),
        |found| format!("delivered, and block list {} holds back {} term(s) of it", found.list, found.terms),
    )
}

/// The dispute that needs an answer, with Stripe's deadline.
fn dispute(sale: &Sale) -> String {
    let Some(dispute) = sale.payment().to_answer() else { return "answered".to_owned() };
    let by = dispute.respond_by.map_or_else(|| "soon".to_owned(), |by| format!("by {by}"));
    format!("dispute {}: {}, {by}", dispute.id, dispute.status.words())
}

/// The state of a mail as lists name it.
#[must_use]
pub const fn mail_state(mail: &Mail) -> &'static str {
    if matches!(mail, Mail::NoAddress) { "no address" } else { mail.as_str() }
}

/// The amount charged for a sale, in the currency's smallest unit, with the currency.
///
/// # Errors
/// [`PaymentError`] when Stripe could not be asked.
pub async fn amount(payments: &dyn Payments, session: &SessionId) -> Result<Option<(i64, String)>, PaymentError> {
    let session = payments.session(&session.paid_session()).await?;
    Ok(session.amount_total.zip(session.currency))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dead_letters;
    use crate::testing::{at, dead, declined, people, ports, sale, world_of};
    use domain::inbox::Reply;
    use domain::money::{DisputeStatus, ObjectId, PaymentId, PaymentReport};
    use domain::sale::{Charge, HumanLock};
    use serde_json::json;
    use testkit::run;
    use testkit::sale::WithField;

    #[test]
    fn every_human_list_is_there_and_of_the_machines_only_what_is_overdue() {
        let failed = Fulfilment::Failed { reason: "QUOTA".into(), at: at(-50) };
        let authorisation = serde_json::from_value(json!({ "by": "dana", "reason": "asked" })).unwrap();
        let world = world_of([
            sale(),
            sale().with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeDelivery, at: at(-90_000) }),
            sale().with("fulfilment", failed.clone()),
            sale().with("fulfilment", Fulfilment::Unusable { at: at(-40) }).with("notice", dead(-30)),
            sale().with("mail", dead(-20)),
            sale().with("mail", Mail::Unknown { at: at(-10) }),
            sale().with("money", Money::RefundAuthorised { authorisation, at: at(-5) }).with("fulfilment", failed),
            sale().with("fulfilment", Fulfilment::Ordered { at: at(-1300) }).with("waiting_since", at(-1300)),
            sale().with("fulfilment", Fulfilment::Ordered { at: at(-60) }),
            sale()
                .with("money", Money::RefundFailed { at: at(-2), refund: None })
                .with("mail", Mail::Unknown { at: at(-10) }),
        ]);
        let rows = run(everything(ports(&world), at(0))).unwrap().unwrap();
        let summary: Vec<_> = rows.iter().map(|row| (row.work, row.overdue, row.detail.as_str())).collect();
        assert_eq!(
            summary,
            [
                (Work::Review, true, "held at gate 2"),
                (Work::InFlight, true, "ordered"),
                (Work::Refund, false, "authorised, not confirmed by Stripe"),
                (Work::Failed, false, "QUOTA"),
                (Work::DeadLetter, false, "verdict mail, last error 503"),
                (Work::UnknownMail, false, "verdict mail may have gone"),
                (
                    Work::RefundFailed,
                    false,
                    "the refund came back: issue it again, or record it (oracle refunds record) and then give it back by \
                     hand; verdict mail may have gone"
                ),
                (Work::Unusable, false, "the customer was not asked: mail dead"),
            ]
        );
        let works: Vec<_> = run(undecided(ports(&world), at(0))).unwrap().unwrap();
        assert_eq!(works.len(), 5);
    }

    #[test]
    fn a_row_has_the_time_of_the_gates_decision_in_a_field() {
        let world = world_of([sale().with("mail", dead(-20)), declined(people(1), false, -10)]);
        let rows = json!(run(everything(ports(&world), at(0))).unwrap().unwrap());
        let declined = rows.as_array().unwrap().iter().filter(|row| row["work"] == "declined");
        assert_eq!(declined.map(|row| &row["decided"]).collect::<Vec<_>>(), [&json!(at(-10).to_iso())]);
        assert_eq!(rows.as_array().unwrap().iter().filter(|row| row.get("decided").is_some()).count(), 1);
    }

    #[test]
    fn a_filter_takes_what_came_since_for_a_reason() {
        let failed = |seconds, reason: &str| {
            sale().with("fulfilment", Fulfilment::Failed { reason: reason.into(), at: at(seconds) })
        };
        let world = world_of([failed(-50, "UPSTREAM 503"), failed(-9_000, "UPSTREAM 503"), failed(-40, "QUOTA")]);
        let rows = run(of_works(ports(&world), &[Work::Failed], at(0))).unwrap().unwrap();
        let chosen = |since: Option<i64>, like: Option<&str>| {
            let filter = Filter { since: since.map(at), reason_like: like.map(str::to_owned) };
            rows.iter().filter(|row| filter.matches(row)).map(|row| row.session_id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(chosen(Some(-50), Some("upstream")), ["cs_test_0"]);
        assert_eq!(chosen(Some(-49), None), ["cs_test_2"]);
        assert_eq!(chosen(None, Some("503")), ["cs_test_1", "cs_test_0"]);
        assert_eq!(chosen(None, None).len(), 3);
    }

    /// Delivered, lost, and declined when it was made again; the mail with sources of help is a dead letter.
    fn served_in_a_crisis() -> Sale {
        declined(HumanLock::Never, true, -10).with("mail", Mail::Sent { at: at(-400) }).with("refund_letter", dead(-5))
    }

    /// The bank waits for an answer.
    fn disputed() -> Sale {
        let (status, respond_by) = (DisputeStatus::NeedsResponse, None);
        let dispute = PaymentReport::Dispute { id: ObjectId::parse("du_1").unwrap(), status, respond_by, at: at(-30) };
        let charge = Charge { amount_total: Some(100), currency: Some("cad".into()) };
        let mut sale = sale();
        sale.payment_reported(&PaymentId::parse("pi_1").unwrap(), &dispute, charge, at(-30)).unwrap();
        sale
    }

    #[test]
    fn a_returned_mail_is_not_counted_as_a_reply() {
        let message = |id: &str, is_report| {
            let message = id.to_owned();
            Reply { message, at: at(-7), from_buyer: Some(false), settled_at: None, followup: None, is_report }
        };
        let unusable = || sale().with("fulfilment", Fulfilment::Unusable { at: at(-100) });
        let asked = |replies| unusable().with("notice", Mail::Sent { at: at(-90) }).with("replies", replies);
        let settled = Reply { settled_at: Some(at(-5)), ..message("m", true) };
        for (replies, expected) in [
            (vec![message("m", true)], "1 returned mail; the customer was asked, and a mail came back"),
            (vec![message("m", true), message("n", false)], "1 reply; 1 returned mail; the customer was asked"),
            (vec![settled], "the customer was asked, and a mail came back"),
        ] {
            let waiting = replies.iter().filter(|reply| reply.settled_at.is_none()).count();
            let row = row(&asked(replies), at(0)).unwrap();
            assert_eq!((row.detail.as_str(), row.replies), (expected, waiting));
        }
    }

    #[test]
    fn a_reply_is_found_in_every_state_of_its_sale() {
        let reply = || {
            vec![Reply {
                message: "m".into(),
                at: at(-70),
                from_buyer: Some(true),
                settled_at: None,
                followup: None,
                is_report: false,
            }]
        };
        let unusable = Fulfilment::Unusable { at: at(-100) };
        let world = world_of([
            sale().with("replies", reply()),
            sale().with("replies", reply()).with("fulfilment", unusable).with("notice", dead(-90)),
            sale()
                .with("replies", reply())
                .with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeCache, at: at(-60) }),
            sale().with("replies", reply()).with("fulfilment", Fulfilment::Ordered { at: at(-50) }),
            sale().with("replies", reply()).with("mail", dead(-20)),
            declined(people(1), false, -10).with("replies", reply()),
            served_in_a_crisis().with("replies", reply()),
            disputed().with("replies", reply()),
            sale().with("replies", reply()).with("money", Money::RefundFailed { at: at(-2), refund: None }),
            sale(),
        ]);
        let rows = run(replied(ports(&world), at(0))).unwrap().unwrap();
        assert_eq!(rows.len(), 9, "{rows:?}");
        assert!(rows.iter().all(|row| row.replies == 1 && row.detail.starts_with("1 reply; ")), "{rows:?}");
        let undecided = run(undecided(ports(&world), at(0))).unwrap().unwrap();
        assert_eq!(undecided.len(), 3, "a reply takes no sale off the list of money: {undecided:?}");
        assert_eq!(run(dead_letters::everything(ports(&world), None)).unwrap().unwrap().len(), 3);
    }
}
