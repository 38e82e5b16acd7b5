//! The work of each stage.

use crate::{
    environment, log_records,
    ports::Ports,
    stage::{Failure, LOOK_EVERY, failed, out_of_time},
};
use crosscheck::{Crosscheck, Reason};
use domain::{
    CachedVerdict, Sale, Secret, SessionId, Timestamp,
    mail::{Draft, Mail},
    ports::{CacheEntry, MailError, Versioned},
    sale::Fulfilment,
    smoke,
};
use serde_json::json;
use std::time::Duration;
use stripe::{Created, signature};

/// A stage's result: the value for later stages, and the detail after PASS.
pub(crate) type Answer<T> = Result<(T, String), Failure>;

pub(crate) async fn configuration(ports: Ports<'_>) -> Answer<Secret> {
    let smoke = ports.smoke_secret.document().await.map_err(|error| failed(&error))?;
    let gemini = ports.gemini_secret.document().await.map_err(|error| failed(&error))?;
    let signing = environment::check(&smoke, &gemini).map_err(Failure::new)?;
    Ok((signing, String::new()))
}

pub(crate) async fn toll_health(ports: Ports<'_>) -> Answer<()> {
    let reply = ports.site.health().await.map_err(|error| failed(&error))?;
    if reply.status == 200 && reply.body["status"] == "resonant" {
        return Ok(((), String::new()));
    }
    // The service answers, and only the cache's figures are out of bounds: that is not a fault of a release.
    if reply.body["service"] == "resonant" {
        let cache = reply.body["status"].as_str().unwrap_or("unknown");
        return Ok(((), format!("WARNING: the cache is {cache} (oracle cache status)")));
    }
    Err(Failure::with(format!("GET /health → {}, not resonant", reply.status), reply.body))
}

/// Checks that the mailbox can be searched, for a mail that was never sent.
pub(crate) async fn mailbox_health(ports: Ports<'_>) -> Answer<()> {
    let nobodys = Draft { id: String::new(), internet_message_id: "<smoke-test@oracle.invalid>".to_owned() };
    let answered: Result<bool, MailError> = ports.mailbox.was_sent(&nobodys).await;
    answered.map(|_| ((), String::new())).map_err(|error| failed(&error))
}

pub(crate) async fn create(ports: Ports<'_>) -> Answer<Created> {
    let key = format!("smoke-{}", ports.randomness.token());
    let created = ports.checkout.create(&key).await.map_err(|error| failed(&error))?;
    if !created.id.is_test_mode() {
        return Err(Failure::new(format!("{} is not a session of the test mode", created.id.prefix())));
    }
    let detail = format!("session_id={}", created.id.as_str());
    Ok((created, detail))
}

/// The event that Stripe would send after a payment, signed with the smoke test's own secret.
fn paid_event(ports: Ports<'_>, created: &Created) -> String {
    let mut object = created.object.clone();
    object["payment_status"] = "paid".into();
    object["status"] = "complete".into();
    json!({
        "id": format!("evt_smoke_{}", ports.randomness.token()),
        "object": "event",
        "type": "checkout.session.completed",
        "livemode": false,
        "created": ports.clock.now().as_seconds(),
        "data": { "object": object },
    })
    .to_string()
}

/// Orders the session's verdict with a signed event.
async fn order(ports: Ports<'_>, created: &Created, signing_secret: &Secret) -> Result<(), Failure> {
    let event = paid_event(ports, created);
    let header = signature::sign(signing_secret, event.as_bytes(), ports.clock.now());
    let reply = ports.site.webhook(&event, &header).await.map_err(|error| failed(&error))?;
    if reply.status != 200 || reply.body != json!({ "received": true }) {
        return Err(Failure::with(format!("POST /api/webhook → {}", reply.status), reply.body));
    }
    Ok(())
}

/// Removes the cached verdict, orders it again and checks that the page shows it. Returns a warning if it was not made
/// in time: the time depends on the model, and a slow model is no fault of a release.
pub(crate) async fn regenerate(
    ports: Ports<'_>,
    created: &Created,
    signing_secret: &Secret,
    limit: Duration,
) -> Result<Option<&'static str>, Failure> {
    let deadline = ports.clock.now().plus(limit);
    match remove(ports, &created.id).await {
        Ok(Removed::Entry) => {}
        Ok(Removed::Nothing | Removed::NothingYet) => {
            return Ok(Some("nothing was cached, so that no regeneration was tried"));
        }
        // The clean-up tries again and reports it.
        Err(_) => return Ok(None),
    }
    order(ports, created, signing_secret).await?;
    loop {
        let (sale, entry) = ports.store.load_with_verdict(&created.id).await.map_err(|error| failed(&error))?;
        if matches!(entry, CacheEntry::Hit(_)) {
            break;
        }
        if let Some(failure) = sale.as_ref().and_then(made_no_verdict) {
            return Err(failure);
        }
        if ports.clock.now() >= deadline {
            return Ok(Some("the verdict was not made again in time"));
        }
        ports.pause.pause(LOOK_EVERY).await;
    }
    verdict_route(ports, &created.id).await.map(|_| None)
}

