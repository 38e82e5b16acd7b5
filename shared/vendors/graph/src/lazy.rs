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
    ports::{Clock, Inbox, MailError, Mailbox, OutgoingMail, SaleMails},
    renewable::{Made, NotMade},
    sale::Draft,
};
use std::{collections::BTreeSet, sync::Arc};

/// A mailbox client that is built at its first use.
pub struct LazyClient {
    graph_url: String,
    login_url: String,
    sender: EmailAddress,
    tokens: Arc<dyn RefreshTokenStore>,
    clock: Arc<dyn Clock>,
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
        Self { graph_url, login_url, sender, tokens, clock, client: MadeFromSecret::new(Arc::new(credentials)) }
    }

    fn make(&self, documents: &Secret) -> Result<Client, NotMade> {
        let access = Access::parse(documents)?;
        let grant = match access.consent {
            Consent::Person { refresh_token, client_secret } => {
                Grant::RefreshToken { refresh_token, client_secret, store: Arc::clone(&self.tokens) }
            }
            Consent::Administrator { client_secret } => Grant::ClientCredentials { client_secret },
        };
        let config = Config {
            graph_url: self.graph_url.clone(),
            login_url: self.login_url.clone(),
            tenant: access.tenant,
            client_id: access.client_id,
            grant,
            sender: self.sender.clone(),
            timeout: DEFAULT_TIMEOUT,
        };
        Ok(Client::new(config, reqwest::Client::builder(), Arc::clone(&self.clock))?)
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
        self.client.get(|document| self.make(document)).await.map_err(|error| {
            tracing::error!(error, "the mailbox cannot be used");
            MailError::Unavailable(0)
        })
    }

    /// Another client, if access was refused (`invalid_grant` is such a refusal) and a person has consented again. A
    /// refused call has had no effect.
    async fn other_than(&self, client: &Made<Client>, refused: bool) -> Option<Made<Client>> {
        if !refused {
            return None;
        }
        self.client.other_than(client, |document| self.make(document)).await
    }
}

const fn is_refused<T>(outcome: &Result<T, MailError>) -> bool {
    matches!(outcome, Err(MailError::Forbidden(_) | MailError::ConsentRefused))
}

#[async_trait]
impl Inbox for LazyClient {
    async fn arrived(&self, since: &ReceivedAt, order: Order, most: usize) -> Result<Arrivals, MailError> {
        let client = self.client().await?;
        let outcome = client.arrived(since, order, most).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.arrived(since, order, most).await,
            None => outcome,
        }
    }

    async fn message(&self, id: &str) -> Result<Option<Incoming>, MailError> {
        let client = self.client().await?;
        let outcome = client.message(id).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.message(id).await,
            None => outcome,
        }
    }

    async fn new_text(&self, id: &str) -> Result<Option<String>, MailError> {
        let client = self.client().await?;
        let outcome = client.new_text(id).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.new_text(id).await,
            None => outcome,
        }
    }

    async fn correspondence(&self, id: &str) -> Result<Option<Correspondence>, MailError> {
        let client = self.client().await?;
        let outcome = client.correspondence(id).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.correspondence(id).await,
            None => outcome,
        }
    }

    async fn sale_of(&self, message: &Incoming) -> Result<Option<SessionId>, MailError> {
        let client = self.client().await?;
        let outcome = client.sale_of(message).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.sale_of(message).await,
            None => outcome,
        }
    }

    async fn create_acknowledgement(&self, mail: &Acknowledgement) -> Result<Draft, MailError> {
        let client = self.client().await?;
        let outcome = client.create_acknowledgement(mail).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.create_acknowledgement(mail).await,
            None => outcome,
        }
    }
}

#[async_trait]
impl Mailbox for LazyClient {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        let client = self.client().await?;
        let outcome = client.create_draft(mail).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.create_draft(mail).await,
            None => outcome,
        }
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let client = self.client().await?;
        let outcome = client.send_draft(draft).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.send_draft(draft).await,
            None => outcome,
        }
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        let client = self.client().await?;
        let outcome = client.draft_exists(draft).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.draft_exists(draft).await,
            None => outcome,
        }
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        let client = self.client().await?;
        let outcome = client.was_sent(draft).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.was_sent(draft).await,
            None => outcome,
        }
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        let client = self.client().await?;
        let outcome = client.discard_draft(draft).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.discard_draft(draft).await,
            None => outcome,
        }
    }
}

#[async_trait]
impl SaleMails for LazyClient {
    async fn of_sale(&self, session: &SessionId, known: &[String]) -> Result<Vec<String>, MailError> {
        let client = self.client().await?;
        let outcome = client.of_sale(session, known).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.of_sale(session, known).await,
            None => outcome,
        }
    }

    async fn named(&self, name: &SessionId) -> Result<Vec<String>, MailError> {
        let client = self.client().await?;
        let outcome = client.named(name).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.named(name).await,
            None => outcome,
        }
    }

    async fn remove(&self, id: &str) -> Result<(), MailError> {
        let client = self.client().await?;
        let outcome = client.remove(id).await;
        match self.other_than(&client, is_refused(&outcome)).await {
            Some(client) => client.remove(id).await,
            None => outcome,
        }
    }
}
