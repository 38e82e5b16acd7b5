//! The follow-up of a Strategy Session: asked once, on the page or by a reply, and delivered like every sale.

use crate::{
    inbox::Watched,
    operators::{decided, listed, printed},
    world::{Reply, Sale, World, email, question},
};
use domain::texts;
use reqwest::Method;
use serde_json::{Value, json};
use tests::{SOON, eventually, unique};

/// A question that no other sale has.
fn followup() -> String {
    format!("And what if the keeper moves out? {}", unique())
}

/// The id of a session's follow-up.
fn child(sale: &Sale) -> String {
    format!("{}-followup", sale.session)
}

async fn ask(world: &World, session: &str, query: &str) -> Reply {
    let body = json!({ "session_id": session, "query": query }).to_string();
    world.call(Method::POST, "/api/followup", &[], body.into_bytes()).await
}

/// A Strategy Session with its verdict and its mail.
async fn bought(world: &World) -> Sale {
    let sale = world.buy("strategy").await;
    assert_eq!(world.delivered(&sale).await["followup_status"], "available");
    sale
}

/// A Strategy Session whose follow-up is delivered too, and the follow-up's id.
pub(crate) async fn bought_with_followup(world: &World) -> (Sale, String) {
    let sale = bought(world).await;
    assert_eq!(ask(world, &sale.session, &followup()).await.status, 202);
    delivered(world, &sale).await;
    let id = child(&sale);
    (sale, id)
}

/// The page's reply once it contains the follow-up's verdict.
pub(crate) async fn with_followup(world: &World, sale: &Sale) -> Value {
    eventually("the verdict of the follow-up", SOON, async || {
        let page = world.verdict(&sale.session).await.json();
        page["followup"].is_object().then_some(page)
    })
    .await
}

/// The same, once the mail is sent.
async fn delivered(world: &World, sale: &Sale) -> Value {
    let page = with_followup(world, sale).await;
    let settled = world.settled(&child(sale)).await;
    assert_eq!(settled["mail"]["state"], "sent", "{settled}");
    page
}

/// The bodies of a buyer's verdict mails.
async fn verdict_mails(world: &World, sale: &Sale) -> Vec<String> {
    let mails = world.mails(&sale.email).await.into_iter();
    let mails = mails.filter(|mail| mail["subject"] == texts::VERDICT_MAIL_SUBJECT);
    mails.map(|mail| mail["body"].as_str().expect("a body").to_owned()).collect()
}

/// The contents of the model calls about a sale and its follow-up.
async fn contents(world: &World, sale: &Sale) -> Vec<Value> {
    let calls = world.calls("gemini", sale.mark()).await.into_iter();
    let text = |call: Value| call["request_body"]["contents"][0]["parts"][0]["text"].as_str().map(str::to_owned);
    calls.filter_map(text).map(|text| serde_json::from_str(&text).expect("the content is JSON")).collect()
}