/// Checks that the event is accepted, and its verdict is cached within the limit.
pub(crate) async fn simulate(
    ports: Ports<'_>,
    created: &Created,
    signing_secret: &Secret,
    limit: Duration,
) -> Answer<()> {
    let deadline = ports.clock.now().plus(limit);
    order(ports, created, signing_secret).await?;
    let cached = loop {
        match ports.store.load_with_verdict(&created.id).await.map_err(|error| failed(&error))? {
            (_, CacheEntry::Hit(cached)) => break *cached,
            (_, CacheEntry::Corrupt) => return Err(Failure::new("the cached entry is no verdict")),
            (sale, CacheEntry::Miss | CacheEntry::Removed) => {
                if let Some(failure) = sale.as_ref().and_then(made_no_verdict) {
                    return Err(failure);
                }
            }
        }
        if ports.clock.now() >= deadline {
            return Err(out_of_time(limit));
        }
        ports.pause.pause(LOOK_EVERY).await;
    };
    // The colour is one of the four, otherwise the entry could not have been read.
    if cached.tier != smoke::TIER || cached.verdict.summary.trim().is_empty() || !cached.smoke || cached.regen {
        let found = json!({ "tier": cached.tier, "smoke": cached.smoke, "regen": cached.regen });
        return Err(Failure::with("the cached verdict is not what was ordered", found));
    }
    Ok(((), format!("verdict={}", cached.verdict.verdict.word())))
}

/// The reason why there will be no verdict, once that is certain.
fn made_no_verdict(sale: &Versioned<Sale>) -> Option<Failure> {
    match sale.value.fulfilment() {
        Fulfilment::Failed { reason, .. } => {
            Some(Failure::with(format!("no verdict: {reason}"), json!({ "error": reason })))
        }
        Fulfilment::InReview { gate, .. } => Some(Failure::new(format!("held by the content filter at gate {gate}"))),
        Fulfilment::Unusable { .. } => Some(Failure::new("the session was found unusable")),
        Fulfilment::Erased { .. } => Some(Failure::new("the sale was erased")),
        Fulfilment::Ordered { .. } if sale.value.unavailable_until().is_some() => {
            Some(Failure::new("Gemini is not asked: its circuit is open"))
        }
        Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } | Fulfilment::Ready { .. } => None,
    }
}

/// Checks the cached entry. It is stored in `found` even if it is wrong, because stage 9 checks it separately.
pub(crate) async fn cache_write(
    ports: Ports<'_>,
    session: &SessionId,
    found: &mut Option<CachedVerdict>,
) -> Answer<()> {
    let (_, entry) = ports.store.load_with_verdict(session).await.map_err(|error| failed(&error))?;
    let cached = match entry {
        CacheEntry::Hit(cached) => found.insert(*cached),
        CacheEntry::Corrupt => return Err(Failure::new("the cached entry is no verdict")),
        CacheEntry::Miss | CacheEntry::Removed => return Err(Failure::new("no verdict is cached")),
    };
    if cached.tier != smoke::TIER || cached.query != smoke::QUERY || !is_timestamp(&cached.cached_at) {
        let found =
            json!({ "tier": cached.tier, "query_match": cached.query == smoke::QUERY, "cached_at": cached.cached_at });
        return Err(Failure::with("the entry is not the smoke test's", found));
    }
    Ok(((), format!("GET /cache/{} → 200", session.as_str())))
}

/// Whether the text is a valid timestamp like `2026-04-16T14:23:07.412Z`.
fn is_timestamp(text: &str) -> bool {
    Timestamp::parse(text).is_some_and(|moment| moment.to_iso() == text)
}

pub(crate) async fn verdict_route(ports: Ports<'_>, session: &SessionId) -> Answer<()> {
    let reply = ports.site.verdict(session).await.map_err(|error| failed(&error))?;
    let colour = reply.body["verdict"]["verdict"].as_str().and_then(domain::Colour::parse);
    let tier = reply.body["tier"] == smoke::TIER.key();
    let query_match = reply.body["query"] == smoke::QUERY;
    if reply.status == 200 && tier && query_match && colour.is_some() {
        return Ok(((), "tier=quick query_match=true".to_owned()));
    }
    let found = json!({ "tier": tier, "query_match": query_match, "verdict": colour.is_some() });
    Err(Failure::with(format!("GET /api/verdict → {}, not the smoke test's verdict", reply.status), found))
}

