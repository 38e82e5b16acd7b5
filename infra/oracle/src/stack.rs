//! Finds a stack by the file that `cargo xtask up` writes, by the name of a deployed one, or by the AWS CLI's
//! description of it, and opens its stores.
//! The file has more than 300 lines because each store, queue and vendor client of a stack has a short constructor, and
//! all of them read the same private description and connection.

mod description;

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use audit::{BridgeJournal, ChatJournal, FunctionJournal, Journal, TollJournal};
use aws::{
    Connection, DynamoMemoryLogs, DynamoSales, KmsKey, KmsSubjectKeys, QueueDesk, Reach, S3AuditLog, S3Corpora,
    S3Digests, S3Quarantine, SecretDocument, SnsAlerts, SqsLogNotices, SqsQueue, StackWatch,
};
use backend::Backend;
use domain::{CallerIdentity, EmailAddress, ports::Notes};
use operations::{Operator, desk};
use runtime::{Environment, System};
use serde_json::Value;

use self::description::Stack;
use crate::{
    account::{Account, Wanted},
    caller::Caller,
    command_error::CommandError,
    log_ports::Ports,
    stack_error::StackError,
};

/// The digests of a stack's log.
pub(crate) struct DigestParts {
    pub(crate) store: S3Digests,
    pub(crate) key: KmsKey,
    pub(crate) log_bucket: String,
    pub(crate) notices: SqsLogNotices,
}

/// The stores of the Bridges.
pub(crate) struct BridgeDesk<'a> {
    journal: BridgeJournal<'a>,
    accounts: &'a DynamoSales,
    pub(crate) keys: KmsSubjectKeys<'a>,
}

impl BridgeDesk<'_> {
    pub(crate) fn ports(&self) -> bridge::Ports<'_> {
        bridge::Ports { journal: self.journal, accounts: self.accounts, keys: &self.keys }
    }
}

