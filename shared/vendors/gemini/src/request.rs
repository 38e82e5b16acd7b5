//! Builds the body of a call: the same bytes for the same model and prompt (Regen Consistency, invariant 7).

use domain::ports::Prompt;
use serde_json::{Map, Value, json};

/// The body. `settings` are those of the model. The instruction and the customer's text have separate fields, so that
/// the text is data to the model.
pub(crate) fn body(prompt: &Prompt, settings: Map<String, Value>) -> Value {
    let mut config = settings;
    config.insert("responseMimeType".to_owned(), json!("application/json"));
    config.insert("responseJsonSchema".to_owned(), prompt.schema.clone());
    config.insert("maxOutputTokens".to_owned(), json!(prompt.max_output_tokens));
    json!({
        "systemInstruction": {"parts": [{"text": prompt.instruction}]},
        "contents": [{"role": "user", "parts": [{"text": prompt.content}]}],
        "generationConfig": config,
    })
}
