//! The customer's memory: what the model sees of it, what the page shows, and its erasure.

use super::*;

#[test]
fn the_model_sees_what_was_said_before_and_nobody_elses() {
    let (world, cookie) = customer();
    let stranger = signed_in(&world, "other@example.com");
    ask(&world, 1, "We think of a second bakery in Halifax.", &cookie);
    ask(&world, 2, "Our team wants to move to Montreal.", &stranger);
    ask(&world, 3, "What should we look at first?", &cookie);
    let state = world.state();
    let (_, prompt) = state.prompts.last().unwrap();
    assert!(prompt.content.contains("Halifax") && prompt.content.contains("reply 1"), "{}", prompt.content);
    assert!(!prompt.content.contains("Montreal") && !prompt.instruction.contains("Halifax"));
}

/// A question about the last reply shares no word with it. The latest exchanges come first in a long conversation too, and
/// then those that share words with the message.
#[test]
fn the_model_sees_the_exchange_that_a_message_is_about() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    let details = "The first shop earns twice the rent, and my sister wants to run the second one. ".repeat(4);
    let details = details.trim_end();
    let place = |n: u64| if n == 7 { "Peggys Cove".to_owned() } else { format!("street {n:02}") };
    for n in 1..=60 {
        let text = format!("Should we open a shop at {}? {details}", place(n));
        assert_eq!(ask(&world, n, &text, &cookie).status(), 200, "{n}");
        world.advance(Duration::from_secs(120));
    }
    let shown = |n: u64, text: &str| -> Vec<String> {
        let reply = ask(&world, n, text, &cookie);
        assert_eq!(reply.status(), 200, "{text}: {}", reply.body());
        let content: serde_json::Value =
            serde_json::from_str(&world.state().prompts.last().unwrap().1.content).unwrap();
        let facts = content["memory"]["slices"]["facts_slice"].as_array().unwrap().clone();
        facts.iter().map(|fact| fact["payload"]["asked"].as_str().unwrap().replace(details, "")).collect()
    };
    let about = |n: u64| format!("Should we open a shop at {}? ", place(n));
    let asked = shown(61, "How so?");
    assert_eq!(asked[..3], [about(60), about(59), about(58)]);
    assert!(asked.len() < 40, "the budget cuts the rest: {}", asked.len());
    let asked = shown(62, "What about Peggys Cove?");
    assert_eq!(asked[..3], ["How so?".to_owned(), about(60), about(7)]);
}

/// Replaces the world's only memory by that of an earlier release: the same events, other prompts.
fn earlier_release(world: &testkit::World) -> memory::EventLog {
    let mut state = world.state();
    let name = state.memory_logs.keys().next().unwrap().clone();
    let seal = aws::SubjectSeal::new(&state.memory_keys[&name], &name).unwrap();
    let campaign = memory::Handle::parse(name.as_str()).unwrap();
    let records = state.memory_logs[&name].iter().map(|record| memory::log::Record {
        seq: record.seq,
        prev: memory::Digest::from_bytes(record.prev),
        hash: memory::Digest::from_bytes(record.hash),
        body: record.body.clone(),
    });
    let log = memory::EventLog::boot(campaign.clone(), records.collect(), &seal).unwrap();
    let mut earlier = memory::EventLog::new(campaign);
    for mut event in log.events(&seal) {
        if let memory::Payload::WorldCommitted(world) = &mut event.payload {
            let templates = world.pins.0.get_mut(&memory::PinKind::PromptTemplates).unwrap();
            templates.values_mut().for_each(|version| *version = memory::Handle::parse("sha256:earlier").unwrap());
        }
        earlier.append(event, &seal).unwrap();
    }
    let stored = earlier.records().iter().map(|record| domain::ports::MemoryRecord {
        seq: record.seq,
        prev: *record.prev.as_bytes(),
        hash: *record.hash.as_bytes(),
        body: record.body.clone(),
    });
    state.memory_logs.insert(name, stored.collect());
    earlier
}

