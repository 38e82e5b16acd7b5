//! Simulates Gemini's generateContent and streamGenerateContent, with a stand-in for the model that replies in the requested schema.

pub(crate) mod catalogue;
mod error;
mod phrases;
mod request;
mod verdict;

use serde_json::{Value, json};

use crate::credentials::GEMINI_KEY;
use crate::faults::ModelOverride;
use crate::http::{Body, Events, Reply, Request};
use crate::state::State;
use catalogue::Model;
use error::GeminiError;
use request::Generation;

/// Handles one call; `replacement` overrides the model's reply.
pub(crate) fn handle(state: &mut State, request: &Request, replacement: Option<&ModelOverride>) -> Reply {
    route(state, request, replacement).unwrap_or_else(GeminiError::into_reply)
}

fn route(state: &mut State, request: &Request, replacement: Option<&ModelOverride>) -> Result<Reply, GeminiError> {
    admit(request)?;
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().skip(1).map(String::as_str).collect();
    match (request.method.as_str(), segments.as_slice()) {
        ("POST", ["v1beta", "models", call]) if call.ends_with(":generateContent") => {
            Ok(Reply::json(200, answer(state, request, call.trim_end_matches(":generateContent"), replacement)?))
        }
        ("POST", ["v1beta", "models", call]) if call.ends_with(":streamGenerateContent") => {
            let whole = answer(state, request, call.trim_end_matches(":streamGenerateContent"), replacement)?;
            let events = split(&whole);
            Ok(match request.query_value("alt") {
                Some("sse") => {
                    let pace = replacement.map(|replacement| replacement.pace.clone()).unwrap_or_default();
                    Reply::new(200, Body::Events(Events { events, pace }))
                }
                // Without the parameter the events are the elements of one array.
                _ => Reply::json(200, Value::Array(events)),
            })
        }
        ("GET", ["v1beta", "models", name]) => {
            let model = find(state, name)?;
            let value = json!({
                "name": format!("models/{}", model.name),
                "displayName": model.name,
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "streamGenerateContent"],
            });
            Ok(Reply::json(200, value))
        }
        _ => Err(GeminiError::not_found(format!("The requested URL {} was not found on this server.", request.path))),
    }
}

fn answer(
    state: &mut State,
    request: &Request,
    model: &str,
    replacement: Option<&ModelOverride>,
) -> Result<Value, GeminiError> {
    let model = find(state, model)?.clone();
    let generation = request::parse(request, &model)?;
    Ok(generate(state, &model, &generation, replacement))
}

/// Splits a reply into the events of a stream: one for each sentence, and a last one with the finish reason.
fn split(whole: &Value) -> Vec<Value> {
    let mut last = whole.clone();
    let parts = last.pointer_mut("/candidates/0/content/parts").map(Value::take);
    let parts = parts.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let event = |part: &Value, text: &str| {
        let mut part = part.clone();
        part["text"] = json!(text);
        let candidate = json!({"content": {"parts": [part], "role": "model"}, "index": 0});
        let mut event = json!({"candidates": [candidate]});
        for field in ["modelVersion", "responseId"] {
            event[field] = whole[field].clone();
        }
        event
    };
    let sentences = |part: &Value| -> Vec<Value> {
        let text = part["text"].as_str().unwrap_or_default();
        text.split_inclusive(". ").map(|sentence| event(part, sentence)).collect()
    };
    let mut events: Vec<Value> = parts.iter().flat_map(sentences).collect();
    if !parts.is_empty() {
        last["candidates"][0]["content"]["parts"] = json!([{"text": ""}]);
    }
    events.push(last);
    events
}

/// Checks the key, which is accepted only in its header: in an address it would appear in logs.
fn admit(request: &Request) -> Result<(), GeminiError> {
    let key = request.header("x-goog-api-key");
    if key.is_empty() {
        return Err(GeminiError {
            code: 403,
            status: "PERMISSION_DENIED",
            ..GeminiError::invalid(
                "Method doesn't allow unregistered callers (callers without established identity). \
                 Please use API Key or other form of API consumer identity to call this API.",
            )
        });
    }
    if key != GEMINI_KEY {
        return Err(GeminiError {
            details: json!([{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
                "metadata": {"service": "generativelanguage.googleapis.com"},
            }]),
            ..GeminiError::invalid("API key not valid. Please pass a valid API key.")
        });
    }
    Ok(())
}

fn find<'a>(state: &'a State, name: &str) -> Result<&'a Model, GeminiError> {
    let mut models = state.catalogue.models.iter();
    models.find(|model| model.name == name).ok_or_else(|| {
        GeminiError::not_found(format!(
            "models/{name} is not found for API version v1beta, or is not supported for generateContent. \
             Call ModelService.ListModels to see the list of available models and their supported methods."
        ))
    })
}

/// Estimates a text's tokens as four characters each, which is good enough for a limit.
fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

fn generate(state: &mut State, model: &Model, generation: &Generation, replacement: Option<&ModelOverride>) -> Value {
    let default = ModelOverride::default();
    let replacement = replacement.unwrap_or(&default);
    let prompt_tokens = tokens(&generation.system) + tokens(&generation.conversation);
    let version = replacement.model_version.as_deref().unwrap_or(&model.name);
    let mut reply = json!({
        "modelVersion": version,
        "responseId": state.identifiers.token(23),
    });
    if let Some(status) = &replacement.model_status {
        reply["modelStatus"] = status.clone();
    }
    if let Some(reason) = &replacement.block_reason {
        reply["promptFeedback"] = json!({"blockReason": reason});
        reply["usageMetadata"] = usage(prompt_tokens, 0, 0);
        return reply;
    }
    let text = replacement.text.clone().unwrap_or_else(|| {
        let (phrases, question) = (&state.catalogue.phrases, &generation.question);
        match generation.tier.reply {
            true => verdict::reply(phrases, question, &generation.system).to_string(),
            false => verdict::write(phrases, question, &generation.system, &generation.tier).to_string(),
        }
    });
    let thoughts = generation.thought_tokens.unwrap_or(model.thought_tokens).min(generation.max_output_tokens);
    // Thinking tokens count against the limit: the rest may cut the text.
    let left = generation.max_output_tokens - thoughts;
    let (text, reason) =
        if tokens(&text) > left { (text.chars().take(left * 4).collect(), "MAX_TOKENS") } else { (text, "STOP") };
    let reason = replacement.finish_reason.as_deref().unwrap_or(reason);
    let mut parts = Vec::new();
    if generation.include_thoughts && thoughts > 0 {
        parts.push(json!({"text": "Weighing the submission on each dimension.", "thought": true}));
    }
    let output = tokens(&text);
    let withheld = !matches!(reason, "STOP" | "MAX_TOKENS") && replacement.text.is_none();
    let mut candidate = json!({"finishReason": reason, "index": 0});
    if withheld || text.is_empty() {
        candidate["content"] = json!({"role": "model"});
    } else {
        parts.push(json!({"text": text}));
        candidate["content"] = json!({"parts": parts, "role": "model"});
    }
    reply["candidates"] = json!([candidate]);
    reply["usageMetadata"] = usage(prompt_tokens, output, thoughts);
    reply
}

fn usage(prompt: usize, output: usize, thoughts: usize) -> Value {
    let mut usage = json!({
        "promptTokenCount": prompt,
        "totalTokenCount": prompt + output + thoughts,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    });
    if output > 0 {
        usage["candidatesTokenCount"] = json!(output);
    }
    if thoughts > 0 {
        usage["thoughtsTokenCount"] = json!(thoughts);
    }
    usage
}
