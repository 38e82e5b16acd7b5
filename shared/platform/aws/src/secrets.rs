//! JSON documents in Secrets Manager.

use crate::{Connection, attempts::Step};
use async_trait::async_trait;
use aws_sdk_secretsmanager::{error::SdkError, operation::get_secret_value::GetSecretValueError};
use domain::{
    RenewableSecret, Secret, Timestamp,
    ports::{SecretSource, StorageError},
};
use serde_json::Value;
use std::{
    future::Future,
    sync::{OnceLock, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// A secret that was refused, or has no value yet, is read again at most once in this time: callers must not be able to
/// control how often we read it.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(60);

/// A secret that only we check is read again after this time, because no refusal says that it was replaced.
const REREAD_INTERVAL: Duration = Duration::from_secs(600);

/// One secret. Its value is read at the first use and cached, with its fields trimmed. A failure is not cached, and a
/// document without values is cached for a minute only.
#[derive(Debug)]
pub struct SecretDocument {
    connection: Connection,
    id: String,
    client: OnceLock<aws_sdk_secretsmanager::Client>,
    pub(crate) kept: CachedSecret,
    /// The version that was read last, which is the only one that a rotation replaces.
    version: std::sync::Mutex<Option<Version>>,
}

/// A version of a stored secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// Its id.
    pub(crate) id: String,
    /// When it was written.
    pub(crate) written_at: Option<Timestamp>,
}

impl SecretDocument {
    /// The secret with this name or ARN.
    #[must_use]
    pub const fn new(connection: Connection, id: String) -> Self {
        Self {
            connection,
            id,
            client: OnceLock::new(),
            kept: CachedSecret::new(),
            version: std::sync::Mutex::new(None),
        }
    }

    /// The same secret, which is read again ten minutes after the last read. For one that only we check. Not for a
    /// refresh token: its rotation replaces the version that was read last, which has to be the one in use.
    #[must_use]
    pub const fn rereading(mut self) -> Self {
        self.kept.rereads = true;
        self
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The version that was read last.
    pub(crate) fn version(&self) -> Option<Version> {
        self.version.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// When the version that was read last was written, which is the age of a rotating token.
    #[must_use]
    pub fn written_at(&self) -> Option<Timestamp> {
        self.version()?.written_at
    }

    pub(crate) fn client(&self) -> &aws_sdk_secretsmanager::Client {
        self.client.get_or_init(|| self.connection.secrets())
    }

    /// Stores a new current document. Secrets Manager keeps the previous one under the label AWSPREVIOUS.
    ///
    /// # Errors
    /// [`StorageError`] when it could not be written; then the old document is still the current one.
    pub async fn store(&self, document: &Value) -> Result<(), StorageError> {
        let text = document.to_string();
        let step = Step { name: "secret write", operation: "SECRET_WRITE", subject: "-" };
        let put = || async {
            let put = self.client().put_secret_value().secret_id(&self.id).secret_string(&text);
            Ok(put.send().await.map(drop)?)
        };
        self.connection.call(step, put).await?;
        self.kept.replace(&text).await;
        Ok(())
    }

    pub(crate) async fn fetch(&self) -> Result<String, StorageError> {
        let step = Step { name: "secret read", operation: "SECRET_READ", subject: "-" };
        let read = || async {
            let output = match self.client().get_secret_value().secret_id(&self.id).send().await {
                // A deployment creates the secrets without a value, which is not a fault of the store.
                Err(error) if is_without_value(&error) => return Ok((EMPTY.to_owned(), None)),
                output => output?,
            };
            let text = output.secret_string.filter(|text| !text.is_empty()).unwrap_or_else(|| EMPTY.to_owned());
            let written_at = output.created_date.and_then(|date| date.to_millis().ok()).map(Timestamp::from_millis);
            Ok((text, output.version_id.map(|id| Version { id, written_at })))
        };
        let (text, version) = self.connection.call(step, read).await?;
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
        Ok(text)
    }
}

/// The document of a secret without a value: its reader refuses it and names the missing field.
const EMPTY: &str = "{}";

/// Whether the secret has no current version, or does not exist.
fn is_without_value<R>(error: &SdkError<GetSecretValueError, R>) -> bool {
    error.as_service_error().is_some_and(GetSecretValueError::is_resource_not_found_exception)
}

#[async_trait]
impl SecretSource for SecretDocument {
    async fn document(&self) -> Result<Secret, StorageError> {
        self.kept.document(Instant::now(), || self.fetch()).await
    }
}

#[async_trait]
impl RenewableSecret for SecretDocument {
    async fn renewed(&self, refused: &Secret) -> Result<Option<Secret>, StorageError> {
        self.kept.renewed(refused, Instant::now(), || self.fetch()).await
    }
}

/// The cached state of a secret: the document, and when it was last read.
#[derive(Debug)]
pub(crate) struct CachedSecret {
    state: Mutex<State>,
    /// Whether a complete document is read again after [`REREAD_INTERVAL`].
    rereads: bool,
}

#[derive(Debug)]
struct State {
    document: Option<Secret>,
    /// Whether the document is filled in.
    is_complete: bool,
    looked_up: Option<Instant>,
    /// Whether this process wrote the document: then it has not been checked since whether it is still current.
    own: bool,
}

impl CachedSecret {
    const fn new() -> Self {
        let state = State { document: None, is_complete: false, looked_up: None, own: false };
        Self { state: Mutex::const_new(state), rereads: false }
    }

    async fn document<F>(&self, now: Instant, fetch: impl Fn() -> F + Send) -> Result<Secret, StorageError>
    where
        F: Future<Output = Result<String, StorageError>> + Send,
    {
        // Held during a read: concurrent callers wait for it instead of making their own.
        let mut state = self.state.lock().await;
        let is_due = self.rereads && !state.was_looked_up_within(REREAD_INTERVAL, now);
        match state.document.clone() {
            Some(document) if (state.is_complete && !is_due) || state.was_looked_up_within(RENEWAL_INTERVAL, now) => {
                Ok(document)
            }
            // A read that fails, which the store reports, or that gives no value replaces nothing.
            Some(kept) if state.is_complete => {
                drop(state.look_up(now, fetch).await);
                Ok(state.document.clone().unwrap_or(kept))
            }
            _ => state.look_up(now, fetch).await,
        }
    }

    async fn renewed<F>(
        &self,
        refused: &Secret,
        now: Instant,
        fetch: impl Fn() -> F + Send,
    ) -> Result<Option<Secret>, StorageError>
    where
        F: Future<Output = Result<String, StorageError>> + Send,
    {
        let mut state = self.state.lock().await;
        let is_other = |document: &Secret| document.expose() != refused.expose();
        // A document that this process wrote itself may be refused like the previous one: a human may have replaced
        // both.
        let believed = state.is_complete && !state.own;
        if let Some(document) = state.document.as_ref().filter(|document| is_other(document) && believed) {
            return Ok(Some(document.clone()));
        }
        if state.was_looked_up_within(RENEWAL_INTERVAL, now) {
            return Ok(None);
        }
        Ok(Some(state.look_up(now, fetch).await?).filter(is_other))
    }

    pub(crate) async fn replace(&self, text: &str) {
        let (document, is_complete) = read(text);
        let mut state = self.state.lock().await;
        state.document = is_complete.then_some(document);
        state.is_complete = is_complete;
        state.own = true;
    }
}

impl State {
    /// Whether the last read, also a failed one, is this recent.
    fn was_looked_up_within(&self, interval: Duration, now: Instant) -> bool {
        self.looked_up.is_some_and(|at| now.saturating_duration_since(at) < interval)
    }

    async fn look_up<F>(&mut self, now: Instant, fetch: impl Fn() -> F + Send) -> Result<Secret, StorageError>
    where
        F: Future<Output = Result<String, StorageError>> + Send,
    {
        self.looked_up = Some(now);
        self.own = false;
        let (document, is_complete) = read(&fetch().await?);
        // A complete document is kept rather than an incomplete one: if it is wrong, it is refused.
        if is_complete || !self.is_complete {
            self.document = Some(document.clone());
            self.is_complete = is_complete;
        }
        Ok(document)
    }
}

/// The document with trimmed values, and whether it is filled in: an object with fields, none of them blank. Text that
/// is not JSON is left for its reader to refuse.
fn read(text: &str) -> (Secret, bool) {
    match serde_json::from_str::<Value>(text) {
        Ok(mut document) => {
            trim(&mut document);
            let is_complete = document.as_object().is_some_and(|fields| !fields.is_empty()) && !is_blank(&document);
            (Secret::new(document.to_string()), is_complete)
        }
        Err(_) => (Secret::new(text), false),
    }
}

fn trim(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.trim().to_owned(),
        Value::Array(values) => values.iter_mut().for_each(trim),
        Value::Object(fields) => fields.values_mut().for_each(trim),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty() || values.iter().any(is_blank),
        Value::Object(fields) => fields.values().any(is_blank),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Replies as configured and counts the reads.
    struct Source(std::sync::Mutex<(Option<String>, usize)>);

    impl Source {
        fn of(text: &str) -> Self {
            Self(std::sync::Mutex::new((Some(text.to_owned()), 0)))
        }
        fn now_holds(&self, text: Option<&str>) {
            self.0.lock().unwrap().0 = text.map(str::to_owned);
        }
        fn asked(&self) -> usize {
            self.0.lock().unwrap().1
        }
        pub(crate) async fn fetch(&self) -> Result<String, StorageError> {
            // Another request runs meanwhile.
            tokio::task::yield_now().await;
            let mut source = self.0.lock().unwrap();
            source.1 += 1;
            source.0.clone().ok_or_else(|| StorageError { operation: "secret read", source: "down".into() })
        }
    }

    /// A process's view of one secret, with a clock that tests set.
    struct Process<'a> {
        kept: CachedSecret,
        source: &'a Source,
        now: RefCell<Instant>,
    }

    impl<'a> Process<'a> {
        fn new(source: &'a Source) -> Self {
            Self { kept: CachedSecret::new(), source, now: RefCell::new(Instant::now()) }
        }
        fn rereading(source: &'a Source) -> Self {
            let mut process = Self::new(source);
            process.kept.rereads = true;
            process
        }
        fn later(&self, seconds: u64) {
            *self.now.borrow_mut() += Duration::from_secs(seconds);
        }
        async fn document(&self) -> Option<String> {
            let now = *self.now.borrow();
            let read = self.kept.document(now, || self.source.fetch()).await;
            read.ok().map(|secret| secret.expose().to_owned())
        }
        async fn renewed(&self, refused: &str) -> Option<String> {
            let now = *self.now.borrow();
            let read = self.kept.renewed(&Secret::new(refused), now, || self.source.fetch()).await;
            read.unwrap().map(|secret| secret.expose().to_owned())
        }
    }

    const FIRST: &str = r#"{"api_key":"one"}"#;
    const SECOND: &str = r#"{"api_key":"two"}"#;

    #[tokio::test]
    async fn a_complete_document_is_fetched_once() {
        let source = Source::of("{\"api_key\": \" one\\n\"}\n");
        let process = Process::new(&source);
        for _ in 0..3 {
            assert_eq!(process.document().await.as_deref(), Some(FIRST), "without the white space around it");
            process.later(3600);
        }
        assert_eq!(source.asked(), 1);
    }

    /// A signing secret was removed, or an audit key was added. No service refuses the old value.
    #[tokio::test]
    async fn a_secret_that_only_we_check_is_read_again_after_ten_minutes() {
        let source = Source::of(FIRST);
        let process = Process::rereading(&source);
        process.document().await;
        source.now_holds(Some(SECOND));
        process.later(599);
        assert_eq!(process.document().await.as_deref(), Some(FIRST));
        assert_eq!(source.asked(), 1);
        process.later(1);
        let read = tokio::join!(process.document(), process.document(), process.document());
        assert_eq!(
            (read.0.as_deref(), read.1.as_deref(), read.2.as_deref()),
            (Some(SECOND), Some(SECOND), Some(SECOND))
        );
        process.later(599);
        process.document().await;
        assert_eq!(source.asked(), 2, "concurrent requests share one read, and it holds for ten minutes");
    }

    #[tokio::test]
    async fn a_read_that_fails_or_gives_nothing_keeps_the_secret_for_ten_more_minutes() {
        for nothing in [None, Some("{}"), Some("")] {
            let source = Source::of(FIRST);
            let process = Process::rereading(&source);
            process.document().await;
            source.now_holds(nothing);
            process.later(600);
            for _ in 0..50 {
                assert_eq!(process.document().await.as_deref(), Some(FIRST), "{nothing:?}");
            }
            assert_eq!(source.asked(), 2, "{nothing:?}");
            source.now_holds(Some(SECOND));
            process.later(600);
            assert_eq!(process.document().await.as_deref(), Some(SECOND), "{nothing:?}");
            assert_eq!(source.asked(), 3, "{nothing:?}");
        }
    }

    #[tokio::test]
    async fn what_nobody_has_filled_in_is_kept_for_a_minute() {
        for text in ["{}", "", "[]", "\"x\"", r#"{"api_key":" "}"#, r#"{"signing_secrets":[]}"#, r#"{"keys":{"a":""}}"#]
        {
            let source = Source::of(text);
            let process = Process::new(&source);
            for _ in 0..50 {
                process.later(1);
                process.document().await;
            }
            assert_eq!(source.asked(), 1, "{text}: a caller does not decide how often we ask");
            source.now_holds(Some(FIRST));
            process.later(11);
            assert_eq!(process.document().await.as_deref(), Some(FIRST), "{text}");
            assert_eq!(source.asked(), 2, "{text}");
        }
        let source = Source::of(FIRST);
        source.now_holds(None);
        let process = Process::new(&source);
        assert_eq!(process.document().await, None);
        source.now_holds(Some(FIRST));
        assert_eq!(process.document().await.as_deref(), Some(FIRST), "a failure is not kept either");
    }

    #[tokio::test]
    async fn a_refused_secret_is_looked_up_again_at_most_once_a_minute() {
        let source = Source::of(FIRST);
        let process = Process::new(&source);
        process.document().await;
        source.now_holds(Some(SECOND));
        assert_eq!(process.renewed(FIRST).await, None, "it was looked up just now");
        process.later(60);
        assert_eq!(process.renewed(FIRST).await.as_deref(), Some(SECOND));
        assert_eq!(process.document().await.as_deref(), Some(SECOND), "and is kept");
        assert_eq!(source.asked(), 2);
        for _ in 0..50 {
            assert_eq!(process.renewed(SECOND).await, None);
        }
        process.later(60);
        assert_eq!(process.renewed(SECOND).await, None, "there is no other");
        assert_eq!(source.asked(), 3);
    }

    /// Two calls with the old secret are in progress; the first one that failed has renewed it.
    #[tokio::test]
    async fn what_was_renewed_already_is_not_looked_up_again() {
        let source = Source::of(FIRST);
        let process = Process::new(&source);
        process.document().await;
        process.later(60);
        source.now_holds(Some(SECOND));
        assert_eq!(process.renewed(FIRST).await.as_deref(), Some(SECOND));
        assert_eq!(process.renewed(FIRST).await.as_deref(), Some(SECOND));
        assert_eq!(source.asked(), 2);
    }

    /// A human replaced a token that this process had rotated: the rotated one is refused like the previous one.
    #[tokio::test]
    async fn what_we_wrote_ourselves_is_looked_up_when_its_predecessor_is_refused() {
        let source = Source::of(FIRST);
        let process = Process::new(&source);
        process.document().await;
        process.kept.replace(SECOND).await;
        source.now_holds(Some(r#"{"api_key":"three"}"#));
        process.later(60);
        assert_eq!(process.renewed(FIRST).await.as_deref(), Some(r#"{"api_key":"three"}"#));
    }

    #[tokio::test]
    async fn what_we_wrote_ourselves_is_kept() {
        let source = Source::of(FIRST);
        let process = Process::new(&source);
        process.document().await;
        process.kept.replace(SECOND).await;
        assert_eq!(process.document().await.as_deref(), Some(SECOND));
        assert_eq!(source.asked(), 1);
    }
}
