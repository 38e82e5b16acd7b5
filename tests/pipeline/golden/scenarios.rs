//! The sales: every kind of end, and what lies between an order and its end.

use super::{Scenario, transcript::Transcript};
use crate::simulator::{ADDRESS, Simulator, paid_session, quick, strategy};
use domain::{
    PaymentStatus, Query, Submission, Tier,
    inbox::Reply,
    message::{Message, OrderedBy},
    money::PaymentChange,
    money::RefundStatus,
    ports::{Clock, MailError, ModelError, ModelReply},
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
    ("delivered_quick", || delivered(&quick("GREEN", GOOD), "quick")),
    ("delivered_strategy", || delivered(&strategy(), "strategy")),
    ("delivered_null", || delivered(&quick("NULL", "There is not enough here to judge."), "quick")),
    ("replaced_term", || delivered(&quick("GREEN", "MNEMOS shows that demand is real."), "quick")),
    ("no_address", no_address),
    ("duplicates", duplicates),
    ("page_orders_again", page_orders_again),
    ("retrievals", retrievals),
    ("unpaid", unpaid),
    ("never_paid", never_paid),
    ("completed_without_payment", completed_without_payment),
    ("unusable_resubmitted", unusable_resubmitted),
    ("unusable_page_first", unusable_page_first),
    ("unusable_reminded", unusable_reminded),
    ("unusable_no_address", unusable_no_address),
    ("held_replaced", held_replaced),
    ("held_approved", held_approved),
    ("held_refunded_by_policy", held_refunded_by_policy),
    ("held_at_the_page", held_at_the_page),
    ("held_in_the_mail", held_in_the_mail),
    ("failed_reattempted", failed_reattempted),
    ("failed_refunded", failed_refunded),
    ("circuit_open", circuit_open),
    ("model_not_ready", model_not_ready),
    ("restored", restored),
    ("regenerated_same", || regenerated("GREEN", [])),
    ("regenerated_significant", || regenerated("RED", [])),
    ("regenerated_note_dead", || regenerated("RED", [refusal(), refusal()])),
    ("mail_retried", mail_retried),
    ("mail_dead_redriven", mail_dead_redriven),
    ("mail_refused", mail_refused),
    ("mail_changed", mail_changed),
    ("mail_unknown", mail_unknown),
    ("lost_messages", lost_messages),
    ("crashes", crashes),
    ("payment_changes", payment_changes),
    ("refund_disputed", refund_disputed),
    ("reconciled", reconciled),
    ("replied", replied),
    ("smoke", smoke_test),
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

fn held_ports(sim: &Simulator) -> quarantine::Ports<'_> {
    let world = &sim.world;
    quarantine::Ports {
        journal: sim.journal(),
        quarantine: world,
        payments: world,
        submissions: world,
        orders: world,
        retries: world,
        notices: world,
    }
}

fn approve(sim: &mut Simulator) -> String {
    show(run(quarantine::approve(held_ports(sim), &operator(), &sim.session)))
}

fn replace(sim: &mut Simulator) -> String {
    let cleaned = json!({ "verdict": "AMBER", "summary": "Demand is real, and seasonal." });
    show(run(quarantine::replace(held_ports(sim), &operator(), &sim.session, &cleaned)))
}

fn try_again(submission: Option<Submission>) -> impl FnOnce(&mut Simulator) -> String {
    move |sim| {
        let world = &sim.world;
        let ports = reattempt::Ports { journal: sim.journal(), submissions: world, orders: world };
        show(run(reattempt(ports, &operator(), &sim.session, submission.as_ref())))
    }
}

fn redrive_mails(sim: &mut Simulator) -> String {
    let ports = redrive::Ports { journal: sim.journal(), retries: &sim.world };
    show(run(redrive::redrive(ports, &operator(), &sim.session)))
}

fn settle_mails(found: settle::Found) -> impl FnOnce(&mut Simulator) -> String {
    move |sim| {
        let ports = redrive::Ports { journal: sim.journal(), retries: &sim.world };
        show(run(settle::settle(ports, &operator(), &sim.session, found)))
    }
}

fn refund(sim: &mut Simulator) -> String {
    let ports = refund::Ports { journal: sim.journal(), payments: &sim.world, ledger: &sim.world };
    show(run(refunds::issue(ports, &operator(), &sim.session)))
}

