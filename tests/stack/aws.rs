//! The stack's queues, buckets and table, as an operator sees them.

use aws_credential_types::Credentials;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_sqs::types::QueueAttributeName;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, rustls_provider::CryptoMode},
};
use reqwest::Method;
use serde_json::{Value, json};
use std::{collections::HashMap, time::SystemTime};
use tests::{Stack, eventually};

/// The AWS clients for one stack.
pub(crate) struct Aws {
    dynamodb: aws_sdk_dynamodb::Client,
    pub(crate) s3: aws_sdk_s3::Client,
    sns: aws_sdk_sns::Client,
    sqs: aws_sdk_sqs::Client,
    outputs: Value,
    endpoint: String,
    region: String,
    stack: String,
}

/// An object's version from before it was damaged.
#[must_use]
pub(crate) struct Undamaged {
    bucket: &'static str,
    key: String,
    version: String,
}

/// Applies the same settings to every service's own configuration type.
macro_rules! client {
    ($stack:expr, $sdk:ident $(, $more:ident($value:expr))?) => {{
        let text = |field: &str| $stack.description[field].as_str().expect("the stack's description").to_owned();
        let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
        let config = $sdk::Config::builder()
            .behavior_version($sdk::config::BehaviorVersion::latest())
            .region($sdk::config::Region::new(text("region")))
            // The emulator's account keys, which the deployment uses as well.
            .credentials_provider(Credentials::new("test", "test", None, None, "emulator"))
            .http_client(http)
            .endpoint_url(text("aws_endpoint"))
            $(.$more($value))?
            .build();
        $sdk::Client::from_conf(config)
    }};
}

impl Aws {
    pub(crate) fn of(stack: &Stack) -> Self {
        Self {
            dynamodb: client!(stack, aws_sdk_dynamodb),
            s3: client!(stack, aws_sdk_s3, force_path_style(true)),
            sns: client!(stack, aws_sdk_sns),
            sqs: client!(stack, aws_sdk_sqs),
            outputs: stack.description["outputs"].clone(),
            endpoint: stack.description["aws_endpoint"].as_str().expect("an endpoint").to_owned(),
            region: stack.description["region"].as_str().expect("a region").to_owned(),
            stack: stack.description["stack"].as_str().expect("a name").to_owned(),
        }
    }

    /// An output of the deployment.
    pub(crate) fn output(&self, name: &str) -> &str {
        self.outputs[name].as_str().unwrap_or_else(|| panic!("the stack has no output {name}"))
    }

    /// Sends a message with this body to a queue.
    pub(crate) async fn send(&self, queue: &str, body: &Value) {
        self.sqs
            .send_message()
            .queue_url(self.output(queue))
            .message_body(body.to_string())
            .send()
            .await
            .unwrap_or_else(|error| panic!("{queue}: {error:?}"));
    }

    /// The bodies of the messages that wait in a queue; does not remove them.
    pub(crate) async fn peek(&self, queue: &str) -> Vec<String> {
        self.peek_at(self.output(queue)).await
    }

    async fn peek_at(&self, url: &str) -> Vec<String> {
        let receive = self.sqs.receive_message().queue_url(url).max_number_of_messages(10).visibility_timeout(0);
        let messages = receive.send().await.unwrap_or_else(|error| panic!("{url}: {error:?}")).messages;
        messages.unwrap_or_default().into_iter().filter_map(|message| message.body).collect()
    }