/// The working set shows the pins of the running system, which the log records, so that a rebuild asserts them.
#[test]
fn a_memory_begins_with_its_pins_and_a_release_that_changes_them_is_recorded() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    ask(&world, 1, QUESTION, &cookie);
    let exported = |world: &testkit::World| {
        let export = get(world, "/api/chat/memory", &cookie);
        memory::export::import(export.body().as_bytes()).unwrap()
    };
    let ids = |log: &memory::EventLog| -> Vec<&'static str> {
        log.events(&memory::log::Unsealed).iter().map(|event| event.payload.id().as_str()).collect()
    };
    let log = exported(&world);
    assert_eq!(ids(&log), ["EV-ORC-002", "EV-030", "EV-ORC-004"]);
    let pins = log.state().pins().clone();
    let shown: Vec<serde_json::Value> = {
        let state = world.state();
        let content = |prompt: &domain::ports::Prompt| serde_json::from_str(&prompt.content).unwrap();
        state.prompts.iter().map(|(_, prompt)| content(prompt)).collect()
    };
    let version = format!("sha256:{}", prompt::chat_version());
    assert_eq!(shown[0]["memory"]["pins"]["prompt_templates"]["chat"], version);
    assert_eq!((&shown[0]["memory"]["mode"], &shown[0]["memory"]["world_id"]), (&json!("COMPANION"), &json!("chat")));

    // The log of an earlier release: the same events with another version of the prompts.
    let earlier = earlier_release(&world);
    assert_ne!(*earlier.state().pins(), pins);
    for n in 2..4 {
        assert_eq!(ask(&world, n, QUESTION, &cookie).status(), 200);
    }
    let log = exported(&world);
    let expected = ["EV-ORC-002", "EV-030", "EV-ORC-004", "EV-ORC-001", "EV-ORC-003", "EV-ORC-004", "EV-ORC-004"];
    assert_eq!((ids(&log), log.state().pins()), (expected.to_vec(), &pins));
}

/// A page shows the end of a long conversation; the whole of it is in the export.
#[test]
fn the_newest_exchanges_are_read_alone() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    for number in 1..=3 {
        assert_eq!(ask(&world, number, &format!("And what about shop number {number}?"), &cookie).status(), 200);
    }
    let newest = |query: &str| {
        let request = Request::get("/api/chat/memory").with_query("newest", query).with_header("cookie", &cookie);
        send(&world, request).unwrap()
    };
    let asked = |query: &str| -> (Vec<String>, bool) {
        let memory = body(&newest(query));
        let events = memory["events"].as_array().unwrap();
        let text = |event: &serde_json::Value| event["payload"]["payload"]["asked"].as_str().unwrap().to_owned();
        (events.iter().map(text).collect(), memory["earlier"] == true)
    };
    let shop = |number: usize| format!("And what about shop number {number}?");
    assert_eq!(asked("2"), (vec![shop(2), shop(3)], true));
    assert_eq!(asked("3"), (vec![shop(1), shop(2), shop(3)], false));
    let whole = body(&get(&world, "/api/chat/memory", &cookie));
    assert_eq!(whole["events"].as_array().unwrap().last(), body(&newest("1"))["events"].as_array().unwrap().last());
    for wrong in ["0", "501", "-1", "x", ""] {
        assert_eq!(newest(wrong).status(), 400, "{wrong:?}");
    }
}

/// Appends facts of a million bytes to the world's only memory.
fn lengthen(world: &testkit::World, facts: usize) {
    let name = world.state().memory_logs.keys().next().unwrap().clone();
    let seal = aws::SubjectSeal::new(&world.state().memory_keys[&name], &name).unwrap();
    let handle = |text: &str| memory::Handle::parse(text).unwrap();
    let mut log = run(memory::store::load(world, &name, &handle(&name), &seal)).unwrap().unwrap();
    for n in 0..facts {
        let payload = lens::canonical::value_of(&json!({ "asked": "a".repeat(1_000_000), "replies": [] })).unwrap();
        let (source, kind, key) = (handle("chat"), handle("EXCHANGE"), handle(&format!("long-{n}")));
        let fact = memory::event::FactCommitted::unlocked(source, kind, key, lens::Mode::Companion, payload);
        let event = memory::Event { at: 1, campaign_id: handle(&name), key: None, payload: fact.into() };
        run(memory::store::append(world, &name, &mut log, event, &seal)).unwrap().unwrap();
    }
}

