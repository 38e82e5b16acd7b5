//! A delivered verdict that the cache has lost: it is restored from the archive, or else made again.

use crate::world::World;
use serde_json::{Value, json};

#[tokio::test]
async fn a_lost_or_damaged_cache_entry_comes_back_from_the_archive() {
    for damage in [None, Some("{\"tier\":\"quick\",\"que"), Some("{}")] {
        let world = World::alone().await;
        let sale = world.buy("full").await;
        let page = world.delivered(&sale).await;
        let stored = world.aws.document(&sale.session, "VERDICT").await;
        world.aws.damage_verdict(&sale.session, damage).await;
        let reply = world.verdict(&sale.session).await;
        assert_eq!((reply.status, reply.json()), (200, page), "the first verdict and no other");
        assert_eq!(world.aws.document(&sale.session, "VERDICT").await, stored, "and it is in the cache again");
        world.drained().await;
        assert_eq!((world.model_calls(&sale).await, world.mails(&sale.email).await.len()), (1, 1));
        assert_eq!(world.count(&sale.session, "result_page", "CACHED").await, 1);
    }
}

#[tokio::test]
async fn a_verdict_that_is_in_neither_store_is_made_once_more_from_the_same_prompt() {
    let world = World::alone().await;
    let sale = world.buy("strategy").await;
    let page = world.delivered(&sale).await;
    world.aws.damage_verdict(&sale.session, None).await;
    for key in world.aws.keys("ArchiveBucket", &sale.session).await {
        world.aws.delete("ArchiveBucket", &key).await;
    }
    let first = world.verdict(&sale.session).await;
    assert_eq!(
        (first.status, first.json()),
        (202, json!({ "status": "pending" })),
        "the page itself never asks the model"
    );
    let again = world.delivered(&sale).await;
    assert_eq!((&again["regen"], &again["regen_reason"]), (&json!(true), &json!("cache_miss")));
    assert_eq!((&again["verdict"], &again["query"]), (&page["verdict"], &page["query"]), "the model is the same");
    world.drained().await;
    assert_eq!(world.mails(&sale.email).await.len(), 1, "no second mail");
    let asked: Vec<Value> = world.calls("gemini", sale.mark()).await;
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0]["request_body"], asked[1]["request_body"]);
    assert_eq!(world.count(&sale.session, "webhook", "OK").await, 1);
    assert_eq!(world.count(&sale.session, "result_page", "REGENERATED").await, 1);
}
