//! Making one answer: model, crosscheck, grammar of the authority gate, content filter.

use crate::{Ports, Settings};
use audit::{Body, Record, digest};
use authority::Evaluation;
use crosscheck::constants::PHI;
use domain::{
    Query, SessionId, Timestamp, Verdict,
    toll::{Answered, Offer},
};
use gates::Gate;
use generation::{Gauged, Generated, generate};
use runtime::within;
use serde_json::{Value, json};

/// The outcome: the answer or the reason for its absence, and the log's text for either.
pub(crate) struct Made {
    pub(crate) answer: Result<Answered, String>,
    pub(crate) records: Vec<Record>,
}

/// Makes the answer to a question. What is made here was not settled, so nothing is lost but time where it fails.
pub(crate) async fn make(
    ports: Ports<'_>,
    settings: &Settings,
    id: &SessionId,
    offer: Offer,
    query: &Query,
    evaluation: &Evaluation,
    asked_at: Timestamp,
) -> Made {
    let journal = ports.journal;
    let breakers = Gauged { breakers: ports.breakers, meter: ports.meter, clock: journal.clock };
    let asking = generation::Ports {
        model: ports.model,
        breakers: &breakers,
        alerts: journal.alerts,
        clock: journal.clock,
        randomness: ports.randomness,
        pause: ports.pause,
    };
    let asked = generate(asking, &settings.policy, id, offer.tier(), query, None);
    let generated = match within(ports.pause, settings.model_time, asked).await {
        Ok(generated) => generated,
        Err(broke) => return Made { answer: Err(format!("the model: {broke}")), records: Vec::new() },
    };
    let now = journal.clock.now();
    let record = |body| Record { timestamp: now, triggered_at: asked_at, body };
    let mut records: Vec<Record> = generated
        .crosschecks
        .iter()
        .map(|check| serde_json::to_value(check).unwrap_or_default())
        .map(|decision| record(Body::TmmCrosscheck { phi: PHI, decision }))
        .collect();
    let verdict = match &generated.verdict {
        Ok(verdict) => verdict,
        Err(why) => return Made { answer: Err(format!("the model: {why:?}")), records },
    };
    let texts: Vec<&str> = verdict.texts().into_iter().chain(evaluation.notice()).collect();
    if let Err(problem) = evaluation.check_reply(&texts.join("\n")) {
        return Made { answer: Err(format!("the authority gate refuses the reply: {problem}")), records };
    }
    let gate = gates::run(Gate::BeforeDelivery, verdict.texts());
    records.push(gate.record(now, asked_at));
    let answer = match gate.delivered() {
        Some(texts) => {
            let verdict = verdict.clone().with_texts(texts);
            let facts = facts(&generated, &verdict, offer, evaluation);
            Ok(Answered { body: body(&verdict, offer, evaluation, now).to_string(), facts, at: now })
        }
        None => Err("the content filter holds the reply".to_owned()),
    };
    Made { answer, records }
}

/// The body of a reply: the verdict, and the numbers of its crosscheck that the price includes.
fn body(verdict: &Verdict, offer: Offer, evaluation: &Evaluation, now: Timestamp) -> Value {
    let verdict = json!(verdict);
    let numbers = crosscheck::numbers(&verdict, offer.tier());
    let numbers = match offer {
        Offer::Query => json!({ "coherence": numbers.coherence, "threshold": numbers.threshold }),
        Offer::QueryFull | Offer::QueryPremium | Offer::Analyze => json!(numbers),
    };
    let mut body =
        json!({ "endpoint": offer.path(), "verdict": verdict, "numbers": numbers, "answered_at": now.to_iso() });
    if let Some(notice) = evaluation.notice() {
        body["notice"] = notice.into();
    }
    body
}

fn facts(generated: &Generated, verdict: &Verdict, offer: Offer, evaluation: &Evaluation) -> Value {
    json!({
        "attempts": generated.attempts,
        "model_version": generated.model_version,
        "prompt_version": prompt::version(offer.tier()),
        "verdict_hash": digest::verdict_hash(verdict),
        "authority": evaluation.envelope(),
    })
}
