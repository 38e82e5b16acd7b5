//! Every transition of a sale, with the component that makes it and the arguments that make a difference.
//! The file has more than 300 lines because it is one list of all transitions.

use super::*;
use crate::{
    Alert, Unusable,
    audit_trail::Audited,
    authority_state::State,
    inbox::Reply,
    mail::{Failure, MailOutcome, MailSchedule},
    message::OrderedBy,
    money::{Authorisation, DisputeStatus, ObjectId, PaymentId, PaymentReport, RefundStatus},
    operator::Operator,
    retry::{FailedAttempt, RetryTable, Unavailable::CircuitOpen},
};

crate::enum_with_words! {
    /// The component or person that makes a transition.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum Actor {
        Verdict = "verdict",
        Page = "result",
        Mail = "email-sender, email-retry",
        SilentDrop = "silent-drop",
        Payments = "payment-events",
        Refund = "deadlines, operator",
        Deadlines = "deadlines",
        Reconcile = "reconcile",
        Inbox = "inbox-watch",
        Journal = "every function",
        CacheHealth = "cache-health",
        Operator = "operator",
    }
    pub(super) const fn as_str;
}

/// Makes a transition as this worker; false when it was refused.
pub(super) type Take = Box<dyn Fn(&mut Sale, &str) -> bool>;

pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) actor: Actor,
    pub(super) walks: &'static [Walk],
    pub(super) take: Take,
    /// Whether only the holder of a claim makes it.
    pub(super) held: bool,
}

impl Step {
    /// Whether a function takes it without outside input: a page request, an operator, or Stripe's event may never
    /// come.
    pub(super) const fn is_by_machine(&self) -> bool {
        !matches!(self.actor, Actor::Operator | Actor::Page | Actor::Payments | Actor::Inbox)
    }
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
    Purchase { smoke: false, tier: Tier::Quick, query_hash: String::new(), email_tag: None, locale: None }
}

fn charge() -> Charge {
    Charge { amount_total: Some(100), currency: None }
}

fn declined(persons: u8, is_open: bool) -> Declined {
    let lock = match is_open {
        true => HumanLock::People { persons, roles: vec!["physician".into()], sources: vec!["register".into()] },
        false => HumanLock::Never,
    };
    let (state, reason, domain) = (State::Blocked, String::new(), String::new());
    let (helpers, advice, approvals) = (Vec::new(), Vec::new(), Vec::new());
    Declined {
        state,
        reason,
        domain,
        lock,
        helpers,
        advice,
        is_crisis: false,
        is_emergency: false,
        at: LONG_AGO,
        approvals,
        approved_at: None,
    }
}

fn authority(operator: &Operator) -> Authority<'_> {
    Authority { operator, role: "physician", credential: "register:123", identity: None }
}

fn operator() -> Operator {
    Operator::parse("o", None).unwrap()
}

const FAILED: FailedAttempt<'_> = FailedAttempt { reason: "", open_until: None, not_before: None };

fn failure(retriable: bool, may_have_gone: bool) -> Failure {
    Failure { code: "x".into(), detail: String::new(), retriable, asked: None, may_have_gone, needs_consent: false }
}

