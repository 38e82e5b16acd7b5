//! From the schedule's events to [`probe`].

use crate::{
    Ports,
    checks::{Checks, has_audit_key, has_signing_secret, mailbox_answers, stripe_answers},
    probe::{Findings, NOTE, probe},
};
use aws::{Connection, DynamoSales, Patience, Reach, SecretDocument, SnsAlerts};
use domain::{
    Metric,
    ports::{Clock, ModelError, Notes, SecretSource},
};
use gemini::ModelList;
use runtime::{Environment, System, configuration::ConfigurationError, telemetry};
use std::{error::Error, future::Future, pin::Pin, sync::Arc, time::Duration};

type Failed = Box<dyn Error + Send + Sync>;

/// Two attempts at each thing (nothing is told on the first failure), short enough that a look at all of them ends
/// within the function's time-out when none answers.
const PATIENCE: Patience = Patience { timeout: Duration::from_secs(2), retries: 1, delay: Duration::from_millis(500) };

/// How long a vendor has to answer about a model.
const MODEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The boot probe of one process.
pub struct Function {
    environment: Environment,
}

impl Function {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: Environment) -> Result<Self, Failed> {
        let function = Self { environment };
        function.parts().map(drop)?;
        Ok(function)
    }

    /// Everything anew: a look must see the secrets as they are now, not as a process has kept them.
    fn parts(&self) -> Result<Parts, Failed> {
        let environment = &self.environment;
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        let required = |name| environment.required(name);
        let quiet = connection.untold(PATIENCE);
        let secret = |name| {
            let secret = SecretDocument::new(quiet.clone(), required(name)?);
            Ok::<_, ConfigurationError>(Arc::new(secret))
        };
        let sender = environment.address("GRAPH_SENDER")?;
        let system = Arc::new(System);
        let graph_secret = secret("GRAPH_SECRET_ID")?;
        Ok(Parts {
            alerts: SnsAlerts::new(connection.clone(), required("OPS_TOPIC_ARN")?, required("CRITICAL_TOPIC_ARN")?),
            table: DynamoSales::new(quiet.clone(), required("TABLE_NAME")?, system.clone()),
            buckets: [
                ("audit bucket", required("AUDIT_BUCKET")?),
                ("archive bucket", required("ARCHIVE_BUCKET")?),
                ("quarantine bucket", required("QUARANTINE_BUCKET")?),
            ],
            queues: [
                ("orders queue", required("ORDERS_QUEUE_URL")?),
                ("email queue", required("EMAIL_QUEUE_URL")?),
                ("notices queue", required("NOTICES_QUEUE_URL")?),
                ("e-mail retry queue", required("EMAIL_RETRY_QUEUE_URL")?),
                ("payments queue", required("PAYMENTS_QUEUE_URL")?),
            ],
            topics: [("ops topic", required("OPS_TOPIC_ARN")?), ("critical topic", required("CRITICAL_TOPIC_ARN")?)],
            signing_secrets: secret("STRIPE_WEBHOOK_SECRET_ID")?,
            audit_keys: secret("AUDIT_SECRET_ID")?,
            payments: stripe::LazyClient::new(
                environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?,
                environment.base_url("SITE_URL", "")?,
                secret("STRIPE_SECRET_ID")?,
                system.clone(),
                system.clone(),
            ),
            models: ModelList::parse(&required("GEMINI_MODEL")?)?,
            gemini: gemini::LazyClient::new(
                environment.base_url("GEMINI_BASE_URL", gemini::BASE_URL)?,
                MODEL_TIMEOUT,
                secret("GEMINI_SECRET_ID")?,
            ),
            mailbox: graph::LazyClient::new(
                environment.base_url("GRAPH_BASE_URL", graph::GRAPH_URL)?,
                environment.base_url("LOGIN_BASE_URL", graph::LOGIN_URL)?,
                sender,
                graph_secret.clone(),
                Arc::new(graph::NotKept),
                system,
            ),
            graph_secret,
            reach: Reach::new(quiet),
        })
    }

    /// Looks at everything once, and tells what has changed.
    ///
    /// # Errors
    /// As [`Self::from_environment`].
    pub async fn handle(&self) -> Result<(), Failed> {
        let parts = self.parts()?;
        // Behind a pointer: so many of the clients' futures inside one another are too deep for the compiler.
        let look: Pin<Box<dyn Future<Output = Findings> + Send + '_>> = Box::pin(parts.look());
        let findings = look.await;
        tracing::info!(wrong = findings.len(), "boot probe");
        if let Some(written_at) = parts.graph_secret.written_at() {
            let now = System.now();
            telemetry::measure(Metric::RefreshTokenAge.of(now.since(written_at).as_secs()), now);
        }
        probe(Ports { notes: &parts.table, alerts: &parts.alerts, clock: &System }, &findings).await;
        Ok(())
    }
}

/// What is looked at, and what it is told with.
struct Parts {
    alerts: SnsAlerts,
    table: DynamoSales,
    reach: Reach,
    buckets: [(&'static str, String); 3],
    queues: [(&'static str, String); 5],
    topics: [(&'static str, String); 2],
    signing_secrets: Arc<SecretDocument>,
    audit_keys: Arc<SecretDocument>,
    payments: stripe::LazyClient,
    models: ModelList,
    gemini: gemini::LazyClient,
    mailbox: graph::LazyClient,
    graph_secret: Arc<SecretDocument>,
}

impl Parts {
    async fn look(&self) -> Findings {
        let mut checks = Checks::default();
        checks.look("table", async { Notes::load(&self.table, NOTE).await.map(drop) }).await;
        for (name, bucket) in &self.buckets {
            checks.look(name, self.reach.bucket(bucket)).await;
        }
        for (name, url) in &self.queues {
            checks.look(name, self.reach.queue(url)).await;
        }
        for (name, arn) in &self.topics {
            checks.look(name, self.reach.topic(arn)).await;
        }
        let signing = async { Ok::<_, Failed>(has_signing_secret(&self.signing_secrets.document().await?)?) };
        checks.look("webhook secret", signing).await;
        let keys = async { has_audit_key(&self.audit_keys.document().await?) };
        checks.look("audit key", keys).await;
        checks.look("Stripe", stripe_answers(&self.payments)).await;
        checks.look("Gemini", self.some_model()).await;
        checks.look("mailbox", mailbox_answers(&self.mailbox)).await;
        checks.0
    }

    /// The key is accepted and at least one model of the list is served; asking about a model costs nothing.
    async fn some_model(&self) -> Result<(), ModelError> {
        let mut outcome = Err(ModelError::UnknownModel);
        for model in self.models.names() {
            outcome = self.gemini.knows(model).await;
            if !matches!(outcome, Err(ModelError::UnknownModel)) {
                break;
            }
            tracing::warn!(model, "this model is not served (any more)");
        }
        outcome
    }
}