fn payment(transcript: &mut Transcript, change: PaymentChange) {
    transcript.act(&format!("Stripe reports {change:?}"), |sim| {
        sim.payment_changes(change);
        String::new()
    });
    transcript.drain();
}

fn delivered(reply: &str, tier: &str) -> Transcript {
    let mut delivered = sale(tier, reply);
    delivered.webhook().drain().page().deadlines(48);
    delivered
}

fn no_address() -> Transcript {
    let sim = Simulator::with_session(paid_session("cs_test_simulated_sale_1", "quick", None));
    sim.model_says(&quick("GREEN", GOOD));
    let mut silent = Transcript::of(sim);
    silent.webhook().drain().page();
    silent
}

fn duplicates() -> Transcript {
    let mut twice = good();
    twice.webhook().webhook().page().drain().webhook().drain().page();
    twice
}

fn page_orders_again() -> Transcript {
    let mut page = good();
    page.page().page();
    page.sim.world.state().queue.clear();
    page.sim.world.advance(Duration::from_secs(59));
    page.page();
    page.sim.world.advance(Duration::from_secs(1));
    page.page().drain().page();
    page
}

/// More retrievals than the log takes.
fn retrievals() -> Transcript {
    let mut read = good();
    read.webhook().drain();
    for _ in 0..domain::sale::MAX_RECORDED_RETRIEVALS - 2 {
        read.sim.page();
    }
    read.page().page().page();
    read
}

fn unpaid() -> Transcript {
    let mut session = paid_session("cs_test_simulated_sale_1", "quick", Some(ADDRESS));
    session.payment_status = PaymentStatus::Unpaid;
    let sim = Simulator::with_session(session);
    sim.model_says(&quick("GREEN", GOOD));
    let mut unpaid = Transcript::of(sim);
    unpaid.page().webhook().drain().page();
    unpaid.sim.world.state().sessions.values_mut().for_each(|it| it.payment_status = PaymentStatus::Paid);
    unpaid.sim.world.advance(Duration::from_secs(60));
    unpaid.page().drain().page();
    unpaid
}

/// An order for a session that nobody paid for and nobody can pay for any more: it ends a day later.
fn never_paid() -> Transcript {
    let mut session = paid_session("cs_test_simulated_sale_1", "quick", Some(ADDRESS));
    session.payment_status = PaymentStatus::Unpaid;
    session.payment = None;
    let mut unpaid = Transcript::of(Simulator::with_session(session));
    unpaid.webhook().drain().deadlines(24).page();
    unpaid
}

/// Nothing was left to pay: no verdict is made until an operator gives it away.
fn completed_without_payment() -> Transcript {
    let mut session = paid_session("cs_test_simulated_sale_1", "quick", Some(ADDRESS));
    session.payment_status = PaymentStatus::NoPaymentRequired;
    session.payment = None;
    let sim = Simulator::with_session(session);
    sim.model_says(&quick("GREEN", GOOD));
    let mut free = Transcript::of(sim);
    free.webhook().drain().page().deadlines(24);
    free.act("an operator gives it away", try_again(None));
    free.drain().page();
    free
}

fn unusable_resubmitted() -> Transcript {
    let mut sale = unusable();
    sale.webhook().webhook().drain().page();
    sale.act("an operator tries again without a submission", try_again(None));
    sale.sim.model_says(&quick("RED", "Wait a year."));
    let submission = Submission { tier: Tier::Quick, query: Query::parse("Should I move?").unwrap() };
    sale.act("an operator hands in the reply", try_again(Some(submission.clone())));
    sale.act("and again", try_again(Some(submission)));
    sale.drain().page();
    sale
}

fn unusable_page_first() -> Transcript {
    let mut sale = unusable();
    sale.page().drain().webhook().drain().page();
    sale
}

fn unusable_reminded() -> Transcript {
    let mut sale = unusable();
    sale.webhook().drain().deadlines(71).deadlines(1).deadlines(72);
    sale.act("an operator refunds", refund);
    sale.deadlines(72);
    sale
}

/// The order reaches the verdict function, and the mail finds no address.
fn unusable_no_address() -> Transcript {
    let mut session = paid_session("cs_test_simulated_sale_1", "premium", None);
    session.currency = None;
    let mut sale = Transcript::of(Simulator::with_session(session));
    let order = Message::Order {
        v: 1,
        session_id: sale.sim.session.clone(),
        received_at: sale.sim.now(),
        ordered_by: OrderedBy::Reconciliation,
    };
    sale.sim.world.state().queue.push_back((order, Duration::ZERO));
    sale.drain().page().deadlines(72);
    sale
}

