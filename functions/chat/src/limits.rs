//! What is counted against abuse, by windows of time. Networks are counted by a keyed digest.

use crate::{NotDone, Ports, Settings};
use domain::chat::{SubscriberId, SubscriberKey};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Links that one mailbox is sent within an hour.
const LINKS_OF_A_MAILBOX: u32 = 20;

async fn take(ports: Ports<'_>, what: &str, window: Duration, most: u32) -> Result<bool, NotDone> {
    let now = ports.journal.clock.now();
    let number = now.as_seconds() / i64::try_from(window.as_secs()).unwrap_or(i64::MAX);
    // Kept for a window longer than it counts, so that no clock that is behind starts it anew.
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
    Ok(take(ports, &format!("link/{}", subscriber.as_str()), HOUR, LINKS_OF_A_MAILBOX).await?
        && take(ports, &format!("links/{}", network(key, from)), HOUR, settings.per_network).await?
        && take(ports, "links", MINUTE, settings.mails_a_minute).await?)
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