#[tokio::test]
async fn asked_on_the_page_it_is_made_shown_mailed_archived_and_forgotten_with_its_session() {
    let world = World::alone().await;
    let (sale, asked) = (bought(&world).await, followup());
    let refused = ask(&world, &sale.session, "Can I give my son two of my warfarin tablets?").await;
    assert_eq!((refused.status, &refused.json()["code"]), (422, &json!("blocked")), "and it uses nothing");
    let taken = ask(&world, &sale.session, &asked).await;
    assert_eq!((taken.status, taken.json()), (202, json!({ "status": "pending" })));
    let page = delivered(&world, &sale).await;
    assert_eq!((&page["followup_status"], &page["followup"]["query"]), (&json!("delivered"), &json!(asked)));
    assert_eq!(page["query"], json!(sale.question), "the first one stays");
    let dates = [&page["cached_at"], &page["followup"]["cached_at"]].map(|date| date.as_str().expect("a date"));
    assert!(dates[0] < dates[1], "{dates:?}");

    let contents = contents(&world, &sale).await;
    assert_eq!(contents.len(), 2, "one call for each");
    assert_eq!(contents[1]["submission"], json!(asked), "{}", contents[1]);
    let facts = contents[1]["memory"]["slices"]["facts_slice"].as_array().expect("facts");
    let payload = |kind: &str| &facts.iter().find(|fact| fact["kind"] == kind).expect("a fact")["payload"];
    assert_eq!(payload("QUESTION"), &json!(sale.question));
    assert_eq!(payload("VERDICT")["verdict"]["summary"], page["verdict"]["summary"]);
    let mails = verdict_mails(&world, &sale).await;
    assert_eq!(mails.len(), 2);
    for part in [asked.as_str(), &sale.question, "YOUR FIRST SUBMISSION, 20"] {
        assert!(mails[1].contains(part), "{part}: {}", mails[1]);
    }
    assert_eq!(world.aws.keys("ArchiveBucket", &child(&sale)).await.len(), 1);
    let log = world.lines(&child(&sale)).await.join("\n");
    assert!(log.contains("followup_page") && !log.contains("keeper") && !log.contains('@'), "{log}");
    let shown = printed(&world, &["show", &sale.session[sale.session.len() - 8..]]);
    assert!(shown.contains(&child(&sale)), "the sale names its follow-up: {shown}");

    decided(&world, &["erase", &sale.session]);
    assert_eq!(world.verdict(&sale.session).await.status, 410);
    assert_eq!(ask(&world, &sale.session, &asked).await.status, 410);
    for item in world.aws.table().await {
        assert!(!item.contains(sale.mark()) && !item.contains(&asked), "{item}");
    }
    assert_eq!(world.aws.keys("ArchiveBucket", &sale.session).await, [""; 0]);
}

#[tokio::test]
async fn what_offers_none_is_refused() {
    let world = World::beside_others().await;
    let quick = world.buy("quick").await;
    assert!(world.delivered(&quick).await.get("followup_status").is_none());
    ask(&world, &quick.session, &followup()).await.assert_code(409, "followup_not_offered");
    let unknown = format!("cs_test_unknown{}", unique());
    for id in [unknown.as_str(), &child(&quick), "../x", ""] {
        assert_eq!(ask(&world, id, &followup()).await.status, 404, "{id}");
    }
    assert_eq!(world.verdict(&child(&quick)).await.status, 404, "a follow-up has no page of its own");
    assert_eq!(ask(&world, &quick.session, " ").await.status, 400);
}

/// From several windows at once, repeated, and by mail.
#[tokio::test]
async fn of_many_at_once_one_is_made() {
    let world = World::alone().await;
    let sale = bought(&world).await;
    let asked: [String; 4] = std::array::from_fn(|_| followup());
    let [a, b, c, d] = &asked;
    let session = &sale.session;
    let (a, b, c, d, again) = tokio::join!(
        ask(&world, session, a),
        ask(&world, session, b),
        ask(&world, session, c),
        ask(&world, session, d),
        ask(&world, session, a)
    );
    let statuses = [&a, &b, &c, &d].map(|reply| reply.status);
    assert_eq!(statuses.iter().filter(|status| **status == 202).count(), 1, "{statuses:?}");
    assert_eq!(again.status, a.status, "the same words get the same answer");
    let used = [a, b, c, d].into_iter().find(|reply| reply.status != 202).expect("a refused one");
    used.assert_code(409, "followup_used");
    let page = delivered(&world, &sale).await;
    let winner = statuses.iter().position(|status| *status == 202).expect("one");
    assert_eq!(page["followup"]["query"], json!(asked[winner]));
    assert_eq!(ask(&world, session, &asked[winner]).await.status, 202, "a customer who lost the reply asks again");
    // A request during the order sends its order again, and that order's mail waits for the lease of the first one, so
    // the test does not wait for the queues here.
    assert_eq!((contents(&world, &sale).await.len(), verdict_mails(&world, &sale).await.len()), (2, 2));
    assert_eq!(world.count(&child(&sale), "email_service", "EMAIL_SENT").await, 1);
}

