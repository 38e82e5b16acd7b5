//! Parses requests to generateContent, and refuses invalid ones.

use serde_json::{Map, Value};

use super::catalogue::{Model, Thinking};
use super::error::GeminiError;
use crate::http::Request;

const TOP_LEVEL: [&str; 7] =
    ["contents", "systemInstruction", "generationConfig", "safetySettings", "tools", "toolConfig", "cachedContent"];
const GENERATION_CONFIG: [&str; 16] = [
    "responseMimeType",
    "responseJsonSchema",
    "_responseJsonSchema",
    "responseSchema",
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "candidateCount",
    "seed",
    "stopSequences",
    "presencePenalty",
    "frequencyPenalty",
    "thinkingConfig",
    "responseModalities",
    "mediaResolution",
];
const SAMPLING: [&str; 4] = ["temperature", "topP", "topK", "candidateCount"];
const LEVELS: [&str; 4] = ["MINIMAL", "LOW", "MEDIUM", "HIGH"];
const DEFAULT_OUTPUT_TOKENS: usize = 65_536;

/// The kind of reply that the schema requests.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct TierSchema {
    pub(crate) breakdown: bool,
    pub(crate) strategy: bool,
    /// Whether a dimension may be NULL.
    pub(crate) dimension_null: bool,
    /// Whether the request is for a reply in a conversation, which is not a verdict.
    pub(crate) reply: bool,
}

pub(crate) struct Generation {
    pub(crate) system: String,
    pub(crate) conversation: String,
    /// The last turn of the user.
    pub(crate) question: String,
    pub(crate) tier: TierSchema,
    pub(crate) max_output_tokens: usize,
    pub(crate) thought_tokens: Option<usize>,
    pub(crate) include_thoughts: bool,
}

pub(crate) fn parse(request: &Request, model: &Model) -> Result<Generation, GeminiError> {
    if request.media_type() != "application/json" {
        return Err(GeminiError::invalid("Invalid JSON payload received. The content type must be application/json."));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| GeminiError::invalid(format!("Invalid JSON payload received. {error}")))?;
    let Value::Object(body) = body else {
        return Err(GeminiError::invalid("Invalid JSON payload received. Root element must be a message."));
    };
    let body = known_fields(&body, &TOP_LEVEL, "")?;
    let system =
        body.get("systemInstruction").map_or(Ok(String::new()), |content| text_of(content, "system_instruction"))?;
    let (conversation, question) = turns(&body)?;
    let empty = Map::new();
    let config = match body.get("generationConfig") {
        None => empty,
        Some(Value::Object(config)) => known_fields(config, &GENERATION_CONFIG, " at 'generation_config'")?,
        Some(_) => {
            return Err(GeminiError::invalid(
                "Invalid value at 'generation_config' (type.googleapis.com/google.ai.generativelanguage.v1beta.GenerationConfig)",
            ));
        }
    };
    sampling(&config, model)?;
    let (thought_tokens, include_thoughts) = thinking(&config, model)?;
    let schema = schema(&config)?;
    let tier = tier_of(schema, &system, &conversation);
    let max_output_tokens = match config.get("maxOutputTokens") {
        None => DEFAULT_OUTPUT_TOKENS,
        Some(value) => value
            .as_u64()
            .and_then(|value| usize::try_from(value).ok())
            .filter(|value| (1..=DEFAULT_OUTPUT_TOKENS).contains(value))
            .ok_or_else(|| {
                GeminiError::invalid(format!(
                    "Unable to submit request because it has a maxOutputTokens value of {value} but the supported range is from 1 (inclusive) to 65537 (exclusive)."
                ))
            })?,
    };
    Ok(Generation { system, conversation, question, tier, max_output_tokens, thought_tokens, include_thoughts })
}

/// The fields by their camel-case names (protocol buffers accept both spellings); unknown fields are refused.
fn known_fields(fields: &Map<String, Value>, known: &[&str], place: &str) -> Result<Map<String, Value>, GeminiError> {
    let mut renamed = Map::new();
    for (name, value) in fields {
        let camel = camel_case(name);
        if !known.contains(&camel.as_str()) {
            return Err(GeminiError::invalid(format!(
                "Invalid JSON payload received. Unknown name \"{name}\"{place}: Cannot find field."
            )));
        }
        renamed.insert(camel, value.clone());
    }
    Ok(renamed)
}

