//! `demo`: buys one verdict like a customer and shows each step.

use crate::{error::Error, http::Caller, local_dir::LocalDir};
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

/// How long to wait for the verdict and then for the mail; with real vendors, a person enters the payment.
const LIMIT: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(100);

/// What is for sale.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Tier {
    /// $1 CAD
    Quick,
    /// $5 CAD
    Full,
    /// $25 CAD
    Strategy,
}

impl Tier {
    fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
            Self::Strategy => "strategy",
        }
    }
}

/// Prints events with the seconds since the start, unless only JSON is requested.
struct Timeline {
    begin: Instant,
    quiet: bool,
}

impl Timeline {
    fn say(&self, what: &str) {
        if !self.quiet {
            println!("{:7.2} s  {what}", self.begin.elapsed().as_secs_f64());
        }
    }
}

/// Buys, waits and prints.
pub(crate) fn demo(dir: &LocalDir, question: &str, tier: Tier, email: &str, as_json: bool) -> Result<ExitCode, Error> {
    let stack = dir.stack()?;
    let caller = Caller::new()?;
    let is_real = |vendor: &str| stack.real_vendors.iter().any(|name| name == vendor);
    let timeline = Timeline { begin: Instant::now(), quiet: as_json };

    let order = json!({"tier": tier.as_str(), "query": question});
    let checkout = expect_ok(&caller, &format!("{}/api/checkout", stack.site), &order)?;
    let session = checkout["session_id"].as_str().unwrap_or_default().to_owned();
    timeline.say(&format!("checkout opened: {session}"));

    if is_real("stripe") {
        timeline.say(&format!("pay here: {}", checkout["url"].as_str().unwrap_or_default()));
    } else {
        let payment = json!({"session_id": session, "email": email});
        expect_ok(&caller, &format!("{}/control/stripe/pay", stack.sandbox), &payment)?;
        timeline.say(&format!("paid as {email}; Stripe delivered its webhook"));
    }

    let verdict = await_verdict(&caller, &timeline, &format!("{}/api/verdict?session_id={session}", stack.site))?;
    let page = format!("{}/oracle/result?session_id={session}", stack.site);
    timeline.say(&format!("the verdict is on the page: {page}"));

    let mail = if is_real("graph") || verdict["status"] == "in_review" {
        Value::Null
    } else {
        await_mail(&caller, &format!("{}/control/mails", stack.sandbox), &session)?
    };
    if !mail.is_null() {
        timeline.say("the mail was accepted");
    }

    if as_json {
        println!("{}", json!({"session_id": session, "page": page, "verdict": verdict, "mail": mail}));
    } else {
        println!("\n{:#}", verdict.get("verdict").unwrap_or(&verdict));
        for (name, value) in [("To", text(&mail["to"])), ("Subject", text(&mail["subject"])), ("", text(&mail["body"]))]
        {
            match (name, value.as_str()) {
                (_, "") => {}
                ("", body) => println!("\n{body}"),
                (name, value) => println!("{name}: {value}"),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Buys for USDC over HTTP 402: asks for the price, has the sandbox's wallet sign it, asks again.
pub(crate) fn toll(dir: &LocalDir, question: &str, tier: Tier, as_json: bool) -> Result<ExitCode, Error> {
    let stack = dir.stack()?;
    let caller = Caller::new()?;
    let timeline = Timeline { begin: Instant::now(), quiet: as_json };
    let path = match tier {
        Tier::Quick => "/query",
        Tier::Full => "/query/full",
        Tier::Strategy => "/query/premium",
    };
    let (url, body) = (format!("{}{path}", stack.site), json!({ "query": question }));
    let failed = |status: StatusCode, reply: &Value| Error::Call {
        call: format!("POST {url}"),
        why: format!("{status} {reply}"),
    };

    let (status, reply, required) = caller.post_with(&url, &body, None, "payment-required")?;
    let required = required.filter(|_| status == StatusCode::PAYMENT_REQUIRED);
    let required = required.ok_or_else(|| failed(status, &reply))?;
    let price = &reply["accepts"][0];
    timeline.say(&format!(
        "402: {} millionths of a dollar on {} to {}",
        text(&price["maxAmountRequired"]),
        text(&price["network"]),
        text(&price["payTo"])
    ));

    let signed = expect_ok(&caller, &format!("{}/control/chain/pay", stack.sandbox), &json!({ "required": required }))?;
    let payment = text(&signed["payment_signature"]);
    timeline.say("the sandbox's wallet has signed the payment");

    let (status, reply, receipt) =
        caller.post_with(&url, &body, Some(("PAYMENT-SIGNATURE", &payment)), "payment-response")?;
    if status != StatusCode::OK {
        return Err(failed(status, &reply));
    }
    timeline.say(&format!("200 with its receipt: {}", receipt.unwrap_or_default()));
    let (_, chain) = caller.get(&format!("{}/control/chain", stack.sandbox))?;
    let settlement = chain["settlements"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    timeline.say(&format!("the chain has its transfer: {}", text(&settlement["transaction"])));

    if as_json {
        println!("{}", json!({ "endpoint": path, "answer": reply, "settlement": settlement }));
    } else {
        println!("\n{reply:#}");
    }
    Ok(ExitCode::SUCCESS)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}

fn expect_ok(caller: &Caller, url: &str, body: &Value) -> Result<Value, Error> {
    let (status, reply) = caller.post(url, body)?;
    if status.is_success() {
        return Ok(reply);
    }
    Err(Error::Call { call: format!("POST {url}"), why: format!("{status} {reply}") })
}

/// Polls like the result page: continues while the verdict is pending, and ends with any final reply.
fn await_verdict(caller: &Caller, timeline: &Timeline, url: &str) -> Result<Value, Error> {
    let mut last = String::new();
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        let (status, reply) = caller.get(url)?;
        if status == StatusCode::OK || reply["status"] == "in_review" {
            return Ok(reply);
        }
        // The page gets "unpaid" and "unknown" until the customer has paid and the webhook has arrived.
        let waiting = [
            StatusCode::ACCEPTED,
            StatusCode::PAYMENT_REQUIRED,
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        if !waiting.contains(&status) {
            return Err(Error::Call { call: format!("GET {url}"), why: format!("{status} {reply}") });
        }
        let seen = format!(
            "waiting: {} {}",
            status.as_u16(),
            reply["status"].as_str().or(reply["error"].as_str()).unwrap_or("")
        );
        if seen != last {
            timeline.say(&seen);
            last = seen;
        }
        thread::sleep(POLL);
    }
    Err(Error::Call { call: format!("GET {url}"), why: format!("no verdict within {} s", LIMIT.as_secs()) })
}

/// Waits for the mail with the session's result link.
fn await_mail(caller: &Caller, url: &str, session: &str) -> Result<Value, Error> {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        let (_, mails) = caller.get(url)?;
        let found = mails.as_array().into_iter().flatten().find(|mail| mail.to_string().contains(session));
        if let Some(mail) = found {
            return Ok(mail.clone());
        }
        thread::sleep(POLL);
    }
    Err(Error::Call { call: format!("GET {url}"), why: format!("no mail within {} s", LIMIT.as_secs()) })
}
