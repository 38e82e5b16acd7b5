//! From queue events to [`delivery::deliver`], and back into the queue for as long as the mail is to wait.

use aws::{Connection, SqsQueue};
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use delivery::{Attempt, MailOrder, Postman};
use domain::{
    Timestamp,
    message::Message,
    ports::{Clock, RetryQueue},
};
use runtime::{Environment, Handled, System, each_message, queue::Delivery, telemetry};
use std::{error::Error, time::Duration};

/// The retry function of one process.
pub struct Function {
    postman: Postman,
    retries: SqsQueue,
}

/// What becomes of a retry message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It is done with.
    Done,
    /// The queue hides it for its usual time.
    Usual,
    /// It is hidden for this long. The same message goes on waiting, so the schedule is one hop however long it
    /// is, and Lambda's loop detection (16) never sees more.
    For(Duration),
}

/// Decides it. A due time that has come meanwhile still waits a second: a message cannot be hidden for less.
#[must_use]
pub fn wait(attempt: Attempt, now: Timestamp) -> Wait {
    match attempt {
        Attempt::Ended => Wait::Done,
        Attempt::Busy => Wait::Usual,
        Attempt::Again(due) => Wait::For(round_up(due.since(now)).max(Duration::from_secs(1))),
    }
}

/// To whole seconds: a message that came back early would only be hidden once more.
const fn round_up(duration: Duration) -> Duration {
    let seconds = duration.as_secs();
    Duration::from_secs(if duration.subsec_nanos() > 0 { seconds + 1 } else { seconds })
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
        let Message::MailRetry { session_id, ordered_at, letter, .. } = delivery.message else {
            tracing::error!("only mails that are tried again belong into the retry queue");
            return Handled::Later;
        };
        let order = MailOrder { session_id, letter, ordered_at, message_id: delivery.message_id };
        let session = order.session_id.prefix();
        let duration = match self.postman.deliver(&order).await.map(|attempt| wait(attempt, System.now())) {
            Ok(Wait::Done) => return Handled::Done,
            Ok(Wait::Usual) => return Handled::Later,
            Ok(Wait::For(duration)) => duration,
            Err(error) => {
                tracing::error!(session, error = telemetry::chain(error.as_ref()), "mail kept for later");
                return Handled::Later;
            }
        };
        tracing::info!(session, letter = letter.as_str(), seconds = duration.as_secs(), "mail waits");
        if let Err(error) = Box::pin(self.retries.hide(&delivery.receipt_handle, duration)).await {
            // It comes back after the queue's visibility time-out, finds that it is not due, and is hidden then.
            tracing::error!(session, error = telemetry::chain(&error), "not hidden");
        }
        Handled::Later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_waits_in_whole_seconds_until_it_is_due() {
        let now = Timestamp::from_millis(500);
        let after = |millis| wait(Attempt::Again(Timestamp::from_millis(millis)), now);
        assert_eq!(after(300_500), Wait::For(Duration::from_secs(300)));
        assert_eq!(after(300_501), Wait::For(Duration::from_secs(301)));
        assert_eq!(after(400), Wait::For(Duration::from_secs(1)));
        assert_eq!((wait(Attempt::Ended, now), wait(Attempt::Busy, now)), (Wait::Done, Wait::Usual));
    }
}
