//! A mail that fails is retried on the spec's schedule, is never sent twice, and ends as a dead letter (Email Retry).

use crate::{samples::quick, simulator::Simulator};
use domain::{
    Channel, Timestamp,
    breaker::MAILBOX,
    mail::Progress,
    message::Message,
    ports::MailError,
    sale::{Letter, Mail},
};
use runtime::queue::Delivery;
use simulation::deployment::Deployment;
use std::time::Duration;
use testkit::{Fault, Passage, Plan, World, every_single_fault};

pub(crate) fn sim() -> Simulator {
    Simulator::ordered("quick", &quick("GREEN", "Demand is real and the format fits."))
}

pub(crate) fn mailbox_says(sim: &Simulator, answers: impl IntoIterator<Item = Option<MailError>>) {
    sim.world.state().mailbox_says = answers.into_iter().collect();
}

pub(crate) fn mail(sim: &Simulator) -> Mail {
    sim.sale().mail().clone()
}

/// Delivers messages until the mail waits for its next attempt.
pub(crate) fn until_it_waits(sim: &mut Simulator) {
    while sim.world.state().sales.is_empty() || !matches!(mail(sim), Mail::Retrying { .. }) {
        sim.step();
    }
}

/// Lets the mailbox answer no probe for this many seconds.
fn stays_away(sim: &Simulator, seconds: u64) {
    let until = sim.now().plus(Duration::from_secs(seconds)).as_millis();
    sim.world.state().mailbox_returns_at = until;
}

/// The times of all calls, in seconds since the first one.
pub(crate) fn times(sim: &Simulator, call: &str) -> Vec<i64> {
    let calls: Vec<i64> =
        sim.world.state().mail_calls.iter().filter(|(name, _)| *name == call).map(|(_, at)| *at).collect();
    calls.iter().map(|at| (at - calls[0]) / 1000).collect()
}

pub(crate) fn unavailable() -> Option<MailError> {
    Some(MailError::Unavailable(503))
}

/// Email Retry, VER-02: a failure, a retry at once, another after five minutes, and the third retry succeeds. Until
/// then the mailbox does not answer probes either.
#[test]
fn the_schedule_is_kept() {
    let mut sim = sim();
    mailbox_says(&sim, [unavailable(), unavailable(), unavailable()]);
    stays_away(&sim, 2_099);
    sim.drain();
    assert_eq!(times(&sim, "create"), [0, 0, 300, 2100]);
    assert!(matches!(mail(&sim), Mail::Sent { .. }));
    assert_eq!(sim.world.state().sent.len(), 1);
    let alerts = &sim.world.state().alerts;
    assert_eq!(alerts.len(), 2, "one for each wait: {alerts:?}");
}

/// The mailbox answers again between two scheduled attempts: a mail goes then, and not at its scheduled time.
#[test]
fn a_mail_goes_as_soon_as_the_mailbox_is_back() {
    let mut sim = sim();
    mailbox_says(&sim, [unavailable(), unavailable(), unavailable()]);
    stays_away(&sim, 360);
    sim.drain();
    let times = times(&sim, "create");
    assert_eq!(times[..3], [0, 0, 300]);
    assert!(times.len() == 4 && (360..=400).contains(&times[3]), "{times:?}");
    assert_eq!(sim.world.state().sent.len(), 1);
}

/// Only the probe says whether the mailbox is back: a scheduled attempt that fails meanwhile leaves the probe of another
/// mail alone.
#[test]
fn a_scheduled_attempt_during_an_outage_leaves_the_circuit_as_it_is() {
    let mut sim = sim();
    mailbox_says(&sim, [unavailable(), unavailable(), unavailable()]);
    stays_away(&sim, 2_099);
    let circuit = |sim: &Simulator| sim.world.state().breakers[MAILBOX].0.clone();
    while times(&sim, "create").len() < 2 {
        sim.step();
    }
    let mut probed = circuit(&sim);
    while times(&sim, "create").len() < 3 {
        probed.probing_since = Some(sim.now());
        sim.world.state().breakers.insert(MAILBOX.to_owned(), (probed.clone(), 100));
        sim.step();
    }
    assert_eq!((times(&sim, "create"), circuit(&sim)), (vec![0, 0, 300], probed));
}

