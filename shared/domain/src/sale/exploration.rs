//! Walks through every state that a sale can reach, by the real transitions, and checks that none is a dead end.
//!
//! A state is an abstracted sale. Of every moment only its side of `NOW` is kept: leases are held or have ended, mails
//! are due or not yet, an order or a regeneration is recent or old. One step lets all that time pass. The holder of a
//! claim is always renamed to `HOLDER`, since only whether somebody holds it matters. What no transition looks at
//! (hashes, tags) is left out. Four walks share the work: what one of them leaves out, another walks through.

use super::*;
use crate::{
    Unusable,
    inbox::Reply,
    mail::{Failure, Found, MailSchedule},
    money::{Authorisation, DisputeStatus, ObjectId, PaymentId, PaymentReport, RefundStatus},
    open_work::Work,
    operator::Operator,
    retry::RetryTable,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

const LONG_AGO: Timestamp = Timestamp::from_seconds(0);
const NOW: Timestamp = Timestamp::from_seconds(10_000_000);
const SOON: Timestamp = Timestamp::from_seconds(10_000_001);
const LEASE: Duration = Duration::from_secs(1);
const HOLDER: &str = "holder";
const OTHER: &str = "other";

/// Who makes a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    Verdict,
    Page,
    Mail,
    SilentDrop,
    Payments,
    Refund,
    Deadlines,
    Reconcile,
    Inbox,
    Journal,
    CacheHealth,
    Operator,
}

impl Actor {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Page => "result",
            Self::Mail => "email-sender, email-retry",
            Self::SilentDrop => "silent-drop",
            Self::Payments => "payment-events",
            Self::Refund => "deadlines, operator",
            Self::Deadlines => "deadlines",
            Self::Reconcile => "reconcile",
            Self::Inbox => "inbox-watch",
            Self::Journal => "every function",
            Self::CacheHealth => "cache-health",
            Self::Operator => "operator",
        }
    }
}

/// Which steps a walk takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// From the order to the mails of a usable sale, made again or not; the money stays.
    Delivery,
    /// A sale whose session is unusable, and what comes of its customer's reply; the money stays.
    Drop,
    /// Refunds and disputes at every point of a simple delivery.
    Money,
    /// Records and alerts that wait, replies, reminders, the smoke test.
    Attention,
}

/// Makes a transition as this worker; false when it was refused.
type Take = Box<dyn Fn(&mut Sale, &str) -> bool>;

struct Step {
    name: &'static str,
    actor: Actor,
    walks: &'static [Walk],
    take: Take,
    /// Only the holder of a claim makes it.
    held: bool,
}

const EVERYWHERE: &[Walk] = &[Walk::Delivery, Walk::Drop, Walk::Money, Walk::Attention];
const DROPS: &[Walk] = &[Walk::Drop, Walk::Attention];

fn step(name: &'static str, actor: Actor, walks: &'static [Walk], take: impl Fn(&mut Sale) -> bool + 'static) -> Step {
    Step { name, actor, walks, take: Box::new(move |sale, _| take(sale)), held: false }
}

fn held_step(
    name: &'static str,
    actor: Actor,
    walks: &'static [Walk],
    take: impl Fn(&mut Sale, &str) -> bool + 'static,
) -> Step {
    Step { name, actor, walks, take: Box::new(take), held: true }
}

fn bought() -> Purchase {
    Purchase { smoke: false, tier: Tier::Quick, query_hash: String::new(), email_tag: None }
}

fn charge() -> Charge {
    Charge { amount_total: Some(100), currency: None }
}

fn declined(persons: u8, is_open: bool) -> Declined {
    let lock = match is_open {
        true => HumanLock::People { persons, roles: vec!["physician".into()], sources: vec!["register".into()] },
        false => HumanLock::Never,
    };
    let (state, reason, domain) = ("BLOCKED".to_owned(), String::new(), String::new());
    let (helpers, advice, approvals) = (Vec::new(), Vec::new(), Vec::new());
    let at = LONG_AGO;
    Declined { state, reason, domain, lock, helpers, advice, is_crisis: false, at, approvals, approved_at: None }
}

fn authority(operator: &Operator) -> Authority<'_> {
    Authority { operator, role: "physician", credential: "register:123" }
}

