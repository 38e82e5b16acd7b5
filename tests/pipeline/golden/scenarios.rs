//! The scenarios: every final state of a sale, and the states between an order and its end.

mod delivery;
mod mail;
mod review;

use super::{Scenario, transcript::Transcript};
use crate::{
    samples::{ADDRESS, paid_session, quick, strategy},
    simulator::Simulator,
};
use domain::{
    PaymentStatus, Query, Submission, Tier,
    inbox::Reply,
    message::{Message, OrderedBy},
    money::PaymentChange,
    money::RefundStatus,
    ports::{Clock, MailError, ModelError},
    smoke::{self, Facts},
};
use operations::{
    Operator, quarantine,
    reattempt::{self, reattempt},
    redrive, refunds, replies, settle,
};
use serde_json::json;
use std::{fmt::Debug, time::Duration};
use testkit::{Fault, Plan, run};

const GOOD: &str = "Demand is real and the format fits.";
const HELD: &str = "The CSDM says that demand is real.";

pub(super) const ALL: [Scenario; 40] = [
    ("delivered_quick", || delivery::delivered(&quick("GREEN", GOOD), "quick")),
    ("delivered_strategy", || delivery::delivered(&strategy(), "strategy")),
    ("delivered_null", || delivery::delivered(&quick("NULL", "There is not enough here to judge."), "quick")),
    ("replaced_term", || delivery::delivered(&quick("GREEN", "MNEMOS shows that demand is real."), "quick")),
    ("no_address", delivery::no_address),
    ("duplicates", delivery::duplicates),
    ("page_orders_again", delivery::page_orders_again),
    ("retrievals", delivery::retrievals),
    ("unpaid", delivery::unpaid),
    ("never_paid", delivery::never_paid),
    ("completed_without_payment", delivery::completed_without_payment),
    ("unusable_resubmitted", review::unusable_resubmitted),
    ("unusable_page_first", review::unusable_page_first),
    ("unusable_reminded", review::unusable_reminded),
    ("unusable_no_address", review::unusable_no_address),
    ("held_replaced", review::held_replaced),
    ("held_approved", review::held_approved),
    ("held_refunded_by_policy", review::held_refunded_by_policy),
    ("held_at_the_page", review::held_at_the_page),
    ("held_in_the_mail", review::held_in_the_mail),
    ("failed_reattempted", review::failed_reattempted),
    ("failed_refunded", review::failed_refunded),
    ("circuit_open", delivery::circuit_open),
    ("model_not_ready", delivery::model_not_ready),
    ("restored", delivery::restored),
    ("regenerated_same", || delivery::regenerated("GREEN", [])),
    ("regenerated_significant", || delivery::regenerated("RED", [])),
    ("regenerated_note_dead", || delivery::regenerated("RED", [refusal(), refusal()])),
    ("mail_retried", mail::mail_retried),
    ("mail_dead_redriven", mail::mail_dead_redriven),
    ("mail_refused", mail::mail_refused),
    ("mail_changed", mail::mail_changed),
    ("mail_unknown", mail::mail_unknown),
    ("lost_messages", delivery::lost_messages),
    ("crashes", delivery::crashes),
    ("payment_changes", review::payment_changes),
    ("refund_disputed", review::refund_disputed),
    ("reconciled", review::reconciled),
    ("replied", review::replied),
    ("smoke", delivery::smoke_test),
];

fn sale(tier: &str, reply: &str) -> Transcript {
    let sim = Simulator::new(tier);
    sim.model_says(reply);
    Transcript::of(sim)
}

fn good() -> Transcript {
    sale("quick", &quick("GREEN", GOOD))
}

fn unusable() -> Transcript {
    let mut session = paid_session("cs_test_simulated_sale_1", "premium", Some(ADDRESS));
    session.metadata.remove("q0");
    Transcript::of(Simulator::with_session(session))
}

fn held() -> Transcript {
    let mut held = sale("quick", &quick("GREEN", HELD));
    held.webhook().drain().page();
    held
}

fn failed() -> Transcript {
    let mut failed = Transcript::of(Simulator::new("quick"));
    failed.sim.world.state().answers = [Err(ModelError::NoVerdict("SAFETY".to_owned()))].into();
    failed.webhook().drain().page();
    failed
}

fn operator() -> Operator {
    Operator::parse("dana", Some("looked at it")).unwrap()
}

fn refusal() -> Option<MailError> {
    Some(MailError::Unavailable(503))
}

fn mailbox_says(transcript: &Transcript, answers: impl IntoIterator<Item = Option<MailError>>) {
    transcript.sim.world.state().mailbox_says = answers.into_iter().collect();
}

fn show<T: Debug, E: std::fmt::Display>(answer: Option<Result<T, E>>) -> String {
    match answer {
        Some(Ok(answer)) => format!("{answer:?}"),
        Some(Err(error)) => error.to_string(),
        None => "the process died".to_owned(),
    }
}

fn approve(sim: &mut Simulator) -> String {
    show(run(quarantine::approve(sim.held_ports(), &operator(), &sim.session)))
}

fn replace(sim: &mut Simulator) -> String {
    let cleaned = json!({ "verdict": "AMBER", "summary": "Demand is real, and seasonal." });
    show(run(quarantine::replace(sim.held_ports(), &operator(), &sim.session, &cleaned)))
}

fn try_again(submission: Option<Submission>) -> impl FnOnce(&mut Simulator) -> String {
    move |sim| {
        let world = &sim.world;
        let ports = reattempt::Ports { journal: sim.journal(), submissions: world, orders: world };
        show(run(reattempt(ports, &operator(), &sim.session, submission.as_ref(), &[])))
    }
}

fn redrive_mails(sim: &mut Simulator) -> String {
    let ports = redrive::Ports { journal: sim.journal(), retries: &sim.world };
    show(run(redrive::redrive(ports, &operator(), &sim.session)))
}

fn settle_mails(found: settle::MailOutcome) -> impl FnOnce(&mut Simulator) -> String {
    move |sim| {
        let ports = redrive::Ports { journal: sim.journal(), retries: &sim.world };
        show(run(settle::settle(ports, &operator(), &sim.session, found)))
    }
}

fn refund(sim: &mut Simulator) -> String {
    let ports = refund::Ports { journal: sim.journal(), payments: &sim.world, ledger: &sim.world };
    show(run(refunds::issue(ports, &operator(), &sim.session, None)))
}

fn payment(transcript: &mut Transcript, change: PaymentChange) {
    transcript.act(&format!("Stripe reports {change:?}"), |sim| {
        sim.payment_changes(change);
        String::new()
    });
    transcript.drain();
}
