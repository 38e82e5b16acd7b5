//! From HTTP requests to [`receive`] and back.

use crate::{Ports, receive};
use aws::{Connection, SecretDocument, SqsQueue};
use lambda_http::{Body, Request, Response};
use runtime::{Environment, System};
use std::error::Error;

/// The webhook function of one process.
pub struct Function {
    signing_secrets: SecretDocument,
    smoke_secret: SecretDocument,
    orders: SqsQueue,
    notices: SqsQueue,
    payments: SqsQueue,
}

impl Function {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: &Environment) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        let secret = environment.required("STRIPE_WEBHOOK_SECRET_ID")?;
        Ok(Self {
            signing_secrets: SecretDocument::new(connection.clone(), secret),
            smoke_secret: SecretDocument::new(connection.clone(), environment.required("STRIPE_SMOKE_SECRET_ID")?),
            orders: SqsQueue::new(connection.clone(), environment.required("ORDERS_QUEUE_URL")?),
            notices: SqsQueue::new(connection.clone(), environment.required("NOTICES_QUEUE_URL")?),
            payments: SqsQueue::new(connection, environment.required("PAYMENTS_QUEUE_URL")?),
        })
    }

    /// Handles one request.
    pub async fn handle(&self, request: Request) -> Response<Body> {
        let ports = Ports {
            signing_secrets: &self.signing_secrets,
            smoke_secret: &self.smoke_secret,
            orders: &self.orders,
            notices: &self.notices,
            payments: &self.payments,
            clock: &System,
        };
        let signature = request.headers().get("stripe-signature").map(|value| value.to_str().unwrap_or_default());
        receive(ports, signature, request.body()).await.into_response()
    }
}
