//! Formats Bridges for operators: as rows of a list, in full, and in the question before a reply.

use bridge::{Held, Row, ThreadMessage};
use domain::{
    Timestamp,
    chat::{Author, Bridge, ExchangeId, SubscriberId},
    customer_text,
};
use serde_json::{Value, json};

use crate::terminal::output::{self, minute, printable};

pub(crate) fn table(rows: &[Row], width: usize) -> String {
    let time = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), minute);
    let line = |row: &Row| output::Row {
        cells: vec![
            row.bridge.clone(),
            row.state.to_owned(),
            row.task.unwrap_or("-").to_owned(),
            format!("{}{}", time(&row.due), if row.overdue { " !" } else { "" }),
            time(&row.expires),
        ],
        below: String::new(),
    };
    output::table(&["BRIDGE", "STATE", "TASK", "DUE (UTC)", "EXPIRES (UTC)"], rows.iter().map(line), width)
}

fn message(it: &ThreadMessage) -> Value {
    let from = match &it.author {
        Author::Customer => "customer",
        Author::Operator(by) => by.as_str(),
    };
    json!({
        "id": it.id,
        "from": from,
        "at": it.at.to_iso(),
        "text": it.text,
        "mail_waits": it.is_unsent,
        "answers": it.answers,
    })
}

pub(crate) fn described(
    held: &Held,
    person: Option<&bridge::Person>,
    messages: &[ThreadMessage],
    now: Timestamp,
) -> Value {
    let it = &held.bridge.value;
    json!({
        "bridge": it.id().as_str(),
        "state": it.state(now).as_str(),
        "task": it.work(now).map(|work| work.task.as_str()),
        "due": it.work(now).map(|work| work.due.to_iso()),
        "accepted": it.acceptance().map(|it| json!({ "version": it.version(), "sha256": it.sha256(), "at": it.at().to_iso() })),
        "name": person.map(|it| it.name.as_str()),
        "email": person.map(|it| it.address.as_str()),
        "expires": it.expires().map(Timestamp::to_iso),
        "decision": it.decision().map(|(by, reason, at)| json!({ "by": by, "reason": reason, "at": at.to_iso() })),
        "messages": messages.iter().map(message).collect::<Vec<_>>(),
    })
}

fn of(value: &Value, name: &str) -> String {
    printable(value[name].as_str().unwrap_or("-"))
}

/// A message for people.
fn printed(message: &Value) -> String {
    let waits = if message["mail_waits"] == true { " (its mail is not sent)" } else { "" };
    let (from, at, id) = (of(message, "from"), of(message, "at"), of(message, "id"));
    let answers = message["answers"].as_str().map(|id| format!(", answers {}", printable(id))).unwrap_or_default();
    let mut text = format!("\n{from} at {at}, {id}{answers}{waits}\n");
    for line in customer_text::visible(message["text"].as_str().unwrap_or("-")).lines() {
        text.push_str(&format!("  {}\n", customer_text::defused_line(line, usize::MAX)));
    }
    text
}

/// The message that a reply answers, and the question before it is posted. The `unsent` reply answers its own,
/// whichever message the command has `named`. Without both it answers the last one.
pub(crate) fn reply_question<'m>(
    bridge: &'m Bridge,
    messages: &[ThreadMessage],
    unsent: Option<&'m ThreadMessage>,
    named: Option<&'m ExchangeId>,
) -> (Option<&'m ExchangeId>, String) {
    let digits = bridge.id().prefix();
    if let Some(reply) = unsent {
        let (id, at) = (reply.id.as_str(), reply.at.to_iso());
        let question = format!("The reply {id} was posted at {at}, and its mail is not sent. Mail it to {digits}?");
        return (reply.answers.as_ref(), question);
    }
    let to = named.or_else(|| bridge.last_question());
    (to, format!("{}Post this reply to {digits} and mail it?", answered(bridge, messages, to)))
}

// The questions name the Bridge that was found, because an operator may have typed its first digit only.

pub(crate) fn grant_question(who: &SubscriberId, expires: Timestamp) -> String {
    format!("Grant {} access to the Bridge until {}?", who.prefix(), expires.to_iso())
}

pub(crate) fn revoke_question(who: &SubscriberId) -> String {
    format!("End the access of {} to the Bridge?", who.prefix())
}

pub(crate) fn settle_question(who: &SubscriberId, is_sent: bool) -> String {
    let fate = if is_sent { "the member has the mail of this reply" } else { "the mail of this reply was not sent" };
    format!("Record for {} that {fate}?", who.prefix())
}

