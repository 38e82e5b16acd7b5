//! Finds a stack by the file that `cargo xtask up` writes, by the name of a deployed one, or by the AWS CLI's
//! description of it, and builds its clients as its functions do (`backend`).

use std::{path::Path, sync::Arc, time::Duration};

use audit::BridgeJournal;
use aws::{
    DynamoSales, KmsKey, KmsSubjectKeys, QueueAdmin, Reach, S3Digests, SecretDocument, SqsLogNotices, StackWatch,
};
use backend::{Backend, BackendError, Bucket, JournalStores};
use domain::{CallerIdentity, ports::Notes};
use operations::{Operator, decision_record};
use runtime::Environment;
use serde_json::Value;

use super::{
    account::{Account, Wanted},
    caller::Caller,
    description::Stack,
    error::StackError,
    log_ports::Ports,
    variables,
};
use crate::command_error::{CommandError, OrFailed};

/// The longest time that a command waits for a reply of Gemini.
const GEMINI_TIMEOUT: Duration = Duration::from_secs(10);

/// The digests of a stack's log.
pub(crate) struct DigestParts {
    pub(crate) store: S3Digests,
    pub(crate) key: KmsKey,
    pub(crate) log_bucket: String,
    pub(crate) notices: SqsLogNotices,
}

pub(crate) struct BridgeStores<'a> {
    journal: BridgeJournal<'a>,
    accounts: &'a DynamoSales,
    pub(crate) keys: KmsSubjectKeys<'a>,
}

impl BridgeStores<'_> {
    pub(crate) fn ports(&self) -> bridge::Ports<'_> {
        bridge::Ports { journal: self.journal, accounts: self.accounts, keys: &self.keys }
    }
}

/// A stack's stores, log and topics, and the clients that its functions use.
pub(crate) struct Deployed {
    pub(crate) account: Account,
    caller: Caller,
    stack: Stack,
    backend: Backend,
    pub(crate) stores: JournalStores,
    notes: Arc<DynamoSales>,
}

impl From<BackendError> for StackError {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::Configuration(error) => variables::named(error),
            BackendError::Connection(error) => Self::Setting(error),
            BackendError::Models(error) => Self::Models(error),
        }
    }
}

impl Deployed {
    /// Reads the stack's file and finds the credentials for its account.
    pub(crate) async fn open(path: &Path, wanted: Wanted) -> Result<Self, StackError> {
        let read = |source| StackError::Read { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(read)?;
        let stack = Stack::parse(&text).map_err(|source| StackError::Form { path: path.to_owned(), source })?;
        let region = wanted.region.clone().or_else(|| stack.region.clone());
        let account = Account::find(&Wanted { region, emulator: stack.endpoint.clone(), ..wanted }).await?;
        Self::of(stack, account)
    }

    /// Reads a stack's outputs from CloudFormation.
    pub(crate) async fn find(name: &str, wanted: &Wanted) -> Result<Self, StackError> {
        let account = Account::find(wanted).await?;
        let outputs = account.outputs(name).await?.into_iter().collect();
        Self::of(Stack { name: name.to_owned(), outputs, ..Stack::default() }, account)
    }

    fn of(stack: Stack, account: Account) -> Result<Self, StackError> {
        let backend = Backend::new(variables::environment(&stack, &account, Environment::of_process()))?;
        let (stores, notes) = (backend.journal()?, Arc::new(backend.sales()?));
        Ok(Self { account, caller: Caller::default(), stack, backend, stores, notes })
    }

    pub(crate) fn name(&self) -> &str {
        &self.stack.name
    }

    /// The stack's name, region and, once the caller is known, account: what differs between production and staging.
    pub(crate) fn place(&self) -> String {
        let region = self.account.variable("AWS_REGION").unwrap_or_default();
        let account = self.caller.account().map(|account| format!(", account {account}")).unwrap_or_default();
        format!("{} in {region}{account}", self.name())
    }

    /// Whether the stack runs on an emulator of AWS.
    pub(crate) const fn is_emulated(&self) -> bool {
        self.stack.endpoint.is_some()
    }

    /// The AWS identity of the command's caller.
    pub(crate) async fn caller_identity(&self) -> Option<CallerIdentity> {
        self.caller.identity(&self.account, &mut std::io::stderr()).await
    }

    pub(crate) fn output(&self, name: &str) -> Option<&str> {
        self.stack.outputs.get(name).map(String::as_str)
    }

    /// The clients of the stack's functions.
    pub(crate) const fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(crate) fn queues(&self) -> QueueAdmin {
        QueueAdmin::new(self.backend.connection().clone())
    }

    /// The view of CloudFormation and CloudWatch on the stack.
    pub(crate) fn stack_watch(&self) -> StackWatch {
        StackWatch::new(self.backend.connection().clone(), self.stack.name.clone())
    }

    /// The checks of topics and similar settings.
    pub(crate) fn reach(&self) -> Reach {
        Reach::new(self.backend.connection().clone())
    }

    pub(crate) fn bridge_stores(&self) -> Result<BridgeStores<'_>, StackError> {
        let (journal, accounts) = (self.stores.bridge_journal(), &self.stores.sales);
        Ok(BridgeStores { journal, accounts, keys: self.memory_keys()? })
    }

