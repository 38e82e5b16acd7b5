//! Makes one answer: retrieval, model, crosscheck, content filter, the authority gate's grammar.

use crate::{Ports, narrative::narrative, sell::PaidRequest};
use audit::{Record, hash};
use authority::Evaluation;
use domain::{
    Metric, SessionId, Timestamp, Verdict,
    toll::{Answered, Offer},
};
use gates::Gate;
use generation::{Background, Generated, Policy, Question, Tracked, generate};
use retrieval::{References, RetrievalError};
use runtime::{Interrupted, telemetry, within};
use serde_json::{Value, json};
use std::time::Duration;

/// How much earlier than the time for everything the second reply of a narrative answer ends. If both ended at once,
/// the first reply would be lost with its crosscheck.
const SECOND_REPLY_MARGIN: Duration = Duration::from_millis(200);

/// The outcome: the answer or the reason of the failure, each with its audit records.
pub(crate) struct Made {
    pub(crate) answer: Result<Answered, NoAnswer>,
    pub(crate) records: Vec<Record>,
}

/// Why there is no answer.
pub(crate) struct NoAnswer {
    pub(crate) why: String,
    /// Whether a model delivered a reply, which we pay for. Anything else that fails says nothing about the question.
    pub(crate) has_reply: bool,
}

impl PaidRequest<'_> {
    /// Makes the answer for the purchase `id`. The payment is not settled yet, so a failure costs the customer only time.
    pub(crate) async fn make_answer(&self, id: &SessionId) -> Made {
        let journal = self.ports.journal;
        let model = Tracked::new(self.ports.model, journal.clock);
        let (answer, records) = match self.ask_model(&model, id).await {
            Ok((references, generated)) => self.checked_answer(&references, &generated, journal.clock.now()),
            Err(why) => (Err(why), Vec::new()),
        };
        Made { answer: answer.map_err(|why| NoAnswer { why, has_reply: model.has_delivered() }), records }
    }

    /// Reads the references and asks the model within the time for both. The error is the reason of the failure.
    async fn ask_model(&self, model: &Tracked<'_>, id: &SessionId) -> Result<(References, Generated), String> {
        let Self { settings, offer, query, evaluation, .. } = self;
        let Ports { journal, corpus, breakers, randomness, pause, meter, .. } = self.ports;
        let (alerts, clock) = (journal.alerts, journal.clock);
        let asking = generation::Ports { model, breakers, alerts, clock, randomness, pause, meter };
        let begun_at = clock.now();
        let asked = async {
            let references = corpus.library.references(corpus.notes, corpus.corpora, query.as_str()).await?;
            let (tier, background) = (offer.tier(), Background::References(&references.texts));
            let question = Question { tier, query, background, evaluation };
            let left = settings.model_time.saturating_sub(clock.now().since(begun_at) + SECOND_REPLY_MARGIN);
            let policy = Policy { longest: Some(left), ..settings.policy.clone() };
            let generated = generate(asking, &policy, id, question).await;
            Ok::<_, RetrievalError>((references, generated))
        };
        let made = within(pause, settings.model_time, asked).await;
        if !matches!(made, Err(Interrupted::Panicked)) {
            // Also the second reply of a narrative answer. A model that was asked at the end of the time says nothing about
            // itself.
            model.record_dropped_call(asking, &settings.policy, id, settings.model_time / 2).await;
        }
        match made {
            Ok(Ok(made)) => Ok(made),
            Ok(Err(error)) => {
                tracing::error!(
                    purchase = id.reference(),
                    error = telemetry::chain(&error),
                    "the corpus cannot be read"
                );
                meter.record(&[Metric::TollCorpusUnreadable.once()], clock.now());
                Err(format!("retrieval: {error}"))
            }
            Err(interrupted) => Err(format!("the model: {interrupted}")),
        }
    }

    /// The answer, if the reply passes the crosscheck, the content filter and the grammar of the authority gate, or the
    /// reason of the failure; with the records of the checks.
    fn checked_answer(
        &self,
        references: &References,
        generated: &Generated,
        now: Timestamp,
    ) -> (Result<Answered, String>, Vec<Record>) {
        let (offer, evaluation, asked_at) = (self.offer, &self.evaluation, self.asked_at);
        let mut records: Vec<Record> = generated.records(now, asked_at).collect();
        let verdict = match &generated.verdict {
            Ok(verdict) => verdict,
            Err(why) => return (Err(format!("the model: {why:?}")), records),
        };
        let gate = gates::run(Gate::BeforeDelivery, verdict.texts());
        records.push(gate.record(now, asked_at));
        let texts = match gate.checked(|text| evaluation.check_reply(text)) {
            Ok(Some(texts)) => texts,
            Ok(None) => return (Err("the content filter holds the reply".to_owned()), records),
            Err(problem) => return (Err(format!("the authority gate refuses the reply: {problem}")), records),
        };
        let verdict = verdict.clone().with_texts(texts);
        let facts = facts(generated, references, &verdict, offer, evaluation);
        let answer = Answered { body: body(&verdict, offer, evaluation, now).to_string(), facts, at: now };
        (Ok(answer), records)
    }
}

/// The body of a reply: the verdict, those numbers of its crosscheck that the offer includes, and its narrative.
fn body(verdict: &Verdict, offer: Offer, evaluation: &Evaluation, now: Timestamp) -> Value {
    let narrative = (offer == Offer::QueryPremium).then(|| narrative(verdict));
    let verdict = json!(verdict);
    let numbers = crosscheck::numbers(&verdict, offer.tier());
    let numbers = match offer {
        Offer::Query => json!({ "coherence": numbers.coherence, "threshold": numbers.threshold }),
        Offer::QueryFull | Offer::QueryPremium | Offer::Analyze => json!(numbers),
    };
    let mut body =
        json!({ "endpoint": offer.path(), "verdict": verdict, "numbers": numbers, "answered_at": now.to_iso() });
    if let Some(narrative) = narrative {
        body["narrative"] = narrative.into();
    }
    if let Some(notice) = evaluation.notice() {
        body["notice"] = notice.into();
    }
    body
}

fn facts(
    generated: &Generated,
    references: &References,
    verdict: &Verdict,
    offer: Offer,
    evaluation: &Evaluation,
) -> Value {
    let prompt_version = match references.texts.as_slice() {
        [] => prompt::version(offer.tier()),
        _ => prompt::referenced_version(offer.tier()),
    };
    let mut facts = generated.facts(prompt_version);
    facts["corpus"] = json!({ "version": references.version, "passages": references.texts.len() });
    facts["verdict_hash"] = json!(hash::verdict_hash(verdict));
    facts["authority"] = json!(evaluation.envelope());
    facts
}
