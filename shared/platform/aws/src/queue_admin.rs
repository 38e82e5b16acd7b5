//! Queues for operators: their sizes, and the redrive and removal of dead letters.
//! The file has more than 300 lines because all of it is calls of one client, which share the hiding of messages.

use crate::{
    Connection,
    attempts::{Failure, Step},
};
use aws_sdk_sqs::{
    Client,
    types::{
        ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName,
        QueueAttributeName, SendMessageBatchRequestEntry,
    },
};
use domain::{Timestamp, ports::StorageError};
use std::{collections::BTreeSet, sync::OnceLock};

/// The most messages in one call of SQS.
const BATCH: i32 = 10;

/// How long messages are hidden while they are moved or read, in seconds.
const HIDDEN: i32 = 120;

/// The queues of one account.
#[derive(Debug)]
pub struct QueueAdmin {
    connection: Connection,
    client: OnceLock<Client>,
}

/// The approximate number of messages in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Waiting.
    pub waiting: u64,
    /// In work, or hidden until they are due.
    pub in_flight: u64,
    /// Sent with a delay that has not passed yet.
    pub delayed: u64,
}

/// One message in a dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadMessage {
    /// Its id in SQS.
    pub id: String,
    /// Its body.
    pub body: String,
    /// When it was sent.
    pub sent_at: Option<Timestamp>,
}

/// The state of a move of dead letters by SQS itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// RUNNING, COMPLETED, FAILED, …: the word that SQS uses.
    pub status: String,
    /// The approximate number of messages moved so far.
    pub moved: u64,
    /// The reason, if it failed.
    pub failure: Option<String>,
}