/// The mailbox answers probes and sends nothing: there is one early attempt before each scheduled one, and every
/// scheduled one is made at its time.
#[test]
fn early_attempts_take_nothing_from_the_schedule() {
    let mut sim = sim();
    mailbox_says(&sim, (0..50).map(|_| unavailable()));
    sim.drain();
    let times = times(&sim, "create");
    let scheduled: Vec<i64> = [0, 300, 2100, 9300].into_iter().filter(|at| times.contains(at)).collect();
    assert_eq!(scheduled, [0, 300, 2100, 9300], "{times:?}");
    assert_eq!(times.len(), 5 + 3, "{times:?}");
    assert!(matches!(mail(&sim), Mail::Dead { .. }));
    let state = sim.world.state();
    let document = state.dead_letters.values().next().unwrap();
    assert!(document.contains(r#""errors":["503","503","503","503","503"]"#), "{document}");
}

/// Email Retry, VER-03, INV-08: there is no further attempt after the fourth retry.
#[test]
fn a_mail_that_always_fails_becomes_a_dead_letter_with_an_alert() {
    let mut sim = sim();
    mailbox_says(&sim, (0..50).map(|_| unavailable()));
    stays_away(&sim, 20_000);
    sim.drain();
    assert_eq!(times(&sim, "create"), [0, 0, 300, 2100, 9300]);
    assert!(matches!(mail(&sim), Mail::Dead { .. }));
    let state = sim.world.state();
    let alert = state.alerts.last().unwrap();
    assert_eq!(alert.channel, Channel::Critical);
    let expected =
        format!("[ALERT][oracle-email-retry] DEAD LETTER: session_id={} customer=hmac", sim.session.reference());
    assert!(alert.line.starts_with(&expected), "{}", alert.line);
    assert!(alert.line.ends_with("tier=quick attempts=4 last_error=503"), "{}", alert.line);
    let (key, document) = state.dead_letters.iter().next().unwrap();
    assert!(key.starts_with(sim.session.as_str()) && !document.contains("someone@example.com"), "{document}");
    assert!(document.contains(r#""errors":["503","503","503","503","503"]"#), "{document}");
    drop(state);
    sim.recover();
    assert_eq!(times(&sim, "create").len(), 5, "no further attempt");
}

/// Email Retry, VER-04, INV-05.
#[test]
fn what_is_refused_for_good_is_not_tried_again() {
    for refusal in [MailError::Rejected, MailError::Forbidden(403), MailError::ConsentRefused] {
        let mut sim = sim();
        // Email Retry, FM-03.
        let cause = match &refusal {
            MailError::ConsentRefused => {
                ": GRAPH_REFRESH_TOKEN revoked or refused (401), or the application's client secret has expired"
            }
            _ => "",
        };
        let code = refusal.code();
        mailbox_says(&sim, [Some(refusal)]);
        sim.drain();
        assert_eq!(times(&sim, "create"), [0]);
        assert!(matches!(mail(&sim), Mail::Dead { .. }));
        let line = sim.world.state().alerts.last().unwrap().line.clone();
        assert!(line.ends_with(&format!("attempts=0 last_error={code}{cause}")), "{line}");
    }
}

/// Email Retry, VER-05.
#[test]
fn a_throttled_mail_waits_as_long_as_it_was_asked_to() {
    let mut sim = sim();
    mailbox_says(&sim, [Some(MailError::Throttled { status: 429, wait: Duration::from_secs(120) })]);
    sim.drain();
    assert_eq!(times(&sim, "create"), [0, 120]);
    assert_eq!(sim.world.state().sent.len(), 1);
}

/// The next delivery of the order need not wait for the end of the lease.
#[test]
fn a_mail_that_cannot_go_on_releases_its_claim() {
    let mut sim = sim();
    assert_eq!(sim.step(), Some(true), "the verdict is made");
    sim.world.plan(Plan::none().whenever("payments.session", Fault::Fail));
    assert_eq!(sim.step(), Some(false), "the address is unknown");
    let is_over = matches!(mail(&sim), Mail::Sending { lease_until, .. } if lease_until <= sim.now());
    assert!(is_over, "{:?}", mail(&sim));
}

/// Every attempt sends the recorded draft (Email Retry, VER-07).
#[test]
fn every_attempt_sends_the_same_draft() {
    let mut sim = sim();
    mailbox_says(&sim, [None, unavailable(), unavailable(), unavailable()]);
    stays_away(&sim, 2_099);
    sim.drain();
    assert_eq!(times(&sim, "create"), [0]);
    assert_eq!(times(&sim, "send"), [0, 0, 300, 2100]);
    let state = sim.world.state();
    assert_eq!((state.sent.len(), state.drafts.len(), state.prompts.len()), (1, 0, 1));
}

/// Email Retry, VER-07: if the cached verdict was changed between two attempts, no mail with another text is sent.
#[test]
fn a_mail_that_would_say_something_else_is_not_sent() {
    let mut sim = sim();
    mailbox_says(&sim, [unavailable(), unavailable()]);
    until_it_waits(&mut sim);
    sim.world.state().cache.values_mut().for_each(|cached| cached.verdict.summary = "Something else.".into());
    sim.drain();
    assert!(matches!(mail(&sim), Mail::Dead { .. }));
    assert!(sim.world.state().sent.is_empty());
}

/// Email Retry, INV-03, INV-04, FM-05: the order is delivered again while a mail waits.
#[test]
fn an_order_that_comes_again_is_one_mail() {
    let mut sim = sim();
    mailbox_says(&sim, [unavailable(), unavailable(), unavailable()]);
    stays_away(&sim, 2_099);
    for _ in 0..3 {
        sim.step();
        let order =
            Message::Mail { v: 1, session_id: sim.session.clone(), ordered_at: sim.now(), letter: Letter::Verdict };
        sim.send(order);
        sim.stripe_delivers();
    }
    sim.drain();
    assert_eq!(sim.world.state().sent.len(), 1);
    assert_eq!(times(&sim, "create"), [0, 0, 300, 2100]);
}

/// Lambda stops a loop after 16 hops of one lineage: the whole schedule stays under 8.
#[test]
fn the_whole_schedule_is_three_hops() {
    let mut sim = sim();
    mailbox_says(&sim, (0..50).map(|_| unavailable()));
    stays_away(&sim, 20_000);
    let sent_before = 1; // the webhook's order
    sim.drain();
    let sends = sim.world.state().boundaries.iter().filter(|name| **name == "queue.send").count();
    assert_eq!(sends - sent_before, 2, "the mail and its retry");
}

/// Under every fault and every crash there is one dead letter, or an alert that it was not kept, at least one alert and
/// no sixth attempt. The alert is raised even if the process dies right after it saved the state.
#[test]
fn no_dead_letter_goes_unheard() {
    let run = |plan: Plan| {
        let mut sim = sim();
        mailbox_says(&sim, (0..50).map(|_| unavailable()));
        stays_away(&sim, 20_000);
        sim.world.plan(plan);
        sim.drain();
        sim
    };
    for (plan, what) in every_single_fault(run(Plan::none()).world.passed(), 20) {
        let mut sim = run(plan);
        sim.recover();
        assert!(matches!(mail(&sim), Mail::Dead { .. }), "{what}: {:?}", mail(&sim));
        let state = sim.world.state();
        let mut alerts = state.alerts.iter().chain(&state.logged_alerts);
        assert!(alerts.any(|alert| alert.line.contains("DEAD LETTER")), "{what}: no alert");
        assert!(state.sent.is_empty(), "{what}");
        assert!(state.mail_calls.len() <= 6, "{what}: {} attempts", state.mail_calls.len());
        let mut alerts = state.alerts.iter().chain(&state.logged_alerts);
        let is_lost = alerts.any(|alert| alert.line.contains("dead letter not kept"));
        let kept = state.dead_letters.len();
        assert!(kept == 1 || kept == 0 && is_lost, "{what}: {kept} dead letters");
    }
}

/// While a worker sends, another one has abandoned the mail and died before it kept the dead letter.
#[test]
fn a_dead_letter_is_kept_by_the_last_worker_too() {
    let mut sim = sim();
    assert_eq!(sim.step(), Some(true), "the verdict is made");
    let world: &'static World = Box::leak(Box::new(sim.world));
    let message = world.state().queue.pop_front().unwrap().0;
    world.surround(Box::new(move |name, now| {
        if name == "mailbox.send_draft" {
            let dead = Mail::Dead { at: Timestamp::from_millis(now), progress: Progress::default() };
            world.change_sales("mail", &dead);
            world.state().sales.values_mut().for_each(|(_, version)| *version += 1);
        }
        Passage::default()
    }));
    let queue = Deployment::queue_of(&message);
    let delivery = Delivery { message_id: "a".to_owned(), receive_count: 1, message };
    assert!(testkit::run(Deployment::new(world).deliver(queue, delivery)).is_some());
    let state = world.state();
    assert_eq!((state.sent.len(), state.dead_letters.len()), (1, 1));
}
