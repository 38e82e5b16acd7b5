//! A paid session and verdicts of the model.

use domain::{CheckoutSession, EmailAddress, Timestamp, money::PaymentId};
use runtime::http::Reply;
use serde_json::{Value, json};

pub(crate) const ADDRESS: &str = "someone@example.com";
pub(crate) const QUESTION: &str = "Should I open a second shop next spring?";

/// A paid session as Stripe would return it.
pub(crate) fn paid_session(id: &str, tier: &str, email: Option<&str>) -> CheckoutSession {
    CheckoutSession {
        metadata: [("tier", tier), ("q0", QUESTION), ("qn", "1")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        email: email.map(|address| EmailAddress::parse(address).unwrap()),
        payment: Some(PaymentId::parse(format!("pi_{id}")).unwrap()),
        created: Some(Timestamp::from_seconds(1_800_000_000)),
        ..testkit::session::paid(id)
    }
}

pub(crate) fn quick(colour: &str, summary: &str) -> String {
    json!({ "verdict": colour, "summary": summary }).to_string()
}

pub(crate) fn strategy() -> String {
    let dimension = |text: &str| json!({ "verdict": "GREEN", "analysis": text });
    json!({
        "verdict": "GREEN", "summary": "Demand is real and the format fits the audience.",
        "breakdown": {
            "Stability": dimension("The ground is firm."), "Turbulence": dimension("Competition is mild."),
            "Change Rate": dimension("Things move slowly."), "Completion": dimension("The plan is whole."),
            "Curvature": dimension("Effort pays off."),
        },
        "strategy": {
            "next_step": "Sign the lease.", "alternative": "Sell online only.",
            "tests": ["Ask ten customers.", "Run a stall for a week.", "Price it twice."],
        },
    })
    .to_string()
}

/// The JSON of a reply.
pub(crate) fn body(reply: &Reply) -> Value {
    serde_json::from_str(reply.body()).unwrap()
}
