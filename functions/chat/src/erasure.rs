//! Erases the memory of an account at its customer's request, if there is anything to erase.

use crate::{Ports, account_memory, limits, reply};
use domain::{
    StepError,
    chat::{Account, SubscriberId},
};
use runtime::http::Reply;
use serde_json::json;

/// DELETE: erases the memory, then replies. An erasure of nothing writes nothing, because it costs its sender nothing,
/// and what it would write stays for years.
pub(crate) async fn erase(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, StepError> {
    let account = ports.journal.load(who).await?;
    if !holds_nothing(ports, &account.value).await? {
        // One that has begun is finished, whatever the limit says.
        if !account.value.is_erasing()
            && let Some(wait) = limits::ERASURE.take(ports, who).await?
        {
            return Ok(reply::too_many(wait));
        }
        let (account, _) = forgetting::begin(ports.journal, account, None).await?;
        account_memory::finish(ports, account).await?;
    }
    Ok(Reply::json(202, &json!({ "status": "erased" })))
}

/// Whether there is nothing to erase: no exchange, no record of the memory, and no acceptance or thread of the Bridge.
/// A key alone is nothing, because reading an empty memory makes one.
async fn holds_nothing(ports: Ports<'_>, account: &Account) -> Result<bool, StepError> {
    if !account.is_blank() {
        return Ok(false);
    }
    let memory = account.memory();
    if ports.logs.head(&memory).await?.is_some() || !ports.logs.read(&memory, 0).await?.is_empty() {
        return Ok(false);
    }
    let bridge = ports.bridges.load(account.id()).await?.value;
    if bridge.acceptance().is_some() || !bridge.thread().is_empty() {
        return Ok(false);
    }
    // Read again as the last step, so that an exchange that was answered meanwhile is erased.
    Ok(ports.journal.load(account.id()).await?.value.is_blank())
}
