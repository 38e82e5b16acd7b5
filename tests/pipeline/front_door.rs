//! Requests from strangers without a session: they guess ids and repeat requests.

use crate::{samples::body, simulator::Simulator};
use domain::{
    CheckoutSession, Metric, PaymentStatus, SessionId, SessionStage,
    ports::Clock,
    texts,
    unknown_ids::{Answer, Limits, UnknownIdLimiter},
};
use futures_util::future::join_all;
use runtime::http::Request;
use simulation::deployment::Deployment;
use std::time::Duration;
use testkit::{Fault, Plan, world::Crossing};

const SALE: &str = "cs_test_simulated_sale_1";

fn page(deployment: &Deployment<'_>, id: &str) -> u16 {
    testkit::run(deployment.page(id)).unwrap().status()
}

fn page_from(deployment: &Deployment<'_>, address: &str, id: &str) -> u16 {
    let request = Request::get("/api/verdict").with_query("session_id", id).with_address(address);
    testkit::run(deployment.result(request)).unwrap().status()
}

fn asked(sim: &Simulator, boundary: &str) -> usize {
    sim.world.state().boundaries.iter().filter(|name| **name == boundary).count()
}

#[test]
fn what_is_no_id_of_stripes_is_asked_of_nobody() {
    let sim = Simulator::new("quick");
    let deployment = sim.deployment();
    for id in
        ["", "nonsense", "cs_unknown_to_stripe_0001", "cs_test_short", "cs_live_short", "pi_aaaaaaaaaaaaaaaaaaaaaaaa"]
    {
        assert_eq!(page(&deployment, id), 404, "{id}");
    }
    assert_eq!(sim.world.passed(), 0);
}

#[test]
fn an_unknown_id_is_asked_about_once_a_minute_and_guesses_are_slowed() {
    let sim = Simulator::new("quick");
    let deployment = sim.deployment();
    for _ in 0..50 {
        assert_eq!(page(&deployment, "cs_test_unknown_00000000"), 404);
    }
    assert_eq!(asked(&sim, "payments.session"), 1);
    let guessed: Vec<u16> = (1..500).map(|number| page(&deployment, &format!("cs_test_unknown_{number:08}"))).collect();
    assert_eq!(asked(&sim, "payments.session"), 3, "of 550 requests");
    assert_eq!((guessed[0], guessed[498]), (404, 429));
    // A customer of the same network whose order is not taken up yet waits for the next minute, one elsewhere does not.
    assert_eq!(page(&deployment, SALE), 429);
    assert_eq!(page_from(&deployment, "203.0.113.7", SALE), 202);
    sim.world.advance(Duration::from_secs(60));
    assert_eq!(page(&deployment, SALE), 202);
}

#[test]
fn all_processes_share_the_limits_and_many_networks_have_one_too() {
    let sim = Simulator::new("quick");
    let guess = |host: usize| {
        // A new deployment is a new process: it remembers nothing.
        let deployment = sim.deployment();
        page_from(&deployment, &format!("203.0.113.{}", host % 100), &format!("cs_test_unknown_{host:08}"))
    };
    let of_one = (0..50).filter(|number| guess(number * 100) == 404).count();
    assert_eq!((of_one, asked(&sim, "payments.session")), (3, 3));
    let of_many = (0..300).filter(|number| guess(*number) == 404).count();
    assert_eq!((of_many, asked(&sim, "payments.session")), (27, 30));
    sim.world.advance(Duration::from_secs(60));
    assert_eq!(guess(1), 404);
}

