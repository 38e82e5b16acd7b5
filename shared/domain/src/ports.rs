//! The outside world as decisions see it. Adapters live in `aws`, `stripe`, `gemini`, `graph`; the testkit has
//! ones that fail, duplicate and crash on purpose.

pub use crate::cache_entries::CacheEntries;
use crate::{
    Alert, CachedVerdict, CheckoutSession, EmailAddress, Query, Sale, Secret, SessionId, Submission, Tier, Timestamp,
    breaker::Breaker,
    inbox::{Acknowledgement, Arrivals, Correspondence, Incoming, Order, ReceivedAt},
    mail::Letter,
    message::Message,
    money::PaymentId,
    open_work::Work,
    sale::{AuditEntry, Draft},
};
use async_trait::async_trait;
use std::time::Duration;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Draws random numbers.
pub trait Randomness: Send + Sync {
    /// A number from 0.0 up to, not including, 1.0.
    fn fraction(&self) -> f64;
    /// 128 random bits as 32 hexadecimal digits.
    fn token(&self) -> String;
}

/// Waits.
#[async_trait]
pub trait Pause: Send + Sync {
    /// Returns after `duration`.
    async fn pause(&self, duration: Duration);
}

/// A storage service did not do what was asked; whether it was done is unknown.
#[derive(Debug, thiserror::Error)]
#[error("{operation} failed")]
pub struct StorageError {
    /// What was asked.
    pub operation: &'static str,
    /// Why it failed, for operators.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Why a conditional write did not happen.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Somebody else saved in between: load again and decide again.
    #[error("the record was changed in between")]
    Conflict,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A loaded record and what to present when saving it. `0` means that it does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The record.
    pub value: T,
    /// Its version.
    pub version: u64,
}

/// A cache entry as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheEntry {
    /// A verdict.
    Hit(Box<CachedVerdict>),
    /// Nothing.
    Miss,
    /// It was taken out for its age, or by an operator: nobody need be told that it is not there.
    Removed,
    /// Something that is not a verdict (Cache Alert, invariant 7).
    Corrupt,
}

/// Sales and cached verdicts.
#[async_trait]
pub trait SaleStore: Send + Sync {
    /// The sale, if anybody has seen it.
    async fn load(&self, session: &SessionId) -> Result<Option<Versioned<Sale>>, StorageError>;
    /// The sale and its cached verdict in one read.
    async fn load_with_verdict(
        &self,
        session: &SessionId,
    ) -> Result<(Option<Versioned<Sale>>, CacheEntry), StorageError>;
    /// Saves the sale if its version is still `expected` (0: if it does not exist). Returns the new version.
    /// Together with `verdict`, both are written or neither is.
    async fn save(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError>;
}

/// A page of an index of sales.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Sales, the most urgent first. The index lags behind: whoever acts on one loads it and looks again.
    pub sessions: Vec<SessionId>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// Sales with something left to do, by what that is and when it is due (see [`crate::open_work`]).
#[async_trait]
pub trait OpenSales: Send + Sync {
    /// One page of the sales with this work whose due time is not after `until`; all of them without it.
    async fn open(&self, work: Work, until: Option<Timestamp>, from: Option<&str>) -> Result<Listed, StorageError>;
}

/// A page of all sales.
#[derive(Clone, Debug, Default)]
pub struct SalesPage {
    /// Sales, in no order.
    pub sales: Vec<Sale>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// Every sale there is. It costs a reading of the whole table: for operators only, never on a path or a schedule.
#[async_trait]
pub trait AllSales: Send + Sync {
    /// One page.
    async fn all(&self, from: Option<&str>) -> Result<SalesPage, StorageError>;
}

/// What operators submit in a customer's stead (Silent Drop, re-attempt).
#[async_trait]
pub trait Submissions: Send + Sync {
    /// Keeps the tier and the question of a sale, in place of earlier ones.
    async fn keep(&self, session: &SessionId, submission: &Submission) -> Result<(), StorageError>;
    /// What was submitted.
    async fn find(&self, session: &SessionId) -> Result<Option<Submission>, StorageError>;
}

/// Mails that were given up, each as an object of its own.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// Keeps what is known of a dead letter: JSON without an address, a question or a verdict.
    async fn keep(
        &self,
        session: &SessionId,
        letter: Letter,
        died_at: Timestamp,
        document: &str,
    ) -> Result<(), StorageError>;
}

/// The models' circuit breakers.
#[async_trait]
pub trait Breakers: Send + Sync {
    /// A model's breaker; a closed one without history where there is none.
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError>;
    /// Saves it if its version is still `expected`.
    async fn save(&self, model: &str, breaker: &Breaker, expected: u64) -> Result<(), SaveError>;
}

/// What scheduled functions remember from one run to the next: one document per name.
#[async_trait]
pub trait Notes: Send + Sync {
    /// The document, and the version to present when saving it; version 0 and nothing where there is none.
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError>;
    /// Saves it if its version is still `expected`. Returns the new version.
    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError>;
}

/// First verdicts, kept for ever.
#[async_trait]
pub trait VerdictArchive: Send + Sync {
    /// Stores a verdict unless one is there; a stored one is never replaced.
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError>;
    /// The archived verdict.
    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError>;
}

/// What became of an audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is in the log.
    Written,
    /// The same record was there already.
    AlreadyThere,
    /// Another record has its place: the stream forked.
    Forked,
}

