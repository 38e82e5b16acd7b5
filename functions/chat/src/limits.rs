//! Rate limits by windows of time. A network is counted under a keyed digest of its address.

use crate::{NotDone, Ports, Settings};
use domain::{
    Metric,
    chat::{SubscriberId, SubscriberKey},
};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// How many links one network can have mailed to one mailbox within an hour, and how many one mailbox receives at most. The
/// second is twelve times the first, so that one network does not use up what the mailbox's owner needs.
const LINKS_OF_A_PAIR: u32 = 5;
const LINKS_OF_A_MAILBOX: u32 = 60;

/// Messages that one subscriber can post on the Bridge within an hour, and acceptances of its agreement within a day.
const BRIDGE_MESSAGES: u32 = 30;
const BRIDGE_ACCEPTANCES: u32 = 5;

async fn take(ports: Ports<'_>, what: &str, window: Duration, most: u32) -> Result<bool, NotDone> {
    let now = ports.journal.clock.now();
    let number = now.as_seconds() / i64::try_from(window.as_secs()).unwrap_or(i64::MAX);
    // Stored for one window longer than it counts, so that a caller whose clock is late cannot restart the count.
    let until = now.plus(window).plus(window);
    Ok(ports.sign_ins.take(&format!("{what}/{number}"), most, until).await?)
}

fn network(key: &SubscriberKey, network: Option<&str>) -> String {
    key.digest("oracle.chat.network.v1", network.unwrap_or("unknown"))
}

/// Whether one more link may be mailed.
pub(crate) async fn link(
    ports: Ports<'_>,
    settings: &Settings,
    key: &SubscriberKey,
    subscriber: &SubscriberId,
    from: Option<&str>,
) -> Result<bool, NotDone> {
    let (network, mailbox) = (network(key, from), subscriber.as_str());
    // A request over its own limits counts against neither the others of its network nor the owner of the mailbox. One that
    // the limit of all mailboxes refuses does not count against its mailbox.
    if !take(ports, &format!("link/{mailbox}/{network}"), HOUR, LINKS_OF_A_PAIR).await?
        || !take(ports, &format!("links/{network}"), HOUR, settings.per_network).await?
    {
        return Ok(false);
    }
    let is_free = take(ports, "links", MINUTE, settings.mails_a_minute).await?
        && take(ports, &format!("link/{mailbox}"), HOUR, LINKS_OF_A_MAILBOX).await?;
    if !is_free {
        ports.meter.record(&[Metric::ChatLinkRefused.once()], ports.journal.clock.now());
    }
    Ok(is_free)
}

/// Whether one more free exchange may begin from this network.
pub(crate) async fn free(
    ports: Ports<'_>,
    settings: &Settings,
    key: &SubscriberKey,
    from: Option<&str>,
) -> Result<bool, NotDone> {
    take(ports, &format!("free/{}", network(key, from)), DAY, settings.per_network).await
}

/// Whether one more message may be posted on the Bridge.
pub(crate) async fn message(ports: Ports<'_>, who: &SubscriberId) -> Result<bool, NotDone> {
    take(ports, &format!("bridge/{}", who.as_str()), HOUR, BRIDGE_MESSAGES).await
}

/// Whether the Bridge's agreement may be accepted once more: each acceptance is work for an operator.
pub(crate) async fn acceptance(ports: Ports<'_>, who: &SubscriberId) -> Result<bool, NotDone> {
    take(ports, &format!("agreement/{}", who.as_str()), DAY, BRIDGE_ACCEPTANCES).await
}
