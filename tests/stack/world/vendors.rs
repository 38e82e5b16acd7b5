//! The calls to the simulated vendors, and what they know.

use super::{Sale, World};
use serde_json::{Value, json};

impl World {
    /// Fails unless every planned fault was used.
    pub(crate) async fn faults_are_used_up(&self) {
        let (_, pending) = self.stack.get(&format!("{}/control/faults", self.stack.sandbox)).await;
        for (target, faults) in pending.as_object().expect("faults by target") {
            assert_eq!(faults, &json!([]), "faults for {target} that no call met");
        }
    }

    /// The vendor calls that contain `part` in their path or body, in order.
    pub(crate) async fn calls(&self, target: &str, part: &str) -> Vec<Value> {
        let (_, calls) = self.stack.get(&format!("{}/control/calls?target={target}", self.stack.sandbox)).await;
        let holds =
            |call: &Value| call["path"].to_string().contains(part) || call["request_body"].to_string().contains(part);
        calls.as_array().expect("calls").iter().filter(|call| holds(call)).cloned().collect()
    }

    /// A session as Stripe returns it.
    pub(crate) async fn stripe_session(&self, session: &str) -> Value {
        self.stripe(&format!("v1/checkout/sessions/{session}")).await
    }

    /// An object as Stripe returns it.
    pub(crate) async fn stripe(&self, path: &str) -> Value {
        let url = format!("{}/stripe/{path}", self.stack.sandbox);
        let request = self.http.get(url).header("authorization", "Bearer sk_test_sandbox");
        let reply = request.send().await.expect("the sandbox answers").text().await.expect("a body");
        serde_json::from_str(&reply).expect("an object of Stripe")
    }

    /// The number of model calls for a sale.
    pub(crate) async fn model_calls(&self, sale: &Sale) -> usize {
        self.calls("gemini", sale.mark()).await.len()
    }

    /// All mails that were accepted for an address.
    pub(crate) async fn mails(&self, email: &str) -> Vec<Value> {
        let (_, mails) = self.stack.get(&format!("{}/control/mails", self.stack.sandbox)).await;
        mails.as_array().expect("mails").iter().filter(|mail| mail["to"].to_string().contains(email)).cloned().collect()
    }
}
