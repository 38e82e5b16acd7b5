//! Mails through Amazon SES. It has no idempotency key, so [`domain::relay`] hands a mail over at most once.

use crate::{Connection, RetryPolicy};
use async_trait::async_trait;
use aws_sdk_sesv2::{
    Client,
    config::http::HttpResponse,
    error::{BuildError, ProvideErrorMetadata, SdkError},
    operation::send_email::SendEmailError,
    types::{Body, Content, Destination, EmailContent, Message},
};
use domain::{
    EmailAddress,
    ports::{MailError, OutgoingMail, Relay},
};
use std::{error::Error, sync::OnceLock, time::Duration};

/// The time for one call. The SDK makes no second attempt.
const RETRY_POLICY: RetryPolicy = RetryPolicy { timeout: Duration::from_secs(10), retries: 0, delay: Duration::ZERO };

/// The wait after a refusal for too many mails; SES names none.
const THROTTLED: Duration = Duration::from_secs(60);

/// The sender's account at SES.
pub struct SesRelay {
    connection: Connection,
    sender: EmailAddress,
    client: OnceLock<Client>,
}

impl SesRelay {
    /// Mails from this address, through `endpoint` or else the region's own.
    #[must_use]
    pub fn new(connection: &Connection, endpoint: Option<String>, sender: EmailAddress) -> Self {
        let connection = connection.without_alerts(RETRY_POLICY);
        let connection = if endpoint.is_some() { connection.at(endpoint) } else { connection };
        Self { connection, sender, client: OnceLock::new() }
    }
}

fn utf8(text: &str) -> Result<Content, BuildError> {
    Content::builder().data(text).charset("UTF-8").build()
}

fn content(mail: &OutgoingMail) -> Result<EmailContent, BuildError> {
    let body = Body::builder().text(utf8(&mail.body)?).build();
    Ok(EmailContent::builder().simple(Message::builder().subject(utf8(&mail.subject)?).body(body).build()).build())
}

#[async_trait]
impl Relay for SesRelay {
    async fn send(&self, mail: &OutgoingMail) -> Result<String, MailError> {
        let client = self.client.get_or_init(|| self.connection.ses());
        // Nothing is missing from what we build, so a failure to build is a mail that cannot be sent.
        let content = content(mail).map_err(|_| MailError::Rejected)?;
        let sent = client
            .send_email()
            .from_email_address(self.sender.expose())
            .destination(Destination::builder().to_addresses(mail.to.expose()).build())
            .content(content)
            .send()
            .await
            .map_err(refusal)?;
        Ok(sent.message_id.unwrap_or_default())
    }
}

/// The meaning of a failed call: before SES had the request, or when it says why, nothing was sent.
fn refusal(error: SdkError<SendEmailError, HttpResponse>) -> MailError {
    let status = error.raw_response().map(|response| response.status().as_u16());
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code).unwrap_or_default();
    tracing::warn!(status, code, "SES did not accept a mail");
    match (&error, status) {
        (SdkError::ConstructionFailure(_), _) => MailError::Rejected,
        (SdkError::DispatchFailure(failure), _)
            if failure.as_connector_error().is_some_and(|error| never_connected(error)) =>
        {
            MailError::Unavailable(0)
        }
        (_, Some(429)) => MailError::Throttled { status: 429, wait: THROTTLED },
        // SES answers 400 for these states of the account, which an operator ends.
        (_, Some(400)) if matches!(code, "AccountSuspendedException" | "SendingPausedException") => {
            MailError::Forbidden(400)
        }
        (_, Some(400)) if code == "MailFromDomainNotVerifiedException" => MailError::Forbidden(400),
        // By AWS's documents a used-up rate or quota may also be a 400.
        (_, Some(400)) if matches!(code, "LimitExceededException" | "ThrottlingException" | "Throttling") => {
            MailError::Throttled { status: 429, wait: THROTTLED }
        }
        (_, Some(400 | 413)) => MailError::Rejected,
        (_, Some(status @ (401 | 403 | 404))) => MailError::Forbidden(status),
        (_, Some(503)) => MailError::Unavailable(503),
        _ => MailError::OutcomeUnknown(Box::new(error)),
    }
}

/// Whether the connection was not established. SES did not get the request then.
fn never_connected(error: &(dyn Error + 'static)) -> bool {
    let chain = std::iter::successors(Some(error), |error| (*error).source());
    let mut connections = chain.filter_map(|error| error.downcast_ref::<hyper_util::client::legacy::Error>());
    connections.any(hyper_util::client::legacy::Error::is_connect)
}