fn operator() -> Operator {
    Operator::parse("o", None).unwrap()
}

fn failure(retriable: bool, may_have_gone: bool) -> Failure {
    Failure { code: "x".into(), detail: String::new(), retriable, asked: None, may_have_gone }
}

/// What Stripe may report of a payment of 100 that was given back, or disputed, or both. An inquiry changes nothing.
fn reports() -> Vec<PaymentReport> {
    let at = LONG_AGO;
    let refund = |status| PaymentReport::Refund { id: id("re_1"), amount: Some(100), status, at };
    let dispute = |status| PaymentReport::Dispute { id: id("du_1"), status, respond_by: None, at };
    let refunds = [RefundStatus::Succeeded, RefundStatus::Failed].map(refund);
    let disputes = [DisputeStatus::NeedsResponse, DisputeStatus::Won, DisputeStatus::Lost].map(dispute);
    refunds.into_iter().chain(disputes).collect()
}

fn id(text: &str) -> ObjectId {
    ObjectId::parse(text).unwrap()
}

/// Every transition, with the arguments that make a difference.
#[allow(clippy::too_many_lines, reason = "one list of all transitions")]
fn steps() -> Vec<Step> {
    use Actor::{Deadlines, Inbox, Journal, Mail as Mailer, Operator as Human, Page, Payments, Reconcile, Refund};
    use Walk::{Attention, Delivery, Drop, Money as Pay};
    let mut steps = vec![
        step("claim", Actor::Verdict, EVERYWHERE, |sale| {
            sale.claim(OTHER, Claimant::Customer, NOW, LEASE) == Claim::Granted
        }),
        step("claim (smoke test)", Actor::Verdict, &[Attention], |sale| {
            sale.claim(OTHER, Claimant::SmokeTest { received_at: LONG_AGO }, NOW, LEASE) == Claim::Granted
        }),
        held_step("release_claim", Actor::Verdict, EVERYWHERE, |sale, by| sale.release_claim(by, NOW).is_ok()),
        held_step("unpaid", Actor::Verdict, &[Delivery, Drop, Pay], |sale, by| {
            sale.unpaid(by, NotPaid::Unpaid, NOW).is_ok()
        }),
        held_step("unpaid (nothing to pay)", Actor::Verdict, &[Delivery], |sale, by| {
            sale.unpaid(by, NotPaid::Free, NOW).is_ok()
        }),
        step("lapse", Deadlines, &[Delivery], |sale| sale.lapse(NOW).is_ok()),
        held_step("model_unavailable", Actor::Verdict, &[Delivery, Pay], |sale, by| {
            sale.model_unavailable(Some(by), SOON, &RetryTable::standard(), NOW).is_ok()
        }),
        held_step("model_unavailable (too long)", Actor::Verdict, &[Delivery], |sale, by| {
            sale.model_unavailable(Some(by), SOON, &RetryTable::none(), NOW).is_ok()
        }),
        step("model_unavailable (no claim)", Actor::Verdict, &[Delivery, Pay], |sale| {
            sale.model_unavailable(None, SOON, &RetryTable::standard(), NOW).is_ok()
        }),
        held_step("model_failed", Actor::Verdict, EVERYWHERE, |sale, by| {
            sale.model_failed(by, &bought(), "", &RetryTable::standard(), 0.0, NOW).is_ok()
        }),
        held_step("model_failed (last)", Actor::Verdict, &[Delivery], |sale, by| {
            sale.model_failed(by, &bought(), "", &RetryTable::none(), 0.0, NOW).is_ok()
        }),
        held_step("ready", Actor::Verdict, EVERYWHERE, |sale, by| {
            sale.ready(by, &bought(), Colour::Green, "", NOW).is_ok()
        }),
        held_step("ready", Actor::Verdict, &[Delivery], |sale, by| {
            sale.ready(by, &bought(), Colour::Red, "", NOW).is_ok()
        }),
        held_step("fail", Actor::Verdict, EVERYWHERE, |sale, by| sale.fail(by, None, "", NOW).is_ok()),
        held_step("decline", Actor::Verdict, &[Attention], |sale, by| {
            sale.decline(by, &bought(), declined(1, true), NOW).is_ok()
        }),
        held_step("decline (locked)", Actor::Verdict, &[Attention], |sale, by| {
            sale.decline(by, &bought(), declined(0, false), NOW).is_ok()
        }),
        step("approve_declined", Human, &[Attention], |sale| {
            sale.approve_declined(authority(&operator()), NOW).is_ok()
        }),
        step("reject_declined", Human, &[Attention], |sale| sale.reject_declined(authority(&operator())).is_ok()),
        held_step("hold (gate 1)", Actor::Verdict, EVERYWHERE, |sale, by| {
            sale.hold(Holder::Maker { owner: by, purchase: &bought() }, NOW).is_ok()
        }),
        held_step("hold (authority gate)", Actor::Verdict, &[Delivery], |sale, by| {
            sale.hold(Holder::AuthorityGate { owner: by, purchase: &bought() }, NOW).is_ok()
        }),
        held_step("unusable", Actor::Verdict, DROPS, |sale, by| {
            sale.unusable(Finder::Maker { owner: by }, "", NOW).is_ok()
        }),
        step("dispatched", Actor::Verdict, EVERYWHERE, |sale| {
            let open = matches!(sale.fulfilment, Fulfilment::Ready { .. }) && sale.is_money_kept();
            open && sale.dispatched(true) == Event::Dispatched
        }),
        step("dispatched (not archived)", Actor::Verdict, &[Delivery], |sale| {
            let open = matches!(sale.fulfilment, Fulfilment::Ready { archived: false, .. }) && sale.is_money_kept();
            open && sale.dispatched(false) == Event::Dispatched
        }),
        step("order_again", Page, EVERYWHERE, |sale| sale.order_again(NOW).is_ok()),
        step("unusable (page)", Page, &[Drop], |sale| sale.unusable(Finder::Page, "", NOW).is_ok()),
        step("hold (page)", Page, EVERYWHERE, |sale| sale.hold(Holder::Page, NOW).is_ok()),
        step("reopen", Page, &[Delivery], |sale| sale.reopen(NOW).is_ok()),
        step("restore", Page, &[Delivery], |sale| sale.restore().is_ok()),
        step("serve", Page, &[Attention], |sale| {
            matches!(sale.fulfilment, Fulfilment::Ready { .. }) && sale.serve().is_ok()
        }),
        step("record_drop", Actor::SilentDrop, DROPS, |sale| {
            sale.record_drop(Unusable::Tier, None, charge(), NOW).is_ok()
        }),
        step("drop_alerted", Actor::SilentDrop, &[Drop], |sale| sale.drop_alerted().is_ok()),
        step("notice_ordered", Actor::SilentDrop, DROPS, |sale| {
            sale.drop_recorded && sale.is_drop_open() && sale.notice_ordered().is_ok()
        }),
        step("refund_authorised", Refund, &[Pay, Attention], |sale| {
            sale.refund_authorised(&Authorisation::parse("o", "r").unwrap(), charge(), NOW).is_ok()
        }),
        step("refund_authorised (by policy)", Actor::Deadlines, &[Pay], |sale| {
            sale.refund_authorised(&Authorisation::by_policy("p", "r").unwrap(), charge(), NOW).is_ok()
        }),
        step("refund_answered", Refund, &[Pay, Attention], |sale| {
            sale.refund_answered(RefundAnswer::Confirmed, charge(), NOW).is_ok()
        }),
        step("refund_answered (not yet)", Refund, &[Pay], |sale| {
            sale.refund_answered(RefundAnswer::Pending, charge(), NOW).is_ok()
        }),
        step("refund_answered (refused)", Refund, &[Pay], |sale| {
            sale.refund_answered(RefundAnswer::Refused("x"), charge(), NOW).is_ok()
        }),
        step("refund_answered (bounced)", Refund, &[Pay], |sale| {
            sale.refund_answered(RefundAnswer::Bounced("x"), charge(), NOW).is_ok()
        }),
        step("refunded_by_hand", Human, &[Pay], |sale| sale.refunded_by_hand(&operator(), NOW).is_ok()),
        step("amount_noted", Reconcile, &[Pay], |sale| sale.amount_noted(charge(), 100).is_ok()),
        step("chase", Deadlines, &[Attention], |sale| sale.chase(NOW).is_ok()),
        step("chase_refused", Deadlines, &[Attention], |sale| sale.chase_refused(NOW).is_ok()),
        step("remind", Deadlines, &[Attention], |sale| sale.remind(NOW).is_ok()),
        step("replied", Inbox, &[Attention], |sale| {
            sale.replied(Reply { message: "m".into(), at: NOW, from_buyer: None, settled_at: None, followup: None })
                .is_ok()
        }),
        step("append_record, keep_alerts", Journal, &[Attention], |sale| {
            let is_new = sale.is_published();
            let head = AuditHead { opened: String::new(), count: 1, hash: String::new() };
            sale.append_record(AuditEntry { key: String::new(), line: String::new(), measurements: Vec::new() }, head);
            sale.keep_alerts([Alert { channel: crate::Channel::Ops, line: String::new() }]);
            is_new
        }),
        step("outbox_mut", Journal, &[Attention], |sale| {
            let (records, alerts) = sale.outbox_mut();
            records.clear();
            !std::mem::take(alerts).is_empty()
        }),
        step("free", Human, EVERYWHERE, |sale| {
            let held = sale.fulfilment.clone();
            sale.free(Decision::Approve, &held, None, &operator(), NOW).is_ok()
        }),
        step("free", Human, &[Delivery], |sale| {
            let held = sale.fulfilment.clone();
            let verdict = NewVerdict { colour: Colour::Red, verdict_hash: "" };
            let is_verdict = sale.notice != Mail::Held;
            is_verdict && sale.free(Decision::Replace, &held, Some(verdict), &operator(), NOW).is_ok()
        }),
        step("reattempt", Human, EVERYWHERE, |sale| sale.reattempt(&operator(), false, NOW).is_ok()),
        step("reattempt (resubmits)", Human, DROPS, |sale| sale.reattempt(&operator(), true, NOW).is_ok()),
        step("redrive", Human, EVERYWHERE, |sale| sale.redrive(&operator(), NOW).is_ok()),
        step("settle_mails (sent)", Human, EVERYWHERE, |sale| sale.settle_mails(&operator(), Found::Sent, NOW).is_ok()),
        step("settle_mails (not sent)", Human, EVERYWHERE, |sale| {
            sale.is_money_kept() && sale.settle_mails(&operator(), Found::NotSent, NOW).is_ok()
        }),
        step("send_again", Human, &[Delivery], |sale| sale.send_again(&operator(), NOW).is_ok()),
        step("settle_replies", Human, &[Attention], |sale| sale.settle_replies(&operator(), NOW).is_ok()),
        step("found_again", Actor::CacheHealth, &[Attention], |sale| sale.found_again("", 1, NOW).is_ok()),
        step("dismiss_finding", Human, &[Attention], |sale| sale.dismiss_finding(&operator()).is_ok()),
        step("replace_finding", Human, &[Attention], |sale| {
            sale.replace_finding(&operator(), NewVerdict { colour: Colour::Green, verdict_hash: "" }).is_ok()
        }),
        step("erase", Human, EVERYWHERE, |sale| sale.erase(&operator(), NOW).is_ok()),
        step("erasure_finished", Refund, EVERYWHERE, |sale| sale.erasure_finished(NOW).is_ok()),
        step("remove_from_cache", Human, &[Delivery], |sale| sale.remove_from_cache(&operator()).is_ok()),
    ];
    for report in reports() {
        steps.push(step("payment_reported", Payments, &[Pay], move |sale| {
            sale.payment_reported(&PaymentId::parse("pi_1").unwrap(), &report, charge(), NOW).is_ok()
        }));
    }
    for letter in Letter::ALL {
        // Every step of the letter that a walk is about; of the others whether they go out.
        let (whole, roughly): (&[Walk], &[Walk]) = match letter {
            Letter::Verdict => (&[Delivery], EVERYWHERE),
            Letter::SilentDrop => (&[Drop], DROPS),
            Letter::Divergence => (&[], &[Delivery]),
            Letter::Refund => (&[], &[Pay]),
        };
        let failed = move |name, retriable, may_have_gone, walks| {
            held_step(name, Mailer, walks, move |sale: &mut Sale, by: &str| {
                let failure = failure(retriable, may_have_gone);
                sale.mail_failed(letter, by, &failure, None, &MailSchedule::once_more(), NOW).is_ok()
            })
        };
        steps.extend([
            step("claim_mail", Mailer, roughly, move |sale| {
                sale.claim_mail(letter, OTHER, NOW, LEASE) == Claim::Granted
            }),
            held_step("release_mail", Mailer, whole, move |sale, by| sale.release_mail(letter, by, NOW).is_ok()),
            held_step("mail_drafted", Mailer, whole, move |sale, by| {
                let draft = Draft { id: String::new(), internet_message_id: String::new() };
                let rendered = Rendered { body_hash: String::new(), email_tag: String::new() };
                sale.mail_drafted(letter, by, &draft, &rendered).is_ok()
            }),
            held_step("mail_sent", Mailer, roughly, move |sale, by| sale.mail_sent(letter, by, NOW).is_ok()),
            held_step("mail_no_address", Mailer, whole, move |sale, by| sale.mail_no_address(letter, by).is_ok()),
            held_step("hold (mail)", Mailer, roughly, move |sale, by| {
                sale.hold(Holder::Mailer { owner: by, letter }, NOW).is_ok()
            }),
            failed("mail_failed", true, false, whole),
            failed("mail_failed (final)", false, false, roughly),
            failed("mail_failed (may have gone)", false, true, whole),
        ]);
    }
    steps
}

