//! Mails that are sent late, refused, or sent with an unknown outcome.

use super::*;

pub(super) fn mail_retried() -> Transcript {
    let mut sale = good();
    let throttled = Some(MailError::Throttled { status: 429, wait: Duration::from_secs(120) });
    mailbox_says(&sale, [throttled, None, refusal(), refusal()]);
    sale.webhook().drain();
    sale
}

pub(super) fn mail_dead_redriven() -> Transcript {
    let mut sale = good();
    mailbox_says(&sale, (0..6).map(|at| if at == 0 { None } else { refusal() }));
    sale.webhook().drain().deadlines(24);
    sale.act("an operator redrives its mails", redrive_mails);
    sale.act("and again", redrive_mails);
    sale.drain();
    sale.act("an operator redrives its mails", redrive_mails);
    sale
}

pub(super) fn mail_refused() -> Transcript {
    let mut sale = good();
    mailbox_says(&sale, [Some(MailError::Rejected)]);
    sale.webhook().drain();
    payment(&mut sale, PaymentChange::Refunded);
    sale.act("an operator redrives its mails", redrive_mails);
    sale
}

pub(super) fn mail_changed() -> Transcript {
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

/// The draft no longer exists, and the sent items do not show it.
pub(super) fn mail_unknown() -> Transcript {
    let mut sale = unknown();
    sale.deadlines(24);
    sale.act("an operator redrives its mails", redrive_mails);
    sale.act("an operator has not found it", settle_mails(settle::MailOutcome::NotSent));
    sale.drain();
    sale.act("an operator has found it", settle_mails(settle::MailOutcome::Sent));
    sale.sim.next_session("cs_test_simulated_sale_2");
    sale.sim.world.state().sent_items_lag = i64::from(u32::MAX) * 1000;
    sale.sim.world.plan(Plan::none().whenever("mailbox.send_draft", Fault::LoseReply));
    sale.webhook().drain();
    sale.sim.world.plan(Plan::none());
    sale.act("an operator has found it", settle_mails(settle::MailOutcome::Sent));
    sale
}

pub(super) fn unknown() -> Transcript {
    let mut sale = good();
    sale.sim.world.state().sent_items_lag = i64::from(u32::MAX) * 1000;
    sale.sim.world.plan(Plan::none().whenever("mailbox.send_draft", Fault::LoseReply));
    sale.webhook().drain();
    sale.sim.world.plan(Plan::none());
    sale
}