/// The append-only log.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Writes a record that must not exist yet.
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError>;
}

/// The append-only log, read by operators.
#[async_trait]
pub trait AuditRecords: Send + Sync {
    /// The lines whose keys begin so, in the order of their keys.
    async fn lines(&self, prefix: &str) -> Result<Vec<String>, StorageError>;
}

/// An object as its bucket lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key.
    pub key: String,
    /// When it was written, as the bucket says.
    pub written_at: Timestamp,
}

/// The append-only log as it lies there, for its verification.
#[async_trait]
pub trait AuditObjects: Send + Sync {
    /// One page of the objects whose keys begin so and come after `after`, in order; nothing when there are no more.
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError>;
    /// The bytes of an object, if it is there.
    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError>;
}

/// One message of the log's bucket about objects that came into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogNotice {
    /// What the queue wants to see when the message is removed.
    pub handle: String,
    /// What the bucket says.
    pub body: String,
}

/// Messages of the log's bucket about objects that came into it: at least once, late, in any order.
#[async_trait]
pub trait LogNotices: Send + Sync {
    /// Some of the messages that wait, which are then hidden for a while; nothing when none does.
    async fn receive(&self) -> Result<Vec<LogNotice>, StorageError>;
    /// Removes a message whose work is done.
    async fn remove(&self, handle: &str) -> Result<(), StorageError>;
}

/// Digests of the log and their signatures, in a store of their own: nothing there is ever replaced.
#[async_trait]
pub trait DigestStore: Send + Sync {
    /// Stores a document unless its key is taken. Answers what is there then: this one, or the one that was first.
    async fn keep(&self, key: &str, document: &str) -> Result<Vec<u8>, StorageError>;
    /// A stored document.
    async fn find(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError>;
    /// One page of the keys that begin so and come after `after`, in order; nothing when there are no more.
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError>;
}

/// Signs digests with a key that never leaves the key service.
#[async_trait]
pub trait DigestSigner: Send + Sync {
    /// The key, as the key service names it.
    fn key(&self) -> &str;
    /// The signature (ECDSA on P-256, DER) of a document with this SHA-256.
    async fn sign(&self, sha256: &[u8; 32]) -> Result<Vec<u8>, StorageError>;
}

/// Raw payloads that the content filter held: erasable, for few eyes.
#[async_trait]
pub trait Quarantine: Send + Sync {
    /// Keeps a held payload, one object per hold.
    async fn hold(&self, session: &SessionId, held_at: Timestamp, payload: &str) -> Result<(), StorageError>;
    /// The held payloads of a sale, oldest first.
    async fn held(&self, session: &SessionId) -> Result<Vec<String>, StorageError>;
}

/// A queue refused a message.
#[derive(Debug, thiserror::Error)]
#[error("the queue did not take the message")]
pub struct QueueError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// A queue.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Returns once the queue has the message.
    async fn send(&self, message: &Message) -> Result<(), QueueError> {
        self.send_after(message, Duration::ZERO).await
    }

