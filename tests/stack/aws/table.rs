//! The table: sales, cached verdicts, and the states of scheduled functions.

use super::Aws;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;
use std::collections::HashMap;
use tests::{SOON, eventually};

impl Aws {
    /// The item of a session with this sort key: `SALE` or `VERDICT`.
    pub(crate) async fn item(&self, session: &str, sort: &str) -> Option<HashMap<String, AttributeValue>> {
        let get = self.dynamodb.get_item().table_name(self.output("TableName")).consistent_read(true);
        let got = get
            .key("pk", AttributeValue::S(format!("SESSION#{session}")))
            .key("sk", AttributeValue::S(sort.to_owned()))
            .send()
            .await;
        got.unwrap_or_else(|error| panic!("{session}: {error:?}")).item
    }

    /// The stored state of a scheduled function.
    pub(crate) async fn note(&self, name: &str) -> Option<Value> {
        let item = self.note_item(name).await?;
        serde_json::from_str(item["document"].as_s().expect("a document")).ok()
    }

    async fn note_item(&self, name: &str) -> Option<HashMap<String, AttributeValue>> {
        let get = self.dynamodb.get_item().table_name(self.output("TableName")).consistent_read(true);
        let (partition, sort) = (AttributeValue::S(format!("NOTE#{name}")), AttributeValue::S("NOTE".to_owned()));
        let got = get.key("pk", partition).key("sk", sort).send().await;
        got.unwrap_or_else(|error| panic!("{name}: {error:?}")).item
    }

    /// Replaces the stored state of a scheduled function, if it has ever run.
    pub(crate) async fn replace_note(&self, name: &str, document: &Value) {
        let Some(mut item) = self.note_item(name).await else { return };
        write(&mut item, document);
        let put = self.dynamodb.put_item().table_name(self.output("TableName")).set_item(Some(item)).send().await;
        put.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }

    /// The document in an item of a session.
    pub(crate) async fn document(&self, session: &str, sort: &str) -> Option<Value> {
        let item = self.item(session, sort).await?;
        // A removed entry leaves an item without a document.
        let text = item.get("document")?.as_s().expect("a document").clone();
        Some(serde_json::from_str(&text).expect("the document is JSON"))
    }

    /// Changes a sale with a conditional write, as every writer must: a function may save its own change at this
    /// moment, and the writer that loses loads the sale again. `change` gets the whole item and its document.
    pub(crate) async fn change_sale(
        &self,
        session: &str,
        mut change: impl FnMut(&mut HashMap<String, AttributeValue>, &mut Value),
    ) {
        eventually("a write of the sale that crosses nobody else's", SOON, async || {
            let mut item = self.item(session, "SALE").await?;
            let mut document = serde_json::from_str(item["document"].as_s().expect("text")).expect("the sale is JSON");
            change(&mut item, &mut document);
            self.replaced_sale(item, &document).await.then_some(())
        })
        .await;
    }

    /// Replaces the document of a sale; returns false if another writer changed it in the meantime.
    async fn replaced_sale(&self, mut item: HashMap<String, AttributeValue>, document: &Value) -> bool {
        let version = item["version"].clone();
        write(&mut item, document);
        let put = self.dynamodb.put_item().table_name(self.output("TableName")).set_item(Some(item));
        let put = put.condition_expression("version = :version").expression_attribute_values(":version", version);
        match put.send().await {
            Ok(_) => true,
            Err(error) => {
                let conflict = error.as_service_error().is_some_and(|e| e.is_conditional_check_failed_exception());
                assert!(conflict, "{error:?}");
                false
            }
        }
    }

    /// Removes an item of a session from the table.
    pub(crate) async fn remove_item(&self, session: &str, sort: &str) {
        self.delete_row(key(&format!("SESSION#{session}"), sort)).await;
    }

    async fn delete_row(&self, key: HashMap<String, AttributeValue>) {
        let delete = self.dynamodb.delete_item().table_name(self.output("TableName")).set_key(Some(key));
        delete.send().await.expect("no such item any more");
    }

    /// Stores an item in the table as it was.
    pub(crate) async fn put_back(&self, item: HashMap<String, AttributeValue>) {
        let put = self.dynamodb.put_item().table_name(self.output("TableName")).set_item(Some(item));
        put.send().await.expect("the item as it was");
    }

    /// Replaces the document of a cached verdict, or removes the verdict.
    pub(crate) async fn damage_verdict(&self, session: &str, document: Option<&str>) {
        let key = |name: &str, value: &str| (name.to_owned(), AttributeValue::S(value.to_owned()));
        let mut item = HashMap::from([key("pk", &format!("SESSION#{session}")), key("sk", "VERDICT")]);
        let table = self.output("TableName");
        match document {
            Some(document) => {
                item.extend([key("document", document)]);
                self.dynamodb
                    .put_item()
                    .table_name(table)
                    .set_item(Some(item))
                    .send()
                    .await
                    .expect("a damaged verdict");
            }
            None => {
                self.dynamodb.delete_item().table_name(table).set_key(Some(item)).send().await.expect("no verdict");
            }
        }
    }

    /// Changes one attribute of a cached verdict and leaves the others unchanged.
    async fn change_verdict(&self, session: &str, name: &str, value: String) {
        let mut item = self.item(session, "VERDICT").await.expect("a verdict");
        item.insert(name.to_owned(), AttributeValue::S(value));
        let put = self.dynamodb.put_item().table_name(self.output("TableName")).set_item(Some(item));
        put.send().await.expect("a changed verdict");
    }