/// Many people behind one address buy in the same moment, and Stripe answers slowly.
#[tokio::test]
async fn customers_who_ask_at_once_are_asked_to_wait_a_moment_and_not_a_minute() {
    let sim = Simulator::new("quick");
    let limiter = UnknownIdLimiter::new("session", Limits::of_unknown_ids(3));
    let (answer, answered) = tokio::sync::watch::channel(());
    let ask = |number: usize| {
        let mut answered = answered.clone();
        let (limiter, sim) = (&limiter, &sim);
        async move {
            let asked = (format!("cs_test_at_once_{number:08}"), sim.world.now());
            let question = async move {
                answered.changed().await.expect("an answer");
                Ok::<_, ()>(Some(()))
            };
            limiter.ask(&sim.world, (&asked.0, None, asked.1), question, |()| false).await.expect("an answer")
        }
    };
    let all = join_all((0..12).map(ask));
    let (answers, ()) = tokio::join!(all, async { answer.send(()).expect("questions") });
    assert_eq!(answers.iter().filter(|answer| **answer == Answer::Known(())).count(), 9);
    assert_eq!(answers.iter().filter(|answer| **answer == Answer::TooMany).count(), 3);
    assert_eq!(sim.world.state().unknown_ids.values().sum::<u32>(), 0, "known ids do not count");
    sim.world.advance(Duration::from_secs(4));
    assert_eq!(ask(12).await, Answer::TooMany, "this process pauses");
    sim.world.advance(Duration::from_secs(1));
    assert_eq!(ask(12).await, Answer::Known(()));
}

#[test]
fn customers_with_late_webhooks_do_not_count_as_guesses() {
    let sim = Simulator::new("quick");
    let sessions: Vec<SessionId> =
        (100..200).map(|number| SessionId::parse(format!("cs_test_simulated_sale_{number}")).unwrap()).collect();
    let paid = sim.world.state().sessions.values().next().cloned().unwrap();
    for id in &sessions {
        let session = CheckoutSession { id: id.clone(), ..paid.clone() };
        sim.world.state().sessions.insert(id.clone(), session);
    }
    let deployment = sim.deployment();
    for id in &sessions {
        assert_eq!(page(&deployment, id.as_str()), 202, "{}", id.as_str());
    }
}

#[test]
fn without_the_counter_stripe_is_not_asked() {
    let sim = Simulator::new("quick");
    let deployment = sim.deployment();
    assert_eq!(page(&deployment, "cs_test_unknown_00000000"), 404);
    let boundaries = sim.world.state().boundaries.clone();
    let at = boundaries.iter().position(|name| *name == "unknown_ids.take").unwrap();
    sim.world.plan(Plan::at(at, Fault::Fail));
    let is_counted = || sim.world.state().measurements.contains(&Metric::ResultUnavailable.once());
    assert!(!is_counted());
    assert_eq!(page(&deployment, "cs_test_unknown_00000001"), 503);
    assert!(is_counted());
    assert_eq!(asked(&sim, "payments.session"), 1);
    // Without the correction, a customer is served all the same.
    let at = boundaries.iter().position(|name| *name == "payments.session").unwrap();
    sim.world.plan(Plan::at(at + 1, Fault::Fail));
    assert_eq!(page(&deployment, SALE), 202);
    assert!(sim.world.state().crossings.contains(&Crossing { name: "unknown_ids.settle", fault: Some(Fault::Fail) }));
}

#[test]
fn a_known_sale_is_served_whatever_strangers_do() {
    let sim = Simulator::worked_off("quick", &crate::samples::quick("GREEN", "Go ahead."));
    let deployment = sim.deployment();
    for number in 0..100 {
        page(&deployment, &format!("cs_test_unknown_{number:08}"));
    }
    assert_eq!(page(&deployment, SALE), 200);
}

#[test]
fn an_unpaid_session_is_not_asked_about_at_every_request() {
    let sim = Simulator::new("quick");
    let address = "https://checkout.stripe.com/c/pay/cs_test_simulated_sale_1#fid";
    for session in sim.world.state().sessions.values_mut() {
        session.payment_status = PaymentStatus::Unpaid;
        (session.stage, session.url) = (SessionStage::Open, Some(address.to_owned()));
    }
    let deployment = sim.deployment();
    for _ in 0..100 {
        let reply = testkit::run(deployment.page("cs_test_simulated_sale_1")).unwrap();
        assert_eq!((reply.status(), &body(&reply)["payment_url"]), (402, &address.into()));
    }
    assert_eq!(asked(&sim, "payments.session"), 1);
    for session in sim.world.state().sessions.values_mut() {
        session.payment_status = PaymentStatus::Paid;
    }
    sim.world.advance(Duration::from_secs(5));
    assert_eq!(page(&deployment, SALE), 202);
}