    /// The same; nobody sees the message before `delay`, at most [`MAX_QUEUE_DELAY`], has passed.
    async fn send_after(&self, message: &Message, delay: Duration) -> Result<(), QueueError>;
}

/// The longest a queue keeps a new message back.
pub const MAX_QUEUE_DELAY: Duration = Duration::from_secs(900);

/// Tells operators. It never fails towards its caller: it has a fallback chain that ends in the function's log.
#[async_trait]
pub trait Alerts: Send + Sync {
    /// Raises an alert.
    async fn raise(&self, alert: Alert);
}

/// Why the payment provider did not answer.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// It knows no such thing.
    #[error("the payment provider knows no such object")]
    NotFound,
    /// It refused the request: trying again is useless.
    #[error("the payment provider refused the request: {0}")]
    Refused(String),
    /// It could not be reached or failed: try again later.
    #[error("the payment provider is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A session to be created.
#[derive(Clone, Debug)]
pub struct NewCheckoutSession {
    /// What is bought.
    pub tier: Tier,
    /// What is asked.
    pub query: Query,
    /// The provider's id of a promotion code.
    pub promotion_code: Option<String>,
    /// Makes the creation idempotent.
    pub idempotency_key: String,
}

/// A created session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedCheckoutSession {
    /// Its id.
    pub id: SessionId,
    /// Where the customer pays.
    pub url: String,
}

/// The payment provider.
#[async_trait]
pub trait Payments: Send + Sync {
    /// Retrieves a session.
    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError>;
    /// Creates a session.
    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError>;
    /// The provider's id of an active promotion code.
    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError>;
}

/// How a refund stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundStatus {
    /// The money is on its way or has arrived.
    Succeeded,
    /// The provider works on it.
    Pending,
    /// It did not work: a human decides.
    Failed,
}

/// A page of the provider's paid sessions.
#[derive(Clone, Debug, Default)]
pub struct PaidSessions {
    /// The sessions.
    pub sessions: Vec<CheckoutSession>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// The payment provider's books.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Gives a payment back, whole. The key makes it one refund however often it is asked for.
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<RefundStatus, PaymentError>;
    /// The session that a payment paid for, if one did.
    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError>;
    /// One page of the paid sessions that were created since.
    async fn paid_since(&self, since: Timestamp, from: Option<&str>) -> Result<PaidSessions, PaymentError>;
}

/// A question to the model: the same bytes on every path (Regen Consistency, invariant 7).
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// What the model is to do.
    pub instruction: String,
    /// The customer's text: data, never instruction.
    pub content: String,
    /// JSON schema of the reply.
    pub schema: serde_json::Value,
    /// Upper bound of the reply, thought included, in tokens.
    pub max_output_tokens: u32,
}

/// What the model said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReply {
    /// The text, which ought to be the JSON of a verdict.
    pub text: String,
    /// Which model answered.
    pub model_version: String,
    /// A warning that comes with the reply, such as a retirement date.
    pub status_warning: Option<String>,
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The model was not asked, because our own side failed first (the key could not be read): no attempt of the
    /// sale and no failure of the model.
    #[error("our side of the model is not ready")]
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
    /// The daily quota is used up: trying again today is useless.
    #[error("the quota is used up")]
    QuotaExhausted,
    /// 401, 403 (`GEMINI_AUTH_FAILURE`).
    #[error("GEMINI_AUTH_FAILURE ({0})")]
    Unauthorized(u16),
    /// 400 and other refusals (`GEMINI_BAD_REQUEST`).
    #[error("GEMINI_BAD_REQUEST ({0})")]
    BadRequest(u16),
    /// 404: no such model, or a retired one.
    #[error("the model is not known")]
    UnknownModel,
    /// The model refused the content or stopped early; the reason is its own word.
    #[error("no verdict in the reply: {0}")]
    NoVerdict(String),
}

impl ModelError {
    /// Whether the same call may succeed a moment later (Gemini Timeout, invariant 4).
    #[must_use]
    pub const fn is_retriable(&self) -> bool {
        match self {
            Self::Timeout | Self::Network(_) | Self::Unavailable(_) => true,
            Self::NotReady(_)
            | Self::QuotaExhausted
            | Self::Unauthorized(_)
            | Self::BadRequest(_)
            | Self::UnknownModel
            | Self::NoVerdict(_) => false,
        }
    }
}