fn held_replaced() -> Transcript {
    let mut sale = held();
    sale.act("an operator approves what the list holds", approve);
    sale.deadlines(1);
    sale.act("an operator replaces it", replace);
    sale.act("and again", replace);
    sale.drain().page();
    sale
}

/// The list has changed since: what it held passes now.
fn held_approved() -> Transcript {
    let mut sale = held();
    sale.sim.world.state().quarantine.iter_mut().for_each(|(_, payload)| *payload = payload.replace("CSDM", "model"));
    sale.act("an operator approves it", approve);
    sale.drain().page();
    sale
}

fn held_refunded_by_policy() -> Transcript {
    let mut sale = held();
    sale.deadlines(23);
    sale.sim.world.state().refund_status = Some(RefundStatus::Pending);
    sale.deadlines(1).deadlines(1).deadlines(1).page();
    payment(&mut sale, PaymentChange::Refunded);
    sale.page().deadlines(24).drain();
    sale
}

fn held_at_the_page() -> Transcript {
    let mut sale = good();
    sale.webhook().drain();
    sale.sim.world.state().cache.values_mut().for_each(|cached| cached.verdict.summary = HELD.to_owned());
    sale.page().page().deadlines(24);
    sale.act("an operator replaces it", replace);
    sale.drain().page();
    sale
}

fn held_in_the_mail() -> Transcript {
    let mut sale = good();
    sale.webhook().step();
    sale.sim.world.state().cache.values_mut().for_each(|cached| cached.verdict.summary = HELD.to_owned());
    sale.drain();
    sale.act("an operator replaces it", replace);
    sale.drain().page();
    sale
}

fn failed_reattempted() -> Transcript {
    let mut sale = failed();
    sale.deadlines(24);
    sale.sim.model_says(&quick("AMBER", GOOD));
    sale.act("an operator tries again", try_again(None));
    sale.drain().page();
    sale.act("an operator tries again", try_again(None));
    sale
}

fn failed_refunded() -> Transcript {
    let mut sale = failed();
    sale.sim.world.state().refund_refused = Some("balance_insufficient".to_owned());
    sale.act("an operator refunds, and Stripe refuses", refund);
    sale.deadlines(1);
    sale.sim.world.state().refund_refused = None;
    sale.sim.world.state().refund_status = Some(RefundStatus::Failed);
    sale.deadlines(2);
    sale.act("an operator issues it again", refund);
    sale.sim.world.state().refund_status = Some(RefundStatus::Pending);
    sale.deadlines(1).deadlines(2);
    sale.sim.world.state().refund_status = None;
    sale.act("an operator refunds", refund);
    sale.act("and again", refund);
    sale.act("an operator tries again", try_again(None));
    sale.page();
    sale.sim.world.state().refunds.iter_mut().for_each(|(_, made)| made.status = RefundStatus::Failed);
    payment(&mut sale, PaymentChange::RefundFailed);
    sale.deadlines(24);
    sale.act("an operator gives it back by hand", |sim| {
        show(run(refunds::record(sim.journal(), &operator(), &sim.session)))
    });
    sale
}

fn circuit_open() -> Transcript {
    let mut sale = Transcript::of(Simulator::new("quick"));
    sale.sim.world.state().answers = (0..15).map(|_| Err(ModelError::Timeout)).collect();
    for number in 1..=5 {
        sale.sim.next_session(&format!("cs_test_failing_sale_{number}"));
        sale.sim.stripe_delivers();
        sale.sim.step();
        sale.sim.lose_messages();
    }
    sale.sim.next_session("cs_test_the_sixth_sale");
    sale.webhook().step();
    sale.page();
    sale.sim.world.advance(Duration::from_secs(61));
    sale.sim.model_says(&quick("GREEN", GOOD));
    sale.drain().page();
    sale
}

fn model_not_ready() -> Transcript {
    let mut sale = Transcript::of(Simulator::new("quick"));
    sale.sim.world.state().answers = [Err(ModelError::Unauthorized(403)), Err(ModelError::Unauthorized(403))].into();
    sale.webhook().step();
    sale.sim.model_says(&quick("GREEN", GOOD));
    sale.drain();
    sale
}