/// The abstracted sale.
fn normal(mut sale: Sale, walk: Walk) -> Sale {
    let side = |at: Timestamp| {
        if at > NOW {
            SOON
        } else if at == NOW {
            NOW
        } else {
            LONG_AGO
        }
    };
    match &mut sale.fulfilment {
        Fulfilment::Ordered { at } => *at = side(*at),
        Fulfilment::Generating { owner, lease_until } => {
            *owner = HOLDER.to_owned();
            *lease_until = side(*lease_until).max(NOW);
        }
        Fulfilment::Ready { at, .. }
        | Fulfilment::InReview { at, .. }
        | Fulfilment::Failed { at, .. }
        | Fulfilment::Unusable { at } => *at = LONG_AGO,
        Fulfilment::Erased { at, removed_at, .. } => {
            *at = LONG_AGO;
            *removed_at = removed_at.map(|_| LONG_AGO);
        }
    }
    for letter in Letter::ALL {
        match sale.letter_mut(letter) {
            Mail::Sending { owner, lease_until, progress } => {
                *owner = HOLDER.to_owned();
                *lease_until = side(*lease_until).max(NOW);
                progress.body_hash = None;
            }
            Mail::Retrying { due, progress } => {
                *due = side(*due).max(NOW);
                progress.body_hash = None;
            }
            Mail::Dead { at, progress } => {
                *at = LONG_AGO;
                *progress = Progress { draft: progress.draft.clone(), ..Progress::default() };
            }
            Mail::Sent { at } | Mail::Unknown { at } => *at = LONG_AGO,
            Mail::NotOrdered | Mail::Ordered | Mail::NoAddress | Mail::Held => {}
        }
    }
    match &mut sale.money {
        Money::RefundAuthorised { at, .. }
        | Money::Refunded { at }
        | Money::RefundFailed { at, .. }
        | Money::Disputed { at, .. } => *at = LONG_AGO,
        Money::Kept => {}
    }
    sale.unavailable_until = sale.unavailable_until.filter(|until| *until > NOW).map(|_| SOON);
    // How long it may still wait is for the steps to say.
    sale.model_wait = None;
    sale.regenerated_at = sale.regenerated_at.map(side);
    sale.refund_attempts = 0;
    sale.payment = settled(&sale.payment);
    sale.amount_noted = false;
    // Only a failed sale is looked at for it.
    sale.not_paid = sale.not_paid();
    // No transition looks at it.
    sale.given = false;
    if let Some(finding) = &mut sale.finding {
        finding.at = LONG_AGO;
        finding.settled = finding.settled.map(|_| Settled::Dismissed);
    }
    sale.declined = sale.declined.filter(|_| matches!(sale.fulfilment, Fulfilment::Failed { .. }));
    if let Some(declined) = &mut sale.declined {
        declined.approvals.clear();
        declined.approved_at = None;
    }
    sale.drop_alerted = false;
    sale.replies.iter_mut().for_each(|reply| {
        reply.at = LONG_AGO;
        reply.settled_at = reply.settled_at.map(|_| LONG_AGO);
    });
    sale.outbox.truncate(1);
    sale.alerts.truncate(1);
    // Only whether records are published first depends on it, and how patient the reminders are.
    sale.chased = if walk == Walk::Attention { sale.chased.min(2) } else { 0 };
    sale.reminded_at = None;
    sale.retrievals = 0;
    sale.waiting_since = LONG_AGO;
    sale.tier = None;
    sale.query_hash = None;
    sale.verdict_hash = None;
    sale.email_tag = None;
    sale.audit = None;
    sale
}

