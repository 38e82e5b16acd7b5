//! From queue events to [`delivery::deliver`], and on to the retry queue.

use aws::{Connection, SqsQueue};
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use delivery::{Attempt, MailOrder, Postman};
use domain::{
    message::{self, Message},
    ports::{Clock, MAX_QUEUE_DELAY, Queue, QueueError},
};
use runtime::{Environment, Handled, System, each_message, queue::Delivery, telemetry};
use std::error::Error;

/// The e-mail function of one process.
pub struct Function {
    postman: Postman,
    retries: SqsQueue,
}

/// Passes on what an attempt left to do: a mail that is to be tried again goes to the retry queue. When that
/// fails, the order comes again and finds the same.
///
/// # Errors
/// [`QueueError`] when the retry queue did not take it.
pub async fn send(
    attempt: Attempt,
    order: &MailOrder,
    retries: &dyn Queue,
    clock: &dyn Clock,
) -> Result<Handled, QueueError> {
    match attempt {
        Attempt::Ended => Ok(Handled::Done),
        Attempt::Busy => Ok(Handled::Later),
        Attempt::Again(due) => {
            let retry = Message::MailRetry {
                v: message::VERSION,
                session_id: order.session_id.clone(),
                ordered_at: order.ordered_at,
                letter: order.letter,
            };
            // What is due later waits the rest of its time in the queue of email-retry.
            retries.send_after(&retry, due.since(clock.now()).min(MAX_QUEUE_DELAY)).await?;
            Ok(Handled::Done)
        }
    }
}

impl Function {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: &Environment) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        let postman = Postman::from_environment(environment, &connection)?;
        let retries = SqsQueue::new(connection, environment.required("EMAIL_RETRY_QUEUE_URL")?);
        Ok(Self { postman, retries })
    }

    /// Handles one batch.
    pub async fn handle(&self, batch: SqsEvent) -> SqsBatchResponse {
        each_message(batch, |delivery| self.one(delivery)).await
    }

    async fn one(&self, delivery: Delivery) -> Handled {
        let Message::Mail { session_id, ordered_at, letter, .. } = delivery.message else {
            tracing::error!("only mail orders belong into the e-mail queue");
            return Handled::Later;
        };
        let order = MailOrder { session_id, letter, ordered_at, message_id: delivery.message_id };
        match self.deliver(&order).await {
            Ok(handled) => {
                tracing::info!(session = order.session_id.prefix(), letter = letter.as_str(), ?handled, "mail");
                handled
            }
            Err(error) => {
                let error = telemetry::chain(error.as_ref());
                tracing::error!(session = order.session_id.prefix(), error, "mail kept for later");
                Handled::Later
            }
        }
    }

    async fn deliver(&self, order: &MailOrder) -> Result<Handled, Box<dyn Error + Send + Sync>> {
        let attempt = self.postman.deliver(order).await?;
        Ok(send(attempt, order, &self.retries, &System).await?)
    }
}
