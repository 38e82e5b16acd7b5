//! Locked details at the prompt (Memory Contract, ORC-PRECISION-LEAK): "locked precision tokens never appear exactly in
//! WorkingSet, Spark prompt, …".
#![allow(clippy::unwrap_used, reason = "tests")]

use domain::{
    Query,
    chat::{Message, Voice},
    ports::Prompt,
};
use memory::{EventLog, Handle, Payload, log::Unsealed, policy, precision::Locked, truncate::Budget, working_set};

const DETAIL: &str = "vault-code";

fn event(payload: &str, id: &str, key: &str) -> memory::Event {
    let line = format!(r#"{{"at":1,"campaign_id":"c","event":"{id}","key":"{key}","payload":{payload}}}"#);
    memory::Event::parse(line.as_bytes()).unwrap()
}

/// A log with a locked code, and with notes that give it away.
fn log() -> EventLog {
    let mut log = EventLog::new(Handle::parse("c").unwrap());
    let rest = r#""provenance":{"source":"w"},"visibility_mask":["PLAY"]"#;
    let code = format!(
        r#"{{"kind":"CLUE","payload":"It opens with 4471-ZX.","gist":"It opens with a code.","detail_handle":"{DETAIL}","precision_tokens":["4471-ZX"],"stable_key":"k",{rest}}}"#
    );
    log.append(event(&code, "EV-ORC-004", "code"), &Unsealed).unwrap();
    for (number, note) in ["forty-four seventy-one zx", "４４７１ＺＸ", "4 4 7 1 / Z X"].into_iter().enumerate() {
        let note = format!(
            r#"{{"kind":"NOTE","payload":"{note}","precision_tag":"UNLOCKED","stable_key":"n{number}",{rest}}}"#
        );
        log.append(event(&note, "EV-ORC-004", &format!("note-{number}")), &Unsealed).unwrap();
    }
    log
}

fn prompts(log: &EventLog) -> [Prompt; 2] {
    let request = working_set::Request {
        campaign_id: log.campaign_id(),
        scene_id: None,
        query: "What opens the vault?",
        budget: Budget::of_bytes(20_000),
    };
    let set = working_set::build(log.state(), &request, &policy::pins()).unwrap().set;
    let message = Message::parse("What opens the vault?").unwrap();
    let evaluation = authority::evaluate(message.as_str(), None);
    [
        prompt::build_chat_prompt(Voice::Aether, &set, &message, &evaluation, false),
        prompt::build_followup_prompt(&set, &Query::parse("What opens the vault?").unwrap(), &evaluation, false),
    ]
}

#[test]
fn no_prompt_holds_a_locked_token_before_it_is_unlocked() {
    let mut log = log();
    let locked = Locked::of(log.state(), None);
    for prompt in prompts(&log) {
        assert!(prompt.content.contains("It opens with a code."));
        let without_hashes = prompt.content.split("sha256:").map(|part| part.get(64..).unwrap_or(part));
        assert!(!locked.is_in(&without_hashes.collect::<String>()), "{}", prompt.content);
        assert!(!locked.is_in(&prompt.instruction));
    }
    let consent = format!(r#"{{"request_id":"r","content_handles":["{DETAIL}"],"requester_id":"p"}}"#);
    let applied = format!(r#"{{"request_id":"r","content_handles":["{DETAIL}"]}}"#);
    for (id, payload) in
        [("EV-010", consent.as_str()), ("EV-011", r#"{"request_id":"r","granter_id":"p"}"#), ("EV-013", &applied)]
    {
        let event = event(payload, id, id);
        assert!(!matches!(event.payload, Payload::FactCommitted(_)));
        log.append(event, &Unsealed).unwrap();
    }
    assert!(prompts(&log).iter().all(|prompt| prompt.content.contains("4471-ZX")));
}