fn camel_case(name: &str) -> String {
    let (prefix, rest) = name.strip_prefix('_').map_or(("", name), |rest| ("_", rest));
    let mut camel = prefix.to_owned();
    for (index, word) in rest.split('_').enumerate() {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if index > 0 => {
                camel.push(first.to_ascii_uppercase());
                camel.push_str(letters.as_str());
            }
            _ => camel.push_str(word),
        }
    }
    camel
}

/// The texts of one content's parts.
fn text_of(content: &Value, place: &str) -> Result<String, GeminiError> {
    let parts = content["parts"].as_array().filter(|parts| !parts.is_empty());
    let Some(parts) = parts else {
        return Err(GeminiError::invalid(format!(
            "* GenerateContentRequest.{place}.parts: contents.parts must not be empty.\n"
        )));
    };
    let mut texts = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let Some(text) = part["text"].as_str() else {
            return Err(GeminiError::invalid(format!(
                "* GenerateContentRequest.{place}.parts[{index}].data: required oneof field 'data' must have one initialized field\n"
            )));
        };
        texts.push(text);
    }
    Ok(texts.join("\n"))
}

/// All turns as one text, and the user's last turn.
fn turns(body: &Map<String, Value>) -> Result<(String, String), GeminiError> {
    let contents = body.get("contents").and_then(Value::as_array);
    let Some(contents) = contents.filter(|contents| !contents.is_empty()) else {
        return Err(GeminiError::invalid("* GenerateContentRequest.contents: contents is not specified\n"));
    };
    let mut all = Vec::with_capacity(contents.len());
    let mut question = String::new();
    for (index, content) in contents.iter().enumerate() {
        let text = text_of(content, &format!("contents[{index}]"))?;
        match content["role"].as_str() {
            None | Some("user") => question.clone_from(&text),
            Some("model") => {}
            Some(_) => {
                return Err(GeminiError::invalid("Please use a valid role: user, model."));
            }
        }
        all.push(text);
    }
    Ok((all.join("\n"), question))
}

fn sampling(config: &Map<String, Value>, model: &Model) -> Result<(), GeminiError> {
    for field in SAMPLING {
        let Some(value) = config.get(field) else {
            continue;
        };
        if !model.sampling {
            return Err(GeminiError::invalid(format!("{field} is not supported for this model: {}.", model.name)));
        }
        let allowed = value.as_f64().is_some_and(|number| match field {
            "temperature" => (0.0..=2.0).contains(&number),
            "topP" => (0.0..=1.0).contains(&number),
            "topK" => value.is_u64() && number >= 1.0,
            _ => value.is_u64() && (1.0..=8.0).contains(&number),
        });
        if !allowed {
            return Err(GeminiError::invalid(format!(
                "Invalid value at 'generation_config.{field}': {value} is out of the supported range."
            )));
        }
    }
    Ok(())
}

/// The requested number of thinking tokens, and whether the reply contains the thinking.
fn thinking(config: &Map<String, Value>, model: &Model) -> Result<(Option<usize>, bool), GeminiError> {
    let Some(thinking) = config.get("thinkingConfig") else {
        return Ok((None, false));
    };
    let Value::Object(thinking) = thinking else {
        return Err(GeminiError::invalid("Invalid value at 'generation_config.thinking_config'"));
    };
    let thinking = known_fields(
        thinking,
        &["thinkingBudget", "thinkingLevel", "includeThoughts"],
        " at 'generation_config.thinking_config'",
    )?;
    let include = thinking.get("includeThoughts") == Some(&Value::Bool(true));
    let tokens = match (thinking.get("thinkingBudget"), thinking.get("thinkingLevel")) {
        (Some(_), Some(_)) => {
            return Err(GeminiError::invalid("You can only set only one of thinking budget and thinking level."));
        }
        (Some(budget), None) => match budget.as_i64() {
            Some(-1) => None,
            Some(budget @ 0..=24_576) => usize::try_from(budget).ok().map(|budget| budget.min(model.thought_tokens)),
            _ => {
                return Err(GeminiError::invalid(format!(
                    "The thinking budget {budget} is invalid. Please choose a value between 0 and 24576."
                )));
            }
        },
        (None, Some(level)) => {
            if model.thinking != Thinking::Level {
                return Err(GeminiError::invalid("Thinking level is not supported for this model."));
            }
            let name = level.as_str().unwrap_or("").to_ascii_uppercase();
            let position = LEVELS.iter().position(|level| *level == name);
            let position = position.ok_or_else(|| {
                GeminiError::invalid(format!(
                    "Invalid value at 'generation_config.thinking_config.thinking_level' (type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), {level}"
                ))
            })?;
            Some(model.thought_tokens * position / 2)
        }
        (None, None) => None,
    };
    Ok((tokens, include))
}