    pub(crate) fn memory_keys(&self) -> Result<KmsSubjectKeys<'_>, StackError> {
        Ok(self.backend.subject_keys(&self.stores.sales)?)
    }

    /// Records a decision that belongs to no sale. If that fails, the command must change nothing.
    pub(crate) async fn record(
        &self,
        operator: &Operator,
        action: &'static str,
        facts: &Value,
    ) -> Result<(), CommandError> {
        let recorded =
            decision_record::record(self.stores.function_journal(decision_record::STREAM), operator, action, facts)
                .await;
        recorded.or_failed("the decision may not be on record, and nothing was done: repeat the command")
    }

    pub(crate) fn lists(&self) -> operations::list::Ports<'_> {
        operations::list::Ports { open: &self.stores.sales, store: &self.stores.sales }
    }

    pub(crate) fn log_ports(self) -> Ports {
        let sales = Arc::new(self.stores.sales);
        Ports {
            objects: Arc::new(self.stores.log),
            store: sales.clone(),
            all: sales.clone(),
            streams: sales.clone(),
            notes: sales.clone(),
            purchases: sales.clone(),
            accounts: sales.clone(),
            subscribers: sales.clone(),
            bridges: sales,
        }
    }

    /// The saved state of the functions.
    pub(crate) fn notes(&self) -> Arc<dyn Notes> {
        self.notes.clone()
    }

    /// The digests of the log; `None` for a stack whose deployment is older than digests.
    pub(crate) fn digests(&self) -> Result<Option<DigestParts>, StackError> {
        if self.output("DigestsBucket").is_none() {
            return Ok(None);
        }
        Ok(Some(DigestParts {
            store: self.backend.digests()?,
            key: self.backend.digest_key()?,
            log_bucket: self.backend.bucket(Bucket::Audit)?,
            notices: self.backend.log_notices()?,
        }))
    }

    /// The models' service, with the same key as the stack's functions.
    pub(crate) fn gemini(&self) -> Result<gemini::LazyClient, StackError> {
        Ok(self.backend.gemini_within(GEMINI_TIMEOUT)?)
    }

    /// The smoke test of this stack, with the same secrets as its functions.
    pub(crate) fn smoke_test(&self) -> Result<smoke::Wired, StackError> {
        smoke::Wired::new(&self.backend).map_err(|error| match error.downcast::<BackendError>() {
            Ok(error) => (*error).into(),
            Err(error) => StackError::Smoke(error),
        })
    }

    /// One of the stack's secrets. `name` is the part after the stack's name.
    pub(crate) fn secret(&self, name: &str) -> SecretDocument {
        SecretDocument::new(self.backend.connection().clone(), self.stack.secret_id(name))
    }
}
