//! Sales that are delivered, ordered again, or not paid.

use super::*;

pub(super) fn delivered(reply: &str, tier: &str) -> Transcript {
    let mut delivered = sale(tier, reply);
    delivered.webhook().drain().page().deadlines(48);
    delivered
}

pub(super) fn no_address() -> Transcript {
    let sim = Simulator::with_session(paid_session("cs_test_simulated_sale_1", "quick", None));
    sim.model_says(&quick("GREEN", GOOD));
    let mut silent = Transcript::of(sim);
    silent.webhook().drain().page();
    silent
}

pub(super) fn duplicates() -> Transcript {
    let mut twice = good();
    twice.webhook().webhook().page().drain().webhook().drain().page();
    twice
}

pub(super) fn page_orders_again() -> Transcript {
    let mut page = good();
    page.page().page();
    page.sim.world.state().queue.clear();
    page.sim.world.advance(Duration::from_secs(59));
    page.page();
    page.sim.world.advance(Duration::from_secs(1));
    page.page().drain().page();
    page
}

/// More retrievals than the log records.
pub(super) fn retrievals() -> Transcript {
    let mut read = good();
    read.webhook().drain();
    for _ in 0..domain::sale::MAX_RECORDED_RETRIEVALS - 2 {
        read.sim.page();
    }
    read.page().page().page();
    read
}

pub(super) fn unpaid() -> Transcript {
    let mut session = paid_session("cs_test_simulated_sale_1", "quick", Some(ADDRESS));
    session.payment_status = PaymentStatus::Unpaid;
    session.stage = domain::SessionStage::Open;
    let sim = Simulator::with_session(session);
    sim.model_says(&quick("GREEN", GOOD));
    let mut unpaid = Transcript::of(sim);
    unpaid.page().webhook().drain().page();
    unpaid.sim.world.state().sessions.values_mut().for_each(|it| it.payment_status = PaymentStatus::Paid);
    unpaid.sim.world.advance(Duration::from_secs(60));
    unpaid.page().drain().page();
    unpaid
}

/// An order for a session that was never paid and can no longer be paid: it ends a day later.
pub(super) fn never_paid() -> Transcript {
    let mut session = paid_session("cs_test_simulated_sale_1", "quick", Some(ADDRESS));
    session.payment_status = PaymentStatus::Unpaid;
    session.stage = domain::SessionStage::Over;
    session.payment = None;
    let mut unpaid = Transcript::of(Simulator::with_session(session));
    unpaid.webhook().drain().deadlines(24).page();
    unpaid
}

/// The price was reduced to zero: no verdict is made until an operator approves a free one.
pub(super) fn completed_without_payment() -> Transcript {
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

pub(super) fn circuit_open() -> Transcript {
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

pub(super) fn model_not_ready() -> Transcript {
    let mut sale = Transcript::of(Simulator::new("quick"));
    sale.sim.world.state().answers = [Err(ModelError::Unauthorized(403)), Err(ModelError::Unauthorized(403))].into();
    sale.webhook().step();
    sale.sim.model_says(&quick("GREEN", GOOD));
    sale.drain();
    sale
}

pub(super) fn restored() -> Transcript {
    let mut sale = good();
    sale.webhook().drain();
    sale.sim.world.state().cache.clear();
    sale.page();
    sale.sim.world.state().corrupt_cache = true;
    sale.page();
    sale
}

/// The verdict is lost in every store, so it is made again.
pub(super) fn regenerated<const N: usize>(second: &str, refusals: [Option<MailError>; N]) -> Transcript {
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

pub(super) fn lose_verdict(sale: &Transcript) {
    let mut state = sale.sim.world.state();
    state.cache.clear();
    state.archive.clear();
}

/// Every message is lost once.
pub(super) fn lost_messages() -> Transcript {
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

/// Processes die, and the log cannot be written: the records stay in the sale and are written later.
pub(super) fn crashes() -> Transcript {
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

/// The smoke test's own sale: one that is made, one that is refused, and one that a customer pays after all.
pub(super) fn smoke_test() -> Transcript {
    let mut sale = good();
    let sim = &sale.sim;
    let metadata = [("tier", "quick"), ("q0", smoke::QUERY), ("qn", "1"), smoke::MARK];
    let mut session = paid_session("cs_test_simulated_sale_1", "quick", None);
    session.payment_status = PaymentStatus::Unpaid;
    session.stage = domain::SessionStage::Open;
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
    sale.sim.world.state().answers = [Ok(testkit::reply(quick("GREEN", GOOD)))].into();
    sale.webhook().drain().page();
    smoke_order(&mut sale);
    sale.drain();
    sale
}

pub(super) fn smoke_order(sale: &mut Transcript) {
    sale.act("the smoke test orders", |sim| {
        sim.send(Message::order(sim.session.clone(), sim.world.now(), OrderedBy::SmokeTest));
        String::new()
    });
}
