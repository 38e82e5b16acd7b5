//! Gemini's interface over HTTP.

use crate::support::{ok, read, world};
use serde_json::{Value, json};

fn schema(tier: &str) -> Value {
    let colour = json!({"type": "string", "enum": ["GREEN", "AMBER", "RED", "NULL"]});
    let dimension = json!({"type": "object", "properties": {"verdict": colour, "analysis": {"type": "string"}}});
    let mut properties = json!({"verdict": colour, "summary": {"type": "string"}});
    if tier != "quick" {
        properties["breakdown"] = json!({"type": "object", "properties": {
            "Stability": dimension, "Turbulence": dimension, "Change Rate": dimension,
            "Completion": dimension, "Curvature": dimension}});
    }
    if tier == "strategy" {
        properties["strategy"] = json!({"type": "object"});
    }
    json!({"type": "object", "properties": properties})
}

fn request(tier: &str, question: &str) -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "Be direct. Be honest."}]},
        "contents": [{"role": "user", "parts": [{"text": question}]}],
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema(tier),
                             "maxOutputTokens": 4096, "temperature": 0, "topP": 1, "topK": 1, "candidateCount": 1,
                             "thinkingConfig": {"thinkingBudget": 0}},
    })
}

fn verdict(reply: &Value) -> Value {
    let candidate = &reply["candidates"][0];
    assert_eq!(candidate["finishReason"], "STOP", "{reply}");
    serde_json::from_str(candidate["content"]["parts"][0]["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn each_tier_gets_its_schema() {
    let world = world().await;
    let question = "Should we move our bakery into a larger shop next year?";
    for (tier, fields) in [("quick", 2), ("full", 3), ("strategy", 4)] {
        let reply = ok(read(world.gemini(&request(tier, question)))).await;
        assert_eq!(reply["modelVersion"], "gemini-2.5-flash");
        assert!(!reply["responseId"].as_str().unwrap().is_empty());
        let usage = &reply["usageMetadata"];
        let total = usage["promptTokenCount"].as_u64().unwrap() + usage["candidatesTokenCount"].as_u64().unwrap();
        assert_eq!(usage["totalTokenCount"], total);
        let verdict = verdict(&reply);
        assert_eq!(verdict.as_object().unwrap().len(), fields, "{verdict}");
        let (_, again) = read(world.gemini(&request(tier, question))).await;
        assert_eq!(again["candidates"], reply["candidates"], "the same question, the same answer");
    }
}

#[tokio::test]
async fn a_question_without_substance_is_null() {
    let world = world().await;
    let (_, reply) = read(world.gemini(&request("strategy", "hi"))).await;
    let verdict = verdict(&reply);
    assert_eq!(verdict["verdict"], "NULL");
    assert_eq!(verdict["breakdown"]["Stability"]["verdict"], "NULL");
    assert!(verdict["summary"].as_str().unwrap().len() > 40);
}

#[tokio::test]
async fn the_key_is_required_in_its_header() {
    let world = world().await;
    let url = world.url("/gemini/v1beta/models/gemini-2.5-flash:generateContent");
    let body = request("quick", "Should I open a bakery?");
    let (status, reply) = read(world.client.post(&url).json(&body)).await;
    assert_eq!((status, &reply["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    let in_address = format!("{url}?key=sandbox-gemini-key");
    assert_eq!(read(world.client.post(in_address).json(&body)).await.0, 403);
    let wrong = world.client.post(&url).header("x-goog-api-key", "wrong").json(&body);
    let (status, reply) = read(wrong).await;
    assert_eq!(status, 400);
    assert_eq!(reply["error"]["details"][0]["reason"], "API_KEY_INVALID");
}

#[tokio::test]
async fn what_the_vendor_refuses_is_refused() {
    let world = world().await;
    let change = |pointer: &str, value: Value| {
        let mut body = request("quick", "Should I open a bakery?");
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        if value.is_null() {
            parent.remove(name);
        } else {
            parent.insert(name.to_owned(), value);
        }
        body
    };
    for (pointer, value) in [
        ("/contents", Value::Null),
        ("/contents", json!([])),
        ("/contents", json!([{"role": "user", "parts": []}])),
        ("/contents", json!([{"role": "user", "parts": [{}]}])),
        ("/contents", json!([{"role": "system", "parts": [{"text": "x"}]}])),
        ("/colour", json!("red")),
        ("/generationConfig/colour", json!("red")),
        ("/generationConfig/temperature", json!(3)),
        ("/generationConfig/topK", json!(0)),
        ("/generationConfig/maxOutputTokens", json!(0)),
        ("/generationConfig/responseMimeType", Value::Null),
        ("/generationConfig/thinkingConfig", json!({"thinkingLevel": "LOW"})),
        ("/generationConfig/thinkingConfig", json!({"thinkingBudget": 99_999})),
    ] {
        let (status, reply) = read(world.gemini(&change(pointer, value.clone()))).await;
        assert_eq!(status, 400, "{pointer} {value}: {reply}");
        assert_eq!(reply["error"]["code"], 400);
        assert_eq!(reply["error"]["status"], "INVALID_ARGUMENT");
    }
    let not_json = world.gemini(&json!({})).header("Content-Type", "application/json").body("{");
    assert_eq!(read(not_json).await.0, 400);
    let body = request("quick", "Should I open a bakery?");
    let (status, reply) = read(world.model("gemini-1.0-pro", &body)).await;
    assert_eq!((status, &reply["error"]["status"]), (404, &json!("NOT_FOUND")));
}

#[tokio::test]
async fn newer_models_take_a_thinking_level_and_no_sampling() {
    let world = world().await;
    let mut plain = request("quick", "Should I open a bakery?");
    let config = plain["generationConfig"].as_object_mut().unwrap();
    config.insert("thinkingConfig".to_owned(), json!({"thinkingLevel": "LOW"}));
    let sampling = ["temperature", "topP", "topK", "candidateCount"];
    let values = sampling.map(|field| config.remove(field).unwrap());
    let reply = ok(read(world.model("gemini-3.5-flash", &plain))).await;
    assert!(reply["usageMetadata"]["thoughtsTokenCount"].as_u64().unwrap() > 0);
    for (field, value) in sampling.into_iter().zip(values) {
        let mut body = plain.clone();
        body["generationConfig"][field] = value;
        let (status, reply) = read(world.model("gemini-3.5-flash", &body)).await;
        assert_eq!(status, 400, "{field}: {reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(field), "{message}");
    }
}

#[tokio::test]
async fn a_small_cap_cuts_the_answer() {
    let world = world().await;
    let mut body = request("full", "Should we move our bakery into a larger shop?");
    body["generationConfig"]["maxOutputTokens"] = json!(50);
    let reply = ok(read(world.gemini(&body))).await;
    let candidate = &reply["candidates"][0];
    assert_eq!(candidate["finishReason"], "MAX_TOKENS");
    let text = candidate["content"]["parts"][0]["text"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
    // Thinking tokens count against the limit too.
    body["generationConfig"]["thinkingConfig"] = json!({"thinkingBudget": 1000, "includeThoughts": true});
    let (_, reply) = read(world.gemini(&body)).await;
    assert_eq!(reply["usageMetadata"]["thoughtsTokenCount"], 50);
    assert_eq!(reply["candidates"][0]["content"]["parts"], Value::Null, "nothing is left for the answer");
}

#[tokio::test]
async fn the_models_reply_can_be_planned() {
    let world = world().await;
    let body = request("quick", "Should I open a bakery?");
    let planned = json!([
        {"verdict": {"verdict": "RED", "summary": "No."}},
        {"text": "not JSON"},
        {"finish_reason": "SAFETY"},
        {"block_reason": "SAFETY"},
        {"model_version": "gemini-3.5-flash-lite", "model_status": {"modelStage": "RETIRED"}},
    ]);
    world.fault("gemini", planned).await;
    let (_, reply) = read(world.gemini(&body)).await;
    assert_eq!(verdict(&reply), json!({"verdict": "RED", "summary": "No."}));
    let reply = ok(read(world.gemini(&body))).await;
    assert_eq!(reply["candidates"][0]["content"]["parts"][0]["text"], "not JSON");
    let (_, reply) = read(world.gemini(&body)).await;
    assert_eq!(reply["candidates"][0]["finishReason"], "SAFETY");
    assert_eq!(reply["candidates"][0]["content"]["parts"], Value::Null);
    let (_, reply) = read(world.gemini(&body)).await;
    assert_eq!(reply["promptFeedback"]["blockReason"], "SAFETY");
    assert_eq!(reply["candidates"], Value::Null);
    let (_, reply) = read(world.gemini(&body)).await;
    assert_eq!(reply["modelVersion"], "gemini-3.5-flash-lite");
    assert_eq!(reply["modelStatus"]["modelStage"], "RETIRED");
    let (_, reply) = read(world.gemini(&body)).await;
    assert_eq!(reply["modelVersion"], "gemini-2.5-flash");
}

/// The request of the chat.
fn message(text: &str) -> Value {
    let content = json!({"memory": {}, "message": text}).to_string();
    json!({
        "contents": [{"role": "user", "parts": [{"text": content}]}],
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {
            "type": "object", "properties": {"reply": {"type": "string"}}, "required": ["reply"]}},
    })
}

fn events(body: &str) -> Vec<Value> {
    body.split("\r\n\r\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn said(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["candidates"][0]["content"]["parts"][0]["text"].as_str()).collect()
}

#[tokio::test]
async fn a_stream_has_the_reply_of_one_call_sentence_by_sentence() {
    let world = world().await;
    let body = message("Should we open a second bakery in Halifax?");
    let (_, whole) = read(world.gemini(&body)).await;
    let whole = whole["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap().to_owned();
    let reply = world.stream("?alt=sse", &body).send().await.unwrap();
    assert_eq!(reply.headers()["content-type"], "text/event-stream");
    let streamed = events(&reply.text().await.unwrap());
    assert!(streamed.len() > 2, "{streamed:?}");
    assert_eq!(said(&streamed), whole);
    let finished: Vec<_> = streamed.iter().map(|event| &event["candidates"][0]["finishReason"]).collect();
    assert_eq!(finished.iter().filter(|reason| !reason.is_null()).count(), 1);
    assert_eq!(finished.last(), Some(&&json!("STOP")));
    let (_, array) = read(world.stream("", &body)).await;
    assert_eq!(said(array.as_array().unwrap()), whole);
    assert_eq!(read(world.stream("?alt=sse", &json!({}))).await.0, 400);
}

#[tokio::test]
async fn a_stream_is_held_cut_left_hanging_or_ended_by_an_error() {
    let world = world().await;
    let body = message("Should we open a second bakery in Halifax?");
    let begin = async |fault: Value| {
        world.fault("gemini", json!([{"stream": fault}])).await;
        world.stream("?alt=sse", &body).send().await.unwrap()
    };
    let mut held = begin(json!({"hold_after": 1})).await;
    let first = String::from_utf8(held.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    assert_eq!(events(&first).len(), 1);
    assert_eq!(world.control("release", json!({})).await.0, 200);
    assert!(said(&events(&held.text().await.unwrap())).ends_with("\"}"));

    let cut = begin(json!({"break_after": 1})).await;
    assert!(cut.text().await.is_err());
    let all = events(&begin(json!({})).await.text().await.unwrap()).len();
    for count in [1, all] {
        let failed = begin(json!({"error_after": count})).await.text().await.unwrap();
        let (begun, error) = failed.rsplit_once("\r\n\r\n").unwrap();
        let error: Value = serde_json::from_str(error).unwrap();
        assert_eq!((events(begun).len(), &error["error"]["code"]), (count, &json!(503)), "the error is no event");
    }
    let mut hung = begin(json!({"hang_after": 1})).await;
    assert!(hung.chunk().await.unwrap().is_some());
    assert_eq!(world.control("reset", json!({})).await.0, 200);
    assert!(hung.chunk().await.is_err(), "a reset cuts it");
}