/// The model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks the named model once, with a time-out.
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError>;
}

/// A mail, finished.
#[derive(Clone, Debug)]
pub struct OutgoingMail {
    /// The recipient.
    pub to: EmailAddress,
    /// The subject.
    pub subject: String,
    /// The body, plain text.
    pub body: String,
    /// The sale, which travels in a header of its own so that the mail can be found again.
    pub session_id: SessionId,
}

/// Why the mailbox did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// 400: the mail itself is refused; trying again is useless.
    #[error("the mail was refused (400)")]
    Rejected,
    /// The login service refused the refresh token or the client: a human must consent again (Email Retry, FM-03).
    #[error("GRAPH_REFRESH_TOKEN revoked or refused (401)")]
    ConsentRefused,
    /// 403: a permission is missing or was withdrawn.
    #[error("the mailbox refused access ({0})")]
    Forbidden(u16),
    /// 429: wait at least this long.
    #[error("the mailbox is throttled")]
    Throttled(Duration),
    /// 401 after a refresh, 5xx: nothing was done.
    #[error("the mailbox answered {0}")]
    Unavailable(u16),
    /// The connection broke or the reply was lost: it may have been done.
    #[error("the outcome is unknown")]
    OutcomeUnknown(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// 404: there is no such draft (any more).
    #[error("there is no such draft")]
    NoSuchDraft,
}

impl MailError {
    /// Whether a later attempt may succeed (Email Retry, INV-05).
    #[must_use]
    pub const fn is_retriable(&self) -> bool {
        match self {
            Self::Throttled(_) | Self::Unavailable(_) | Self::OutcomeUnknown(_) => true,
            Self::Rejected | Self::ConsentRefused | Self::Forbidden(_) | Self::NoSuchDraft => false,
        }
    }

    /// The code of Email Retry's records: the status, or -1 where the connection broke.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Rejected => "400".to_owned(),
            Self::ConsentRefused => "401".to_owned(),
            Self::NoSuchDraft => "404".to_owned(),
            Self::Throttled(_) => "429".to_owned(),
            Self::Unavailable(0) | Self::OutcomeUnknown(_) => "-1".to_owned(),
            Self::Forbidden(status) | Self::Unavailable(status) => status.to_string(),
        }
    }
}

/// The mailbox. A draft that was sent is gone, so the same draft cannot be sent twice.
#[async_trait]
pub trait Mailbox: Send + Sync {
    /// Creates a draft.
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError>;
    /// Sends a draft.
    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError>;
    /// Whether the draft is still a draft.
    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError>;
    /// Whether the sent items hold the draft's message.
    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError>;
    /// Removes a draft that nobody will send.
    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError>;
}

/// The mailbox's inbox. Nothing in it is ever changed: no message is marked as read, moved or removed (Inbox Watch,
/// invariant 8).
#[async_trait]
pub trait Inbox: Send + Sync {
    /// The unread messages that were received at `since` or later, at most `most`.
    async fn unread(&self, since: &ReceivedAt, order: Order, most: usize) -> Result<Arrivals, MailError>;
    /// A message without its body; nothing where it is not there (any more).
    async fn message(&self, id: &str) -> Result<Option<Incoming>, MailError>;
    /// A message as an operator reads it.
    async fn correspondence(&self, id: &str) -> Result<Option<Correspondence>, MailError>;
    /// The sale of which a mail was sent in this conversation.
    async fn sale_of(&self, conversation: &str) -> Result<Option<SessionId>, MailError>;
    /// Creates the draft of an acknowledgement, to be sent as any other draft.
    async fn create_acknowledgement(&self, mail: &Acknowledgement) -> Result<Draft, MailError>;
}

/// The topic that operators read, for lines that may name a sender: they go there and into no log.
#[async_trait]
pub trait Broadcast: Send + Sync {
    /// Returns once the topic has the line.
    async fn tell(&self, line: &str) -> Result<(), StorageError>;
}

/// A secret document, fetched at its first use and kept for the life of the process.
#[async_trait]
pub trait SecretSource: Send + Sync {
    /// The document: JSON whose fields its reader knows.
    async fn document(&self) -> Result<Secret, StorageError>;
}
