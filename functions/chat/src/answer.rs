//! Making the replies of one exchange: model, form, grammar of the authority gate, content filter. Each voice is asked a
//! second time where its first reply cannot be used.

use crate::{Ports, Settings};
use authority::Evaluation;
use crosscheck::chat::{NoReply, chat_reply};
use domain::{
    SessionId,
    chat::{Message, Said, Voice},
};
use futures_util::future::join_all;
use gates::Gate;
use generation::{Gauged, NotReplied};
use lens::WorkingSet;
use prompt::{build_chat_prompt, chat_version};
use runtime::within;
use serde_json::{Value, json};

/// How often a voice is asked.
const ATTEMPTS: u32 = 2;

/// What came of it: the replies, or why there are none, and what the log says of either.
pub(crate) struct Made {
    pub(crate) replies: Option<Vec<Said>>,
    pub(crate) facts: Value,
}

/// Why a reply cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Model(#[from] NotReplied),
    #[error(transparent)]
    Form(#[from] NoReply),
    #[error("the authority gate refuses it: {0}")]
    Grammar(String),
    #[error("the content filter holds it")]
    Held,
}

/// What is answered, and from what.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) message: &'a Message,
    pub(crate) memory: &'a WorkingSet,
    pub(crate) evaluation: &'a Evaluation,
}

/// Makes a reply for each voice. Either all are there or none is delivered.
pub(crate) async fn make(ports: Ports<'_>, settings: &Settings, voices: &[Voice], context: Context<'_>) -> Made {
    let all = join_all(voices.iter().map(|voice| speak(ports, settings, *voice, context)));
    let spoken = match within(ports.pause, settings.model_time, all).await {
        Ok(spoken) => spoken,
        Err(broke) => return Made { replies: None, facts: json!({ "problem": broke.to_string() }) },
    };
    let facts = json!({
        "prompt_version": chat_version(),
        "working_set_hash": context.memory.bytes_hash().to_string(),
        "authority": context.evaluation.envelope(),
        "attempts": spoken.iter().map(|(_, facts)| facts).collect::<Vec<_>>(),
    });
    Made { replies: spoken.into_iter().map(|(said, _)| said).collect(), facts }
}

/// One voice's reply, with a fact for each attempt at it.
async fn speak(
    ports: Ports<'_>,
    settings: &Settings,
    voice: Voice,
    context: Context<'_>,
) -> (Option<Said>, Vec<Value>) {
    let mut facts = Vec::new();
    for attempt in 0..ATTEMPTS {
        let mut fact = json!({ "voice": voice });
        let said = attempt_at(ports, settings, voice, context, attempt > 0, &mut fact).await;
        if let Err(why) = &said {
            fact["problem"] = why.to_string().into();
        }
        facts.push(fact);
        if let Ok(text) = said {
            return (Some(Said { voice, text }), facts);
        }
    }
    (None, facts)
}

async fn attempt_at(
    ports: Ports<'_>,
    settings: &Settings,
    voice: Voice,
    context: Context<'_>,
    stricter: bool,
    fact: &mut Value,
) -> Result<String, Unusable> {
    let Context { session, message, memory, evaluation } = context;
    let breakers = Gauged { breakers: ports.breakers, meter: ports.meter, clock: ports.journal.clock };
    let asking = generation::Ports {
        model: ports.model,
        breakers: &breakers,
        alerts: ports.journal.alerts,
        clock: ports.journal.clock,
        randomness: ports.randomness,
        pause: ports.pause,
    };
    let prompt = build_chat_prompt(voice, memory, message, evaluation, stricter);
    let reply = generation::reply(asking, &settings.policy, session, &prompt).await?;
    fact["model_version"] = reply.model_version.into();
    let text = chat_reply(&reply.text, message.as_str())?;
    let spoken = [Some(text.as_str()), evaluation.notice()].into_iter().flatten().collect::<Vec<_>>().join("\n");
    evaluation.check_reply(&spoken).map_err(|problem| Unusable::Grammar(problem.to_string()))?;
    let gate = gates::run(Gate::BeforeDelivery, [text.as_str()]);
    fact["filter"] = json!({ "outcome": gate.outcome().as_str(), "terms": gate.term_count() });
    gate.delivered().and_then(|texts| texts.into_iter().next()).ok_or(Unusable::Held)
}