#[tokio::test]
async fn a_reply_to_the_verdict_mail_asks_it_with_its_new_words_alone_and_once() {
    let watched = Watched::seeded().await;
    let world = &watched.world;
    let (sale, asked) = (bought(world).await, followup());
    let mail = world.mails(&sale.email).await.pop().expect("the verdict's mail");
    let reply = |from: &str, text: &str| {
        json!({
            "from": from, "subject": "Re: Your 42 Sisters AI Verdict", "body": text,
            "quoted": "> ORACLE VERDICT: quoted words", "inReplyTo": mail["internet_message_id"],
        })
    };
    // A stranger, a forged sender with the buyer's address, and an automatic mail order nothing.
    watched.put(reply(&email(), "And what does a stranger ask?")).await;
    let mut forged = reply(&sale.email, "And what does somebody else ask?");
    forged["headers"] = json!({ "Authentication-Results": "spf=fail;dmarc=fail header.from=customers.example.com" });
    watched.put(forged).await;
    let mut automatic = reply(&sale.email, "I am out of office. Is it urgent?");
    automatic["headers"] = json!({ "Auto-Submitted": "auto-replied" });
    watched.put(automatic).await;
    watched.look().await;
    assert_eq!(world.aws.document(&child(&sale), "SALE").await, None);
    assert_eq!(world.mails(&sale.email).await.len(), 1, "none of these is answered at the buyer's address");

    watched.put(reply(&sale.email, &asked)).await;
    tokio::join!(watched.look(), watched.look());
    let page = delivered(world, &sale).await;
    // The same words once more, as another machine sends them: a second answer could go on for ever.
    watched.put(reply(&sale.email, &asked)).await;
    watched.look().await;
    assert_eq!(page["followup"]["query"], json!(asked));
    let contents = contents(world, &sale).await;
    assert_eq!(contents.len(), 2);
    assert!(!contents[1].to_string().contains("quoted words"), "{}", contents[1]);
    let answers = async |text: &str| {
        let mails = world.mails(&sale.email).await;
        mails.iter().filter(|mail| mail["body"] == text).count()
    };
    assert_eq!(answers(texts::FOLLOWUP_ORDERED).await, 1, "one is made, and that is said once");

    for text in ["And in the winter?", "And in the spring?"] {
        watched.put(reply(&sale.email, text)).await;
        watched.look().await;
    }
    assert_eq!(answers(texts::FOLLOWUP_USED).await, 1, "that it is used is said once");
    listed(world, &["replies", "list"], &sale.session, true).await;
    let shown = printed(world, &["replies", "show", &sale.session]);
    assert!(shown.contains("winter") && shown.contains("spring") && !shown.contains("keeper"), "{shown}");
    world.drained().await;
    assert_eq!(verdict_mails(world, &sale).await.len(), 2);
}

/// The reply of every vendor is lost once: there is one follow-up and one mail.
#[tokio::test]
async fn lost_replies_of_the_vendors_make_no_second_one() {
    let world = World::alone().await;
    let (sale, asked) = (bought(&world).await, followup());
    let lost = json!({ "drop": true });
    world.stack.faults("stripe", json!([lost])).await;
    world.stack.faults("gemini", json!([lost])).await;
    // The replies to creating the draft and to sending it.
    world.stack.faults("graph", json!([lost, {}, lost])).await;
    assert_eq!(ask(&world, &sale.session, &asked).await.status, 202);
    delivered(&world, &sale).await;
    world.drained().await;
    world.faults_are_used_up().await;
    assert_eq!(verdict_mails(&world, &sale).await.len(), 2);
    assert_eq!(world.count(&child(&sale), "email_service", "EMAIL_SENT").await, 1);
}

/// It fails for good: the page shows the failure beside the first verdict, and an operator retries it.
#[tokio::test]
async fn a_failed_one_is_tried_again_by_an_operator() {
    let world = World::alone().await;
    let (sale, asked) = (bought(&world).await, followup());
    world.stack.faults("gemini", json!([{ "status": 400 }])).await;
    assert_eq!(ask(&world, &sale.session, &asked).await.status, 202);
    let settled = world.settled(&child(&sale)).await;
    assert_eq!(settled["fulfilment"]["state"], "failed", "{settled}");
    world.faults_are_used_up().await;
    let page = world.verdict(&sale.session).await;
    assert_eq!((page.status, &page.json()["followup_status"]), (200, &json!("failed")));
    listed(&world, &["list"], &child(&sale), true).await;
    decided(&world, &["reattempt", &child(&sale)]);
    assert_eq!(delivered(&world, &sale).await["followup"]["query"], json!(asked));
    let unasked = question();
    assert_eq!(ask(&world, &sale.session, &unasked).await.status, 409);
}
