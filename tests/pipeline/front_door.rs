//! What strangers can make us do who hold no session: guess ids, and ask again and again.

use crate::simulator::{Simulator, body};
use domain::{Metric, PaymentStatus};
use simulation::deployment::Deployment;
use std::time::Duration;

fn page(deployment: &Deployment<'_>, id: &str) -> u16 {
    testkit::run(deployment.page(id)).unwrap().status()
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
    assert_eq!(asked(&sim, "payments.session"), 10, "of 550 requests");
    assert_eq!((guessed[0], guessed[498]), (404, 429));
    // A customer has a sale of ours, and is served meanwhile.
    sim.stripe_delivers();
    assert_eq!(page(&deployment, "cs_test_simulated_sale_1"), 429, "the order is not taken up yet");
    sim.world.advance(Duration::from_secs(60));
    assert_eq!(page(&deployment, "cs_test_simulated_sale_1"), 202);
}

#[test]
fn a_known_sale_is_served_whatever_strangers_do() {
    let mut sim = Simulator::new("quick");
    sim.model_says(&crate::simulator::quick("GREEN", "Go ahead."));
    sim.stripe_delivers();
    sim.drain();
    let deployment = sim.deployment();
    for number in 0..100 {
        page(&deployment, &format!("cs_test_unknown_{number:08}"));
    }
    assert_eq!(page(&deployment, "cs_test_simulated_sale_1"), 200);
}

#[test]
fn an_unpaid_session_is_not_asked_about_at_every_request() {
    let sim = Simulator::new("quick");
    let address = "https://checkout.stripe.com/c/pay/cs_test_simulated_sale_1#fid";
    for session in sim.world.state().sessions.values_mut() {
        session.payment_status = PaymentStatus::Unpaid;
        session.url = Some(address.to_owned());
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
    assert_eq!(page(&deployment, "cs_test_simulated_sale_1"), 202);
}

#[test]
fn a_failed_sale_that_is_shown_is_counted_apart_from_other_5xx() {
    let mut sim = Simulator::new("quick");
    sim.stripe_delivers();
    // The model answers nothing at all, until the sale has failed.
    let failed = (0..400).any(|_| {
        sim.drain();
        sim.world.advance(Duration::from_secs(600));
        sim.page().is_some_and(|reply| reply.status() == 500)
    });
    if failed {
        let shown = Metric::FailedSaleShown.once();
        assert_eq!(sim.world.state().measurements.iter().filter(|found| **found == shown).count(), 1);
    }
    assert!(failed, "the sale never failed");
}