/// Checks that the mailbox accepted the pipeline's own mail, and that the log has records of the order, the page and
/// the mail.
pub(crate) async fn mail_sent(ports: Ports<'_>, session: &SessionId, limit: Duration) -> Answer<()> {
    let deadline = ports.clock.now().plus(limit);
    loop {
        let sale = ports.store.load(session).await.map_err(|error| failed(&error))?;
        let Some(sale) = sale else { return Err(Failure::new("there is no sale, so there is no mail")) };
        let given_up = |what: &str, failures: &[String]| Failure::with(what, json!({ "failures": failures }));
        match sale.value.mail() {
            Mail::Sent { .. } => {
                log_records::check(ports, session, deadline, limit).await?;
                return Ok(((), "status=sent".to_owned()));
            }
            Mail::NotOrdered | Mail::Ordered | Mail::Sending { .. } => {}
            Mail::Retrying { progress, .. } => return Err(given_up("the mailbox asks to wait", &progress.failures)),
            Mail::Dead { progress, .. } => return Err(given_up("the mail was given up", &progress.failures)),
            Mail::Held => return Err(Failure::new("held by the content filter at gate 2")),
            Mail::NoAddress => return Err(Failure::new("the sale has no address")),
            Mail::Unknown { .. } => return Err(Failure::new("the mail may or may not have gone")),
        }
        if let Some(failure) = made_no_verdict(&sale) {
            return Err(failure);
        }
        if ports.clock.now() >= deadline {
            return Err(out_of_time(limit));
        }
        ports.pause.pause(LOOK_EVERY).await;
    }
}

/// Checks that the crosscheck approves the cached verdict, and rejects it without its colour (TMM Crosscheck,
/// dependents).
pub(crate) async fn crosscheck(cached: &CachedVerdict) -> Answer<()> {
    let mut value = serde_json::to_value(&cached.verdict).unwrap_or_default();
    let check = crosscheck::crosscheck_value(&value, cached.tier);
    let detail = format!("C={:.4} approved={}", check.coherence_score, check.approved);
    if !check.approved || check.coherence_score < crosscheck::constants::OMEGA {
        return Err(Failure::with(detail, json!({ "flags": check.flags })));
    }
    if let Some(fields) = value.as_object_mut() {
        fields.remove("verdict");
    }
    require_rejection(&crosscheck::crosscheck_value(&value, cached.tier))?;
    Ok(((), detail))
}

fn require_rejection(check: &Crosscheck) -> Result<(), Failure> {
    if !check.approved && check.crosscheck_reason == Reason::FieldMissing {
        return Ok(());
    }
    let found = json!({ "approved": check.approved, "crosscheck_reason": check.crosscheck_reason });
    Err(Failure::with("a reply without a verdict field is not rejected as field_missing", found))
}

/// The result of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    /// The entry was removed.
    Entry,
    /// There was no entry, and none will come.
    Nothing,
    /// There was no entry, and the order may still be in work.
    NothingYet,
}

/// Removes the entry, if it is the smoke test's own: no other entry is ever changed (Smoke Test, invariant 2).
pub(crate) async fn remove(ports: Ports<'_>, session: &SessionId) -> Result<Removed, Failure> {
    let (sale, entry) = ports.store.load_with_verdict(session).await.map_err(|error| failed(&error))?;
    match entry {
        CacheEntry::Miss | CacheEntry::Removed => Ok(match sale.map(|sale| sale.value.fulfilment().clone()) {
            None | Some(Fulfilment::Ordered { .. } | Fulfilment::Generating { .. }) => Removed::NothingYet,
            Some(_) => Removed::Nothing,
        }),
        CacheEntry::Hit(cached) if !cached.smoke => Err(Failure::new("the entry is a customer's: left alone")),
        CacheEntry::Hit(_) | CacheEntry::Corrupt => {
            let removed = ports.entries.remove(session).await.map_err(|error| failed(&error))?;
            Ok(if removed { Removed::Entry } else { Removed::Nothing })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_timestamp, require_rejection};
    use domain::smoke;
    use serde_json::json;

    /// TMM Crosscheck, dependents.
    #[test]
    fn only_a_crosscheck_that_rejects_a_reply_without_a_verdict_field_passes() {
        let rejects = |reply| require_rejection(&crosscheck::crosscheck_value(&reply, smoke::TIER)).is_ok();
        assert!(rejects(json!({ "summary": "The pipeline is operational." })));
        assert!(!rejects(json!({ "verdict": "GREEN", "summary": "The pipeline is operational." })));
    }

    #[test]
    fn timestamps_are_distinguished_from_other_texts() {
        assert!(is_timestamp("2026-04-16T14:23:07.412Z"));
        for text in [
            "",
            "yesterday",
            "2026-04-16",
            "2026-04-16T14:23:07",
            "2026-04-16 14:23:07.412Z",
            "2026-04-16T14:23:07.412+02:00",
            "9999-99-99T99:99:99.999Z",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