fn schema(config: &Map<String, Value>) -> Result<Option<&Value>, GeminiError> {
    let given: Vec<&Value> = ["responseJsonSchema", "_responseJsonSchema", "responseSchema"]
        .into_iter()
        .filter_map(|name| config.get(name))
        .collect();
    let Some(schema) = given.first() else {
        return Ok(None);
    };
    if given.len() > 1 {
        return Err(GeminiError::invalid("Only one of response_schema and response_json_schema can be set."));
    }
    if config.get("responseMimeType").and_then(Value::as_str) != Some("application/json") {
        return Err(GeminiError::invalid(
            "Function calling config or response schema is set, but response mime type is not application/json.",
        ));
    }
    if !schema.is_object() {
        return Err(GeminiError::invalid(
            "Invalid value at 'generation_config.response_json_schema': must be an object",
        ));
    }
    Ok(Some(schema))
}

/// The tier by the schema's properties, or by the words of the prompt if there is no schema.
fn tier_of(schema: Option<&Value>, system: &str, conversation: &str) -> TierSchema {
    let Some(schema) = schema else {
        let says = |word: &str| system.contains(word) || conversation.contains(word);
        return TierSchema {
            breakdown: says("\"breakdown\""),
            strategy: says("\"strategy\""),
            dimension_null: false,
            reply: false,
        };
    };
    let properties = &schema["properties"];
    let dimension = &properties["breakdown"]["properties"]["Stability"];
    // The dimension may be inline or a reference; both contain its allowed colours.
    let colours = dimension["$ref"]
        .as_str()
        .and_then(|reference| schema.pointer(reference.trim_start_matches('#')))
        .unwrap_or(dimension);
    TierSchema {
        breakdown: properties["breakdown"].is_object(),
        strategy: properties["strategy"].is_object(),
        dimension_null: colours["properties"]["verdict"]["enum"]
            .as_array()
            .is_some_and(|colours| colours.iter().any(|colour| colour == "NULL")),
        reply: properties["reply"].is_object(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TierSchema, camel_case, tier_of};

    #[test]
    fn both_spellings_of_a_field_are_known() {
        assert_eq!(camel_case("max_output_tokens"), "maxOutputTokens");
        assert_eq!(camel_case("maxOutputTokens"), "maxOutputTokens");
        assert_eq!(camel_case("_responseJsonSchema"), "_responseJsonSchema");
    }

    #[test]
    fn the_schema_says_which_tier_is_asked_for() {
        let quick = json!({"properties": {"verdict": {}, "summary": {}}});
        let tier = tier_of(Some(&quick), "", "");
        assert_eq!(tier, TierSchema { breakdown: false, strategy: false, dimension_null: false, reply: false });
        let full = json!({"properties": {"breakdown": {"properties": {"Stability": {"$ref": "#/$defs/d"}}}},
                          "$defs": {"d": {"properties": {"verdict": {"enum": ["GREEN", "NULL"]}}}}});
        let tier = tier_of(Some(&full), "", "");
        assert!(tier.breakdown && !tier.strategy && tier.dimension_null);
        assert!(tier_of(Some(&json!({"properties": {"reply": {"type": "string"}}})), "", "").reply);
    }
}
