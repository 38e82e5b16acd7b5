//! Purchases in USDC, the facilitator and the chain, in a [`World`]. The chain accepts a payment once, with any number
//! of submissions.

use super::{PAGE, planned, replace, versioned};
use crate::{
    faults::Trouble,
    world::{State, World},
};
use async_trait::async_trait;
use domain::{
    SessionId, Timestamp,
    ports::{
        Corpora, Facilitator, FacilitatorError, Node, PaymentUse, Purchases, SaveError, StorageError, Transfer,
        Versioned,
    },
    toll::{CorpusVersion, List, Named, PaidBy, Purchase, SignedPayment},
};

/// In milliseconds.
const HOUR: i64 = 3_600_000;

#[async_trait]
impl Purchases for World {
    async fn listed(&self, list: List, until: Timestamp) -> Result<Vec<SessionId>, StorageError> {
        self.stored("purchases.listed", |state| {
            let next = |purchase: &Purchase| purchase.next().filter(|(of, due)| *of == list && *due <= until);
            let purchases = state.purchases.values().map(|(purchase, _)| purchase);
            let mut due: Vec<_> =
                purchases.filter_map(|purchase| Some((next(purchase)?.1, purchase.id().clone()))).collect();
            due.sort();
            let most = if list == List::Humans { due.len() } else { PAGE };
            due.into_iter().take(most).map(|(_, id)| id).collect()
        })
        .await
    }

    async fn named(&self, key: &SessionId) -> Result<Option<Versioned<Named>>, StorageError> {
        self.stored("purchases.named", |state| versioned(state.purchase_names.get(key))).await
    }

    async fn name(&self, key: &SessionId, named: &Named, expected: u64) -> Result<u64, SaveError> {
        let put = |state: &mut State| replace(&mut state.purchase_names, key.clone(), named.clone(), expected);
        self.saved("purchases.name", put).await
    }
}

fn trouble(trouble: Trouble) -> FacilitatorError {
    match trouble {
        Trouble::Refused(402) => FacilitatorError::Refused("insufficient_funds".to_owned()),
        Trouble::Failed | Trouble::Refused(_) => FacilitatorError::Unavailable(planned()),
    }
}

fn key(payment: &SignedPayment) -> (String, String) {
    (payment.payer.clone(), payment.nonce.clone())
}

/// Why the chain would refuse a payment now.
fn problem(state: &State, payment: &SignedPayment) -> Option<FacilitatorError> {
    let refused = |reason: &str| Some(FacilitatorError::Refused(reason.to_owned()));
    if state.chain.used.contains_key(&key(payment)) {
        return refused("invalid_exact_evm_nonce_already_used");
    }
    if payment.valid_before.as_millis() <= state.now {
        return refused("invalid_exact_evm_payload_authorization_valid_before");
    }
    None
}

/// The signed transfer that this transaction submitted to us.
fn signed_transfer(state: &State, transaction: &str, amount: u64) -> Option<Transfer> {
    let mut used = state.chain.used.iter();
    let ((payer, nonce), _) = used.find(|(_, (submitted, is_ours))| *is_ours && submitted == transaction)?;
    Some(Transfer::Signed { payer: payer.clone(), nonce: nonce.clone(), amount })
}

#[async_trait]
impl Facilitator for World {
    async fn verify(&self, payment: &SignedPayment) -> Result<(), FacilitatorError> {
        let read = self.boundary("facilitator.verify", |state| {
            state.chain.checks.pop_front().or_else(|| problem(state, payment)).map_or(Ok(()), Err)
        });
        read.await.unwrap_or_else(|met| Err(trouble(met)))
    }

    async fn settle(&self, payment: &SignedPayment) -> Result<String, FacilitatorError> {
        let write = self.boundary("facilitator.settle", |state| {
            if let Some(says) = state.chain.says.pop_front() {
                return Err(says);
            }
            match problem(state, payment) {
                Some(FacilitatorError::Refused(reason)) if reason.contains("nonce") => {
                    return Err(FacilitatorError::Unclear(reason));
                }
                Some(problem) => return Err(problem),
                None => {}
            }
            state.chain.settled += 1;
            let transaction = format!("0x{:064x}", state.chain.settled);
            state.chain.used.insert(key(payment), (transaction.clone(), true));
            Ok(transaction)
        });
        write.await.unwrap_or_else(|met| Err(trouble(met)))
    }
}

#[async_trait]
impl Node for World {
    async fn payment_use(&self, payment: &SignedPayment) -> Result<PaymentUse, StorageError> {
        self.stored("node.payment_use", |state| match state.chain.used.get(&key(payment)) {
            Some(_) if state.chain.has_no_receipts => PaymentUse::Unconfirmed,
            Some((nowhere, _)) if nowhere.is_empty() => PaymentUse::Untraced,
            Some((transaction, is_ours)) => PaymentUse::Used { transaction: transaction.clone(), is_ours: *is_ours },
            None => PaymentUse::Unused { head: Timestamp::from_millis(state.now - state.chain.behind) },
        })
        .await
    }

    async fn transfer(&self, transaction: &str, amount: u64) -> Result<Transfer, StorageError> {
        self.stored("node.transfer", |state| {
            let made = state.chain.transferred_at.get(transaction).copied().unwrap_or(state.now);
            let age = state.now - made;
            match state.chain.transfers.get(transaction) {
                Some(_) if age > 48 * HOUR => Transfer::Refused("the transaction is too old".to_owned()),
                Some((payer, paid)) if state.chain.beside.contains_key(transaction) => {
                    let first = PaidBy { payer: payer.clone(), amount: *paid };
                    let beside = state.chain.beside.get(transaction).into_iter().flatten();
                    Transfer::Several([first].into_iter().chain(beside.cloned()).collect())
                }
                Some((payer, paid)) if *paid == amount && age <= HOUR => Transfer::Paid { payer: payer.clone() },
                Some((payer, paid)) => Transfer::Other { payer: payer.clone(), amount: *paid, is_late: age > HOUR },
                None => signed_transfer(state, transaction, amount)
                    .unwrap_or_else(|| Transfer::Unconfirmed("the transaction is not on the chain".to_owned())),
            }
        })
        .await
    }
}

#[async_trait]
impl Corpora for World {
    async fn read(&self, version: &CorpusVersion) -> Result<Option<Vec<u8>>, StorageError> {
        self.stored("corpora.read", |state| state.corpora.get(version).cloned()).await
    }

    async fn keep(&self, version: &CorpusVersion, bytes: &[u8]) -> Result<(), StorageError> {
        self.stored("corpora.keep", |state| {
            state.corpora.entry(version.clone()).or_insert_with(|| bytes.to_vec());
        })
        .await
    }

    async fn listed(&self) -> Result<Vec<(CorpusVersion, Timestamp)>, StorageError> {
        let list = |state: &mut State| state.corpora.keys().map(|it| (it.clone(), Timestamp::from_millis(0))).collect();
        self.stored("corpora.listed", list).await
    }
}
