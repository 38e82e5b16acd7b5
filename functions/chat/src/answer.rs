//! Makes the replies of one exchange: model, check of form, content filter, the authority gate's grammar. A voice whose
//! first reply is rejected is asked once more.

use crate::{
    Ports, Settings,
    beginnings::{BeginningPublisher, VoiceListener},
};
use authority::{Evaluation, ReplyProblem};
use crosscheck::chat::{NoReply, chat_reply};
use domain::{
    SessionId, Timestamp,
    chat::{Message, Voice, VoiceReply},
};
use futures_util::future::join_all;
use gates::Gate;
use generation::{NotReplied, Tracked};
use lens::WorkingSet;
use prompt::{build_chat_prompt, chat_version};
use runtime::{Interrupted, within};
use serde_json::{Value, json};
use std::time::Duration;

/// How many times each voice is asked at most.
const ATTEMPTS: u32 = 2;

/// A model that had this much time when the time limit drops its call has failed. It is half of the default of a
/// call's own time-out (`ChatCallTimeoutMs`).
const ENOUGH: Duration = Duration::from_secs(5);

/// The accepted replies, or the reason why none was accepted, with one audit fact for each attempt.
pub(crate) struct AcceptedReplies {
    pub(crate) replies: Option<Vec<VoiceReply>>,
    pub(crate) facts: Value,
}

/// The reason why a reply is rejected.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Model(#[from] NotReplied),
    #[error(transparent)]
    Form(#[from] NoReply),
    #[error("the authority gate refuses it: {0}")]
    Grammar(#[from] ReplyProblem),
    #[error("the content filter holds it")]
    Held,
}

/// The message to answer and the context that the model sees.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) message: &'a Message,
    pub(crate) memory: &'a WorkingSet,
    pub(crate) evaluation: &'a Evaluation,
}

/// Makes a reply for each voice, whose beginnings are published while the model writes. Delivers either every voice's
/// reply or none. `arrived` is the time of the request.
pub(crate) async fn make(
    ports: Ports<'_>,
    settings: &Settings,
    voices: &[Voice],
    context: Context<'_>,
    publisher: &BeginningPublisher<'_>,
    arrived: Timestamp,
) -> AcceptedReplies {
    // The voices are asked at once, so each has a call of its own that may be dropped.
    let models: Vec<Tracked<'_>> = voices.iter().map(|_| Tracked::new(ports.model, ports.journal.clock)).collect();
    let each = voices.iter().zip(&models);
    let all =
        join_all(each.map(|(voice, model)| speak(Ports { model, ..ports }, settings, *voice, context, publisher)));
    let mut facts = json!({
        "prompt_version": chat_version(),
        "working_set_hash": context.memory.bytes_hash().to_string(),
        "authority": context.evaluation.envelope(),
    });
    let left = settings.answer_time.saturating_sub(ports.journal.clock.now().since(arrived));
    let spoken = match within(ports.pause, settings.model_time.min(left), all).await {
        Ok(spoken) => spoken,
        Err(interrupted) => {
            if interrupted == Interrupted::OutOfTime {
                let asking = asking(ports);
                let (policy, session) = (&settings.policy, context.session);
                // At once, because the apology waits for them.
                join_all(models.iter().map(|model| model.record_dropped_call(asking, policy, session, ENOUGH))).await;
            }
            facts["problem"] = interrupted.to_string().into();
            return AcceptedReplies { replies: None, facts };
        }
    };
    facts["attempts"] = json!(spoken.iter().map(|(_, facts)| facts).collect::<Vec<_>>());
    AcceptedReplies { replies: spoken.into_iter().map(|(reply, _)| reply).collect(), facts }
}

/// One voice's reply, with a fact for each attempt at it.
async fn speak(
    ports: Ports<'_>,
    settings: &Settings,
    voice: Voice,
    context: Context<'_>,
    publisher: &BeginningPublisher<'_>,
) -> (Option<VoiceReply>, Vec<Value>) {
    let mut facts = Vec::new();
    for attempt in 0..ATTEMPTS {
        let mut fact = json!({ "voice": voice });
        let reply = attempt_at(ports, settings, voice, context, attempt > 0, &mut fact, publisher).await;
        if let Err(why) = &reply {
            fact["problem"] = why.to_string().into();
            publisher.withdraw(voice).await;
        }
        facts.push(fact);
        if let Ok(text) = reply {
            return (Some(VoiceReply { voice, text }), facts);
        }
    }
    (None, facts)
}

fn asking(ports: Ports<'_>) -> generation::Ports<'_> {
    let Ports { model, breakers, randomness, pause, meter, journal, .. } = ports;
    generation::Ports { model, breakers, alerts: journal.alerts, clock: journal.clock, randomness, pause, meter }
}

async fn attempt_at(
    ports: Ports<'_>,
    settings: &Settings,
    voice: Voice,
    context: Context<'_>,
    stricter: bool,
    fact: &mut Value,
    publisher: &BeginningPublisher<'_>,
) -> Result<String, Unusable> {
    let Context { session, message, memory, evaluation } = context;
    let prompt = build_chat_prompt(voice, memory, message, evaluation, stricter);
    let mut listener = VoiceListener::new(publisher, voice, message, evaluation);
    let reply = generation::reply(asking(ports), &settings.policy, session, &prompt, &mut listener).await?;
    fact["model_version"] = reply.model_version.into();
    let text = chat_reply(&reply.text, message.as_str())?;
    let gate = gates::run(Gate::BeforeDelivery, [text.as_str()]);
    let delivered = gate.checked(|text| evaluation.check_reply(text))?;
    fact["filter"] = json!({ "outcome": gate.outcome().as_str(), "terms": gate.term_count() });
    delivered.and_then(|texts| texts.into_iter().next()).ok_or(Unusable::Held)
}