const fn step(name: &'static str) -> Step<'static> {
    Step { name, operation: "QUEUE", subject: "-" }
}

impl QueueAdmin {
    /// The queues that this connection reaches.
    #[must_use]
    pub const fn new(connection: Connection) -> Self {
        Self { connection, client: OnceLock::new() }
    }

    fn client(&self) -> &Client {
        self.client.get_or_init(|| self.connection.sqs())
    }

    /// The size of a queue.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn depth(&self, url: &str) -> Result<Depth, StorageError> {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let get = || async {
            let get = self.client().get_queue_attributes().queue_url(url);
            Ok(get.set_attribute_names(Some(names.to_vec())).send().await?.attributes.unwrap_or_default())
        };
        let found = self.connection.call(step("queue depth"), get).await?;
        let number = |name| found.get(name).and_then(|text| text.parse().ok()).unwrap_or_default();
        Ok(Depth { waiting: number(&names[0]), in_flight: number(&names[1]), delayed: number(&names[2]) })
    }

    /// When the oldest of some messages was sent. Only for queues whose messages may be received any number of times:
    /// dead-letter queues.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn oldest(&self, url: &str) -> Result<Option<Timestamp>, StorageError> {
        let messages = self.receive(step("dead letters look"), url, 0).await?;
        Ok(messages.iter().filter_map(sent_at).min())
    }

    /// Makes SQS move all messages of the dead-letter queue `from` to the queue `to`. Returns the ARN of `from`, for
    /// [`Self::latest_move`]; `None` if the service does not have this call.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn start_move(&self, from: &str, to: &str) -> Result<Option<String>, StorageError> {
        let (arn, destination) = (self.arn(from).await?, self.arn(to).await?);
        let start = || async {
            // Without a destination SQS fails at messages that were sent to the dead letters directly, as functions do
            // with unreadable ones: it does not know their original queue.
            let start = self.client().start_message_move_task().source_arn(&arn).destination_arn(&destination);
            match start.send().await {
                Ok(_) => Ok(true),
                Err(error) => match Failure::from(error) {
                    // The service refuses a call that it does not know, or cannot do with this queue.
                    Failure { cause: crate::attempts::Cause::Refused(Some(400)), .. } => Ok(false),
                    failure => Err(failure),
                },
            }
        };
        let started = self.connection.call(step("dead letters move"), start).await?;
        Ok(started.then_some(arn))
    }

    /// The state of the latest move out of the dead-letter queue with this ARN.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn latest_move(&self, arn: &str) -> Result<Option<Move>, StorageError> {
        let list = || async {
            let list = self.client().list_message_move_tasks().source_arn(arn).max_results(1);
            Ok(list.send().await?.results.unwrap_or_default())
        };
        let found = self.connection.call(step("dead letters move"), list).await?;
        Ok(found.into_iter().next().map(|task| Move {
            status: task.status.unwrap_or_default(),
            moved: u64::try_from(task.approximate_number_of_messages_moved).unwrap_or_default(),
            failure: task.failure_reason,
        }))
    }

    /// Moves up to ten messages from one queue to another. They are sent first and deleted afterwards, so that none is
    /// lost; a message whose deletion fails exists twice, which the claims make harmless. Returns the number of moved
    /// messages; 0 if there were none.
    ///
    /// # Errors
    /// [`StorageError`]: messages that were not moved stay in the queue, hidden for at most two minutes.
    pub async fn move_some(&self, from: &str, to: &str) -> Result<u64, StorageError> {
        let messages = self.receive(step("dead letters receive"), from, HIDDEN).await?;
        let entry = |(index, message): (usize, &Message)| {
            let entry = SendMessageBatchRequestEntry::builder().id(index.to_string());
            entry.message_body(message.body.clone().unwrap_or_default()).build().map_err(Failure::other)
        };
        let entries = || messages.iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>();
        if messages.is_empty() {
            return Ok(0);
        }
        let send = || async {
            Ok(self.client().send_message_batch().queue_url(to).set_entries(Some(entries()?)).send().await?.successful)
        };
        let sent = self.connection.call(step("dead letters send"), send).await?;
        let taken = |index: usize| sent.iter().any(|sent| sent.id == index.to_string());
        let entry = |(index, message): (usize, &Message)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(index.to_string());
            entry.receipt_handle(message.receipt_handle.clone().unwrap_or_default()).build().map_err(Failure::other)
        };
        let moved = || messages.iter().enumerate().filter(|(index, _)| taken(*index));
        if moved().next().is_none() {
            let refused = std::io::Error::other("the queue took none of the messages");
            return Err(crate::storage("dead letters send", refused));
        }
        let delete = || async {
            let entries = moved().map(entry).collect::<Result<Vec<_>, _>>()?;
            self.client().delete_message_batch().queue_url(from).set_entries(Some(entries)).send().await?;
            Ok(())
        };
        self.connection.call(step("dead letters delete"), delete).await?;
        Ok(moved().count() as u64)
    }

    /// Up to about `most` messages of a dead-letter queue, oldest first.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn look(&self, url: &str, most: usize) -> Result<Vec<DeadMessage>, StorageError> {
        let mut batches = Vec::new();
        let are_enough = |batches: &[Vec<Message>]| batches.iter().map(Vec::len).sum::<usize>() >= most;
        let read = self.receive_hidden(url, &mut batches, are_enough).await;
        self.show_again(url, &batches).await;
        read?;
        let mut found: Vec<_> = batches.iter().flatten().map(dead_message).collect();
        found.sort_by(|a, b| (a.sent_at, &a.id).cmp(&(b.sent_at, &b.id)));
        // SQS may deliver a message twice.
        found.dedup_by(|a, b| a.id == b.id);
        Ok(found)
    }

    /// Deletes one message of a dead-letter queue; `false` if it does not exist, or is hidden at the moment.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn delete(&self, url: &str, id: &str) -> Result<bool, StorageError> {
        let is_wanted = |message: &Message| message.message_id.as_deref() == Some(id);
        let mut batches = Vec::new();
        let have_it = |batches: &[Vec<Message>]| batches.iter().flatten().any(is_wanted);
        let read = self.receive_hidden(url, &mut batches, have_it).await;
        let found = batches.iter().flatten().find(|message| is_wanted(message));
        let deleted = match (read, found.and_then(|message| message.receipt_handle.as_deref())) {
            (Err(error), _) => Err(error),
            (Ok(()), None) => Ok(false),
            (Ok(()), Some(handle)) => {
                let delete = || async {
                    self.client().delete_message().queue_url(url).receipt_handle(handle).send().await?;
                    Ok(true)
                };
                self.connection.call(step("dead letters delete"), delete).await
            }
        };
        self.show_again(url, &batches).await;
        deleted
    }

    /// Deletes these messages of a dead-letter queue, and no other. Returns the number that it deleted: a message that is
    /// hidden at the moment stays.
    ///
    /// # Errors
    /// [`StorageError`]: some of the messages may be deleted.
    pub async fn delete_these(&self, url: &str, wanted: &BTreeSet<String>) -> Result<usize, StorageError> {
        let is_wanted = |message: &Message| message.message_id.as_ref().is_some_and(|id| wanted.contains(id));
        let (mut seen, mut deleted, mut others) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let ended = loop {
            let batch = match self.receive(step("dead letters receive"), url, HIDDEN).await {
                Ok(batch) => batch,
                Err(error) => break Err(error),
            };
            let known = seen.len();
            seen.extend(batch.iter().filter_map(|message| message.message_id.clone()));
            let (unwanted, batch): (Vec<_>, Vec<_>) = batch.into_iter().partition(|message| !is_wanted(message));
            others.push(unwanted);
            match self.delete_batch(url, &batch).await {
                Ok(ids) => deleted.extend(ids),
                Err(error) => break Err(error),
            }
            if seen.len() == known || deleted.len() == wanted.len() {
                break Ok(());
            }
        };
        self.show_again(url, &others).await;
        ended.map(|()| deleted.len())
    }

    /// Deletes up to ten received messages. Returns the ids of those that SQS has deleted.
    async fn delete_batch(&self, url: &str, messages: &[Message]) -> Result<Vec<String>, StorageError> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let entry = |(index, message): (usize, &Message)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(index.to_string());
            entry.receipt_handle(message.receipt_handle.clone().unwrap_or_default()).build().map_err(Failure::other)
        };
        let delete = || async {
            let entries = messages.iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>()?;
            Ok(self.client().delete_message_batch().queue_url(url).set_entries(Some(entries)).send().await?.successful)
        };
        let done = self.connection.call(step("dead letters delete"), delete).await?;
        let is_done = |index: usize| done.iter().any(|done| done.id == index.to_string());
        let ids = messages.iter().enumerate().filter(|(index, _)| is_done(*index));
        Ok(ids.filter_map(|(_, message)| message.message_id.clone()).collect())
    }

    /// Receives messages of a dead-letter queue into `batches` until they are enough or no new ones come. SQS returns any
    /// ten of the visible ones, so they stay hidden: [`Self::show_again`] ends that.
    async fn receive_hidden(
        &self,
        url: &str,
        batches: &mut Vec<Vec<Message>>,
        are_enough: impl Fn(&[Vec<Message>]) -> bool,
    ) -> Result<(), StorageError> {
        let mut ids = BTreeSet::new();
        loop {
            let batch = self.receive(step("dead letters receive"), url, HIDDEN).await?;
            let known = ids.len();
            ids.extend(batch.iter().filter_map(|message| message.message_id.clone()));
            batches.push(batch);
            if ids.len() == known || are_enough(batches) {
                return Ok(());
            }
        }
    }

    /// Makes received messages visible. Those for which it fails are visible again in two minutes.
    async fn show_again(&self, url: &str, batches: &[Vec<Message>]) {
        let entry = |(index, message): (usize, &Message)| {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(index.to_string()).visibility_timeout(0);
            entry.receipt_handle(message.receipt_handle.clone().unwrap_or_default()).build().map_err(Failure::other)
        };
        for batch in batches.iter().filter(|batch| !batch.is_empty()) {
            let show = || async {
                let entries = batch.iter().enumerate().map(entry).collect::<Result<Vec<_>, _>>()?;
                self.client()
                    .change_message_visibility_batch()
                    .queue_url(url)
                    .set_entries(Some(entries))
                    .send()
                    .await?;
                Ok(())
            };
            // What was read or deleted is worth more than this.
            let _ = self.connection.call(step("dead letters show"), show).await;
        }
    }

    async fn receive(&self, step: Step<'_>, url: &str, hidden: i32) -> Result<Vec<Message>, StorageError> {
        let receive = || async {
            let receive = self.client().receive_message().queue_url(url).max_number_of_messages(BATCH);
            let receive = receive.message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
            // Any wait makes SQS ask all its servers; this one is shorter than the time-out of one attempt.
            Ok(receive.visibility_timeout(hidden).wait_time_seconds(1).send().await?.messages.unwrap_or_default())
        };
        self.connection.call(step, receive).await
    }

    async fn arn(&self, url: &str) -> Result<String, StorageError> {
        let get = || async {
            let get = self.client().get_queue_attributes().queue_url(url);
            Ok(get.attribute_names(QueueAttributeName::QueueArn).send().await?.attributes.unwrap_or_default())
        };
        let mut found = self.connection.call(step("queue look-up"), get).await?;
        Ok(found.remove(&QueueAttributeName::QueueArn).unwrap_or_default())
    }
}

fn dead_message(message: &Message) -> DeadMessage {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    DeadMessage { id: text(&message.message_id), body: text(&message.body), sent_at: sent_at(message) }
}

fn sent_at(message: &Message) -> Option<Timestamp> {
    let sent = message.attributes.as_ref()?.get(&MessageSystemAttributeName::SentTimestamp)?;
    Some(Timestamp::from_millis(sent.parse().ok()?))
}
