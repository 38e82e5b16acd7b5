//! The stack with an inbox that a test watches.

use crate::world::World;
use serde_json::{Value, json};

pub(super) const NOTE: &str = "inbox-watch";
pub(super) const FUNCTION: &str = "InboxWatchFunctionName";

/// The stack for one test alone, with a queue on the ops topic.
pub(crate) struct Watched {
    pub(crate) world: World,
    pub(super) ops: String,
}

impl Watched {
    /// Before the first run: the function has no stored state.
    pub(super) async fn fresh() -> Self {
        let world = World::alone().await;
        let ops = world.aws.subscribe("OpsTopicArn").await;
        let watched = Self { world, ops };
        watched.remember(json!({})).await;
        watched
    }

    /// After a first run on an empty inbox, whose alert is no longer in the queue.
    pub(crate) async fn seeded() -> Self {
        let mut watched = Self::fresh().await;
        watched.look().await;
        watched.ops = watched.world.aws.subscribe("OpsTopicArn").await;
        watched
    }

    pub(crate) async fn look(&self) {
        self.world.aws.invoke(FUNCTION, &json!({})).await;
    }

    /// Runs the function, after which so many messages are announced and acknowledged in all since the test began.
    pub(super) async fn look_finds(&self, announced: usize, acknowledged: usize) {
        self.look().await;
        assert_eq!((self.broadcasts().await.len(), self.mails().await.len()), (announced, acknowledged));
    }

    /// Puts a message into the inbox and returns it.
    pub(crate) async fn put(&self, message: Value) -> Value {
        self.world.stack.control("inbox", message).await
    }

    pub(super) async fn memory(&self) -> Value {
        self.world.aws.note(NOTE).await.map(|note| note["memory"].clone()).unwrap_or_default()
    }

    /// Replaces the function's stored state, except its position in the log.
    pub(super) async fn remember(&self, memory: Value) {
        let mut note = self.world.aws.note(NOTE).await.unwrap_or_else(|| json!({ "head": null }));
        note["memory"] = memory;
        self.world.aws.replace_note(NOTE, &note).await;
    }

    pub(super) async fn lines(&self, start: &str) -> Vec<String> {
        let mut lines = self.world.aws.alerts(&self.ops).await;
        lines.retain(|line| line.starts_with(start));
        lines
    }

    pub(super) async fn broadcasts(&self) -> Vec<String> {
        self.lines("Incoming: ").await
    }

    pub(super) async fn mails(&self) -> Vec<Value> {
        self.world.mails("").await
    }

    /// The function's records of this kind in the log, the latest last.
    pub(super) async fn events(&self, event: &str) -> Vec<Value> {
        let mut events = Vec::new();
        for key in self.world.aws.keys("AuditBucket", "/function/inbox-watch/").await {
            let line = self.world.aws.text("AuditBucket", &key).await;
            assert!(!line.contains('@'), "the log holds an address: {line}");
            events.push(serde_json::from_str::<Value>(&line).expect("a line of JSON"));
        }
        events.retain(|record| record["event"] == event);
        events
    }

    pub(crate) async fn last_outcome(&self) -> Value {
        self.events("auto_response").await.pop().map(|event| event["details"]["outcome"].clone()).unwrap_or_default()
    }
}
