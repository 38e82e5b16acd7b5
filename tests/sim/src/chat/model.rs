//! The model of a world of the chat.

use domain::{
    Timestamp,
    ports::{ModelError, ModelReply},
};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Random, World};

/// The text of blocked replies. Their first sentence alone passes.
const BLOCKED: &str = "Count the rent first. The CSDM says so. Then ask.";

/// How long the model takes for a sentence.
const SENTENCE_TIME: Duration = Duration::from_millis(350);

/// A world whose model gives a different reply to each request, and sometimes an unusable one.
pub(super) fn world(random: &mut Random) -> World {
    let world = World::at(Timestamp::from_seconds(1_800_000_000));
    let mut draw = Random::new(random.next(), 12);
    let (mut asked, unusable) = (0_u64, if random.chance(300) { 250 } else { 60 });
    let mut state = world.state();
    state.random = Random::seeded(random.next());
    state.sentence_time = SENTENCE_TIME;
    state.model = Some(Box::new(move |_, prompt| {
        asked += 1;
        if draw.chance(unusable) {
            return match draw.below(3) {
                0 => Err(ModelError::Unavailable(503)),
                1 => Ok(said(BLOCKED)),
                _ => Ok(said("")),
            };
        }
        let message: Value = serde_json::from_str(&prompt.content).unwrap_or_default();
        let mut words = message["message"].as_str().unwrap_or_default().split(['?', ' ']);
        let street = words.find(|word| word.starts_with("Qx")).unwrap_or("this street");
        Ok(said(&format!("Walk through {street}. Count what the first shop earns. Then look, says reply {asked}.")))
    }));
    drop(state);
    world
}

fn said(text: &str) -> ModelReply {
    let text = json!({ "reply": text }).to_string();
    ModelReply { text, model_version: "m-1".to_owned(), status_warning: None }
}
