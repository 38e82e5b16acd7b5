//! Sales that wait for the customer or for an operator.

use super::*;

/// Silent Drop, verification criterion 5: a reply becomes a verdict of the standard pipeline.
pub(super) fn unusable_resubmitted() -> Transcript {
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

pub(super) fn unusable_page_first() -> Transcript {
    let mut sale = unusable();
    sale.page().drain().webhook().drain().page();
    sale
}

pub(super) fn unusable_reminded() -> Transcript {
    let mut sale = unusable();
    sale.webhook().drain().deadlines(71).deadlines(1).deadlines(72);
    sale.act("an operator refunds", refund);
    sale.deadlines(72);
    sale
}

/// The order reaches the verdict function, but there is no address for the mail.
pub(super) fn unusable_no_address() -> Transcript {
    let mut session = paid_session("cs_test_simulated_sale_1", "premium", None);
    session.currency = None;
    let mut sale = Transcript::of(Simulator::with_session(session));
    sale.sim.send(Message::order(sale.sim.session.clone(), sale.sim.now(), OrderedBy::Reconciliation));
    sale.drain().page().deadlines(72);
    sale
}

pub(super) fn held_replaced() -> Transcript {
    let mut sale = held();
    sale.act("an operator approves what the list holds", approve);
    sale.deadlines(1);
    sale.act("an operator replaces it", replace);
    sale.act("and again", replace);
    sale.drain().page();
    sale
}

/// The block list has changed since: the held text passes now.
pub(super) fn held_approved() -> Transcript {
    let mut sale = held();
    sale.sim.world.state().quarantine.iter_mut().for_each(|(_, payload)| *payload = payload.replace("CSDM", "model"));
    sale.act("an operator approves it", approve);
    sale.drain().page();
    sale
}

pub(super) fn held_refunded_by_policy() -> Transcript {
    let mut sale = held();
    sale.deadlines(23);
    sale.sim.world.state().refund_status = Some(RefundStatus::Pending);
    sale.deadlines(1).deadlines(1).deadlines(1).page();
    payment(&mut sale, PaymentChange::Refunded);
    sale.page().deadlines(24).drain();
    sale
}

pub(super) fn held_at_the_page() -> Transcript {
    let mut sale = good();
    sale.webhook().drain();
    sale.sim.world.state().cache.values_mut().for_each(|cached| cached.verdict.summary = HELD.to_owned());
    sale.page().page().deadlines(24);
    sale.act("an operator replaces it", replace);
    sale.drain().page();
    sale
}

pub(super) fn held_in_the_mail() -> Transcript {
    let mut sale = good();
    sale.webhook().step();
    sale.sim.world.state().cache.values_mut().for_each(|cached| cached.verdict.summary = HELD.to_owned());
    sale.drain();
    sale.act("an operator replaces it", replace);
    sale.drain().page();
    sale
}

pub(super) fn failed_reattempted() -> Transcript {
    let mut sale = failed();
    sale.deadlines(24);
    sale.sim.model_says(&quick("AMBER", GOOD));
    sale.act("an operator tries again", try_again(None));
    sale.drain().page();
    sale.act("an operator tries again", try_again(None));
    sale
}

pub(super) fn failed_refunded() -> Transcript {
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

pub(super) fn payment_changes() -> Transcript {
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

/// A dispute during a refund, and a dispute before any order.
pub(super) fn refund_disputed() -> Transcript {
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

/// The webhook never arrived, and the amount differs from the tier's price.
pub(super) fn reconciled() -> Transcript {
    let mut sale = good();
    sale.sim.world.advance(Duration::from_secs(24 * 3600));
    sale.act("the sales are compared with Stripe's", |sim| show(sim.reconcile()));
    sale.drain();
    sale.act("the sales are compared with Stripe's", |sim| show(sim.reconcile()));
    sale.act("the sales are compared with Stripe's", |sim| show(sim.reconcile()));
    sale
}

/// The customer has written back.
pub(super) fn replied() -> Transcript {
    let mut sale = good();
    sale.webhook().drain();
    let at = sale.sim.now();
    let from_buyer = [Some(true), None];
    for (number, from_buyer) in from_buyer.into_iter().enumerate() {
        let reply = Reply {
            message: format!("message-{number}"),
            at,
            from_buyer,
            settled_at: None,
            followup: None,
            is_report: false,
        };
        sale.sim.world.state().sales.values_mut().for_each(|(sale, version)| {
            sale.replied(reply.clone()).unwrap();
            *version += 1;
        });
    }
    sale.deadlines(24);
    sale.act("an operator settles the replies", |sim| {
        let read: Vec<String> = sim.sale().waiting_replies().map(replies::name).collect();
        show(run(replies::settle(sim.journal(), &operator(), &sim.session, &read)))
    });
    sale
}