fn restored() -> Transcript {
    let mut sale = good();
    sale.webhook().drain();
    sale.sim.world.state().cache.clear();
    sale.page();
    sale.sim.world.state().corrupt_cache = true;
    sale.page();
    sale
}

/// Nothing has the verdict any more, so that it is made again.
fn regenerated<const N: usize>(second: &str, refusals: [Option<MailError>; N]) -> Transcript {
    let mut sale = good();
    sale.webhook().drain();
    lose_verdict(&sale);
    sale.sim.model_says(&quick(second, GOOD));
    mailbox_says(&sale, refusals);
    sale.page().page().drain().page();
    lose_verdict(&sale);
    sale.page();
    sale.act("an operator redrives its mails", redrive_mails);
    sale.sim.world.advance(Duration::from_secs(300));
    sale.page().drain().page();
    sale
}

fn lose_verdict(sale: &Transcript) {
    let mut state = sale.sim.world.state();
    state.cache.clear();
    state.archive.clear();
}

fn mail_retried() -> Transcript {
    let mut sale = good();
    let throttled = Some(MailError::Throttled(Duration::from_secs(120)));
    mailbox_says(&sale, [throttled, None, refusal(), refusal()]);
    sale.webhook().drain();
    sale
}

fn mail_dead_redriven() -> Transcript {
    let mut sale = good();
    mailbox_says(&sale, (0..6).map(|at| if at == 0 { None } else { refusal() }));
    sale.webhook().drain().deadlines(24);
    sale.act("an operator redrives its mails", redrive_mails);
    sale.act("and again", redrive_mails);
    sale.drain();
    sale.act("an operator redrives its mails", redrive_mails);
    sale
}

fn mail_refused() -> Transcript {
    let mut sale = good();
    mailbox_says(&sale, [Some(MailError::Rejected)]);
    sale.webhook().drain();
    payment(&mut sale, PaymentChange::Refunded);
    sale.act("an operator redrives its mails", redrive_mails);
    sale
}

fn mail_changed() -> Transcript {
    let mut sale = good();
    mailbox_says(&sale, [refusal(), refusal()]);
    sale.webhook().step();
    sale.step();
    sale.sim.world.state().cache.values_mut().for_each(|cached| cached.verdict.summary = "Other words.".to_owned());
    sale.drain();
    sale.act("an operator redrives its mails", redrive_mails);
    sale.drain();
    sale
}

/// The draft is gone, and the sent items do not show it.
fn mail_unknown() -> Transcript {
    let mut sale = unknown();
    sale.deadlines(24);
    sale.act("an operator redrives its mails", redrive_mails);
    sale.act("an operator has not found it", settle_mails(settle::Found::NotSent));
    sale.drain();
    sale.act("an operator has found it", settle_mails(settle::Found::Sent));
    sale.sim.next_session("cs_test_simulated_sale_2");
    sale.sim.world.state().sent_items_lag = i64::from(u32::MAX) * 1000;
    sale.sim.world.plan(Plan::none().whenever("mailbox.send_draft", Fault::LoseReply));
    sale.webhook().drain();
    sale.sim.world.plan(Plan::none());
    sale.act("an operator has found it", settle_mails(settle::Found::Sent));
    sale
}

fn unknown() -> Transcript {
    let mut sale = good();
    sale.sim.world.state().sent_items_lag = i64::from(u32::MAX) * 1000;
    sale.sim.world.plan(Plan::none().whenever("mailbox.send_draft", Fault::LoseReply));
    sale.webhook().drain();
    sale.sim.world.plan(Plan::none());
    sale
}

/// Every message is lost once.
fn lost_messages() -> Transcript {
    let mut sale = good();
    sale.page();
    for _ in 0..2 {
        sale.sim.world.state().queue.clear();
        sale.deadlines(1);
        sale.step();
    }
    sale.sim.world.state().queue.clear();
    sale.deadlines(1).drain();
    sale
}

/// Processes that die, and a log that cannot be written: what is kept in the sale, and what comes of it.
fn crashes() -> Transcript {
    let mut sale = good();
    sale.webhook();
    sale.sim.world.plan(Plan::none().whenever("model.ask", Fault::CrashBefore));
    sale.step();
    sale.sim.world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    sale.step();
    sale.step();
    sale.sim.world.plan(Plan::none().whenever("alerts.raise", Fault::CrashBefore));
    sale.deadlines(2);
    sale.sim.world.plan(Plan::none().whenever("archive.keep", Fault::Fail));
    sale.deadlines(2);
    sale.sim.world.plan(Plan::none());
    sale.drain().deadlines(2).page();
    sale
}

