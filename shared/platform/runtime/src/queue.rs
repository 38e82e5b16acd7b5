//! The SQS batch loop: handles each record separately, reports partial failures, and hides messages until their next
//! attempt.

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use domain::{
    Metric, Timestamp,
    backoff::{KEEPS_FAILING, redelivery_wait},
    message::Message,
    ports::{Clock, Meter, Randomness, UnreadableMessages, Visibility},
};
use std::{future::Future, time::Duration};

/// The result of handling a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Its work is done: the queue deletes it.
    Done,
    /// Its work failed: the queue delivers it again, with a wait that grows with the number of deliveries.
    Later,
    /// Its work cannot continue before this time: the queue delivers it again then.
    At(Timestamp),
}

/// The ports that decide when a message is delivered again.
#[derive(Clone, Copy)]
pub struct Redelivery<'a> {
    /// The queue that the messages come from.
    pub queue: &'a dyn Visibility,
    /// The dead letters of that queue.
    pub dead_letters: &'a dyn UnreadableMessages,
    /// The time.
    pub clock: &'a dyn Clock,
    /// The jitter.
    pub randomness: &'a dyn Randomness,
    /// The meter for the alarm on messages that keep failing.
    pub meter: &'a dyn Meter,
}

impl Redelivery<'_> {
    /// How long a message stays hidden; `None` when its work is done.
    #[must_use]
    pub fn wait(&self, handled: Handled, receives: u32) -> Option<Duration> {
        match handled {
            Handled::Done => None,
            Handled::Later => Some(whole_seconds(redelivery_wait(receives, self.randomness.fraction()))),
            Handled::At(due) => Some(whole_seconds(due.since(self.clock.now()))),
        }
    }

    /// Sends an unreadable body to the dead letters at once. If that fails, the queue itself does it after its number of
    /// deliveries.
    async fn put_aside(&self, body: &str) -> Handled {
        match self.dead_letters.put_aside(body).await {
            Ok(()) => Handled::Done,
            Err(error) => {
                tracing::error!(error = %crate::telemetry::chain(&error), "the message could not be sent to the dead letters");
                Handled::Later
            }
        }
    }

    /// Hides a message. One that could not be hidden becomes visible when the queue's visibility time-out ends.
    async fn hide(&self, receipt_handle: &str, wait: Duration) {
        if let Err(error) = self.queue.hide(receipt_handle, wait).await {
            tracing::error!(error = %crate::telemetry::chain(&error), "the message could not be hidden");
        }
    }
}

/// Rounds up, because a message that is delivered early would only be hidden once more. The minimum is one second: a
/// message cannot be hidden for less.
fn whole_seconds(wait: Duration) -> Duration {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    Duration::from_secs(seconds.max(1))
}

/// One message with the queue's data about it.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The queue's id of the message, which owns the claims made for it.
    pub message_id: String,
    /// The number of deliveries, including this one.
    pub receive_count: u32,
    /// The message.
    pub message: Message,
}

/// Handles the records of a batch one by one. A record whose message has to be delivered again is hidden and reported as
/// a failure; the rest of the batch is not affected. A body that is not a message goes to the dead-letter queue, which has
/// an alarm.
pub async fn each_message<F, Fut>(batch: SqsEvent, redelivery: Redelivery<'_>, mut handle: F) -> SqsBatchResponse
where
    F: FnMut(Delivery) -> Fut,
    Fut: Future<Output = Handled>,
{
    let mut response = SqsBatchResponse::default();
    for record in batch.records {
        let message_id = record.message_id.unwrap_or_default();
        let receive_count = record.attributes.get("ApproximateReceiveCount").and_then(|count| count.parse().ok());
        let receive_count = receive_count.unwrap_or(1);
        let handled = match Message::parse(record.body.as_deref().unwrap_or_default()) {
            Ok(message) => handle(Delivery { message_id: message_id.clone(), receive_count, message }).await,
            Err(error) => {
                tracing::error!(message_id, error = %crate::telemetry::chain(&error), "the message cannot be parsed");
                redelivery.put_aside(record.body.as_deref().unwrap_or_default()).await
            }
        };
        if handled == Handled::Later && receive_count >= KEEPS_FAILING {
            redelivery.meter.record(&[Metric::MessageKeepsFailing.once()], redelivery.clock.now());
        }
        if let Some(wait) = redelivery.wait(handled, receive_count) {
            tracing::info!(message_id, receive_count, seconds = wait.as_secs(), "the message is retried");
            redelivery.hide(record.receipt_handle.as_deref().unwrap_or_default(), wait).await;
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = message_id;
            response.batch_item_failures.push(failure);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_hidden_for_whole_seconds_until_it_can_go_on() {
        let waits = [0, 1, 1_000, 1_001].map(|millis| whole_seconds(Duration::from_millis(millis)).as_secs());
        assert_eq!(waits, [1, 1, 1, 2]);
    }
}
