//! Events about the account: their form, and the queue for their delivery.

use serde_json::{Value, json};

use super::version::API_VERSION;
use crate::state::State;

impl State {
    /// Queues an event for delivery after the current work.
    pub(crate) fn emit_event(&mut self, kind: &str, object: &Value) {
        let event = event(self, kind, object);
        self.unreported.push(event);
    }
}

/// An event in the form in which Stripe delivers it.
pub(crate) fn event(state: &mut State, kind: &str, object: &Value) -> Value {
    json!({
        "id": state.identifiers.prefixed("evt_", 24),
        "object": "event",
        "api_version": API_VERSION,
        "created": state.now().as_second(),
        "data": {"object": object},
        "livemode": false,
        "pending_webhooks": 1,
        "request": {"id": null, "idempotency_key": null},
        "type": kind,
    })
}
