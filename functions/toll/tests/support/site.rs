//! A deployment of the toll in a world, whose slow calls a second request can overlap, and whose ports can have a
//! defect.
//! The file has more than 300 lines because one type implements every port that a defect can break, and each defect
//! is in the port that has it.

use super::*;
use async_trait::async_trait;
use domain::{
    Alert, SessionId,
    ports::{
        Alerts, AuditLog, Facilitator, FacilitatorError, Listener, Model, ModelError, Node, PaymentUse, Prompt,
        Published, SaveError, StorageError, Store, Transfer, Versioned,
    },
    sale::AuditEntry,
    toll::{Answered, List, Named, SignedPayment},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A call during which a second request can arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Verify,
    Ask,
    Settle,
    /// The save of a purchase, after it was loaded.
    Save,
}

impl Call {
    /// The slow calls.
    pub const ALL: [Self; 3] = [Self::Verify, Self::Ask, Self::Settle];
}

/// A contract of a port that is broken. The worlds must notice each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The store saves a purchase whatever version is stored.
    VersionIgnored,
    /// The store reports a purchase as saved and does not save it.
    PurchaseLost,
    /// The store saves a purchase without the text of its answer.
    AnswerLost,
    /// The store saves a purchase without the evaluation of its claim.
    EvaluationLost,
    /// The store reports a name as taken and does not save it.
    NameLost,
    /// The store takes a name for a purchase although another one has it.
    NameVersionIgnored,
    /// The list of open purchases is empty.
    OpenUnlisted,
    /// The log reports a record as written and does not write it.
    RecordLost,
    /// The log changes a record that it writes.
    RecordAltered,
    /// The log forks: it writes each record under a second key too.
    LogForked,
    /// Alerts are lost.
    AlertsLost,
    /// The facilitator reports every payment as settled and keeps refusals to itself.
    RefusalSwallowed,
    /// The node finds no submitted payment.
    NothingSubmitted,
    /// The node finds every payment submitted.
    EverythingSubmitted,
    /// The node takes a submitted payment for one to another recipient.
    SubmittedToOthers,
    /// The node confirms every transaction as a payment of the price.
    EveryTransferPays,
}

impl Defect {
    pub const ALL: [Self; 16] = [
        Self::VersionIgnored,
        Self::PurchaseLost,
        Self::AnswerLost,
        Self::EvaluationLost,
        Self::NameLost,
        Self::NameVersionIgnored,
        Self::OpenUnlisted,
        Self::RecordLost,
        Self::RecordAltered,
        Self::LogForked,
        Self::AlertsLost,
        Self::RefusalSwallowed,
        Self::NothingSubmitted,
        Self::EverythingSubmitted,
        Self::SubmittedToOthers,
        Self::EveryTransferPays,
    ];
}

pub struct Site {
    pub world: World,
    /// The owners of the claims that were saved, by purchase.
    claims: Mutex<BTreeMap<SessionId, BTreeSet<String>>>,
    defect: Option<Defect>,
    planned: Mutex<Option<(Call, Request)>>,
    overlapped: Mutex<Option<Reply>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Site {
    pub fn new(world: World, defect: Option<Defect>) -> Self {
        Self { world, claims: Mutex::default(), defect, planned: Mutex::default(), overlapped: Mutex::default() }
    }

    /// How many claims of each purchase were saved.
    pub fn claims(&self) -> BTreeMap<SessionId, usize> {
        lock(&self.claims).iter().map(|(id, owners)| (id.clone(), owners.len())).collect()
    }

    fn journal(&self) -> TollJournal<'_> {
        TollJournal { store: self, log: self, alerts: self, clock: &self.world }
    }

    /// Sends one request; `None` if the process died.
    pub fn send(&self, request: Request) -> Option<Reply> {
        let ports = Ports { journal: self.journal(), facilitator: self, node: self, model: self, ..ports(&self.world) };
        run(handle(ports, &settings(), request))
    }

    /// Sends `first`; `second` arrives and is answered while `first` waits for this call. The second reply is `None`
    /// if its process died or `first` never came to the call.
    pub fn send_both(&self, first: Request, call: Call, second: Request) -> (Option<Reply>, Option<Reply>) {
        self.overlap(|| self.send(first), call, second)
    }

    pub fn look(&self) -> Option<domain::due::Report> {
        let ports = settlement::Ports { journal: self.journal(), facilitator: self, node: self };
        run(settlement::run(ports, &self.world))?.ok()
    }

    /// The schedule looks; `request` arrives and is answered while it waits for this call.
    pub fn look_and_send(&self, call: Call, request: Request) -> (Option<domain::due::Report>, Option<Reply>) {
        self.overlap(|| self.look(), call, request)
    }

    fn overlap<T>(&self, first: impl FnOnce() -> T, call: Call, second: Request) -> (T, Option<Reply>) {
        *lock(&self.planned) = Some((call, second));
        let first = first();
        lock(&self.planned).take();
        (first, lock(&self.overlapped).take())
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    fn arrive(&self, at: Call) {
        let planned = lock(&self.planned).take_if(|(call, _)| *call == at);
        if let Some((_, request)) = planned {
            let reply = self.send(request);
            *lock(&self.overlapped) = reply;
        }
    }
}

#[async_trait]
impl Store<Purchase> for Site {
    async fn load(&self, id: &SessionId) -> Result<Option<Versioned<Purchase>>, StorageError> {
        Store::<Purchase>::load(&self.world, id).await
    }

