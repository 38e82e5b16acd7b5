//! The Graph client behind [`Mailbox`].
//! The file has more than 300 lines because the client implements three ports with the same private calls.

use crate::{
    encode, inbox, message,
    reply::{self, Lost},
    token::{Grant, Tokens},
};
use async_trait::async_trait;
use domain::{
    EmailAddress, SessionId,
    inbox::{Acknowledgement, Arrivals, Correspondence, Incoming, Order, ReceivedAt},
    ports::{Clock, Inbox, MailError, Mailbox, OutgoingMail, SaleMails, StoredMails, UnclearStatus},
    sale::Draft,
};
use reqwest::{
    Method, StatusCode,
    header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue},
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// The address of the real Graph.
pub const GRAPH_URL: &str = "https://graph.microsoft.com";

/// The address of the real login service.
pub const LOGIN_URL: &str = "https://login.microsoftonline.com";

/// The default time-out of one call.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Shorter than any call, so that an unreachable host differs from a lost request.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The settings of a client.
#[derive(Clone)]
pub struct Config {
    /// The address of Graph, without `/v1.0`.
    pub graph_url: String,
    /// The address of the login service, without the tenant.
    pub login_url: String,
    /// The tenant, by id or domain.
    pub tenant: String,
    /// The application's id.
    pub client_id: String,
    /// The grant of access.
    pub grant: Grant,
    /// The mailbox.
    pub sender: EmailAddress,
    /// The time-out of one HTTP call; an operation makes up to four (token, call, token, call).
    pub timeout: Duration,
}

/// Why a client cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The address of Graph is not an http or https URL.
    #[error("GRAPH_BASE_URL is not an http or https URL")]
    GraphUrl,
    /// The address of the login service is not an http or https URL.
    #[error("LOGIN_BASE_URL is not an http or https URL")]
    LoginUrl,
    /// The tenant is empty or not a single path segment.
    #[error("the tenant is empty or malformed")]
    Tenant,
    /// The client id is empty.
    #[error("the client id is empty")]
    ClientId,
    /// The refresh token or the client secret is empty.
    #[error("the refresh token or the client secret is empty")]
    Grant,
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built")]
    Http(#[source] reqwest::Error),
}

/// Graph, for one mailbox.
pub struct Client {
    http: reqwest::Client,
    tokens: Tokens,
    /// `{graph}/v1.0/`: the prefix of every address that an access token may be sent to.
    service: String,
    /// `{graph}/v1.0/users/{sender}`.
    mailbox: String,
    timeout: Duration,
}

/// One call, which is made once or twice.
struct Call<'a> {
    /// For logs.
    operation: &'static str,
    method: Method,
    /// The whole address.
    url: String,
    /// The required form of Graph's reply.
    prefer: Option<&'static str>,
    body: Option<&'a str>,
    /// Whether a lost reply leaves the effect unknown.
    changes: bool,
    /// Whether it sends a mail, which the service may still do after it has answered 500, 502 or 504.
    sends: bool,
}

/// Messages of the mailbox.
#[derive(Default)]
struct Listed {
    ids: BTreeSet<String>,
    conversations: BTreeSet<String>,
    /// Whether there are more than were read.
    more: bool,
}

impl Listed {
    fn add(&mut self, other: Self) {
        self.ids.extend(other.ids);
        self.conversations.extend(other.conversations);
        self.more |= other.more;
    }
}

impl Client {
    /// A client that uses `http` with the connection settings of the caller.
    ///
    /// # Errors
    /// [`ConfigError`] names the invalid setting.
    pub fn new(config: Config, http: reqwest::ClientBuilder, clock: Arc<dyn Clock>) -> Result<Self, ConfigError> {
        let Config { tenant, client_id, grant, sender, timeout, .. } = config;
        let graph_url = domain::web_address(&config.graph_url).ok_or(ConfigError::GraphUrl)?;
        let login_url = domain::web_address(&config.login_url).ok_or(ConfigError::LoginUrl)?;
        let tenant = encode::segment(&tenant).filter(|encoded| *encoded == tenant).ok_or(ConfigError::Tenant)?;
        if client_id.is_empty() {
            return Err(ConfigError::ClientId);
        }
        let secret = match &grant {
            Grant::RefreshToken { refresh_token, .. } => refresh_token,
            Grant::ClientCredentials { client_secret } => client_secret,
        };
        if secret.expose().is_empty() {
            return Err(ConfigError::Grant);
        }
        let http = http
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            // A pooled connection may be dead without our knowledge, and then it is unknown whether a mail was sent.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(ConfigError::Http)?;
        let token_url = format!("{login_url}/{tenant}/oauth2/v2.0/token");
        let service = format!("{graph_url}/v1.0/");
        let mailbox = format!("{service}users/{}", encode::percent(sender.expose()));
        let tokens = Tokens::new(http.clone(), token_url, client_id, grant, clock, timeout);
        Ok(Self { http, tokens, service, mailbox, timeout })
    }

