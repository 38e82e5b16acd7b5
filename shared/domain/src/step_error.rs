//! Why a step did not finish: one type for the handlers, with a code for the logs.

use crate::{
    ports::{MailError, PaymentError, QueueError, StorageError},
    recorded_words::InvalidWords,
};
use std::{borrow::Cow, error::Error, fmt};

crate::enum_with_words! {
    /// The kind of failure or refusal. Every step can be repeated safely, and a queue delivers its message again
    /// whatever the code.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ErrorCode {
        /// Other processes kept changing the state.
        Contended = "contended",
        /// A store failed.
        Storage = "storage",
        /// A call to the mailbox failed.
        Mailbox = "mailbox",
        /// A queue did not accept a message.
        Queue = "queue",
        /// The payment provider could not be reached, or its answer was lost.
        PaymentUnavailable = "payment_unavailable",
        /// The payment provider refused the request, or does not have the object.
        PaymentRefused = "payment_refused",
        /// The model's client cannot be built.
        ModelNotReady = "model_not_ready",
        /// There is no such sale.
        NoSale = "no_sale",
        /// A name or a reason cannot be recorded.
        InvalidWords = "invalid_words",
        /// A stored value is not in its form, or is not what this step stored.
        Malformed = "malformed",
        /// A memory's log is damaged or does not take an event, or no working set can be built from it.
        Memory = "memory",
        /// The data that the step needs was erased meanwhile.
        Erased = "erased",
        /// The operating system supplied no random bytes.
        NoRandomBytes = "no_random_bytes",
    }
    /// Its name in logs.
    pub const fn as_str;
}

impl ErrorCode {
    /// An error with this code and a text for operators.
    pub fn because(self, message: impl Into<Cow<'static, str>>) -> StepError {
        StepError { code: self, message: Some(message.into()), source: None }
    }

    /// An error with this code, a text for operators, and its cause, which logs show after the text.
    pub fn because_of(
        self,
        message: impl Into<Cow<'static, str>>,
        source: impl Error + Send + Sync + 'static,
    ) -> StepError {
        StepError { code: self, message: Some(message.into()), source: Some(Box::new(source)) }
    }

    /// An error with this code and the text of its cause.
    pub fn of(self, source: impl Error + Send + Sync + 'static) -> StepError {
        StepError { code: self, message: None, source: Some(Box::new(source)) }
    }
}

/// Why a step did not finish.
#[derive(Debug)]
pub struct StepError {
    code: ErrorCode,
    message: Option<Cow<'static, str>>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StepError {
    /// The kind of failure.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.message, &self.source) {
            (Some(message), _) => f.write_str(message),
            (None, Some(source)) => source.fmt(f),
            (None, None) => f.write_str(self.code.as_str()),
        }
    }
}

impl Error for StepError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.source.as_deref()?;
        // An error without its own text shows its source's text, which must not appear twice in the chain.
        if self.message.is_some() { Some(source) } else { source.source() }
    }
}

impl From<StorageError> for StepError {
    fn from(error: StorageError) -> Self {
        ErrorCode::Storage.of(error)
    }
}

impl From<MailError> for StepError {
    fn from(error: MailError) -> Self {
        ErrorCode::Mailbox.of(error)
    }
}

impl From<QueueError> for StepError {
    fn from(error: QueueError) -> Self {
        ErrorCode::Queue.of(error)
    }
}

impl From<PaymentError> for StepError {
    fn from(error: PaymentError) -> Self {
        let code = match error {
            PaymentError::Unavailable(_) | PaymentError::Replayed => ErrorCode::PaymentUnavailable,
            PaymentError::NotFound | PaymentError::Refused(_) | PaymentError::Forbidden(_) => ErrorCode::PaymentRefused,
        };
        code.of(error)
    }
}

impl From<InvalidWords> for StepError {
    fn from(error: InvalidWords) -> Self {
        ErrorCode::InvalidWords.of(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(error: &dyn Error) -> Vec<String> {
        std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string).collect()
    }

    #[test]
    fn a_cause_stands_in_the_chain_once() {
        let storage = || StorageError { operation: "sale write", source: "refused".into() };
        let wrapped = StepError::from(storage());
        assert_eq!((wrapped.code(), chain(&wrapped)), (ErrorCode::Storage, chain(&storage())));
        let explained = ErrorCode::Storage.because_of("the link could not be kept", storage());
        assert_eq!(chain(&explained), ["the link could not be kept", "sale write failed", "refused"]);
        assert_eq!(chain(&ErrorCode::NoSale.because("there is no such sale")), ["there is no such sale"]);
    }

    #[test]
    fn the_payment_providers_no_and_its_silence_have_codes_of_their_own() {
        let silent = StepError::from(PaymentError::Unavailable("time-out".into()));
        let refused = StepError::from(PaymentError::Refused("no".to_owned()));
        assert_eq!((silent.code(), refused.code()), (ErrorCode::PaymentUnavailable, ErrorCode::PaymentRefused));
    }
}