/// The messages that a reply answers, for people: those without a reply up to the message `to`, and this message.
/// Counts the newer ones.
fn answered(bridge: &Bridge, messages: &[ThreadMessage], to: Option<&ExchangeId>) -> String {
    let waits = |id: &ExchangeId| bridge.unanswered().any(|post| post.id() == id);
    let read = messages.iter().position(|it| Some(&it.id) == to).map_or(0, |index| index + 1);
    let (read, newer) = messages.split_at(read);
    let answered = read.iter().filter(|it| Some(&it.id) == to || waits(&it.id));
    let mut text: String = answered.map(|it| printed(&message(it))).collect();
    let left = newer.iter().filter(|it| waits(&it.id)).count();
    if left > 0 {
        text.push_str(&format!("\nnewer messages that still wait after this reply: {left}\n"));
    }
    text.push('\n');
    text
}

/// The Bridge for people. A member's name and messages can neither move the terminal's cursor nor be clicked.
pub(crate) fn text(shown: &Value) -> String {
    let name = customer_text::defused_line(shown["name"].as_str().unwrap_or("-"), usize::MAX);
    let accepted = &shown["accepted"];
    let mut text = format!(
        "{}\n{}, expires {}; task {}, due {}\n{} <{}> accepted version {} at {}\nsha256 {}\n",
        of(shown, "bridge"),
        of(shown, "state"),
        of(shown, "expires"),
        of(shown, "task"),
        of(shown, "due"),
        name,
        of(shown, "email"),
        accepted["version"],
        of(accepted, "at"),
        of(accepted, "sha256"),
    );
    if let Some(decision) = shown.get("decision").filter(|it| it.is_object()) {
        let line = format!("decided by {} at {}: {}\n", of(decision, "by"), of(decision, "at"), of(decision, "reason"));
        text.push_str(&line);
    }
    for message in shown["messages"].as_array().into_iter().flatten() {
        text.push_str(&printed(message));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        chat::{CURRENT_AGREEMENT, Message},
        operator::Operator,
        ports::{Clock, Versioned},
    };
    use runtime::System;
    use testkit::{World, run as poll};

    /// The Bridge of a subscriber who accepted the agreement.
    fn world() -> (World, SubscriberId) {
        let world = World::at(Timestamp::from_seconds(1_790_000_000));
        let who = SubscriberId::parse("3".repeat(64)).unwrap();
        let mut bridge = Bridge::new(who.clone());
        bridge.accept(&CURRENT_AGREEMENT, &format!("chat-{}-0", who.as_str()), "sealed", System.now()).unwrap();
        world.state().bridges.insert(who.clone(), (bridge, 1));
        (world, who)
    }

    #[test]
    fn the_list_names_state_task_and_due_time() {
        let (world, _) = world();
        let rows = poll(bridge::listed(&world, System.now())).unwrap().unwrap();
        let table = table(&rows, 120);
        for part in ["333333333333", "accepted", "decide", "BRIDGE"] {
            assert!(table.contains(part), "{part}: {table}");
        }
    }

    #[test]
    fn one_bridge_shows_who_accepted_which_bytes() {
        let (world, who) = world();
        let (bridge, version) = world.state().bridges.get(&who).unwrap().clone();
        let versioned = Versioned { value: bridge, version };
        let ports = bridge::Ports {
            journal: audit::BridgeJournal { store: &world, log: &world, alerts: &world, clock: &world },
            accounts: &world,
            keys: &world,
        };
        let held = poll(bridge::load(ports, &who)).unwrap().unwrap();
        assert_eq!(held.bridge.value, versioned.value);
        let person = bridge::Person { name: "Sam".to_owned(), address: "sam@example.com".to_owned() };
        let shown = text(&described(&held, Some(&person), &[], System.now()));
        assert!(shown.contains("Sam <sam@example.com> accepted version 2"), "{shown}");
        assert!(shown.contains(CURRENT_AGREEMENT.sha256), "{shown}");
    }

    fn at() -> Timestamp {
        Timestamp::from_seconds(1_790_000_000)
    }

    fn id(n: u32) -> ExchangeId {
        ExchangeId::parse(format!("00000000-0000-4000-8000-{n:012}")).unwrap()
    }

    /// The messages 1 to `last`. The second is an operator's reply to the first, and its mail is not sent.
    fn thread(last: u32) -> (Bridge, Vec<ThreadMessage>) {
        let dana = Operator::parse("dana", Some("asked")).unwrap();
        let mut bridge = Bridge::new(SubscriberId::parse("3".repeat(64)).unwrap());
        bridge.accept(&CURRENT_AGREEMENT, "memory", "person", at()).unwrap();
        bridge.grant(&dana, "asked", at().plus(std::time::Duration::from_secs(86_400)), at()).unwrap();
        let shown = |n: u32| {
            let (author, answers) =
                if n == 2 { (Author::Operator("dana".to_owned()), Some(id(1))) } else { (Author::Customer, None) };
            match &answers {
                Some(to) => bridge.reply(&id(n), &dana, Some(to), "sealed", at()).unwrap(),
                None => bridge.post(&id(n), "sealed", at()).unwrap(),
            };
            ThreadMessage {
                id: id(n),
                author,
                at: at(),
                text: format!("text {n}"),
                is_unsent: answers.is_some(),
                answers,
            }
        };
        let messages = (1..=last).map(shown).collect();
        (bridge, messages)
    }

    #[test]
    fn a_reply_shows_the_messages_that_it_answers_and_counts_the_newer_ones() {
        let (bridge, messages) = thread(5);
        let texts = |to: Option<u32>| {
            let text = answered(&bridge, &messages, to.map(id).as_ref());
            let named: Vec<u32> = (1..6).filter(|n| text.contains(&format!("text {n}"))).collect();
            (named, text.contains("still wait"))
        };
        assert_eq!(texts(Some(5)), (vec![3, 4, 5], false));
        assert_eq!(texts(Some(4)), (vec![3, 4], true));
        assert_eq!(texts(Some(1)), (vec![1], true), "an answered message is answered again");
        assert_eq!(texts(None), (vec![], true));
        let text = answered(&bridge, &messages, Some(&id(4)));
        assert!(text.contains(&format!("customer at {}, {}\n  text 4\n", at().to_iso(), id(4).as_str())), "{text}");
        assert!(text.ends_with("\nnewer messages that still wait after this reply: 1\n\n"), "{text}");
    }

    /// However few digits an operator types.
    #[test]
    fn a_question_names_the_bridge_that_was_found() {
        let who = SubscriberId::parse("3".repeat(64)).unwrap();
        let questions = [
            grant_question(&who, at()),
            revoke_question(&who),
            settle_question(&who, true),
            settle_question(&who, false),
        ];
        for question in questions {
            assert!(question.contains(" 333333333333 "), "{question}");
        }
    }

    /// The mail of a reply is not sent, and the customer has written since.
    #[test]
    fn a_reply_that_is_continued_names_its_own_message_and_shows_no_newer_one() {
        let (bridge, mut messages) = thread(3);
        let asked = |messages: &[ThreadMessage], text: &str, named: Option<u32>| {
            let (text, named) = (Message::parse(text).unwrap(), named.map(id));
            let unsent = bridge::unsent_reply(messages, &text);
            let (to, question) = reply_question(&bridge, messages, unsent, named.as_ref());
            (to.cloned(), question)
        };
        let mail = format!(
            "The reply {} was posted at {}, and its mail is not sent. Mail it to 333333333333?",
            id(2).as_str(),
            at().to_iso()
        );
        assert_eq!(asked(&messages, "text 2", None), (Some(id(1)), mail.clone()));
        assert_eq!(asked(&messages, "text 2", Some(3)), (Some(id(1)), mail));
        let (to, question) = asked(&messages, "another text", None);
        assert_eq!(to, Some(id(3)));
        assert!(question.contains("text 3") && !question.contains("text 1"), "{question}");
        assert!(question.ends_with("\n\nPost this reply to 333333333333 and mail it?"), "{question}");
        let line = printed(&message(&messages[1]));
        let expected = format!("{}, answers {} (its mail is not sent)\n", id(2).as_str(), id(1).as_str());
        assert!(line.contains(&expected), "{line}");
        messages[1].is_unsent = false;
        assert_eq!(asked(&messages, "text 2", None).0, Some(id(3)), "its mail is sent: this is another reply");
    }

    #[test]
    fn what_a_member_writes_cannot_move_the_cursor_or_be_clicked() {
        let message = |from: &str, text: &str| json!({ "from": from, "at": "2026-09-21T14:13:20.000Z", "text": text });
        let shown = text(&json!({
            "name": "Sam\r\u{1b}[2KEve \u{202e}https://evil.example",
            "email": "sam@example.com",
            "messages": [message("customer", "first\rOPERATOR: pay\u{202e} https://evil.example/pay\nsecond\u{1b}[1A")],
        }));
        for bad in ['\r', '\u{1b}', '\u{202e}'] {
            assert!(!shown.contains(bad), "{shown:?}");
        }
        assert!(!shown.contains("://") && !shown.contains("evil.example"), "{shown}");
        for line in ["\n  first\n", "\n  OPERATOR: pay  https[:]//evil[.]example/pay\n", "\n  second [1A\n"] {
            assert!(shown.contains(line), "{line:?}: {shown:?}");
        }
        assert!(shown.contains("<sam@example.com>"), "an operator reads the address whole: {shown}");
    }
}
