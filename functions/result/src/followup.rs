//! POST /api/followup, and the fields about the follow-up in the reply of GET /api/verdict
//! (infra/decisions/followup.md).

use crate::{
    Ports,
    replies::{self, Shown},
};
use domain::{Alert, Query, Sale, SessionId, alert::Severity, message::OrderedBy};
use followup::{NotOrdered, Ordered};
use runtime::{http::Reply, telemetry};
use serde_json::{Map, Value, json};

/// The largest body that is read: 20,000 characters fit in, each in its longest escaped form.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// The field with the follow-up's verdict.
pub(crate) const VERDICT: &str = "followup";

/// The field with the follow-up's state.
const STATUS: &str = "followup_status";

/// The field with the sentence about a follow-up that is late or has failed.
const MESSAGE: &str = "followup_message";

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
    let Ports { journal, submissions, orders, meter, .. } = ports;
    let to = followup::Ports { journal, submissions, orders, meter };
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
        fields.insert(STATUS.to_owned(), "available".into());
    }
    fields
}

/// The fields of a sale whose follow-up is ordered, from what its own page would show.
pub(crate) fn ordered(followup: Shown) -> Map<String, Value> {
    let (status, field) = match followup {
        Shown::Delivered(mut fields) => {
            let kept = ["query", "query_withheld", "reference", "verdict", "cached_at", "notice"];
            let kept = kept.into_iter().filter_map(|name| Some((name.to_owned(), fields.remove(name)?)));
            ("delivered", Some((VERDICT, Value::Object(kept.collect()))))
        }
        Shown::InReview(_) => ("in_review", None),
        Shown::Failed(_, sentence) => ("failed", sentence.map(|sentence| (MESSAGE, sentence.into()))),
        Shown::Declined(fields, _) => ("declined", Some(("followup_declined", fields))),
        Shown::Other(_, sentence) => ("pending", sentence.map(|sentence| (MESSAGE, sentence.into()))),
    };
    let fields = [Some((STATUS, status.into())), field].into_iter().flatten();
    fields.map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Timestamp, money::Money, texts};

    #[test]
    fn a_followup_has_the_sentence_of_its_state_if_nobody_looks_into_it() {
        let fields = |shown| Value::Object(ordered(shown));
        let retried = Shown::Other(Reply::json(202, &json!({})), Some("It is tried again.".to_owned()));
        assert_eq!(fields(retried), json!({ STATUS: "pending", MESSAGE: "It is tried again." }));
        assert_eq!(fields(replies::erased().into()), json!({ STATUS: "pending" }));
        assert_eq!(fields(replies::failed(&Money::Kept)), json!({ STATUS: "failed" }));
        let refunded = Money::Refunded { at: Timestamp::from_seconds(0) };
        assert_eq!(
            fields(replies::failed(&refunded)),
            json!({ STATUS: "failed", MESSAGE: texts::FAILED_AND_REFUNDED })
        );
    }
}
