//! Amazon SES: what it accepts, what it refuses, and that it sends a repeated request again.

use crate::support::{SENDER, World, read, world};
use serde_json::{Value, json};

fn mail(from: &str, to: &[&str]) -> Value {
    let text = |data: &str| json!({ "Data": data, "Charset": "UTF-8" });
    json!({
        "FromEmailAddress": from,
        "Destination": { "ToAddresses": to },
        "Content": { "Simple": { "Subject": text("Your verdict ✓"), "Body": { "Text": text("GREEN") } } },
    })
}

async fn send(world: &World, mail: &Value) -> (u16, Value, String) {
    let url = world.url("/ses/v2/email/outbound-emails");
    let request = world.client.post(url).header("authorization", "AWS4-HMAC-SHA256 Credential=test").json(mail);
    let reply = request.send().await.unwrap();
    let kind = reply.headers().get("x-amzn-errortype").map_or("", |kind| kind.to_str().unwrap()).to_owned();
    let status = reply.status().as_u16();
    (status, serde_json::from_str(&reply.text().await.unwrap()).unwrap(), kind)
}

#[tokio::test]
async fn a_request_is_a_mail_each_time_it_is_sent() {
    let world = world().await;
    let mail = mail(SENDER, &["ada@example.com"]);
    let (first, second) = (send(&world, &mail).await, send(&world, &mail).await);
    assert_eq!((first.0, second.0), (200, 200));
    assert_ne!(first.1["MessageId"], second.1["MessageId"]);
    let mails = world.look("mails").await;
    assert_eq!(mails.as_array().unwrap().len(), 2);
    let id = first.1["MessageId"].as_str().unwrap();
    assert_eq!(mails[0]["internet_message_id"], format!("<{id}@email.amazonses.com>"));
    assert_eq!((&mails[0]["to"], &mails[0]["body"]), (&json!("ada@example.com"), &json!("GREEN")));
}

#[tokio::test]
async fn what_ses_refuses_is_refused() {
    let world = world().await;
    let good = mail(SENDER, &["ada@example.com"]);
    let (mut broken, mut bare, mut unknown) = (good.clone(), good.clone(), good.clone());
    broken["Content"]["Simple"]["Subject"]["Data"] = json!("a\r\nBcc: b");
    bare["Content"]["Simple"]["Subject"] = json!({ "Data": "✓" });
    unknown["Colour"] = json!("green");
    for (wrong, kind) in [
        (mail("someone@example.com", &["ada@example.com"]), "MessageRejected"),
        (mail(SENDER, &[]), "BadRequestException"),
        (mail(SENDER, &["nobody"]), "BadRequestException"),
        (broken, "BadRequestException"),
        (bare, "BadRequestException"),
        (unknown, "SerializationException"),
    ] {
        let (status, _, named) = send(&world, &wrong).await;
        assert_eq!((status, named.as_str()), (400, kind), "{wrong}");
    }
    let unsigned = world.client.post(world.url("/ses/v2/email/outbound-emails")).json(&good);
    assert_eq!(read(unsigned).await.0, 403);
    let mails = world.look("mails").await;
    assert_eq!(mails, json!([]));
}

/// The form that AWS's guide gives for a used-up rate, by itself and as a fault.
#[tokio::test]
async fn mails_above_the_rate_are_throttled_with_status_400() {
    let world = world().await;
    let mail = mail(SENDER, &["ada@example.com"]);
    assert_eq!(world.control("configure", json!({ "ses_mails_per_second": 1 })).await.0, 200);
    assert_eq!(send(&world, &mail).await.0, 200);
    let (status, _, kind) = send(&world, &mail).await;
    assert_eq!((status, kind.as_str()), (400, "ThrottlingException"));
    world.advance(1);
    assert_eq!(send(&world, &mail).await.0, 200, "the next second");
    world.advance(1);
    world.fault("ses", json!([{ "status": 400, "kind": "ThrottlingException" }])).await;
    let (status, body, _) = send(&world, &mail).await;
    assert_eq!((status, &body["__type"]), (400, &json!("ThrottlingException")));
    for (target, wrong) in [
        ("ses", json!({ "kind": "x" })),
        ("ses", json!({ "status": 400, "kind": "x", "body": {} })),
        ("stripe", json!({ "status": 400, "kind": "x" })),
    ] {
        let faults = json!({ "target": target, "replies": [wrong] });
        assert_eq!(world.control("faults", faults).await.0, 400, "{target}");
    }
}
