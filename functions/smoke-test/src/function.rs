//! From events to [`smoke`] and back.

use crate::hook::{self, Deployments, Execution, Status};
use async_trait::async_trait;
use aws::{CodeDeploy, Connection, SnsAlerts};
use domain::{
    Metric,
    ports::{Alerts, Clock, StorageError},
};
use runtime::{Environment, System, telemetry};
use smoke::{Ending, Names, Report, Trigger, Wired};
use std::error::Error;

type Failed = Box<dyn Error + Send + Sync>;

/// The smoke-test function of one process.
pub struct Function {
    environment: Environment,
    connection: Connection,
}

#[async_trait]
impl Deployments for CodeDeploy {
    async fn answer(&self, execution: &Execution, status: Status) -> Result<(), StorageError> {
        Self::answer(self, &execution.deployment, &execution.hook, status == Status::Succeeded).await
    }
}

impl Function {
    /// Reads what is needed to answer a deployment; the rest of the configuration is read with each run, so that a
    /// deployment hears also of a mistake in it.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: Environment) -> Result<Self, Failed> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        Ok(Self { environment, connection })
    }

    /// Handles one event: CodeDeploy's question, or the schedule's.
    ///
    /// # Errors
    /// When the test could not be set up, or a deployment could not be answered.
    pub async fn handle(&self, event: &serde_json::Value) -> Result<(), Failed> {
        match hook::execution(event) {
            Some(execution) => {
                let deployments = CodeDeploy::new(self.connection.clone());
                let run = async { self.run(Trigger::Deploy).await.map_err(|error| telemetry::chain(error.as_ref())) };
                hook::answer(&deployments, &System, &execution, run).await?;
            }
            None => drop(self.run(Trigger::Cron).await?),
        }
        Ok(())
    }

    /// Runs the test. Operators hear also of a run that cannot be set up: nobody watches this one.
    async fn run(&self, trigger: Trigger) -> Result<Ending, Failed> {
        let log = format!("log group {}", self.environment.required("LOG_GROUP")?);
        let wired = match self.names().and_then(|names| Wired::new(&self.connection, names)) {
            Ok(wired) => wired,
            Err(error) => {
                self.not_begun(trigger, &log, error.as_ref()).await?;
                return Err(error);
            }
        };
        let report = wired.run(trigger, &log).await;
        let mut text = report.text(&log);
        if let Some(session) = &report.session {
            // Whoever holds a whole session id may read its verdict: logs have twelve characters of it.
            text = text.replace(session.as_str(), session.prefix());
        }
        tracing::info!(report = text, passed = report.passed(), "smoke test");
        telemetry::measure(Metric::SmokeTested.once(), System.now());
        Ok(report.ending())
    }

    async fn not_begun(&self, trigger: Trigger, log: &str, error: &(dyn Error + 'static)) -> Result<(), Failed> {
        let topic = |name| self.environment.required(name);
        let alerts = SnsAlerts::new(self.connection.clone(), topic("OPS_TOPIC_ARN")?, topic("CRITICAL_TOPIC_ARN")?);
        let now = System.now();
        for alert in Report::not_begun(now, &telemetry::chain(error)).alerts(trigger, now, log) {
            alerts.raise(alert).await;
        }
        Ok(())
    }

    fn names(&self) -> Result<Names, Failed> {
        let environment = &self.environment;
        let required = |name| environment.required(name);
        let sender = environment.address("GRAPH_SENDER")?;
        Ok(Names {
            site: environment.base_url("SITE_URL", "")?,
            stripe_base_url: environment.base_url("STRIPE_BASE_URL", smoke::STRIPE_URL)?,
            graph_base_url: environment.base_url("GRAPH_BASE_URL", smoke::GRAPH_URL)?,
            login_base_url: environment.base_url("LOGIN_BASE_URL", smoke::LOGIN_URL)?,
            sender,
            smoke_secret: required("STRIPE_SMOKE_SECRET_ID")?,
            gemini_secret: required("GEMINI_SECRET_ID")?,
            graph_secret: required("GRAPH_SECRET_ID")?,
            table: required("TABLE_NAME")?,
            audit_bucket: required("AUDIT_BUCKET")?,
            ops_topic: required("OPS_TOPIC_ARN")?,
            critical_topic: required("CRITICAL_TOPIC_ARN")?,
        })
    }
}