/// Each exchange reads the whole memory, so operators learn of a large one while it can still be read in time.
#[test]
fn a_large_memory_is_counted_while_it_still_answers() {
    let (world, cookie) = customer();
    ask(&world, 1, QUESTION, &cookie);
    let counted = || {
        let request = Request::get("/api/chat/memory").with_query("newest", "1").with_header("cookie", &cookie);
        assert_eq!(send(&world, request).unwrap().status(), 200);
        world.state().measurements.iter().filter(|it| **it == Metric::ChatMemoryLarge.once()).count()
    };
    assert_eq!(counted(), 0);
    lengthen(&world, 8);
    assert_eq!(counted(), 1);
}

#[test]
fn the_memory_is_shown_and_erased_and_three_stay_three() {
    let (world, cookie) = customer();
    ask(&world, 1, QUESTION, &cookie);
    ask(&world, 2, "And what should we look at first?", &cookie);
    let export = get(&world, "/api/chat/memory", &cookie);
    assert_eq!(export.status(), 200);
    let log = memory::export::import(export.body().as_bytes()).unwrap();
    assert_eq!(log.state().facts().len(), 2);
    assert!(export.body().contains("Halifax"));

    assert_eq!(erasing(&world, &cookie), 202);
    assert!(world.state().memory_keys.is_empty(), "the key is destroyed");
    let after = get(&world, "/api/chat/memory", &cookie);
    assert!(!after.body().contains("Halifax"));
    assert_eq!(ask(&world, 1, QUESTION, &cookie).status(), 410, "erased, and not answered anew");
    assert_eq!(body(&get(&world, "/api/chat/me", &cookie))["free_left"], 1);
    assert_eq!(ask(&world, 3, "What should we look at now?", &cookie).status(), 200);
    let state = world.state();
    assert!(!state.prompts.last().unwrap().1.content.contains("Halifax"));
    drop(state);
    assert_eq!(ask(&world, 4, QUESTION, &cookie).status(), 402);
    assert_eq!(erasing(&world, &cookie), 202);
    let statuses: Vec<_> = records(&world).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses.iter().filter(|status| *status == "ERASED").count(), 4, "{statuses:?}");
}

fn erasing(world: &testkit::World, cookie: &str) -> u16 {
    erase(world, cookie).unwrap().status()
}

/// Records, and what is left of a key, stay for years. Anybody who is signed in can ask for erasures at no cost.
#[test]
fn an_erasure_of_nothing_writes_nothing() {
    let (world, cookie) = customer();
    assert_eq!(get(&world, "/api/chat/memory", &cookie).status(), 200, "it makes a key");
    for _ in 0..30 {
        assert_eq!(erasing(&world, &cookie), 202);
    }
    let state = world.state();
    assert!(state.accounts.is_empty() && state.bridges.is_empty() && state.log.is_empty());
    assert!(state.memory_logs.is_empty() && state.memory_keys_destroyed.is_empty());
    drop(state);
    // After an erasure there is nothing again.
    assert_eq!(ask(&world, 1, QUESTION, &cookie).status(), 200);
    for _ in 0..3 {
        assert_eq!(erasing(&world, &cookie), 202);
    }
    let erased = records(&world).into_iter().filter(|(status, _)| status == "ERASED").count();
    assert_eq!((erased, world.state().memory_logs.len()), (2, 1));
}

#[test]
fn a_memory_is_erased_at_most_twenty_times_a_day() {
    let (world, cookie) = subscribed(PaidPlan::Chat);
    for n in 1..=20 {
        assert_eq!((ask(&world, n, QUESTION, &cookie).status(), erasing(&world, &cookie)), (200, 202), "{n}");
    }
    assert_eq!(erasing(&world, &cookie), 202, "of nothing");
    assert_eq!((ask(&world, 21, QUESTION, &cookie).status(), erasing(&world, &cookie)), (200, 429));
    assert!(get(&world, "/api/chat/memory", &cookie).body().contains("Halifax"));
    world.advance(Duration::from_secs(86_400));
    assert_eq!(erasing(&world, &cookie), 202);
    assert!(!get(&world, "/api/chat/memory", &cookie).body().contains("Halifax"));
}