/// What of a history still decides: what ended well for us may as well not have been.
fn settled(history: &PaymentHistory) -> PaymentHistory {
    let mut settled = PaymentHistory::new();
    for dispute in history.disputes().iter().filter(|dispute| dispute.status.takes_money()) {
        let (id, status) = (dispute.id.clone(), dispute.status);
        settled.note(&PaymentReport::Dispute { id, status, respond_by: None, at: LONG_AGO }, Some(100));
    }
    for refund in history.refunds().iter().filter(|refund| !refund.status.is_void()) {
        let (id, amount, status) = (refund.id.clone(), refund.amount, refund.status);
        settled.note(&PaymentReport::Refund { id, amount, status, at: LONG_AGO }, Some(100));
    }
    settled
}

/// Lets leases end, mails come due, and everything recent grow old.
fn time_passes(sale: &mut Sale) {
    match &mut sale.fulfilment {
        Fulfilment::Ordered { at } => *at = LONG_AGO,
        Fulfilment::Generating { lease_until, .. } => *lease_until = NOW,
        _ => {}
    }
    for letter in Letter::ALL {
        match sale.letter_mut(letter) {
            Mail::Sending { lease_until, .. } => *lease_until = NOW,
            Mail::Retrying { due, .. } => *due = NOW,
            _ => {}
        }
    }
    sale.unavailable_until = None;
    sale.regenerated_at = sale.regenerated_at.map(|_| LONG_AGO);
}

