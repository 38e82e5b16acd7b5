//! The model.

use async_trait::async_trait;

/// A question to the model: the same bytes on every path (Regen Consistency, invariant 7).
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The instruction.
    pub instruction: String,
    /// The customer's text: data, never an instruction.
    pub content: String,
    /// JSON schema of the reply.
    pub schema: serde_json::Value,
    /// The limit of the reply in tokens, including thinking tokens.
    pub max_output_tokens: u32,
    /// The longest reply that the instruction asks for, in bytes: about four make a token.
    pub ordinary_reply_bytes: usize,
}

impl Prompt {
    /// Whether this much of a reply is already longer than the instruction asks for.
    #[must_use]
    pub const fn is_long(&self, reply: &str) -> bool {
        reply.len() > self.ordinary_reply_bytes
    }
}

/// The model's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReply {
    /// The text, which should be the JSON of a verdict.
    pub text: String,
    /// The version of the model that answered.
    pub model_version: String,
    /// A warning that comes with the reply, such as a retirement date.
    pub status_warning: Option<String>,
}

/// The reason of an incomplete reply that was already long, and still being written when the time of its call was over.
const TIME: &str = "TIME";

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The model was not called, because our own side failed first (the key could not be read): this counts neither as
    /// an attempt of the sale nor as a failure of the model.
    #[error("the model was not called, because our client for it could not be built")]
    NotReady(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The connection failed.
    #[error("the model could not be reached")]
    Network(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// 408, 429, 500, 502, 503, 504: try again.
    #[error("the model answered {0}")]
    Unavailable(u16),
    /// 429 with a delay that the vendor asks for (`RetryInfo.retryDelay`): do not call before it has passed.
    #[error("the model is throttled for {} ms", .0.as_millis())]
    Throttled(std::time::Duration),
    /// The reply is cut off, empty or malformed, or ended for a reason that is no refusal: this call failed, and another
    /// may succeed. The reason is the model's own.
    #[error("the reply is incomplete: {0}")]
    Incomplete(String),
    /// The daily quota is used up: retrying today is useless.
    #[error("the quota is used up")]
    QuotaExhausted,
    /// 401, 403 (`GEMINI_AUTH_FAILURE`).
    #[error("GEMINI_AUTH_FAILURE ({0})")]
    Unauthorized(u16),
    /// 402, and 400 with `FAILED_PRECONDITION`: the account of the key has no credits or no billing, or its region is
    /// not served. Every model and every question gets it until an operator acts.
    #[error("GEMINI_ACCOUNT_FAILURE ({0}): credits, billing or region")]
    Account(u16),
    /// 400 and other refusals (`GEMINI_BAD_REQUEST`).
    #[error("GEMINI_BAD_REQUEST ({0})")]
    BadRequest(u16),
    /// 404: the model does not exist, or was retired.
    #[error("the model is not known")]
    UnknownModel,
    /// The model refused the content; the reason is the model's own.
    #[error("no verdict in the reply: {0}")]
    NoVerdict(String),
}

impl ModelError {
    /// The model was still writing a long reply ([`Prompt::is_long`]) when the time of its call was over. A model that is
    /// silent by then, or that has written less, is a [`Self::Timeout`].
    #[must_use]
    pub fn cut_by_time() -> Self {
        Self::Incomplete(TIME.to_owned())
    }

    /// Whether the same call may succeed a moment later (Gemini Timeout, invariant 4).
    #[must_use]
    pub const fn is_retriable(&self) -> bool {
        match self {
            Self::Timeout | Self::Network(_) | Self::Unavailable(_) | Self::Throttled(_) | Self::Incomplete(_) => true,
            Self::NotReady(_)
            | Self::QuotaExhausted
            | Self::Unauthorized(_)
            | Self::Account(_)
            | Self::BadRequest(_)
            | Self::UnknownModel
            | Self::NoVerdict(_) => false,
        }
    }

    /// Whether it concerns the service or our access to it, not this question: every sale would get it. How much the
    /// model thinks and writes depends on the question, so a reply that reaches its limit of tokens (`MAX_TOKENS`) or of
    /// time is no outage. Neither is one that recites a source (`RECITATION`) or is in a language that is not supported
    /// (`LANGUAGE`).
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Incomplete(reason) => !matches!(reason.as_str(), "MAX_TOKENS" | "RECITATION" | "LANGUAGE" | TIME),
            Self::QuotaExhausted | Self::Unauthorized(_) | Self::Account(_) => true,
            error => error.is_retriable(),
        }
    }
}

/// Receives a reply while the model writes it.
#[async_trait]
pub trait Listener: Send {
    /// Receives the whole text so far. A call that is repeated, or goes to the next model, starts again with less text.
    async fn hear(&mut self, text: &str);
}

/// The model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks the named model once, with a time-out.
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError>;

    /// Asks as [`Model::ask`] does. `listener` receives the text while the model writes it; only the returned reply is
    /// complete.
    async fn stream(&self, model: &str, prompt: &Prompt, listener: &mut dyn Listener)
    -> Result<ModelReply, ModelError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gemini Timeout, invariant 4.
    #[test]
    fn what_may_pass_is_tried_again_and_what_every_sale_would_get_is_an_outage() {
        for (error, is_retriable, is_outage) in [
            (ModelError::Timeout, true, true),
            (ModelError::Incomplete("MALFORMED_RESPONSE".to_owned()), true, true),
            (ModelError::Incomplete("MAX_TOKENS".to_owned()), true, false),
            (ModelError::cut_by_time(), true, false),
            (ModelError::Incomplete("RECITATION".to_owned()), true, false),
            (ModelError::Incomplete("A_REASON_OF_TOMORROW".to_owned()), true, true),
            (ModelError::QuotaExhausted, false, true),
            (ModelError::Unauthorized(403), false, true),
            (ModelError::Account(402), false, true),
            (ModelError::BadRequest(400), false, false),
            (ModelError::UnknownModel, false, false),
            (ModelError::NoVerdict("SAFETY".to_owned()), false, false),
        ] {
            assert_eq!((error.is_retriable(), error.is_outage()), (is_retriable, is_outage), "{error}");
        }
    }
}
