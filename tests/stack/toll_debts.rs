//! Purchases in USDC that were settled without an answer, on the deployed stack's lists.

use crate::{
    operators::{asked, decided, listed},
    world::World,
};
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    Timestamp,
    toll::{List, Offer, Paid, Purchase, purchase_id},
};
use serde_json::json;
use std::collections::HashMap;
use tests::unique;

/// The table's item of a purchase that was settled without an answer.
fn owed() -> (Purchase, HashMap<String, AttributeValue>) {
    let transferred =
        Paid::Transferred { transaction: "0x1".to_owned(), payer: "0x2".to_owned(), network: "base".to_owned() };
    let id = purchase_id(&format!("{:0>64}", unique().replace('x', "e"))).expect("an id");
    let at = Timestamp::from_seconds(1_790_000_000);
    let mut purchase = Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), transferred, at);
    assert_eq!(purchase.settled("0x1", true, at), Ok(true), "there is no answer");
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let number = |number: i64| AttributeValue::N(number.to_string());
    let item = [
        ("pk", text(&format!("TOLL#{}", purchase.id().as_str()))),
        ("sk", text("PURCHASE")),
        ("version", number(1)),
        ("written_by", text("a test")),
        ("document", text(&serde_json::to_string(&purchase).expect("JSON"))),
        ("open", text(List::Humans.as_str())),
        ("due", number(at.as_millis())),
    ];
    (purchase, item.map(|(name, value)| (name.to_owned(), value)).into())
}

#[tokio::test]
async fn a_payment_without_an_answer_is_on_the_list_until_an_operator_settles_it() {
    let world = World::alone().await;
    let (purchase, item) = owed();
    world.aws.put_back(item).await;
    let reference = purchase.id().reference();
    listed(&world, &["list"], reference, true).await;
    let (_, status) = asked(&world, &["status"]);
    let toll = status["checks"].as_array().expect("checks").iter().find(|check| check["what"] == "toll");
    assert_eq!(toll.map(|check| &check["state"]), Some(&json!("wrong")), "{status}");
    decided(&world, &["toll", "settle", reference]);
    listed(&world, &["list"], reference, false).await;
}
