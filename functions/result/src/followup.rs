//! POST /api/followup, and the fields about the follow-up in the reply of GET /api/verdict
//! (infra/decisions/followup.md).

use crate::{Ports, replies};
use domain::{Alert, Query, Sale, SessionId, alert::Severity, message::OrderedBy, texts};
use followup::{NotOrdered, Ordered};
use runtime::{http::Reply, telemetry};
use serde_json::{Map, Value, json};

/// The largest body that is read: 20,000 characters fit in, each in its longest escaped form.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// The field with the follow-up's verdict.
pub(crate) const VERDICT: &str = "followup";

/// A parsed request.
struct FollowupRequest {
    paid: SessionId,
    text: Query,
    locale: Option<String>,
}

/// Orders the follow-up for the holder of the session id.
pub(crate) async fn order(ports: Ports<'_>, body: &[u8]) -> Reply {
    let asked = match parse(body) {
        Ok(asked) => asked,
        Err(reply) => return reply,
    };
    let to = followup::Ports { journal: ports.journal, submissions: ports.submissions, orders: ports.orders };
    let ordered = followup::order(to, &asked.paid, &asked.text, asked.locale.as_deref(), OrderedBy::FollowupPage).await;
    match ordered {
        Ok(Ordered { notice }) => {
            let mut reply = json!({ "status": "pending" });
            if let Some(notice) = notice {
                reply["notice"] = notice.into();
            }
            Reply::json(202, &reply)
        }
        Err(NotOrdered::NoSale) => replies::not_found(),
        Err(NotOrdered::Erased) => replies::erased(),
        Err(NotOrdered::NotOffered) => {
            Reply::error(409, "followup_not_offered", "There is no follow-up to this order.")
        }
        Err(NotOrdered::Used) => Reply::error(409, "followup_used", "The follow-up of this order is used."),
        Err(NotOrdered::Refused(refusal)) => Reply::json(422, &json!(refusal)),
        Err(error @ (NotOrdered::Storage(_) | NotOrdered::Contended)) => {
            let (now, detail) = (ports.journal.clock.now(), telemetry::chain(&error));
            let alert = Alert::event("ORACLE-RESULT", Severity::Error, now, "FOLLOWUP", &asked.paid, &detail);
            ports.journal.alerts.raise(alert).await;
            let urgent = followup::urgent_alone(&asked.text, asked.locale.as_deref());
            urgent.map_or_else(replies::temporarily_unavailable, |refusal| Reply::json(422, &json!(refusal)))
        }
    }
}

fn parse(body: &[u8]) -> Result<FollowupRequest, Reply> {
    if body.len() > MAX_BODY_BYTES {
        return Err(Reply::error(413, "too_large", "The request is larger than 256 KiB."));
    }
    let malformed = || Reply::error(400, "malformed_json", "The request body must be a JSON object in UTF-8.");
    let Ok(Value::Object(fields)) = serde_json::from_slice(body) else { return Err(malformed()) };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let paid = SessionId::parse(text("session_id")).ok().filter(|id| !id.is_followup());
    let paid = paid.ok_or_else(replies::not_found)?;
    let query = Query::parse(text("query"));
    let query = query.map_err(|error| Reply::error(400, "query_invalid", &error.to_string()))?;
    Ok(FollowupRequest { paid, text: query, locale: fields.get("locale").and_then(Value::as_str).map(str::to_owned) })
}

/// The fields of a sale whose follow-up is not ordered.
pub(crate) fn not_ordered(sale: &Sale) -> Map<String, Value> {
    let mut fields = Map::new();
    if sale.offers_followup() {
        fields.insert("followup_status".to_owned(), "available".into());
    }
    fields
}

/// The fields of a sale whose follow-up is ordered, from the reply with the follow-up's state.
pub(crate) fn ordered(reply: &Reply) -> Map<String, Value> {
    let mut fields = Map::new();
    let body: Value = serde_json::from_str(reply.body()).unwrap_or_default();
    let status = match (reply.status(), body["status"].as_str()) {
        (200, _) => "delivered",
        (202, Some("in_review")) => "in_review",
        (500, _) => "failed",
        (422, _) => "declined",
        _ => "pending",
    };
    fields.insert("followup_status".to_owned(), status.into());
    if status == "delivered" {
        let kept = ["query", "query_withheld", "reference", "verdict", "cached_at", "notice"];
        let shown = kept.into_iter().filter_map(|name| Some((name.to_owned(), body.get(name)?.clone())));
        fields.insert(VERDICT.to_owned(), Value::Object(shown.collect()));
    }
    let message = match status {
        "pending" => body.get("message"),
        // The payment is refunded, will be refunded, or is disputed. The follow-up is then on no operator's list.
        "failed" => body.get("error").filter(|error| error.as_str() != Some(texts::ANALYSIS_FAILED)),
        _ => None,
    };
    if let Some(message) = message {
        fields.insert("followup_message".to_owned(), message.clone());
    }
    if status == "declined" {
        fields.insert("followup_declined".to_owned(), body);
    }
    fields
}