    /// Makes the call, and repeats it once with a fresh token if Graph refuses the token: 401 means that the call had
    /// no effect.
    async fn call(&self, call: &Call<'_>) -> Result<reqwest::Response, MailError> {
        let authorization = self.tokens.authorization().await?;
        let response = self.attempt(call, &authorization).await?;
        let response = if response.status() == StatusCode::UNAUTHORIZED {
            self.tokens.forget(&authorization);
            let authorization = self.tokens.authorization().await?;
            self.attempt(call, &authorization).await?
        } else {
            response
        };
        if response.status().is_success() { Ok(response) } else { Err(refused(call, response).await) }
    }

    async fn attempt(&self, call: &Call<'_>, authorization: &HeaderValue) -> Result<reqwest::Response, MailError> {
        let request = self.http.request(call.method.clone(), &call.url).header(AUTHORIZATION, authorization);
        let request = match call.prefer {
            Some(preference) => request.header("prefer", preference),
            None => request,
        };
        let request = match call.body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.to_owned()),
            // The HTTP library sends no length for an empty body, and Graph replies 411 to that.
            None if call.method == Method::POST => request.header(CONTENT_LENGTH, 0),
            None => request,
        };
        request.timeout(self.timeout).send().await.map_err(|error| lost(call, error))
    }

    /// A call that changes nothing; `path` follows the mailbox's address.
    fn asking(&self, operation: &'static str, path: &str) -> Call<'static> {
        let url = self.at(path);
        Call { operation, method: Method::GET, url, prefer: None, body: None, changes: false, sends: false }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.mailbox)
    }

    /// The address of a next page. The token is sent to it, so it must belong to the configured service.
    fn ours(&self, next: String) -> Result<String, MailError> {
        if next.starts_with(&self.service) { Ok(next) } else { Err(MailError::Unavailable(200)) }
    }

    /// The sale of the latest mail that has one in a list of sent mails, over all its pages.
    async fn sale_at(&self, first: String) -> Result<Option<SessionId>, MailError> {
        let (mut url, mut mails) = (first, Vec::new());
        for _ in 0..inbox::MOST_PAGES {
            let call = Call { url, prefer: Some(LASTING_IDS), ..self.asking("sale_of", "") };
            let page = self.fetch(&call, inbox::sent).await.map_err(no_mailbox)?;
            mails.extend(page.mails);
            match page.next {
                Some(next) => url = self.ours(next)?,
                None => break,
            }
        }
        mails.sort_by(|a, b| b.cmp(a));
        for (_, id) in mails.iter().take(inbox::MOST_ASKED) {
            if let Some(Some(sale)) =
                self.about(id, "sale_of_mail", &inbox::with_sale(), LASTING_IDS, inbox::sale).await?
            {
                return Ok(Some(sale));
            }
        }
        Ok(None)
    }

    /// The ids of a list of messages, and their conversations.
    async fn belonging(&self, path: &str) -> Result<Listed, MailError> {
        let (mut url, mut listed) = (self.at(path), Listed::default());
        for _ in 0..inbox::MOST_PAGES {
            let call = Call { url, prefer: Some(LASTING_IDS), ..self.asking("of_sale", "") };
            let page = self.fetch(&call, inbox::belonging).await.map_err(no_mailbox)?;
            listed.ids.extend(page.ids);
            listed.conversations.extend(page.conversations);
            match page.next {
                Some(next) => url = self.ours(next)?,
                None => return Ok(listed),
            }
        }
        Ok(Listed { more: true, ..listed })
    }

    /// Creates a draft of this message.
    async fn draft(&self, body: &str) -> Result<Draft, MailError> {
        let (method, url) = (Method::POST, self.at("/messages"));
        let (operation, body) = ("create_draft", Some(body));
        let call = Call { operation, method, url, prefer: None, body, changes: true, sends: false };
        let response = self.call(&call).await.map_err(no_mailbox)?;
        let body = reply::read(response).await.map_err(|error| lost(&call, error))?;
        message::created(&body).ok_or_else(|| MailError::OutcomeUnknown(Box::new(Lost::NoDraft)))
    }

    /// The facts about one message; `None` if it does not exist.
    async fn about<T>(
        &self,
        id: &str,
        operation: &'static str,
        query: &str,
        prefer: &'static str,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, MailError> {
        let Some(id) = encode::segment(id) else { return Ok(None) };
        let path = format!("/messages/{id}?{query}");
        let call = Call { prefer: Some(prefer), ..self.asking(operation, &path) };
        match self.fetch(&call, read).await {
            Ok(found) => Ok(Some(found)),
            Err(MailError::NoSuchDraft) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The parsed body of the reply to a call that changes nothing.
    async fn fetch<T>(&self, call: &Call<'_>, read: impl FnOnce(&[u8]) -> Option<T>) -> Result<T, MailError> {
        let response = self.call(call).await?;
        let status = response.status().as_u16();
        let body = reply::read(response).await.map_err(|error| lost(call, error))?;
        read(&body).ok_or(MailError::Unavailable(status))
    }
}

/// Requests ids that stay the same when a message is moved to another folder, because they are stored for days.
const LASTING_IDS: &str = r#"IdType="ImmutableId""#;

/// Requests the same ids, and bodies without markup.
const LASTING_IDS_AND_TEXT: &str = r#"IdType="ImmutableId", outlook.body-content-type="text""#;

#[async_trait]
impl Inbox for Client {
    async fn arrived(&self, since: &ReceivedAt, order: Order, most: usize) -> Result<Arrivals, MailError> {
        let mut url = self.at(&inbox::arrived(since, order, most));
        let mut found = Arrivals::default();
        loop {
            let call = Call { url, prefer: Some(LASTING_IDS), ..self.asking("unread", "") };
            let page = self.fetch(&call, inbox::page).await.map_err(no_mailbox)?;
            found.messages.extend(page.messages);
            found.more = found.messages.len() > most || page.next.is_some();
            found.messages.truncate(most);
            match page.next.filter(|_| found.messages.len() < most) {
                Some(next) => url = self.ours(next)?,
                None => return Ok(found),
            }
        }
    }

    async fn message(&self, id: &str) -> Result<Option<Incoming>, MailError> {
        let query = "$select=from,subject,conversationId,internetMessageHeaders";
        self.about(id, "message", query, LASTING_IDS, inbox::incoming).await
    }

    async fn new_text(&self, id: &str) -> Result<Option<String>, MailError> {
        self.about(id, "new_text", "$select=uniqueBody", LASTING_IDS_AND_TEXT, inbox::new_text).await
    }

    async fn correspondence(&self, id: &str) -> Result<Option<Correspondence>, MailError> {
        self.about(id, "correspondence", "$select=from,subject,body", LASTING_IDS_AND_TEXT, inbox::correspondence).await
    }

    async fn sale_of(&self, message: &Incoming) -> Result<Option<SessionId>, MailError> {
        for path in inbox::answered(message) {
            if let Some(session) = self.sale_at(self.at(&path)).await? {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }

    async fn create_acknowledgement(&self, mail: &Acknowledgement) -> Result<Draft, MailError> {
        self.draft(&message::acknowledgement(mail).to_string()).await
    }
}

#[async_trait]
impl StoredMails for Client {
    async fn of_sale(&self, session: &SessionId, known: &[String]) -> Result<SaleMails, MailError> {
        let mut leading = self.belonging(&inbox::of_sale(session)).await?;
        let mut others = Listed::default();
        for conversation in &leading.conversations {
            others.add(self.belonging(&inbox::of_conversation(conversation)).await?);
        }
        for id in known {
            if others.ids.contains(id) {
                continue;
            }
            let query = "$select=id,conversationId";
            let Some(conversation) = self.about(id, "of_sale", query, LASTING_IDS, inbox::conversation).await? else {
                continue;
            };
            leading.ids.insert(id.clone());
            if let Some(conversation) = conversation {
                others.add(self.belonging(&inbox::of_conversation(&conversation)).await?);
            }
        }
        let mut ids: Vec<String> = others.ids.difference(&leading.ids).cloned().collect();
        // Without the leading mails nobody would find the rest of a conversation.
        if !others.more {
            ids.extend(leading.ids);
        }
        Ok(SaleMails { ids, more: leading.more || others.more })
    }

    async fn named(&self, name: &SessionId) -> Result<Vec<String>, MailError> {
        Ok(self.belonging(&inbox::of_sale(name)).await?.ids.into_iter().collect())
    }

    /// Deletes permanently: an ordinary deletion moves a message to a folder where it can be read for weeks.
    async fn remove(&self, id: &str) -> Result<(), MailError> {
        let Some(id) = encode::segment(id) else { return Ok(()) };
        let (method, url) = (Method::POST, self.at(&format!("/messages/{id}/permanentDelete")));
        let prefer = Some(LASTING_IDS);
        let operation = "permanent_delete";
        let call = Call { operation, method, url, prefer, body: None, changes: false, sends: false };
        match self.call(&call).await {
            Ok(_) | Err(MailError::NoSuchDraft) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The list of a folder, or a draft that is still to be created, cannot be missing: the mailbox itself is.
fn no_mailbox(error: MailError) -> MailError {
    match error {
        MailError::NoSuchDraft => MailError::Unavailable(404),
        error => error,
    }
}

impl Client {
    /// The permissions that were consented to, such as `Mail.Send`.
    ///
    /// # Errors
    /// [`MailError`] when no token can be obtained.
    pub async fn permissions(&self) -> Result<BTreeSet<String>, MailError> {
        self.tokens.permissions().await
    }
}

#[async_trait]
impl Mailbox for Client {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        self.draft(&message::draft(mail).to_string()).await
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let id = encode::segment(&draft.id).ok_or(MailError::NoSuchDraft)?;
        let (method, url) = (Method::POST, self.at(&format!("/messages/{id}/send")));
        let operation = "send_draft";
        let call = Call { operation, method, url, prefer: None, body: None, changes: true, sends: true };
        // The status is sufficient; a body that is cut off afterwards does not matter.
        self.call(&call).await.map(drop)
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        let Some(id) = encode::segment(&draft.id) else { return Ok(false) };
        let path = format!("/messages/{id}?$select=id,isDraft");
        match self.fetch(&self.asking("draft_exists", &path), message::is_draft).await {
            Err(MailError::NoSuchDraft) => Ok(false),
            outcome => outcome,
        }
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        let id = encode::literal(&draft.internet_message_id);
        let path = format!(
            "/mailFolders/sentitems/messages?$filter=internetMessageId%20eq%20{id}&$select=internetMessageId&$top=1"
        );
        let call = self.asking("was_sent", &path);
        self.fetch(&call, |body| message::lists(body, &draft.internet_message_id)).await.map_err(no_mailbox)
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let Some(id) = encode::segment(&draft.id) else { return Ok(()) };
        let (method, url) = (Method::DELETE, self.at(&format!("/messages/{id}")));
        let operation = "discard_draft";
        let call = Call { operation, method, url, prefer: None, body: None, changes: false, sends: false };
        match self.call(&call).await {
            Ok(_) | Err(MailError::NoSuchDraft) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn can_be_probed(&self) -> bool {
        true
    }
}

/// Interprets a failed connection. Before it was established, nothing was sent; afterwards, a change may have been
/// made.
fn lost(call: &Call<'_>, error: reqwest::Error) -> MailError {
    let never_sent = error.is_connect() || error.is_builder();
    let lost = Lost::from(error);
    tracing::warn!(operation = call.operation, error = lost.chain(), never_sent, "the mailbox did not answer");
    if call.changes && !never_sent { MailError::OutcomeUnknown(Box::new(lost)) } else { MailError::Unavailable(0) }
}

async fn refused(call: &Call<'_>, response: reqwest::Response) -> MailError {
    let status = response.status().as_u16();
    let wait = reply::retry_after_of(response.headers());
    // The status shows the effect, whether or not the body arrives.
    let code = reply::code(&reply::read(response).await.unwrap_or_default());
    tracing::warn!(operation = call.operation, status, code, "the mailbox refused");
    match reply::refusal(status, wait, &code) {
        // 503 says that the service has not taken the mail (infra/decisions/mail-drafts.md).
        MailError::Unavailable(500 | 502 | 504) if call.sends => {
            MailError::OutcomeUnknown(Box::new(UnclearStatus(status)))
        }
        error => error,
    }
}