fn payment_changes() -> Transcript {
    let mut sale = good();
    sale.webhook().step();
    payment(&mut sale, PaymentChange::PartlyRefunded);
    payment(&mut sale, PaymentChange::DisputeOpened);
    payment(&mut sale, PaymentChange::DisputeOpened);
    sale.act("an operator refunds", refund);
    payment(&mut sale, PaymentChange::DisputeWon);
    sale.deadlines(1).drain();
    payment(&mut sale, PaymentChange::DisputeLost);
    payment(&mut sale, PaymentChange::Refunded);
    sale.page();
    sale
}

/// A dispute, while a refund is under way; before any order has come.
fn refund_disputed() -> Transcript {
    let mut sale = failed();
    sale.sim.world.state().refund_status = Some(RefundStatus::Pending);
    sale.act("an operator refunds", refund);
    payment(&mut sale, PaymentChange::DisputeOpened);
    sale.deadlines(2);
    payment(&mut sale, PaymentChange::DisputeWon);
    sale.sim.world.state().refund_status = None;
    sale.deadlines(2);
    sale.sim.next_session("cs_test_simulated_sale_2");
    payment(&mut sale, PaymentChange::DisputeLost);
    payment(&mut sale, PaymentChange::DisputeOpened);
    sale.webhook().drain().page();
    sale
}

/// A webhook that never came, with another amount than the tier's price.
fn reconciled() -> Transcript {
    let mut sale = good();
    sale.sim.world.advance(Duration::from_secs(24 * 3600));
    sale.act("the sales are compared with Stripe's", |sim| show(sim.reconcile()));
    sale.drain();
    sale.act("the sales are compared with Stripe's", |sim| show(sim.reconcile()));
    sale.act("the sales are compared with Stripe's", |sim| show(sim.reconcile()));
    sale
}

/// The customer has written back.
fn replied() -> Transcript {
    let mut sale = good();
    sale.webhook().drain();
    let at = sale.sim.now();
    let from_buyer = [Some(true), None];
    for (number, from_buyer) in from_buyer.into_iter().enumerate() {
        let reply = Reply { message: format!("message-{number}"), at, from_buyer, settled_at: None, followup: None };
        sale.sim.world.state().sales.values_mut().for_each(|(sale, version)| {
            sale.replied(reply.clone()).unwrap();
            *version += 1;
        });
    }
    sale.deadlines(24);
    sale.act("an operator settles the replies", |sim| {
        show(run(replies::settle(sim.journal(), &operator(), &sim.session)))
    });
    sale
}

/// The smoke test's own sale: made, refused, and bought by a customer after all.
fn smoke_test() -> Transcript {
    let mut sale = good();
    let sim = &sale.sim;
    let metadata = [("tier", "quick"), ("q0", smoke::QUERY), ("qn", "1"), smoke::MARK];
    let mut session = paid_session("cs_test_simulated_sale_1", "quick", None);
    session.payment_status = PaymentStatus::Unpaid;
    session.open = true;
    session.metadata = metadata.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    session.amount_total = Some(100);
    session.payment = None;
    session.created = Some(sim.world.now());
    let facts = Facts { session, livemode: Some(false) };
    sim.world.state().smoke_sessions.insert(facts.session.id.clone(), facts);
    smoke_order(&mut sale);
    sale.drain();
    sale.sim.next_session("cs_test_simulated_sale_2");
    smoke_order(&mut sale);
    sale.drain();
    sale.sim.world.state().answers =
        [Ok(ModelReply { text: quick("GREEN", GOOD), model_version: "m-1".to_owned(), status_warning: None })].into();
    sale.webhook().drain().page();
    smoke_order(&mut sale);
    sale.drain();
    sale
}

fn smoke_order(sale: &mut Transcript) {
    sale.act("the smoke test orders", |sim| {
        let order = Message::Order {
            v: 1,
            session_id: sim.session.clone(),
            received_at: sim.world.now(),
            ordered_by: OrderedBy::SmokeTest,
        };
        sim.world.state().queue.push_back((order, Duration::ZERO));
        String::new()
    });
}