    async fn save(&self, purchase: &Purchase, expected: u64) -> Result<u64, SaveError> {
        self.arrive(Call::Save);
        let store: &dyn Store<Purchase> = &self.world;
        let saved = match self.defect {
            Some(Defect::VersionIgnored) => {
                let stored = store.load(purchase.id()).await?.map_or(0, |stored| stored.version);
                store.save(purchase, stored).await
            }
            Some(Defect::PurchaseLost) => Ok(expected + 1),
            Some(Defect::AnswerLost) => store.save(&without_answer(purchase), expected).await,
            Some(Defect::EvaluationLost) => store.save(&without_evaluation(purchase), expected).await,
            _ => store.save(purchase, expected).await,
        };
        if saved.is_ok()
            && let Stage::Working { owner, .. } = purchase.stage()
        {
            lock(&self.claims).entry(purchase.id().clone()).or_default().insert(owner.clone());
        }
        saved
    }
}

#[async_trait]
impl Purchases for Site {
    async fn listed(&self, list: List, until: Timestamp) -> Result<Vec<SessionId>, StorageError> {
        if self.has(Defect::OpenUnlisted) { Ok(Vec::new()) } else { Purchases::listed(&self.world, list, until).await }
    }

    async fn named(&self, key: &SessionId) -> Result<Option<Versioned<Named>>, StorageError> {
        self.world.named(key).await
    }

    async fn name(&self, key: &SessionId, named: &Named, expected: u64) -> Result<u64, SaveError> {
        match self.defect {
            Some(Defect::NameLost) => Ok(expected + 1),
            Some(Defect::NameVersionIgnored) => {
                let stored = self.world.named(key).await?.map_or(0, |stored| stored.version);
                self.world.name(key, named, stored).await
            }
            _ => self.world.name(key, named, expected).await,
        }
    }
}

fn without_answer(purchase: &Purchase) -> Purchase {
    let mut document = json!(purchase);
    if let Some(answer) = purchase.answered() {
        document["stage"]["answer"] = json!(Answered { body: "{}".to_owned(), ..answer.clone() });
    }
    serde_json::from_value(document).unwrap()
}

fn without_evaluation(purchase: &Purchase) -> Purchase {
    let mut document = json!(purchase);
    document["stage"].as_object_mut().unwrap().remove("evaluation");
    serde_json::from_value(document).unwrap()
}

#[async_trait]
impl AuditLog for Site {
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError> {
        let log: &dyn AuditLog = &self.world;
        match self.defect {
            Some(Defect::RecordLost) => Ok(Published::Written),
            Some(Defect::RecordAltered) => {
                let line = entry.line.replacen("\"timestamp\":\"2", "\"timestamp\":\"3", 1);
                log.publish(&AuditEntry { line, ..entry.clone() }).await
            }
            Some(Defect::LogForked) => {
                log.publish(&AuditEntry { key: format!("{}-fork", entry.key), ..entry.clone() }).await?;
                log.publish(entry).await
            }
            _ => log.publish(entry).await,
        }
    }
}

#[async_trait]
impl Alerts for Site {
    async fn raise(&self, alert: Alert) {
        if !self.has(Defect::AlertsLost) {
            self.world.raise(alert).await;
        }
    }
}

#[async_trait]
impl Facilitator for Site {
    async fn verify(&self, payment: &SignedPayment) -> Result<(), FacilitatorError> {
        self.arrive(Call::Verify);
        self.world.verify(payment).await
    }

    async fn settle(&self, payment: &SignedPayment) -> Result<String, FacilitatorError> {
        self.arrive(Call::Settle);
        let settled = self.world.settle(payment).await;
        if self.has(Defect::RefusalSwallowed) { settled.or_else(|_| Ok("0x1".to_owned())) } else { settled }
    }
}

#[async_trait]
impl Node for Site {
    async fn payment_use(&self, payment: &SignedPayment) -> Result<PaymentUse, StorageError> {
        let found = self.world.payment_use(payment).await?;
        Ok(match (self.defect, found) {
            (Some(Defect::NothingSubmitted), _) => {
                PaymentUse::Unused { head: Timestamp::from_millis(self.world.state().now) }
            }
            (Some(Defect::EverythingSubmitted), _) => PaymentUse::Used { transaction: "0x1".to_owned(), is_ours: true },
            (Some(Defect::SubmittedToOthers), PaymentUse::Used { transaction, .. }) => {
                PaymentUse::Used { transaction, is_ours: false }
            }
            (_, found) => found,
        })
    }

    async fn transfer(&self, transaction: &str, amount: u64) -> Result<Transfer, StorageError> {
        let found = self.world.transfer(transaction, amount).await?;
        let paid = Transfer::Paid { payer: "0x1".to_owned() };
        Ok(if self.has(Defect::EveryTransferPays) { paid } else { found })
    }
}

#[async_trait]
impl Model for Site {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        self.arrive(Call::Ask);
        self.world.ask(model, prompt).await
    }

    async fn stream(
        &self,
        model: &str,
        prompt: &Prompt,
        listener: &mut dyn Listener,
    ) -> Result<ModelReply, ModelError> {
        self.arrive(Call::Ask);
        self.world.stream(model, prompt, listener).await
    }
}