/// One walk: its states, and which of them follow from which.
struct Graph {
    states: Vec<Sale>,
    /// From, to, whether machines make it by themselves.
    edges: Vec<(usize, usize, bool)>,
}

/// The pairs of states that a transition leads between, by its name and maker.
type Rows = BTreeMap<(Actor, &'static str), BTreeSet<(&'static str, &'static str, &'static str)>>;

fn explore(walk: Walk, rows: &mut Rows) -> Graph {
    let steps: Vec<Step> = steps().into_iter().filter(|step| step.walks.contains(&walk)).collect();
    let first = normal(Sale::ordered(SessionId::parse("cs_1").unwrap(), LONG_AGO), walk);
    let key = |sale: &Sale| serde_json::to_string(sale).unwrap();
    let mut known = HashMap::from([(key(&first), 0)]);
    let mut graph = Graph { states: vec![first], edges: Vec::new() };
    let mut waiting = VecDeque::from([0]);
    while let Some(from) = waiting.pop_front() {
        let before = graph.states[from].clone();
        let mut reach = |graph: &mut Graph, sale: Sale, by_machine: bool| {
            let sale = normal(sale, walk);
            let next = graph.states.len();
            let to = *known.entry(key(&sale)).or_insert(next);
            if to == next {
                graph.states.push(sale);
                waiting.push_back(to);
            }
            graph.edges.push((from, to, by_machine));
        };
        for step in &steps {
            let mut sale = before.clone();
            let taken = (step.take)(&mut sale, HOLDER);
            if step.held {
                let mut untouched = before.clone();
                assert!(!(step.take)(&mut untouched, OTHER), "{} without a claim in {before:?}", step.name);
                assert_eq!(untouched, before, "{} was refused and changed the sale", step.name);
            }
            if !taken {
                continue;
            }
            note(rows.entry((step.actor, step.name)).or_default(), &before, &sale);
            // A page, an operator, or Stripe may never come.
            let by_machine = !matches!(step.actor, Actor::Operator | Actor::Page | Actor::Payments | Actor::Inbox);
            reach(&mut graph, sale, by_machine);
        }
        let mut later = before.clone();
        time_passes(&mut later);
        reach(&mut graph, later, true);
    }
    graph
}

