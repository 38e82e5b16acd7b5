//! The functions that answer requests.

use super::Deployment;
use crate::settings::{SETTINGS, SITE};
use audit::FunctionJournal;
use domain::{Secret, Timestamp};
use runtime::http::{Reply, Request};

impl Deployment<'_> {
    /// POST /api/checkout.
    pub async fn checkout(&self, body: String) -> Reply {
        self.purchase(Request::post("/api/checkout", body)).await
    }

    /// Any request to the checkout function.
    pub async fn purchase(&self, request: Request) -> Reply {
        let world = self.world;
        let journal = FunctionJournal {
            function: checkout::STREAMS[0],
            notes: world,
            log: &self.ports,
            alerts: &self.ports,
            clock: world,
        };
        let ports = checkout::Ports {
            payments: &self.ports,
            randomness: world,
            meter: world,
            clock: world,
            codes: &self.codes,
            unknown_ids: world,
            records: checkout::Records { journal, audit_keys: &self.audit_keys, randomness: world, meter: world },
        };
        checkout::handle(ports, request).await
    }

    /// POST /api/webhook, signed at `signed_at` with `secret`.
    pub async fn webhook(&self, secret: &str, signed_at: Timestamp, event: String) -> Reply {
        let signature = stripe::signature::sign(&Secret::new(secret), event.as_bytes(), signed_at);
        self.receive(Request::post("/api/webhook", event).with_header("stripe-signature", &signature)).await
    }

    /// Any request to the webhook function.
    pub async fn receive(&self, request: Request) -> Reply {
        let ports = webhook::Ports {
            signing_secrets: &self.signing,
            smoke_secret: &self.smoke,
            orders: &self.orders,
            notices: &self.notices,
            payments: &self.payments,
            meter: self.world,
            clock: self.world,
        };
        webhook::handle(ports, request).await
    }

    /// GET /api/verdict.
    pub async fn page(&self, session: &str) -> Reply {
        self.result(Request::get("/api/verdict").with_query("session_id", session)).await
    }

    /// POST /api/followup.
    pub async fn followup(&self, body: String) -> Reply {
        self.result(Request::post("/api/followup", body)).await
    }

    /// Any request to the result function.
    pub async fn result(&self, request: Request) -> Reply {
        let ports = result::Ports {
            journal: self.journal(),
            notes: self.world,
            archive: &self.ports,
            quarantine: &self.ports,
            payments: &self.ports,
            orders: &self.orders,
            notices: &self.notices,
            meter: self.world,
            recent_answers: &self.recent_answers,
            unknown_ids: self.world,
            submissions: self.world,
            site: SITE,
            sells_on: None,
            contact: &SETTINGS.contact,
        };
        result::handle(ports, request).await
    }
}
