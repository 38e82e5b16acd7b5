//! The HTTP replies of the function, and the fields of a request's body.

use crate::beginnings::StoredBeginnings;
use domain::{
    chat::{Access, ExchangeId, SubscriberId, Voice, VoiceReply},
    texts,
};
use runtime::http::{Reply, Request};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// What a customer reads whose network has used up its free exchanges for the day.
const NETWORK_FULL: &str = "Many people use your network today, and its free exchanges are used. Please try again \
    tomorrow or from another network, or write to oracle@42sisters.ai.";

pub(crate) fn not_found() -> Reply {
    Reply::error(404, "not_found", "There is nothing at this address.")
}

pub(crate) fn other_site() -> Reply {
    Reply::error(403, "other_site", "The chat is used from its own page.")
}

pub(crate) fn signed_out() -> Reply {
    Reply::error(401, "signed_out", "Please sign in.")
}

/// One reply for every link that does not work. The exact reason would help only an attacker.
pub(crate) fn link_unusable() -> Reply {
    let sentence = "This link does not work any more, or was asked for in another browser. Please ask for a new one.";
    Reply::error(401, "link_unusable", sentence)
}

pub(crate) fn unavailable() -> Reply {
    let sentence = "The chat is not available at the moment. Nothing was counted. Please try again.";
    Reply::error(503, "chat_unavailable", sentence).header("retry-after", "5")
}

/// The fields of a request's JSON body, or the reply to a body that is no JSON object.
pub(crate) fn fields(request: &Request) -> Result<Map<String, Value>, Reply> {
    match serde_json::from_slice(request.body()) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(Reply::error(400, "malformed_json", "The request body must be a JSON object in UTF-8.")),
    }
}

/// What a customer has. `has_lapsed`: they paid before and have no paid access now, because the subscription has ended or its
/// payment fails; the portal shows which. `account` tells the page whether the same customer is signed in as before.
pub(crate) fn me(who: &SubscriberId, access: Access, free_left: u32, has_lapsed: bool) -> Reply {
    let mut body = json!({ "plan": access.plan.key(), "free_left": free_left, "account": who.prefix() });
    if let Some(until) = access.paid_until {
        body["paid_until"] = until.to_iso().into();
    }
    if has_lapsed {
        body["lapsed"] = true.into();
    }
    Reply::json(200, &body)
}

/// The replies of an exchange. `free_left` is present for customers without a plan.
pub(crate) fn replies(id: &ExchangeId, replies: &[VoiceReply], free_left: Option<u32>, notice: Option<&str>) -> Reply {
    Reply::json(200, &body(id, replies, free_left, notice))
}

fn body(id: &ExchangeId, replies: &[VoiceReply], free_left: Option<u32>, notice: Option<&str>) -> Value {
    let mut body = json!({ "id": id, "replies": replies });
    if let Some(free_left) = free_left {
        body["free_left"] = free_left.into();
    }
    if let Some(notice) = notice {
        body["notice"] = notice.into();
    }
    body
}

/// The apology: no reply was accepted, and nothing is counted.
pub(crate) fn apology(id: &ExchangeId, free_left: Option<u32>) -> Reply {
    let apology = [VoiceReply { voice: Voice::Aether, text: texts::CHAT_APOLOGY.to_owned() }];
    let mut body = body(id, &apology, free_left, None);
    body["apology"] = true.into();
    Reply::json(200, &body)
}

/// The exchange is in progress. `beginnings` has the whole sentences of its replies so far; later ones may differ.
pub(crate) fn pending(beginnings: Option<StoredBeginnings>) -> Reply {
    let mut body = json!({ "status": "pending" });
    if let Some(StoredBeginnings { replies, notice, .. }) = beginnings {
        body["replies"] = json!(replies);
        if let Some(notice) = notice {
            body["notice"] = notice.into();
        }
    }
    Reply::json(202, &body).header("retry-after", "2")
}

/// 402: the free exchanges are used.
pub(crate) fn subscribe(url: &str) -> Reply {
    Reply::json(402, &json!({ "error": texts::CHAT_OFFER, "code": "subscribe", "url": url }))
}

pub(crate) fn other_message() -> Reply {
    Reply::error(409, "id_used", "This id was used for another message.")
}

pub(crate) fn erased() -> Reply {
    Reply::error(410, "erased", "This exchange was erased with your memory.")
}

pub(crate) fn too_many(wait: Duration) -> Reply {
    limited("too_many", "That is a lot at once. Please try again later.", wait)
}

/// The free exchanges of a network are used up for the day. Many people may share it, so this one need not have written
/// anything.
pub(crate) fn network_full(wait: Duration) -> Reply {
    limited("network_full", NETWORK_FULL, wait)
}

fn limited(code: &'static str, sentence: &str, wait: Duration) -> Reply {
    let seconds = wait.as_millis().div_ceil(1000).max(1).to_string();
    Reply::error(429, code, sentence).header("retry-after", seconds)
}