/// Stripe's possible reports about a payment of 100 that was refunded, or disputed, or both. An inquiry changes
/// nothing.
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
pub(super) fn steps() -> Vec<Step> {
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
            sale.model_unavailable(Some(by), CircuitOpen(SOON), &RetryTable::standard(), NOW).is_ok()
        }),
        held_step("model_unavailable (too long)", Actor::Verdict, &[Delivery], |sale, by| {
            sale.model_unavailable(Some(by), CircuitOpen(SOON), &RetryTable::none(), NOW).is_ok()
        }),
        step("model_unavailable (no claim)", Actor::Verdict, &[Delivery, Pay], |sale| {
            sale.model_unavailable(None, CircuitOpen(SOON), &RetryTable::standard(), NOW).is_ok()
        }),
        held_step("model_failed", Actor::Verdict, EVERYWHERE, |sale, by| {
            sale.model_failed(by, &bought(), FAILED, &RetryTable::standard(), 0.0, NOW).is_ok()
        }),
        held_step("model_failed (last)", Actor::Verdict, &[Delivery], |sale, by| {
            sale.model_failed(by, &bought(), FAILED, &RetryTable::none(), 0.0, NOW).is_ok()
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
        held_step("decline (crisis)", Actor::Verdict, &[Pay], |sale, by| {
            sale.decline(by, &bought(), Declined { is_crisis: true, ..declined(0, false) }, NOW).is_ok()
        }),
        step("approve_declined", Human, &[Attention], |sale| {
            sale.approve_declined(authority(&operator()), NOW).is_ok()
        }),
        step("refuse_override", Human, &[Attention], |sale| {
            sale.refuse_override(authority(&operator()), false).is_ok()
        }),
        step("reject_declined", Human, &[Attention], |sale| sale.reject_declined(authority(&operator())).is_ok()),
        held_step("hold (gate 1)", Actor::Verdict, EVERYWHERE, |sale, by| {
            sale.hold(HeldBy::Maker { owner: by, purchase: &bought() }, NOW).is_ok()
        }),
        held_step("hold (authority gate)", Actor::Verdict, &[Delivery], |sale, by| {
            sale.hold(HeldBy::AuthorityGate { owner: by, purchase: &bought() }, NOW).is_ok()
        }),
        held_step("unusable", Actor::Verdict, DROPS, |sale, by| {
            sale.unusable(FoundBy::Maker { owner: by }, None, None, "", NOW).is_ok()
        }),
        step("dispatched", Actor::Verdict, EVERYWHERE, |sale| sale.dispatched(LONG_AGO, true).is_ok()),
        step("dispatched (not archived)", Actor::Verdict, &[Delivery], |sale| sale.dispatched(LONG_AGO, false).is_ok()),
        step("order_again", Page, EVERYWHERE, |sale| sale.order_again(NOW).is_ok()),
        step("unusable (page)", Page, &[Drop], |sale| sale.unusable(FoundBy::Page, None, None, "", NOW).is_ok()),
        step("hold (page)", Page, EVERYWHERE, |sale| sale.hold(HeldBy::Page, NOW).is_ok()),
        step("reopen", Page, &[Delivery], |sale| sale.reopen(NOW).is_ok()),
        step("reopen", Actor::Verdict, &[Delivery], |sale| sale.reopen(NOW).is_ok()),
        step("reopen", Mailer, &[Delivery], |sale| sale.reopen(NOW).is_ok()),
        step("restore", Page, &[Delivery], |sale| sale.restore().is_ok()),
        step("serve", Page, &[Attention], |sale| sale.serve(None).is_ok()),
        step("decline_followup", Inbox, &[Attention], |sale| {
            sale.decline_followup(OrderedBy::FollowupReply, "e".into()).is_ok()
        }),
        step("decline_followup", Page, &[Attention], |sale| {
            sale.decline_followup(OrderedBy::FollowupPage, "e".into()).is_ok()
        }),
        step("record_drop", Actor::SilentDrop, DROPS, |sale| {
            sale.record_drop(Unusable::Tier, None, None, charge(), NOW).is_ok()
        }),
        step("drop_alerted", Actor::SilentDrop, &[Drop], |sale| sale.drop_alerted().is_ok()),
        step("notice_ordered", Actor::SilentDrop, DROPS, |sale| sale.notice_ordered().is_ok()),
        step("refund_authorised", Refund, &[Pay, Attention], |sale| {
            sale.refund_authorised(&Authorisation::parse("o", "r").unwrap(), charge(), NOW).is_ok()
        }),
        step("refund_authorised (by policy)", Actor::Deadlines, &[Pay], |sale| {
            sale.refund_authorised(&Authorisation::by_policy("p", "r").unwrap(), charge(), NOW).is_ok()
        }),
        // An erased sale that is owed ends by a refund alone.
        step("refund_authorised", Refund, &[Delivery, Drop], |sale| {
            let is_owed = sale.is_erased() && sale.is_owed();
            is_owed && sale.refund_authorised(&Authorisation::parse("o", "r").unwrap(), charge(), NOW).is_ok()
        }),
        step("refund_answered", Refund, EVERYWHERE, |sale| {
            sale.refund_answered(RefundAnswer::Confirmed, charge(), NOW).is_ok()
        }),
        step("refund_answered (not yet)", Refund, &[Pay], |sale| {
            sale.refund_answered(RefundAnswer::Pending, charge(), NOW).is_ok()
        }),
        step("refund_answered (refused)", Refund, &[Pay], |sale| {
            sale.refund_answered(RefundAnswer::Refused("x"), charge(), NOW).is_ok()
        }),
        step("refund_answered (bounced)", Refund, &[Pay], |sale| {
            let (id, status) = (id("re_1"), RefundStatus::Failed);
            let answer = RefundAnswer::Bounced { code: "x", id: &id, amount: Some(100), status };
            sale.refund_answered(answer, charge(), NOW).is_ok()
        }),
        step("refunded_by_hand", Human, &[Pay], |sale| sale.refunded_by_hand(&operator(), NOW).is_ok()),
        step("amount_noted", Reconcile, &[Pay], |sale| sale.amount_noted(charge(), 100).is_ok()),
        step("chase", Deadlines, &[Attention], |sale| sale.chase(NOW).is_ok()),
        step("chase_refused", Deadlines, &[Attention], |sale| sale.chase_refused(NOW).is_ok()),
        step("remind", Deadlines, &[Attention], |sale| sale.remind(NOW).is_ok()),
        step("replied", Inbox, &[Attention], |sale| {
            sale.replied(Reply {
                message: "m".into(),
                at: NOW,
                from_buyer: None,
                settled_at: None,
                followup: None,
                is_report: false,
            })
            .is_ok()
        }),
        step("trail_mut (records)", Journal, &[Attention], |sale| {
            if !sale.trail().is_published() {
                return false;
            }
            let trail = sale.trail_mut();
            let head = AuditHead { opened: String::new(), count: 1, hash: String::new() };
            trail.append(AuditEntry { key: String::new(), line: String::new(), measurements: Vec::new() }, head);
            trail.keep_alerts([Alert { channel: crate::Channel::Ops, line: String::new() }]);
            true
        }),
        step("saved", Journal, &[Attention], |sale| {
            sale.saved(LONG_AGO);
            true
        }),
        step("trail_mut (publishes)", Journal, &[Attention], |sale| {
            if sale.trail().is_published() {
                return false;
            }
            let (records, alerts) = sale.trail_mut().outbox_mut();
            records.clear();
            alerts.clear();
            true
        }),
        step("free", Human, EVERYWHERE, |sale| {
            let held = sale.fulfilment.clone();
            sale.free(Decision::Approve, &held, None, &operator(), NOW).is_ok()
        }),
        step("free", Human, &[Delivery], |sale| {
            let held = sale.fulfilment.clone();
            let verdict = NewVerdict { colour: Colour::Red, verdict_hash: "" };
            sale.free(Decision::Replace, &held, Some(verdict), &operator(), NOW).is_ok()
        }),
        step("reattempt", Human, EVERYWHERE, |sale| sale.reattempt(&operator(), false, NOW).is_ok()),
        step("reattempt (resubmits)", Human, DROPS, |sale| sale.reattempt(&operator(), true, NOW).is_ok()),
        step("redrive", Human, EVERYWHERE, |sale| sale.redrive(&operator(), NOW).is_ok()),
        step("settle_mails (sent)", Human, EVERYWHERE, |sale| {
            sale.settle_mails(&operator(), MailOutcome::Sent, NOW).is_ok()
        }),
        step("settle_mails (not sent)", Human, EVERYWHERE, |sale| {
            sale.settle_mails(&operator(), MailOutcome::NotSent, NOW).is_ok()
        }),
        step("send_again", Human, &[Delivery], |sale| sale.send_again(&operator(), NOW).is_ok()),
        step("settle_replies", Human, &[Attention], |sale| sale.settle_replies(&operator(), NOW).is_ok()),
        step("found_again", Actor::CacheHealth, &[Attention], |sale| sale.found_again("", 1, NOW).is_ok()),
        step("dismiss_finding", Human, &[Attention], |sale| sale.dismiss_finding(&operator()).is_ok()),
        step("replace_finding", Human, &[Attention], |sale| {
            sale.replace_finding(&operator(), NewVerdict { colour: Colour::Green, verdict_hash: "" }, NOW).is_ok()
        }),
        step("erase", Refund, EVERYWHERE, |sale| sale.erase(&operator(), NOW).is_ok()),
        step("erasure_finished", Refund, EVERYWHERE, |sale| sale.erasure_finished(NOW).is_ok()),
        step("remove_from_cache", Human, &[Delivery], |sale| sale.remove_from_cache(&operator()).is_ok()),
    ];
    for report in reports() {
        steps.push(step("payment_reported", Payments, &[Pay], move |sale| {
            sale.payment_reported(&PaymentId::parse("pi_1").unwrap(), &report, charge(), NOW).is_ok()
        }));
    }
    for letter in Letter::ALL {
        // All steps of the letter that a walk is about; for the others only whether they are sent.
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
            step("claim_mail_early", Mailer, whole, move |sale| {
                let waits = matches!(sale.letter(letter), Mail::Retrying { due, .. } if *due > NOW);
                waits && sale.claim_mail_early(letter, OTHER, NOW, LEASE) == Claim::Granted
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
                sale.hold(HeldBy::Mailer { owner: by, letter }, NOW).is_ok()
            }),
            failed("mail_failed", true, false, whole),
            failed("mail_failed (final)", false, false, roughly),
            failed("mail_failed (may have gone)", false, true, whole),
        ]);
    }
    steps
}
