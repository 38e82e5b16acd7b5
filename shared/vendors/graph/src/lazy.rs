//! The mailbox with its credentials read at the first call, so that a starting function reads nothing that it may not
//! need. Refused credentials are read again, because a person may have consented again.

use crate::{
    Client, Config, Credentials, Grant, RefreshTokenStore,
    client::DEFAULT_TIMEOUT,
    credentials::{Access, Consent},
};
use async_trait::async_trait;
use domain::{
    EmailAddress, MadeFromSecret, Secret, SessionId,
    inbox::{Acknowledgement, Arrivals, Correspondence, Incoming, Order, ReceivedAt},
    ports::{Clock, Inbox, MailError, Mailbox, OutgoingMail, SaleMails, StoredMails},
    renewable::{Made, NotMade},
    sale::Draft,
};
use std::{collections::BTreeSet, sync::Arc};

/// A mailbox client that is built at its first use.
pub struct LazyClient {
    client: MadeFromSecret<Client>,
}

impl LazyClient {
    /// A client with these credentials; `tokens` keeps the refresh tokens that replace the stored one.
    #[must_use]
    pub fn new(
        graph_url: String,
        login_url: String,
        sender: EmailAddress,
        credentials: Credentials,
        tokens: Arc<dyn RefreshTokenStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let make = move |documents: &Secret| -> Result<Client, NotMade> {
            let access = Access::parse(documents)?;
            let grant = match access.consent {
                Consent::Person { refresh_token, client_secret } => {
                    Grant::RefreshToken { refresh_token, client_secret, store: Arc::clone(&tokens) }
                }
                Consent::Administrator { client_secret } => Grant::ClientCredentials { client_secret },
            };
            let config = Config {
                graph_url: graph_url.clone(),
                login_url: login_url.clone(),
                tenant: access.tenant,
                client_id: access.client_id,
                grant,
                sender: sender.clone(),
                timeout: DEFAULT_TIMEOUT,
            };
            Ok(Client::new(config, reqwest::Client::builder(), Arc::clone(&clock))?)
        };
        Self { client: MadeFromSecret::new(Arc::new(credentials), make) }
    }

    /// The permissions that were consented to, such as `Mail.Send`; asks the login service each time.
    ///
    /// # Errors
    /// [`MailError`] when no token can be obtained.
    pub async fn permissions(&self) -> Result<BTreeSet<String>, MailError> {
        self.client().await?.permissions().await
    }

    /// The client. If this fails, nothing has been sent, so a later retry is safe.
    async fn client(&self) -> Result<Made<Client>, MailError> {
        self.client.get().await.map_err(|error| {
            tracing::error!(error, "the mailbox cannot be used");
            MailError::Unavailable(0)
        })
    }

    /// Makes a call, and once more with other credentials, if access was refused (`invalid_grant` is such a refusal) and
    /// a person has consented again. A refused call has had no effect.
    async fn call<T, F>(&self, call: impl Fn(Made<Client>) -> F) -> Result<T, MailError>
    where
        F: Future<Output = Result<T, MailError>>,
    {
        self.client.call(self.client().await?, is_refused, call).await
    }
}

const fn is_refused(error: &MailError) -> bool {
    matches!(error, MailError::Forbidden(_) | MailError::ConsentRefused)
}

#[async_trait]
impl Inbox for LazyClient {
    async fn arrived(&self, since: &ReceivedAt, order: Order, most: usize) -> Result<Arrivals, MailError> {
        self.call(|client| async move { client.arrived(since, order, most).await }).await
    }

    async fn message(&self, id: &str) -> Result<Option<Incoming>, MailError> {
        self.call(|client| async move { client.message(id).await }).await
    }

    async fn new_text(&self, id: &str) -> Result<Option<String>, MailError> {
        self.call(|client| async move { client.new_text(id).await }).await
    }

    async fn correspondence(&self, id: &str) -> Result<Option<Correspondence>, MailError> {
        self.call(|client| async move { client.correspondence(id).await }).await
    }

    async fn sale_of(&self, message: &Incoming) -> Result<Option<SessionId>, MailError> {
        self.call(|client| async move { client.sale_of(message).await }).await
    }

    async fn create_acknowledgement(&self, mail: &Acknowledgement) -> Result<Draft, MailError> {
        self.call(|client| async move { client.create_acknowledgement(mail).await }).await
    }
}

#[async_trait]
impl Mailbox for LazyClient {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        self.call(|client| async move { client.create_draft(mail).await }).await
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        self.call(|client| async move { client.send_draft(draft).await }).await
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        self.call(|client| async move { client.draft_exists(draft).await }).await
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        self.call(|client| async move { client.was_sent(draft).await }).await
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        self.call(|client| async move { client.discard_draft(draft).await }).await
    }

    fn can_be_probed(&self) -> bool {
        true
    }
}

#[async_trait]
impl StoredMails for LazyClient {
    async fn of_sale(&self, session: &SessionId, known: &[String]) -> Result<SaleMails, MailError> {
        self.call(|client| async move { client.of_sale(session, known).await }).await
    }

    async fn named(&self, name: &SessionId) -> Result<Vec<String>, MailError> {
        self.call(|client| async move { client.named(name).await }).await
    }

    async fn remove(&self, id: &str) -> Result<(), MailError> {
        self.call(|client| async move { client.remove(id).await }).await
    }
}