    /// Creates and empties a test queue that is subscribed to an alert topic; returns its URL. The queue is not
    /// deleted: the next test uses it.
    pub(crate) async fn subscribe(&self, topic: &str) -> String {
        let name = format!("tests-{}", topic.to_lowercase());
        let policy = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}]}"#;
        let create = self.sqs.create_queue().queue_name(&name).attributes(QueueAttributeName::Policy, policy);
        let url = create.send().await.expect("a queue").queue_url.expect("its address");
        let ask = self.sqs.get_queue_attributes().queue_url(&url).attribute_names(QueueAttributeName::QueueArn);
        let arn = ask.send().await.expect("its attributes").attributes.expect("its attributes");
        let subscribe = self.sns.subscribe().topic_arn(self.output(topic)).protocol("sqs");
        let subscribe =
            subscribe.endpoint(&arn[&QueueAttributeName::QueueArn]).attributes("RawMessageDelivery", "true");
        subscribe.send().await.expect("a subscription");
        self.sqs.purge_queue().queue_url(&url).send().await.expect("an empty queue");
        url
    }

    /// Subscribes an address to a topic; the address must confirm it.
    pub(crate) async fn subscribe_webhook(&self, topic: &str, address: &str) {
        let subscribe = self.sns.subscribe().topic_arn(self.output(topic)).protocol("http").endpoint(address);
        subscribe.send().await.expect("a subscription");
    }

    /// Removes the subscription of an address.
    pub(crate) async fn unsubscribe(&self, topic: &str, address: &str) {
        let all = self.sns.list_subscriptions_by_topic().topic_arn(self.output(topic)).send().await;
        for subscription in all.expect("subscriptions").subscriptions.unwrap_or_default() {
            if subscription.endpoint.as_deref() == Some(address) {
                let arn = subscription.subscription_arn.expect("its name");
                self.sns.unsubscribe().subscription_arn(arn).send().await.expect("unsubscribed");
            }
        }
    }

    /// The alerts in a queue of [`Self::subscribe`].
    pub(crate) async fn alerts(&self, queue: &str) -> Vec<String> {
        self.peek_at(queue).await
    }

    /// The number of messages of a queue that wait or are in flight.
    pub(crate) async fn held(&self, queue: &str) -> u32 {
        let counts = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        ];
        self.counted(queue, &counts).await
    }

    /// The number of messages of a queue whose delay has not ended.
    pub(crate) async fn delayed(&self, queue: &str) -> u32 {
        self.counted(queue, &[QueueAttributeName::ApproximateNumberOfMessagesDelayed]).await
    }

    async fn counted(&self, queue: &str, counts: &[QueueAttributeName]) -> u32 {
        let ask = self.sqs.get_queue_attributes().queue_url(self.output(queue));
        let asked = ask.set_attribute_names(Some(counts.to_vec())).send().await;
        let asked = asked.unwrap_or_else(|error| panic!("{queue}: {error:?}")).attributes.unwrap_or_default();
        counts.iter().map(|count| asked[count].parse::<u32>().expect("a count")).sum()
    }

    /// Empties a queue.
    pub(crate) async fn purge(&self, queue: &str) {
        let purged = self.sqs.purge_queue().queue_url(self.output(queue)).send().await;
        purged.unwrap_or_else(|error| panic!("{queue}: {error:?}"));
    }

    /// Runs a function once, as its schedule would, and waits for its end.
    pub(crate) async fn invoke(&self, function: &str, event: &Value) {
        let url = format!("{}/2015-03-31/functions/{}/invocations", self.endpoint, self.output(function));
        let reply = self.signed(Method::POST, "lambda", &url, &[], event).await;
        let failed = reply.headers().contains_key("x-amz-function-error");
        let (status, text) = (reply.status(), reply.text().await.unwrap_or_default());
        assert!(status.is_success() && !failed, "{function}: {status} {text}");
    }

    /// Changes one setting of a function.
    pub(crate) async fn configure(&self, function: &str, name: &str, value: &str) {
        let url = format!("{}/2015-03-31/functions/{}/configuration", self.endpoint, self.output(function));
        let reply = self.signed(Method::GET, "lambda", &url, &[], &Value::Null).await.text().await.expect("a reply");
        let configuration: Value = serde_json::from_str(&reply).expect("a configuration");
        let mut variables = configuration["Environment"]["Variables"].clone();
        variables[name] = value.into();
        let change = serde_json::json!({ "Environment": { "Variables": variables } });
        let reply = self.signed(Method::PUT, "lambda", &url, &[], &change).await;
        assert!(reply.status().is_success(), "{function}: {}", reply.status());
    }

    /// Reads one of the stack's secrets.
    pub(crate) async fn secret(&self, name: &str) -> Value {
        let reply = self.secrets("GetSecretValue", &json!({ "SecretId": format!("{}/{name}", self.stack) })).await;
        serde_json::from_str(reply["SecretString"].as_str().expect("a secret")).expect("a document")
    }

    /// Replaces one of the stack's secrets.
    pub(crate) async fn set_secret(&self, name: &str, document: &Value) {
        let put = json!({ "SecretId": format!("{}/{name}", self.stack), "SecretString": document.to_string() });
        self.secrets("PutSecretValue", &put).await;
    }

    async fn secrets(&self, action: &str, body: &Value) -> Value {
        let target = format!("secretsmanager.{action}");
        let headers = [("x-amz-target", target.as_str()), ("content-type", "application/x-amz-json-1.1")];
        let reply = self.signed(Method::POST, "secretsmanager", &format!("{}/", self.endpoint), &headers, body).await;
        let (status, text) = (reply.status(), reply.text().await.unwrap_or_default());
        assert!(status.is_success(), "{action}: {status} {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Makes a signed call to a service that has no client here.
    async fn signed(
        &self,
        method: Method,
        service: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> reqwest::Response {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let credentials = Credentials::new("test", "test", None, None, "emulator").into();
        let signing = v4::SigningParams::builder().identity(&credentials).region(&self.region).name(service);
        let signing = signing.time(SystemTime::now()).settings(SigningSettings::default()).build();
        let request = SignableRequest::new(method.as_str(), url, headers.iter().copied(), SignableBody::Bytes(&body));
        let signed = sign(request.expect("a request"), &signing.expect("signing parameters").into());
        let (signature, _) = signed.expect("a signature").into_parts();
        let mut call = reqwest::Client::new().request(method.clone(), url).body(body.clone());
        for (name, value) in headers.iter().copied().chain(signature.headers()) {
            call = call.header(name, value);
        }
        call.send().await.expect("the emulator answers")
    }

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
        item.insert("document".to_owned(), AttributeValue::S(document.to_string()));
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
        eventually("a write of the sale that crosses nobody else's", crate::world::SOON, async || {
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
        item.insert("document".to_owned(), AttributeValue::S(document.to_string()));
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
        let key = [("pk", format!("SESSION#{session}")), ("sk", sort.to_owned())];
        let key = HashMap::from(key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value))));
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
        let table = self.output("TableName");
        let key = [("pk", format!("NOTE#{name}")), ("sk", "NOTE".to_owned())];
        let key = HashMap::from(key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value))));
        let got = self.dynamodb.get_item().table_name(table).set_key(Some(key)).send().await.expect("a note");
        let Some(mut item) = got.item else { return };
        let mut document: Value = serde_json::from_str(item["document"].as_s().expect("text")).expect("JSON");
        document["memory"] = serde_json::json!({});
        item.insert("document".to_owned(), AttributeValue::S(document.to_string()));
        self.dynamodb.put_item().table_name(table).set_item(Some(item)).send().await.expect("a note");
    }

    /// Deletes the rows of storms, so that the alerts of earlier tests withhold none.
    pub(crate) async fn forget_storms(&self) {
        let table = self.output("TableName");
        let query = self.dynamodb.query().table_name(table).key_condition_expression("pk = :pk");
        let query = query.expression_attribute_values(":pk", AttributeValue::S("ALERT#storms".to_owned()));
        for item in query.send().await.expect("storms").items.unwrap_or_default() {
            let key = ["pk", "sk"].map(|name| (name.to_owned(), item[name].clone()));
            let delete = self.dynamodb.delete_item().table_name(table).set_key(Some(HashMap::from(key)));
            delete.send().await.expect("no storm");
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

    /// The keys of a bucket that contain `part`, in order.
    pub(crate) async fn keys(&self, bucket: &str, part: &str) -> Vec<String> {
        let mut pages = self.s3.list_objects_v2().bucket(self.output(bucket)).into_paginator().send();
        let mut keys = Vec::new();
        while let Some(page) = pages.next().await {
            let objects = page.expect("the bucket can be read").contents.unwrap_or_default();
            keys.extend(objects.into_iter().filter_map(|object| object.key).filter(|key| key.contains(part)));
        }
        keys
    }

    /// Overwrites an object.
    pub(crate) async fn put_over(&self, bucket: &'static str, key: &str, text: &str) -> Undamaged {
        let before = self.undamaged(bucket, key).await;
        let put = self.s3.put_object().bucket(self.output(bucket)).key(key).body(text.as_bytes().to_vec().into());
        put.send().await.unwrap_or_else(|error| panic!("{key}: {error:?}"));
        before
    }

    /// Hides an object behind a delete marker.
    pub(crate) async fn hide(&self, bucket: &'static str, key: &str) -> Undamaged {
        let before = self.undamaged(bucket, key).await;
        let deleted = self.s3.delete_object().bucket(self.output(bucket)).key(key).send().await;
        deleted.unwrap_or_else(|error| panic!("{key}: {error:?}"));
        before
    }

    async fn undamaged(&self, bucket: &'static str, key: &str) -> Undamaged {
        let head = self.s3.head_object().bucket(self.output(bucket)).key(key).send().await;
        let version = head.unwrap_or_else(|error| panic!("{key}: {error:?}")).version_id.expect("a version");
        Undamaged { bucket, key: key.to_owned(), version }
    }

    /// Removes, in spite of the locks, whatever was written over an object, however often it was sent.
    pub(crate) async fn undo(&self, Undamaged { bucket, key, version }: Undamaged) {
        let bucket = self.output(bucket);
        let listed = self.s3.list_object_versions().bucket(bucket).prefix(&key).send().await;
        let listed = listed.unwrap_or_else(|error| panic!("{key}: {error:?}"));
        let versions = listed.versions().iter().filter_map(|version| version.version_id());
        let markers = listed.delete_markers().iter().filter_map(|marker| marker.version_id());
        for other in versions.chain(markers).filter(|other| *other != version) {
            let delete = self.s3.delete_object().bucket(bucket).key(&key).version_id(other);
            let deleted = delete.bypass_governance_retention(true).send().await;
            deleted.unwrap_or_else(|error| panic!("{key}: {error:?}"));
        }
    }

    /// Removes an object.
    pub(crate) async fn delete(&self, bucket: &str, key: &str) {
        let deleted = self.s3.delete_object().bucket(self.output(bucket)).key(key).send().await;
        deleted.unwrap_or_else(|error| panic!("{key}: {error:?}"));
    }

    /// An object's text.
    pub(crate) async fn text(&self, bucket: &str, key: &str) -> String {
        let got = self.s3.get_object().bucket(self.output(bucket)).key(key).send().await;
        let body: ByteStream = got.unwrap_or_else(|error| panic!("{key}: {error:?}")).body;
        let bytes = body.collect().await.unwrap_or_else(|error| panic!("{key}: {error}")).to_vec();
        String::from_utf8(bytes).expect("UTF-8")
    }
}