/// A stack's stores, log and topics.
pub(crate) struct Deployed {
    pub(crate) account: Account,
    caller: Caller,
    stack: Stack,
    connection: Connection,
    environment: Environment,
    pub(crate) sales: DynamoSales,
    notes: Arc<DynamoSales>,
    pub(crate) log: S3AuditLog,
    alerts: SnsAlerts,
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
        let environment = Environment::of_process();
        let connection = Connection::from_environment(|name| stack.variable(name, &account, &environment))?;
        let table =
            || Ok::<_, StackError>(DynamoSales::new(connection.clone(), stack.output("TableName")?, Arc::new(System)));
        Ok(Self {
            sales: table()?,
            notes: Arc::new(table()?),
            log: S3AuditLog::new(connection.clone(), stack.output("AuditBucket")?),
            alerts: SnsAlerts::new(connection.clone(), stack.output("OpsTopicArn")?, stack.output("CriticalTopicArn")?),
            account,
            caller: Caller::default(),
            connection,
            environment,
            stack,
        })
    }

    /// The stack's name.
    pub(crate) fn name(&self) -> &str {
        &self.stack.name
    }

    /// The AWS identity of the command's caller.
    pub(crate) async fn caller_identity(&self) -> Option<CallerIdentity> {
        self.caller.identity(&self.account, &mut std::io::stderr()).await
    }

    /// An output, if the stack has it.
    pub(crate) fn output(&self, name: &str) -> Option<&str> {
        self.stack.outputs.get(name).map(String::as_str)
    }

    /// The operators' access to the queues.
    pub(crate) fn queues(&self) -> QueueDesk {
        QueueDesk::new(self.connection.clone())
    }

    /// The view of CloudFormation and CloudWatch on the stack.
    pub(crate) fn stack_watch(&self) -> StackWatch {
        StackWatch::new(self.connection.clone(), self.stack.name.clone())
    }

    pub(crate) fn journal(&self) -> Journal<'_> {
        Journal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// The journal of purchases in USDC.
    pub(crate) const fn toll_journal(&self) -> TollJournal<'_> {
        TollJournal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// The journal of the chat's accounts.
    pub(crate) const fn chat_journal(&self) -> ChatJournal<'_> {
        ChatJournal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// The journal of Bridges.
    pub(crate) const fn bridge_journal(&self) -> BridgeJournal<'_> {
        BridgeJournal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// The stores of the Bridges, with their keys.
    pub(crate) fn bridge_desk(&self) -> Result<BridgeDesk<'_>, StackError> {
        Ok(BridgeDesk { journal: self.bridge_journal(), accounts: &self.sales, keys: self.memory_keys()? })
    }

    /// The keys of the customers' memories.
    pub(crate) fn memory_keys(&self) -> Result<KmsSubjectKeys<'_>, StackError> {
        let wrapping_key = self.stack.output("MemoryKeyArn")?;
        Ok(KmsSubjectKeys::new(&self.sales, self.connection.clone(), wrapping_key))
    }

    /// The logs of the customers' memories.
    pub(crate) const fn memory_logs(&self) -> DynamoMemoryLogs<'_> {
        DynamoMemoryLogs(&self.sales)
    }

    /// The site's address.
    pub(crate) fn site(&self) -> Result<String, StackError> {
        self.stack.output("SiteUrl")
    }

    /// The journal of a function, whose stream belongs to no sale.
    pub(crate) fn function_journal(&self, function: &'static str) -> FunctionJournal<'_> {
        FunctionJournal { function, notes: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    /// Records a decision that belongs to no sale. If that fails, the command must change nothing.
    pub(crate) async fn record(
        &self,
        operator: &Operator,
        action: &'static str,
        facts: &Value,
    ) -> Result<(), CommandError> {
        let recorded = desk::record(self.function_journal(desk::STREAM), operator, action, facts).await;
        recorded.map_err(|error| CommandError::failed("the decision is not on record, and nothing was done", error))
    }

    pub(crate) fn lists(&self) -> operations::list::Ports<'_> {
        operations::list::Ports { open: &self.sales, store: &self.sales }
    }

    /// The ports for reading the whole log.
    pub(crate) fn log_ports(self) -> Ports {
        let sales = Arc::new(self.sales);
        Ports {
            objects: Arc::new(self.log),
            store: sales.clone(),
            all: sales.clone(),
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
        let Ok(bucket) = self.stack.output("DigestsBucket") else { return Ok(None) };
        Ok(Some(DigestParts {
            store: S3Digests::new(self.connection.clone(), bucket),
            key: KmsKey::new(self.connection.clone(), self.stack.output("DigestKeyArn")?),
            log_bucket: self.stack.output("AuditBucket")?,
            notices: SqsLogNotices::new(self.connection.clone(), self.stack.output("LogNoticesQueueUrl")?),
        }))
    }

    /// A queue, by the output that holds its URL.
    pub(crate) fn queue(&self, output: &'static str) -> Result<SqsQueue, StackError> {
        Ok(SqsQueue::new(self.connection.clone(), self.stack.output(output)?))
    }

    pub(crate) fn quarantine(&self) -> Result<S3Quarantine, StackError> {
        Ok(S3Quarantine::new(self.connection.clone(), self.stack.output("QuarantineBucket")?))
    }

    /// The indexes of corpora.
    pub(crate) fn corpora(&self) -> Result<S3Corpora, StackError> {
        Ok(S3Corpora::new(self.connection.clone(), self.stack.output("ArchiveBucket")?))
    }

    /// The data of a sale in all stores.
    pub(crate) fn sale_data(&self) -> Result<aws::StoredSaleData, StackError> {
        let sales = DynamoSales::new(self.connection.clone(), self.stack.output("TableName")?, Arc::new(System));
        let (archive, quarantine) = (self.stack.output("ArchiveBucket")?, self.stack.output("QuarantineBucket")?);
        Ok(aws::StoredSaleData::new(sales, archive, quarantine))
    }

    /// The mailbox, with the same consent as the stack's functions.
    pub(crate) fn mailbox(&self) -> Result<graph::LazyClient, StackError> {
        let (application, token) = (Arc::new(self.secret("graph")), Arc::new(self.secret("graph-token")));
        let credentials = graph::Credentials { application, token };
        let (graph_url, login_url) = self.graph_urls()?;
        let sender = self.sender()?;
        let (tokens, clock) = (Arc::new(graph::NotKept), Arc::new(System));
        Ok(graph::LazyClient::new(graph_url, login_url, sender, credentials, tokens, clock))
    }

    fn sender(&self) -> Result<EmailAddress, StackError> {
        EmailAddress::parse(&self.stack.output("GraphSender")?).map_err(|_| StackError::Sender)
    }

    /// The URLs of Graph and of its login service.
    fn graph_urls(&self) -> Result<(String, String), StackError> {
        match &self.stack.graph {
            Some(urls) => Ok(urls.clone()),
            None => Ok((
                self.environment.base_url("GRAPH_BASE_URL", graph::GRAPH_URL)?,
                self.environment.base_url("LOGIN_BASE_URL", graph::LOGIN_URL)?,
            )),
        }
    }

    /// The models' service, with the same key as the stack's functions.
    pub(crate) fn gemini(&self) -> Result<gemini::LazyClient, StackError> {
        let url = match &self.stack.gemini {
            Some(url) => url.clone(),
            None => self.environment.base_url("GEMINI_BASE_URL", gemini::BASE_URL)?,
        };
        Ok(gemini::LazyClient::new(url, Duration::from_secs(10), Arc::new(self.secret("gemini"))))
    }

    /// The checks of topics and similar settings.
    pub(crate) fn reach(&self) -> Reach {
        Reach::new(self.connection.clone())
    }

    fn stripe_url(&self) -> Result<String, StackError> {
        match &self.stack.stripe {
            Some(url) => Ok(url.clone()),
            None => Ok(self.environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?),
        }
    }

    /// The smoke test of this stack, with the same secrets as its functions.
    pub(crate) fn smoke_test(&self) -> Result<smoke::Wired, StackError> {
        let secret = |name: &str| format!("{}/{name}", self.stack.name);
        let (graph_url, login_url) = self.graph_urls()?;
        let variables = BTreeMap::from([
            ("SITE_URL", self.stack.output("SiteUrl")?),
            ("STRIPE_BASE_URL", self.stripe_url()?),
            ("GRAPH_BASE_URL", graph_url),
            ("LOGIN_BASE_URL", login_url),
            ("GRAPH_SENDER", self.sender()?.expose().to_owned()),
            ("STRIPE_SMOKE_SECRET_ID", secret("stripe-smoke")),
            ("GEMINI_SECRET_ID", secret("gemini")),
            ("GRAPH_SECRET_ID", secret("graph")),
            ("GRAPH_TOKEN_SECRET_ID", secret("graph-token")),
            ("TABLE_NAME", self.stack.output("TableName")?),
            ("AUDIT_BUCKET", self.stack.output("AuditBucket")?),
            ("OPS_TOPIC_ARN", self.stack.output("OpsTopicArn")?),
            ("CRITICAL_TOPIC_ARN", self.stack.output("CriticalTopicArn")?),
        ]);
        let environment = Environment::from_lookup(move |name| variables.get(name).cloned());
        let backend = Backend::with_connection(self.connection.clone(), environment);
        smoke::Wired::new(&backend).map_err(StackError::Smoke)
    }

    /// One of the stack's secrets. `name` is the part after the stack's name.
    pub(crate) fn secret(&self, name: &str) -> SecretDocument {
        SecretDocument::new(self.connection.clone(), format!("{}/{name}", self.stack.name))
    }

    /// Stripe, with the key for reading.
    pub(crate) fn payments(&self) -> Result<stripe::LazyClient, StackError> {
        self.stripe("stripe")
    }

    /// Stripe, with the key for refunds.
    pub(crate) fn refunding(&self) -> Result<stripe::LazyClient, StackError> {
        self.stripe("stripe-refund")
    }

    fn stripe(&self, secret: &str) -> Result<stripe::LazyClient, StackError> {
        let secret = self.secret(secret);
        let base = self.stripe_url()?;
        let system = Arc::new(System);
        // Only a new session needs the site's address, and operators create none.
        let site = self.stack.output("ApiUrl")?;
        Ok(stripe::LazyClient::new(base, site, Arc::new(secret), system.clone(), system))
    }
}
