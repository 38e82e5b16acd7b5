//! A mail whose sending had an unclear reply: it may have gone, so it is never sent twice, and a human decides if nothing shows
//! what became of it (Email Retry).

use crate::mail_retry::{mail, mailbox_says, sim, times, unavailable};
use domain::{
    breaker::{Breaker, MAILBOX},
    ports::MailError,
    sale::Mail,
};
use testkit::{Fault, Plan};

/// The reply to sending is lost, and the mailbox shows the draft for four more minutes: it is not sent again, neither at
/// once nor when the circuit opens and the mailbox answers probes.
#[test]
fn a_draft_that_may_be_on_its_way_is_left_alone() {
    let mut sim = sim();
    let breaker = Breaker { failures: 1, ..Breaker::default() };
    sim.world.state().breakers.insert(MAILBOX.to_owned(), (breaker, 1));
    sim.world.state().draft_lag = 240_000;
    sim.world.plan(Plan::none().whenever("mailbox.send_draft", Fault::LoseReply));
    sim.drain();
    assert_eq!(times(&sim, "send"), [0]);
    assert!(matches!(mail(&sim), Mail::Sent { .. }));
}

/// The same while the sale cannot be saved after the mail went out: the next worker waits for the end of the lease.
#[test]
fn a_claim_on_a_mail_that_may_be_on_its_way_is_kept() {
    let unsaved = {
        let mut clean = sim();
        clean.world.plan(Plan::none());
        clean.world.state().boundaries.clear();
        clean.drain();
        let boundaries = clean.world.state().boundaries.clone();
        let sent = boundaries.iter().position(|name| *name == "mailbox.send_draft").unwrap();
        sent + boundaries[sent..].iter().position(|name| *name == "store.save").unwrap()
    };
    let mut sim = sim();
    sim.world.state().draft_lag = 60_000;
    sim.world.plan(Plan::at(unsaved, Fault::Fail));
    sim.drain();
    assert_eq!(times(&sim, "send"), [0]);
    assert!(matches!(mail(&sim), Mail::Sent { .. }));
}

/// 504 to every attempt: the mailbox may have sent the mail, so it is no dead letter.
#[test]
fn a_mail_whose_last_attempt_has_an_unknown_outcome_is_for_a_human() {
    for fault in [Fault::Fail, Fault::Refuse(504)] {
        let mut sim = sim();
        sim.world.plan(Plan::none().whenever("mailbox.send_draft", fault));
        sim.drain();
        assert!(matches!(mail(&sim), Mail::Unknown { .. }), "{fault:?}: {:?}", mail(&sim));
        let state = sim.world.state();
        let line = &state.alerts.last().unwrap().line;
        assert!(line.contains("CRITICAL") && line.contains("a human decides, nobody sends it again"), "{line}");
        assert!(state.sent.is_empty() && state.dead_letters.is_empty(), "{fault:?}");
    }
}

/// The reply to sending is lost, and then the sent items or the drafts cannot be read.
#[test]
fn a_mail_that_may_have_gone_and_cannot_be_looked_for_is_for_a_human() {
    for unread in ["mailbox.was_sent", "mailbox.draft_exists"] {
        let mut sim = sim();
        sim.world.plan(Plan::none().whenever("mailbox.send_draft", Fault::LoseReply).whenever(unread, Fault::Fail));
        sim.drain();
        assert!(matches!(mail(&sim), Mail::Unknown { .. }), "{unread}: {:?}", mail(&sim));
        let state = sim.world.state();
        assert_eq!((state.sent.len(), state.dead_letters.len()), (1, 0), "{unread}");
    }
}

/// The worker dies after the mailbox has accepted the mail, and then the drafts cannot be read.
#[test]
fn a_mail_whose_worker_died_while_sending_and_that_cannot_be_looked_for_is_for_a_human() {
    let mut sim = sim();
    let died = Plan::none().whenever("mailbox.send_draft", Fault::CrashAfter);
    sim.world.plan(died.whenever("mailbox.draft_exists", Fault::Fail));
    sim.drain();
    assert!(matches!(mail(&sim), Mail::Unknown { .. }), "{:?}", mail(&sim));
    let state = sim.world.state();
    assert_eq!((state.sent.len(), state.dead_letters.len()), (1, 0));
}

/// A draft that is still there and is refused has not gone.
#[test]
fn a_mail_that_is_refused_after_a_lost_reply_is_a_dead_letter() {
    let mut sim = sim();
    let lost = MailError::OutcomeUnknown("reset".into());
    mailbox_says(&sim, [None, Some(lost)].into_iter().chain((0..50).map(|_| unavailable())));
    sim.drain();
    assert!(matches!(mail(&sim), Mail::Dead { .. }), "{:?}", mail(&sim));
}
