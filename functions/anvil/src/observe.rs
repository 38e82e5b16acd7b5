//! Observes a deployment. A source that cannot be read counts as not observed, which is never sound.

use crate::Settings;
use anvil_rules::evidence::{Canary, Deployment};
use async_trait::async_trait;
use aws::{Connection, FunctionVersion, Raised, StackWatch};
use domain::{
    Timestamp,
    ports::{Notes, StorageError},
};
use std::time::Duration;

/// Calls of the new version are counted over this time.
const TRAFFIC_OF: Duration = Duration::from_secs(15 * 60);

/// The stack that is deployed.
#[async_trait]
pub trait DeployedStack: Send + Sync {
    /// The raised alarms.
    async fn ringing(&self) -> Result<Raised, StorageError>;
    /// Resources with data that the update replaces or deletes.
    async fn replaced(&self) -> Result<Vec<String>, StorageError>;
    /// The number of calls of the new versions, and of the failed ones.
    async fn traffic(&self, now: Timestamp) -> Result<Canary, StorageError>;
}

/// The stack, observed through CloudWatch and CloudFormation.
#[derive(Debug)]
pub struct Watched {
    watch: StackWatch,
    versions: Vec<FunctionVersion>,
}

impl Watched {
    /// The stack of these settings.
    #[must_use]
    pub fn new(connection: Connection, settings: &Settings) -> Self {
        Self { watch: StackWatch::new(connection, settings.stack.clone()), versions: settings.versions.clone() }
    }
}

#[async_trait]
impl DeployedStack for Watched {
    async fn ringing(&self) -> Result<Raised, StorageError> {
        self.watch.ringing().await
    }

    async fn replaced(&self) -> Result<Vec<String>, StorageError> {
        self.watch.replaced().await
    }

    async fn traffic(&self, now: Timestamp) -> Result<Canary, StorageError> {
        let traffic = self.watch.traffic(&self.versions, TRAFFIC_OF, now).await?;
        Ok(Canary { requests: traffic.requests, errors: traffic.errors })
    }
}

/// Reads every source once.
pub(crate) async fn observe(stack: &dyn DeployedStack, notes: &dyn Notes, now: Timestamp) -> Deployment {
    // The hook before this one has just run the smoke test, so its age is enough.
    let smoke = asked(release::last_smoke_test(notes, now, None).await).flatten();
    let (alarms, alarms_by_outsiders) =
        asked(stack.ringing().await).map(|raised| (raised.by_faults, raised.by_outsiders)).unzip();
    Deployment {
        smoke,
        alarms,
        alarms_by_outsiders: alarms_by_outsiders.unwrap_or_default(),
        removed: asked(stack.replaced().await),
        canary: asked(stack.traffic(now).await),
        ..Deployment::default()
    }
}

fn asked<T>(answer: Result<T, StorageError>) -> Option<T> {
    answer.inspect_err(|error| tracing::warn!(%error, "a source of the evidence cannot be read")).ok()
}
