//! Erases the memory of a chat account. The customer's call does it at once; after a crash the schedule finishes it.

mod schedule;

pub use schedule::run;

use audit::{BridgeJournal, Change, ChatJournal, ChatStatus, Record, take_evaluation_records};
use domain::{
    Operator, StepError,
    chat::{Account, Bridge, Refused, SubscriberId},
    ports::{MemoryLogs, SubjectKeys, Versioned},
};
use memory::{
    Event, Handle,
    event::SubjectErased,
    store::{self, StoreError},
};
use serde_json::json;

/// The ports of an erasure.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: ChatJournal<'a>,
    pub bridges: BridgeJournal<'a>,
    pub logs: &'a dyn MemoryLogs,
    pub keys: &'a dyn SubjectKeys,
}

/// Begins an erasure unless one has already begun. This write removes all texts from the account. Returns whether this
/// call began the erasure. `operator` is recorded if an operator, not the customer, begins it.
///
/// # Errors
/// [`StepError`]: whether it began is unknown; repeating the call is safe.
pub async fn begin(
    journal: ChatJournal<'_>,
    account: Versioned<Account>,
    operator: Option<&Operator>,
) -> Result<(Versioned<Account>, bool), StepError> {
    let begin = |account: &mut Account, now| {
        // Before the claims end: their invocations, which may still run, leave no record any more.
        let mut records = take_evaluation_records(account, now, "its memory was erased", |_| true);
        if !account.begin_erasure(now) {
            return Change::nothing(false);
        }
        let mut facts = json!({ "step": "begun" });
        if let Some(operator) = operator {
            facts["by"] = operator.name().into();
            facts["identity"] = json!(operator.identity());
            facts["reason"] = operator.reason().into();
        }
        records.push(Record::chat(now, now, ChatStatus::Erased, facts));
        Change::recorded(records, true)
    };
    Ok(journal.commit(account, begin).await?.settle().await)
}

/// Finishes an erasure: removes the Bridge's thread, appends the log's last event, destroys the key, and starts another
/// memory. Each step may be repeated.
///
/// # Errors
/// [`StepError`]: the completed steps are kept.
pub async fn finish(ports: Ports<'_>, account: Versioned<Account>) -> Result<Versioned<Account>, StepError> {
    erase_bridge(ports.bridges, account.value.id()).await?;
    let name = account.value.memory();
    shred(ports, &name).await.map_err(|error| error.code().of(error))?;
    let erased = |account: &mut Account, now| match (account.memory() == name).then(|| account.erased()) {
        Some(Ok(())) => {
            Change::recorded(vec![Record::chat(now, now, ChatStatus::Erased, json!({ "step": "done" }))], ())
        }
        Some(Err(Refused)) | None => Change::nothing(()),
    };
    Ok(ports.journal.commit(account, erased).await?.settle().await.0)
}

/// Appends the memory's last event and destroys its key.
async fn shred(ports: Ports<'_>, name: &str) -> Result<(), StoreError> {
    let campaign = Handle::parse(name)?;
    let erasure = SubjectErased {
        subject: campaign.clone(),
        requested_by: Handle::parse("subscriber")?,
        // The account does not keep who began it, and an operator's words do not belong in bytes that stay.
        reason: "the account's audit records name the operator, if one began it".to_owned(),
    };
    let at = ports.journal.clock.now().as_millis();
    let event = Event { at, campaign_id: campaign, key: None, payload: erasure.into() };
    store::shred(ports.logs, ports.keys, name, &event).await
}

/// Removes the thread, the name and the address of the account's Bridge, and ends any access. This happens before the
/// key is destroyed, so that no thread outlives the key that opens it.
async fn erase_bridge(bridges: BridgeJournal<'_>, id: &SubscriberId) -> Result<(), StepError> {
    let erase = |bridge: &mut Bridge, now| match bridge.erase(now) {
        Some(event) => Change::recorded(vec![Record::bridge(now, event)], ()),
        None => Change::nothing(()),
    };
    let bridge = bridges.load(id).await?;
    bridges.commit(bridge, erase).await?.settle().await;
    Ok(())
}

#[cfg(test)]
mod tests;