/// Anybody can have sessions created at the checkout, which are real and never paid.
#[test]
fn unpaid_sessions_cause_few_questions_however_many_there_are() {
    let sim = Simulator::new("quick");
    let unpaid = sim.world.state().sessions.values().next().cloned().unwrap();
    let unpaid = CheckoutSession { payment_status: PaymentStatus::Unpaid, stage: SessionStage::Open, ..unpaid };
    let created = |number: usize| format!("cs_test_simulated_sale_{number:04}");
    for number in 0..1_200 {
        let id = SessionId::parse(created(number)).unwrap();
        sim.world.state().sessions.insert(id.clone(), CheckoutSession { id, ..unpaid.clone() });
    }
    let deployment = sim.deployment();
    let asks = |address: usize, number: usize| page_from(&deployment, &format!("203.0.{address}.7"), &created(number));
    let of_one: Vec<_> = (0..100).map(|number| asks(0, number)).collect();
    assert_eq!((of_one[89], of_one[90], asked(&sim, "payments.session")), (402, 429, 90));
    for number in 100..1_200 {
        asks(number % 100, number);
    }
    assert_eq!(asked(&sim, "payments.session"), 900);
    // The page of a bank debit asks once a minute.
    sim.world.advance(Duration::from_secs(60));
    assert_eq!(asks(0, 0), 402);
}

/// A bank debit takes days: its customer is not told that nothing was paid, and the verdict comes by itself. Who had
/// nothing to pay is not told to ask again, because an operator may give the verdict away.
#[test]
fn a_payment_in_process_is_distinguished_from_none() {
    let sim = Simulator::new("quick");
    let set = |stage, status| {
        for session in sim.world.state().sessions.values_mut() {
            (session.stage, session.payment_status) = (stage, status);
        }
        sim.world.advance(Duration::from_secs(5));
    };
    let deployment = sim.deployment();
    let reply = || testkit::run(deployment.page("cs_test_simulated_sale_1")).unwrap();
    for (stage, status, code, sentence) in [
        (SessionStage::Complete, PaymentStatus::Unpaid, "payment_in_process", texts::PAYMENT_IN_PROCESS),
        (SessionStage::Complete, PaymentStatus::NoPaymentRequired, "no_payment_required", texts::NOTHING_TO_PAY),
        (SessionStage::Over, PaymentStatus::Unpaid, "unpaid", texts::NOT_PAID),
        (SessionStage::Open, PaymentStatus::Unpaid, "unpaid", texts::NOT_PAID),
    ] {
        set(stage, status);
        // The second time the answer is remembered.
        for _ in 0..2 {
            let reply = reply();
            assert_eq!((reply.status(), &body(&reply)["code"]), (402, &code.into()));
            assert_eq!(body(&reply)["error"], sentence);
        }
    }
    set(SessionStage::Complete, PaymentStatus::Paid);
    assert_eq!(page(&deployment, SALE), 202);
}

#[test]
fn a_failed_sale_that_is_shown_is_counted_apart_from_other_5xx() {
    let mut sim = Simulator::new("quick");
    sim.stripe_delivers();
    // The model does not answer until the sale has failed.
    let failed = (0..400).any(|_| {
        sim.drain();
        sim.world.advance(Duration::from_secs(600));
        sim.page().is_some_and(|reply| reply.status() == 500)
    });
    if failed {
        assert_eq!(sim.world.state().measured(Metric::FailedSaleShown), 1);
    }
    assert!(failed, "the sale never failed");
}
