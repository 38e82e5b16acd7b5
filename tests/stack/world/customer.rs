//! The actions of a customer.

use super::{Sale, World, email, question};
use serde_json::{Value, json};

impl World {
    /// Opens a session on the site.
    pub(crate) async fn order(&self, tier: &str, question: &str) -> String {
        let reply = self.checkout(json!({ "tier": tier, "query": question }).to_string()).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()["session_id"].as_str().expect("a session id").to_owned()
    }

    /// Opens a session on the site for a buyer who has not paid yet.
    pub(crate) async fn open(&self, tier: &str, question: String) -> Sale {
        Sale { session: self.order(tier, &question).await, question, email: email() }
    }

    /// Pays a session; its webhook is delivered that many times at once, and accepted every time.
    pub(crate) async fn pay(&self, sale: &Sale, deliveries: usize) {
        let payment = json!({ "session_id": sale.session, "email": sale.email, "deliveries": deliveries });
        let paid = self.stack.control("stripe/pay", payment).await;
        let delivered = paid["deliveries"].as_array().expect("deliveries");
        assert_eq!(delivered.len(), deliveries);
        for delivery in delivered {
            assert_eq!((&delivery["status"], &delivery["body"]), (&json!(200), &json!({ "received": true })));
        }
    }

    /// Buys on the site: the question is in the session's metadata.
    pub(crate) async fn buy(&self, tier: &str) -> Sale {
        self.buy_with(tier, question()).await
    }

    /// Buys on the site with this question.
    pub(crate) async fn buy_with(&self, tier: &str, question: String) -> Sale {
        let sale = self.open(tier, question).await;
        self.pay(&sale, 1).await;
        sale
    }

    /// Buys on the site while the next calls to a vendor get these replies.
    pub(crate) async fn buy_despite(&self, target: &str, replies: Value, tier: &str) -> Sale {
        self.stack.faults(target, replies).await;
        self.buy(tier).await
    }

    /// Buys on the site, and waits for the verdict and its mail.
    pub(crate) async fn bought(&self, tier: &str) -> Sale {
        let sale = self.buy(tier).await;
        self.delivered(&sale).await;
        sale
    }

    /// Buys on the site what the content filter holds.
    pub(crate) async fn buy_held(&self) -> Sale {
        self.stack.next_verdict(json!({ "verdict": "GREEN", "summary": "The CSDM leaves no doubt about it." })).await;
        let sale = self.buy("quick").await;
        assert_eq!(self.answered(&sale.session).await.json(), json!({ "status": "in_review" }));
        sale
    }

    /// Buys through a Payment Link: the question is in the session's custom field.
    pub(crate) async fn buy_by_link(&self, tier: &str) -> Sale {
        let (question, email) = (question(), email());
        let session = self.stack.sell_by_payment_link(tier, &question, &email).await;
        Sale { session, question, email }
    }
}
