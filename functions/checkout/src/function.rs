//! From HTTP requests to [`purchase`] and back.

use crate::{
    Ports,
    gate::evaluate_request,
    purchase::{UNAVAILABLE, purchase},
};
use aws::{Connection, SecretDocument};
use domain::{Metric, ports::Clock};
use lambda_http::{Body, Request, Response};
use runtime::{Environment, System, telemetry};
use std::{error::Error, sync::Arc};

/// End of the path of the other call, behind any stage.
const EVALUATE: &str = "/api/authority/evaluate";

/// The checkout function of one process.
pub struct Function {
    payments: stripe::LazyClient,
}

impl Function {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: &Environment) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        let secret = SecretDocument::new(connection, environment.required("STRIPE_SECRET_ID")?);
        let system = Arc::new(System);
        let payments = stripe::LazyClient::new(
            environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?,
            environment.base_url("SITE_URL", "")?,
            Arc::new(secret),
            system.clone(),
            system,
        );
        Ok(Self { payments })
    }

    /// Handles one request.
    pub async fn handle(&self, request: Request) -> Response<Body> {
        if request.uri().path().ends_with(EVALUATE) {
            return evaluate_request(request.body()).into_response();
        }
        let ports = Ports { payments: &self.payments, randomness: &System };
        let reply = purchase(ports, request.body()).await;
        if reply.status() == UNAVAILABLE {
            telemetry::measure(Metric::CheckoutUnavailable.once(), System.now());
        }
        reply.into_response()
    }
}