fn note(row: &mut BTreeSet<(&'static str, &'static str, &'static str)>, before: &Sale, after: &Sale) {
    let mut add = |what, from: &'static str, to: &'static str| {
        if from != to {
            row.insert((what, from, to));
        }
    };
    add("verdict", before.fulfilment.as_str(), after.fulfilment.as_str());
    add("money", before.money.as_str(), after.money.as_str());
    for letter in Letter::ALL {
        add("mail", before.letter(letter).as_str(), after.letter(letter).as_str());
    }
}

/// Whether nothing is left to do: the customer has the verdict, or the money is elsewhere, or nobody paid.
fn has_ended(sale: &Sale) -> bool {
    let delivered =
        matches!(sale.fulfilment, Fulfilment::Ready { .. }) && matches!(sale.mail, Mail::Sent { .. } | Mail::NoAddress);
    let never_paid = sale.not_paid() == Some(NotPaid::Over);
    sale.open_work().is_none() && (delivered || never_paid || sale.is_erased() || !sale.is_money_kept() || sale.smoke)
}

fn is_machines_work(sale: &Sale) -> bool {
    sale.open_work().is_some_and(|open| matches!(open.work, Work::InFlight | Work::Refund | Work::Erasure))
}

/// The states from which these steps lead to one of `ends`.
fn leads_to(graph: &Graph, ends: impl Fn(&Sale) -> bool, by_machine: bool) -> Vec<bool> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); graph.states.len()];
    for (from, to, machine) in &graph.edges {
        if *machine || !by_machine {
            before[*to].push(*from);
        }
    }
    let mut leads: Vec<bool> = graph.states.iter().map(ends).collect();
    let mut waiting: Vec<usize> = (0..leads.len()).filter(|state| leads[*state]).collect();
    while let Some(state) = waiting.pop() {
        for from in &before[state] {
            if !leads[*from] {
                leads[*from] = true;
                waiting.push(*from);
            }
        }
    }
    leads
}

