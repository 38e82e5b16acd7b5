//! The vendor of customers' mails: the mailbox itself, or Amazon SES (infra/decisions/mail-vendors.md).

use crate::{Backend, BackendError};
use async_trait::async_trait;
use aws::{DynamoSales, SesRelay};
use domain::{
    mail::Draft,
    ports::{MailError, Mailbox, OutgoingMail},
    relay::RelayMailbox,
};
use runtime::{ConfigurationError, System};

/// The mailbox that customers' mails are sent from.
pub enum SendingMailbox {
    /// Microsoft Graph.
    Graph(Box<graph::LazyClient>),
    /// Amazon SES, with drafts in the table.
    Ses(Box<SesMailbox>),
}

/// Amazon SES, and the table with the drafts of its mails.
pub struct SesMailbox {
    relay: SesRelay,
    drafts: DynamoSales,
}

impl SesMailbox {
    const fn mailbox(&self) -> RelayMailbox<'_> {
        RelayMailbox { drafts: &self.drafts, relay: &self.relay, randomness: &System }
    }
}

impl Backend {
    /// The mailbox that customers' mails are sent from: `graph`, or Amazon SES if `MAIL_VENDOR` is `ses`.
    ///
    /// # Errors
    /// [`BackendError`] when a variable is missing or malformed.
    pub fn sending(&self, graph: graph::LazyClient) -> Result<SendingMailbox, BackendError> {
        match self.environment.optional("MAIL_VENDOR").as_deref() {
            None | Some("graph") => Ok(SendingMailbox::Graph(Box::new(graph))),
            Some("ses") => {
                let endpoint = self.environment.optional("SES_BASE_URL");
                let relay = SesRelay::new(&self.connection, endpoint, self.sender()?);
                Ok(SendingMailbox::Ses(Box::new(SesMailbox { relay, drafts: self.sales()? })))
            }
            Some(_) => {
                let expected = "graph or ses".to_owned();
                Err(ConfigurationError::Malformed { name: "MAIL_VENDOR", expected }.into())
            }
        }
    }
}

#[async_trait]
impl Mailbox for SendingMailbox {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        match self {
            Self::Graph(graph) => graph.create_draft(mail).await,
            Self::Ses(ses) => ses.mailbox().create_draft(mail).await,
        }
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        match self {
            Self::Graph(graph) => graph.send_draft(draft).await,
            Self::Ses(ses) => ses.mailbox().send_draft(draft).await,
        }
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        match self {
            Self::Graph(graph) => graph.draft_exists(draft).await,
            Self::Ses(ses) => ses.mailbox().draft_exists(draft).await,
        }
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        match self {
            Self::Graph(graph) => graph.was_sent(draft).await,
            Self::Ses(ses) => ses.mailbox().was_sent(draft).await,
        }
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        match self {
            Self::Graph(graph) => graph.discard_draft(draft).await,
            Self::Ses(ses) => ses.mailbox().discard_draft(draft).await,
        }
    }

    fn can_be_probed(&self) -> bool {
        match self {
            Self::Graph(graph) => graph.can_be_probed(),
            Self::Ses(ses) => ses.mailbox().can_be_probed(),
        }
    }
}