    /// Replaces the document of a cached verdict.
    pub(crate) async fn rewrite_verdict(&self, session: &str, document: &Value) {
        self.change_verdict(session, "document", document.to_string()).await;
    }

    /// Makes the stored document of a cached verdict unreadable.
    pub(crate) async fn spoil_verdict(&self, session: &str) {
        self.change_verdict(session, "document", "not JSON".to_owned()).await;
    }

    /// Sets the time at which a cached verdict was stored, in milliseconds.
    pub(crate) async fn age_verdict(&self, session: &str, stored_at: u128) {
        self.change_verdict(session, "place", format!("{stored_at:016}#{session}")).await;
    }

    /// The number of entries and bytes, from the counters of the cache.
    pub(crate) async fn cache_totals(&self) -> (i64, i64) {
        let query = self.dynamodb.query().table_name(self.output("TableName")).key_condition_expression("pk = :pk");
        let query = query.expression_attribute_values(":pk", AttributeValue::S("CACHE".to_owned()));
        let counters = query.consistent_read(true).send().await.expect("the counters").items.unwrap_or_default();
        let sum = |name: &str| -> i64 {
            counters.iter().map(|item| item[name].as_n().expect("a number").parse::<i64>().expect("a number")).sum()
        };
        (sum("entries"), sum("bytes"))
    }

    /// Lets the counters of the cache say that it has this many entries more, or removes this again with `None`.
    pub(crate) async fn miscount_entries(&self, more: Option<u32>) {
        let text = |value: &str| AttributeValue::S(value.to_owned());
        let key = HashMap::from([("pk".to_owned(), text("CACHE")), ("sk".to_owned(), text("MISCOUNTED"))]);
        let table = self.output("TableName");
        let Some(more) = more else {
            self.dynamodb.delete_item().table_name(table).set_key(Some(key)).send().await.expect("no counter");
            return;
        };
        let put = self.dynamodb.put_item().table_name(table).set_item(Some(key));
        let put = put.item("entries", AttributeValue::N(more.to_string())).item("bytes", AttributeValue::N("0".into()));
        put.send().await.expect("a counter");
    }

    /// Deletes a scheduled function's stored state, such as the time of its last clean-up, but not its position in the
    /// log.
    pub(crate) async fn forget_function(&self, name: &str) {
        let Some(mut document) = self.note(name).await else { return };
        document["memory"] = serde_json::json!({});
        self.replace_note(name, &document).await;
    }

    /// Deletes the rows of storms, so that the alerts of earlier tests withhold none.
    pub(crate) async fn forget_storms(&self) {
        let table = self.output("TableName");
        let query = self.dynamodb.query().table_name(table).key_condition_expression("pk = :pk");
        let query = query.expression_attribute_values(":pk", AttributeValue::S("ALERT#storms".to_owned()));
        for item in query.send().await.expect("storms").items.unwrap_or_default() {
            self.delete_row(key_of(&item)).await;
        }
    }

    /// Takes all open work off the lists: the reset of the sandbox empties the vendors, so that the work of an earlier
    /// test could only fail.
    pub(crate) async fn forget_open_work(&self) {
        let table = self.output("TableName");
        let mut open = self.dynamodb.scan().table_name(table).index_name("open").into_paginator().items().send();
        while let Some(item) = open.next().await {
            let item = item.expect("the index can be read");
            let update = self.dynamodb.update_item().table_name(table).set_key(Some(key_of(&item)));
            let update = update.update_expression("REMOVE #open, due").expression_attribute_names("#open", "open");
            update.send().await.expect("an item on no list");
        }
    }

    /// Closes the circuits of all models and of the mailbox, so that the failures of earlier tests count for none.
    pub(crate) async fn close_circuits(&self) {
        let models = self.output("GeminiModels").split(',').map(str::trim);
        let of_model = |model: &str| [model.to_owned(), format!("chat/{model}"), format!("toll/{model}")];
        for circuit in models.flat_map(of_model).chain(["mailbox".to_owned()]) {
            self.delete_row(key(&format!("BREAKER#{circuit}"), "BREAKER")).await;
        }
    }

    /// All items of the table, as text.
    pub(crate) async fn table(&self) -> Vec<String> {
        let mut pages = self.dynamodb.scan().table_name(self.output("TableName")).into_paginator().items().send();
        let mut items = Vec::new();
        while let Some(item) = pages.next().await {
            items.push(format!("{:?}", item.expect("the table can be read")));
        }
        items
    }
}

/// The key of an item.
fn key(partition: &str, sort: &str) -> HashMap<String, AttributeValue> {
    let parts = [("pk", partition), ("sk", sort)];
    parts.map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned()))).into()
}

/// The key of a read item.
fn key_of(item: &HashMap<String, AttributeValue>) -> HashMap<String, AttributeValue> {
    ["pk", "sk"].map(|name| (name.to_owned(), item[name].clone())).into()
}

/// Writes a document into an item as the functions do: with the next version and another writer's token. A function that
/// read the item before then loses its conditional write and loads the item again; under the same version it would
/// overwrite the test's change.
fn write(item: &mut HashMap<String, AttributeValue>, document: &Value) {
    let version: u64 = item["version"].as_n().expect("a number").parse().expect("a version");
    item.insert("version".to_owned(), AttributeValue::N((version + 1).to_string()));
    item.insert("written_by".to_owned(), AttributeValue::S(tests::unique()));
    item.insert("document".to_owned(), AttributeValue::S(document.to_string()));
}