/// Every walk, with the rows of the table.
fn all() -> (Vec<Graph>, Rows) {
    let mut rows = Rows::new();
    let graphs = [Walk::Delivery, Walk::Drop, Walk::Money, Walk::Attention].map(|walk| explore(walk, &mut rows));
    (graphs.into(), rows)
}

fn table(rows: &Rows) -> String {
    let mut table = "//! | transition | made by | verdict | mail | money |\n//! |---|---|---|---|---|\n".to_owned();
    for ((actor, name), pairs) in rows {
        let column = |wanted: &str| {
            let mut by_end: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (_, from, to) in pairs.iter().filter(|(what, ..)| *what == wanted) {
                by_end.entry(to).or_default().push(from);
            }
            let cells: Vec<String> = by_end.iter().map(|(to, from)| format!("{} → {to}", from.join(", "))).collect();
            cells.join("; ")
        };
        let cells = [name, actor.as_str(), &column("verdict"), &column("mail"), &column("money")];
        table.push_str(&format!("//! | {} |\n", cells.join(" | ")));
    }
    table.replace("|  |", "| |").replace("|  |", "| |")
}

#[test]
fn no_state_is_a_dead_end_and_the_table_shows_every_transition() {
    let (graphs, rows) = all();
    let mut reached = (0, 0);
    for graph in &graphs {
        reached = (reached.0 + graph.states.len(), reached.1 + graph.edges.len());
        let ends = leads_to(graph, has_ended, false);
        // Machines end their work by themselves, or come to a human's list.
        let worked = leads_to(graph, |sale| !is_machines_work(sale), true);
        for (state, sale) in graph.states.iter().enumerate() {
            assert!(has_ended(sale) || sale.open_work().is_some(), "nobody's work: {sale:?}");
            assert!(ends[state], "no end follows: {sale:?}");
            assert!(worked[state], "machines cannot end their work: {sale:?}");
        }
    }
    println!("{} states, {} steps, {} transitions in the table", reached.0, reached.1, rows.len());
    let documented: String = include_str!("mod.rs")
        .lines()
        .filter(|line| line.starts_with("//! |"))
        .map(|line| format!("{line}\n"))
        .collect();
    let table = table(&rows);
    assert!(documented == table, "the table of sale/mod.rs is not that of the transitions:\n{table}");
}
