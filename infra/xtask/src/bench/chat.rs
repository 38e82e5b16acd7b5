//! How much later than the model's own stream the page can read the first sentence of a reply, on a separate stack. The
//! model's stream is held before its first sentence; the time runs from its release.

use super::{Bench, median, on_stack, report};
use crate::{
    error::Error,
    http::{Caller, chain, client},
    local_dir::StackFile,
};
use axum::{body::Body, http::Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Each customer has three free exchanges.
const CUSTOMERS: u32 = 7;
const EXCHANGES: u32 = 3;

/// The page's pauses before its first look and between the following ones (functions/result/pages/chat.js).
const FIRST_LOOK: Duration = Duration::from_millis(400);
const LOOK: Duration = Duration::from_millis(200);

/// How much later than from the model the first sentence may be read.
const MOST_LATER_MS: f64 = 300.0;

/// How long anything may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);

pub(super) fn chat(bench: &Bench) -> Result<(), Error> {
    on_stack(bench, &[], || measure(&bench.dir.stack()?))
}

fn measure(stack: &StackFile) -> Result<(), Error> {
    let caller = Caller::new()?;
    let (mut page, mut direct) = (Vec::new(), Vec::new());
    for customer in 0..CUSTOMERS {
        let cookie = sign_in(&caller, stack, customer)?;
        for exchange in 0..EXCHANGES {
            let number = customer * EXCHANGES + exchange;
            page.push(released(&caller, stack, number, || on_the_page(stack, &cookie, number))?);
            direct.push(released(&caller, stack, number, || from_the_model(stack))?);
        }
    }
    let worst = page.iter().copied().fold(f64::NAN, f64::max);
    let (page, direct) = (median(&mut page), median(&mut direct));
    report(&json!({ "name": "chat/first-sentence", "value": page, "unit": "ms", "direct": direct,
        "later": page - direct, "slowdown": page / direct, "worst": worst, "target_later": MOST_LATER_MS,
        "exchanges": CUSTOMERS * EXCHANGES }));
    Ok(())
}

fn sign_in(caller: &Caller, stack: &StackFile, customer: u32) -> Result<String, Error> {
    let address = format!("bench-{customer}@customers.example.com");
    let cookie = |header: Option<String>| header.unwrap_or_default().split(';').next().unwrap_or_default().to_owned();
    let login = format!("{}/api/chat/login", stack.site);
    let (_, _, link) = caller.post_with(&login, &json!({ "email": address }), None, "set-cookie")?;
    let (_, mails) = caller.get(&format!("{}/control/mails", stack.sandbox))?;
    let own = |mail: &&Value| mail["to"].to_string().contains(&address);
    let mail = mails.as_array().and_then(|mails| mails.iter().rev().find(own));
    let body = mail.and_then(|mail| mail["body"].as_str()).unwrap_or_default();
    let token = body.split("/chat?token=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    let session = format!("{}/api/chat/session", stack.site);
    let sent = cookie(link);
    let (status, _, held) =
        caller.post_with(&session, &json!({ "token": token }), Some(("cookie", sent.as_str())), "set-cookie")?;
    if status != 200 {
        return Err(Error::Refused(format!("{address} could not sign in: {status}")));
    }
    Ok(cookie(held))
}

/// The milliseconds from the release of the model's stream until `read` has its first sentence.
fn released(
    caller: &Caller,
    stack: &StackFile,
    number: u32,
    read: impl FnOnce() -> Result<Instant, Error> + Send,
) -> Result<f64, Error> {
    let control = |path: &str, body: Value| caller.post(&format!("{}/control/{path}", stack.sandbox), &body);
    let streams = || -> Result<usize, Error> {
        let (_, calls) = caller.get(&format!("{}/control/calls?target=gemini", stack.sandbox))?;
        Ok(calls.as_array().map_or(0, Vec::len))
    };
    let before = streams()?;
    let pace = json!({ "hold_after": 0, "delay_ms": 700 });
    control("faults", json!({ "target": "gemini", "replies": [{ "stream": pace }] }))?;
    thread::scope(|scope| {
        let reading = scope.spawn(read);
        let begin = Instant::now();
        while streams()? == before {
            if begin.elapsed() > TIME_LIMIT {
                return Err(Error::Refused("the model was not asked".to_owned()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        // The releases are spread over the time between two looks of the page.
        thread::sleep(FIRST_LOOK + LOOK * (number * 7 % 10) / 10);
        let release = Instant::now();
        control("release", json!({}))?;
        let read = reading.join().map_err(|_| Error::Refused("a reader of the stream panicked".to_owned()))??;
        Ok(read.saturating_duration_since(release).as_secs_f64() * 1000.0)
    })
}

/// Sends a message and looks at its exchange, as the page does, until its first sentence is there.
fn on_the_page(stack: &StackFile, cookie: &str, number: u32) -> Result<Instant, Error> {
    let id = format!("00000000-0000-4000-8000-{number:012}");
    let message = json!({ "id": id, "text": format!("Should we open bakery number {number} in Halifax?") });
    thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let exchanges = format!("{}/api/chat/exchanges", stack.site);
            Caller::new()?.post_with(&exchanges, &message, Some(("cookie", cookie)), "")
        });
        let caller = Caller::new()?;
        let look = format!("{}/api/chat/exchanges/{id}", stack.site);
        let begin = Instant::now();
        thread::sleep(FIRST_LOOK);
        let first = loop {
            let (_, answer) = caller.get_with(&look, ("cookie", cookie))?;
            if answer["replies"][0]["text"].is_string() {
                break Instant::now();
            }
            if begin.elapsed() > TIME_LIMIT {
                return Err(Error::Refused(format!("no sentence of the reply was readable: {answer}")));
            }
            thread::sleep(LOOK);
        };
        let (status, answer, _) =
            asking.join().map_err(|_| Error::Refused("the sender of a message panicked".to_owned()))??;
        if status != 200 || answer["apology"] == true {
            return Err(Error::Refused(format!("a message was answered {status}: {answer}")));
        }
        Ok(first)
    })
}

/// Asks the model without the chat, and reads the first event of its stream.
fn from_the_model(stack: &StackFile) -> Result<Instant, Error> {
    let url = format!("{}/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", stack.sandbox);
    let failed = |why: String| Error::Call { call: format!("POST {url}"), why };
    let content = json!({ "memory": {}, "message": "Should we open a second bakery in Halifax?" }).to_string();
    let schema = json!({ "type": "object", "properties": { "reply": { "type": "string" } }, "required": ["reply"] });
    let body = json!({
        "contents": [{ "role": "user", "parts": [{ "text": content }] }],
        "generationConfig": { "responseMimeType": "application/json", "responseJsonSchema": schema },
    });
    let request = Request::post(&url).header("content-type", "application/json");
    let request = request
        .header("x-goog-api-key", "sandbox-gemini-key")
        .body(Body::from(body.to_string()))
        .map_err(|error| failed(error.to_string()))?;
    let runtime = tokio::runtime::Runtime::new().map_err(Error::io("starting the benchmark"))?;
    runtime.block_on(async {
        let response = client().request(request).await.map_err(|error| failed(chain(&error)))?;
        let mut body = response.into_body();
        let frame = body.frame().await.ok_or_else(|| failed("the stream is empty".to_owned()))?;
        frame.map_err(|error| failed(chain(&error)))?;
        let first = Instant::now();
        while let Some(frame) = body.frame().await {
            frame.map_err(|error| failed(chain(&error)))?;
        }
        Ok(first)
    })
}
