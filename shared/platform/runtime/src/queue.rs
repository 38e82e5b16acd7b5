//! The SQS batch loop: each record on its own, partial failures reported.

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use domain::message::Message;
use std::future::Future;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Its work is done, or another message does it: the queue may forget it.
    Done,
    /// The queue must deliver it again.
    Later,
}

/// One message with what the queue says about it.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The queue's id of the message: the owner of claims made for it.
    pub message_id: String,
    /// What the queue wants to see when something is asked about this delivery.
    pub receipt_handle: String,
    /// How often it was delivered, this time included.
    pub receive_count: u32,
    /// The message.
    pub message: Message,
}

/// Handles the records of a batch one after the other. A record whose body is no message, and one that is to
/// come again, are reported as failures; the rest of the batch is not affected. A message that stays unreadable
/// ends in the dead-letter queue, where an alarm waits.
pub async fn each_message<F, Fut>(batch: SqsEvent, mut handle: F) -> SqsBatchResponse
where
    F: FnMut(Delivery) -> Fut,
    Fut: Future<Output = Handled>,
{
    let mut response = SqsBatchResponse::default();
    for record in batch.records {
        let message_id = record.message_id.unwrap_or_default();
        let receive_count = record.attributes.get("ApproximateReceiveCount").and_then(|count| count.parse().ok());
        let handled = match Message::parse(record.body.as_deref().unwrap_or_default()) {
            Ok(message) => {
                let receive_count = receive_count.unwrap_or(1);
                let receipt_handle = record.receipt_handle.unwrap_or_default();
                handle(Delivery { message_id: message_id.clone(), receipt_handle, receive_count, message }).await
            }
            Err(error) => {
                tracing::error!(message_id, error = %crate::telemetry::chain(&error), "unreadable message");
                Handled::Later
            }
        };
        if handled == Handled::Later {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = message_id;
            response.batch_item_failures.push(failure);
        }
    }
    response
}
