//! Rate limits by windows of time. A network is counted under a keyed digest of its address.

use crate::{NotDone, Ports, Settings};
use domain::{
    Metric, Timestamp,
    chat::{LINKS_AN_HOUR, MOST_DECLINES_A_DAY, SubscriberId, SubscriberKey},
};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// How many links one mailbox receives at most within an hour: twelve times what one network can have mailed to it, so
/// that one network does not use up what the mailbox's owner needs.
const LINKS_OF_A_MAILBOX: u32 = 12 * LINKS_AN_HOUR;

/// Messages that one subscriber can post on the Bridge within an hour, and acceptances of its agreement within a day.
const BRIDGE_MESSAGES: u32 = 30;
const BRIDGE_ACCEPTANCES: u32 = 5;

/// Messages of one subscriber that may disclose self-harm and cannot be posted on the Bridge, of which a day keeps a
/// record and an alert. As many as the declined messages of the chat that are recorded.
const UNPOSTED_DISCLOSURES: u32 = MOST_DECLINES_A_DAY;

/// Erasures of one subscriber's memory within a day: each leaves records that stay for years.
const ERASURES: u32 = 20;

/// Reads of a whole memory that one subscriber can cause within an hour beside new exchanges: exports, and looks at
/// exchanges that the account does not list. Each reads, decrypts and verifies every record. A page that asks before
/// its message is claimed looks at such an exchange a few times.
const MEMORY_READS: u32 = 300;

/// Messages of one subscriber that another limit or the offer refuses and whose reply is looked for in the memory
/// within an hour. More than [`MEMORY_READS`], because an answered message gets its reply again whatever those limits
/// say.
const LOOKUPS: u32 = 600;

/// Offers with a payment page of their own that one subscriber gets within an hour, and pages of Stripe that one subscriber
/// can open. Each is a call to Stripe, whose limit our paying customers share. They are counted apart, so that a customer
/// whose messages used up the offers can still subscribe.
const OFFERS: u32 = 10;
const STRIPE_PAGES: u32 = 20;

/// Takes one of the `most` that a window of time allows. If none is left, returns the time until the next window.
async fn take(ports: Ports<'_>, what: &str, window: Duration, most: u32) -> Result<Option<Duration>, NotDone> {
    let now = ports.journal.clock.now();
    let seconds = i64::try_from(window.as_secs()).unwrap_or(i64::MAX);
    let number = now.as_seconds() / seconds;
    // Stored for one window longer than it counts, so that a caller whose clock is late cannot restart the count.
    let until = now.plus(window).plus(window);
    let is_taken = ports.sign_ins.take(&format!("{what}/{number}"), most, until).await?;
    Ok((!is_taken).then(|| Timestamp::from_seconds((number + 1) * seconds).since(now)))
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
    if take(ports, &format!("link/{mailbox}/{network}"), HOUR, LINKS_AN_HOUR).await?.is_some()
        || take(ports, &format!("links/{network}"), HOUR, settings.per_network).await?.is_some()
    {
        return Ok(false);
    }
    let is_refused = take(ports, "links", MINUTE, settings.mails_a_minute).await?.is_some()
        || take(ports, &format!("link/{mailbox}"), HOUR, LINKS_OF_A_MAILBOX).await?.is_some();
    if is_refused {
        ports.meter.record(&[Metric::ChatLinkRefused.once()], ports.journal.clock.now());
    }
    Ok(!is_refused)
}

/// Counts a free exchange of this network. Returns the wait if the limit is reached.
pub(crate) async fn free(
    ports: Ports<'_>,
    settings: &Settings,
    key: &SubscriberKey,
    from: Option<&str>,
) -> Result<Option<Duration>, NotDone> {
    take(ports, &format!("free/{}", network(key, from)), DAY, settings.per_network).await
}

/// Counts a message on the Bridge. Returns the wait if the limit is reached.
pub(crate) async fn message(ports: Ports<'_>, who: &SubscriberId) -> Result<Option<Duration>, NotDone> {
    take(ports, &format!("bridge/{}", who.as_str()), HOUR, BRIDGE_MESSAGES).await
}

/// Counts a disclosure that cannot be posted on the Bridge. Returns the wait if the limit is reached.
pub(crate) async fn unposted_disclosure(ports: Ports<'_>, who: &SubscriberId) -> Result<Option<Duration>, NotDone> {
    take(ports, &format!("bridge-disclosure/{}", who.as_str()), DAY, UNPOSTED_DISCLOSURES).await
}

/// Counts an acceptance of the agreement, which is work for an operator. Returns the wait if the limit is reached.
pub(crate) async fn acceptance(ports: Ports<'_>, who: &SubscriberId) -> Result<Option<Duration>, NotDone> {
    take(ports, &format!("agreement/{}", who.as_str()), DAY, BRIDGE_ACCEPTANCES).await
}

/// Counts an erasure. Returns the wait if the limit is reached.
pub(crate) async fn erasure(ports: Ports<'_>, who: &SubscriberId) -> Result<Option<Duration>, NotDone> {
    take(ports, &format!("erasure/{}", who.as_str()), DAY, ERASURES).await
}

/// Counts a read of a whole memory. Returns the wait if the limit is reached.
pub(crate) async fn memory(ports: Ports<'_>, who: &SubscriberId) -> Result<Option<Duration>, NotDone> {
    take(ports, &format!("memory/{}", who.as_str()), HOUR, MEMORY_READS).await
}

/// Counts a search for a refused message's reply. Returns the wait if the limit is reached.
pub(crate) async fn lookup(ports: Ports<'_>, who: &SubscriberId) -> Result<Option<Duration>, NotDone> {
    take(ports, &format!("lookup/{}", who.as_str()), HOUR, LOOKUPS).await
}

/// Counts an offer with a payment page. Returns the wait if the limit is reached.
pub(crate) async fn offer(ports: Ports<'_>, who: &SubscriberId) -> Result<Option<Duration>, NotDone> {
    take(ports, &format!("offer/{}", who.as_str()), HOUR, OFFERS).await
}

/// Counts a page of Stripe. Returns the wait if the limit is reached.
pub(crate) async fn stripe_page(ports: Ports<'_>, who: &SubscriberId) -> Result<Option<Duration>, NotDone> {
    take(ports, &format!("pages/{}", who.as_str()), HOUR, STRIPE_PAGES).await
}
