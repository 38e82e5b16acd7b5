//! Rate limits by windows of time. A network is counted under a keyed digest of its address.

use crate::{Ports, Settings};
use bridge::Alerting;
use domain::{
    Metric, StepError, Timestamp,
    chat::{LINKS_AN_HOUR, MOST_DECLINES_A_DAY, SubscriberId, SubscriberKey},
};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// How many links one mailbox receives at most within an hour: twelve times what one network can have mailed to it, so
/// that one network does not use up what the mailbox's owner needs.
const LINKS_OF_A_MAILBOX: u32 = 12 * LINKS_AN_HOUR;

/// One network gets at most one in this many of the links that are mailed in a minute, rounded up, so that it cannot
/// keep others from signing in.
const NETWORKS_A_MINUTE: u32 = 5;

/// What one subscriber can do: the name under which it is counted, the window of time, and how many times.
pub(crate) struct Limit(&'static str, Duration, u32);

impl Limit {
    /// Counts one. Returns the wait if the limit is reached.
    pub(crate) async fn take(&self, ports: Ports<'_>, who: &SubscriberId) -> Result<Option<Duration>, StepError> {
        let Self(name, window, most) = *self;
        take(ports, &format!("{name}/{}", who.as_str()), window, most).await
    }
}

/// Messages on the Bridge.
pub(crate) const MESSAGE: Limit = Limit("bridge", HOUR, 30);

/// Acceptances of the Bridge's agreement: each is work for an operator.
pub(crate) const ACCEPTANCE: Limit = Limit("agreement", DAY, 5);

/// Records a day of messages that may disclose self-harm and cannot be posted on the Bridge: as many as of declined
/// messages of the chat. Some of the records raise an alert.
pub(crate) const UNPOSTED_DISCLOSURE: Limit = Limit("bridge-disclosure", DAY, MOST_DECLINES_A_DAY);

/// Erasures of a memory: each leaves records that stay for years.
pub(crate) const ERASURE: Limit = Limit("erasure", DAY, 20);

/// Reads of a whole memory beside new exchanges: exports, and looks at exchanges that the account does not list. Each
/// reads, decrypts and verifies every record. A page that asks before its message is claimed looks at such an exchange
/// a few times.
pub(crate) const MEMORY: Limit = Limit("memory", HOUR, 300);

/// Messages that another limit or the offer refuses and whose reply is looked for in the memory. More than [`MEMORY`],
/// because an answered message gets its reply again whatever those limits say.
pub(crate) const LOOKUP: Limit = Limit("lookup", HOUR, 600);

/// Offers with a payment page of their own. Each is a call to Stripe, whose limit our paying customers share.
pub(crate) const OFFER: Limit = Limit("offer", HOUR, 10);

/// Pages of Stripe that the subscriber opens. They are counted apart from the offers, so that a customer whose messages
/// used up the offers can still subscribe.
pub(crate) const STRIPE_PAGE: Limit = Limit("pages", HOUR, 20);

/// Takes one of the `most` that a window of time allows. If none is left, returns the time until the next window.
async fn take(ports: Ports<'_>, what: &str, window: Duration, most: u32) -> Result<Option<Duration>, StepError> {
    let now = ports.journal.clock.now();
    let seconds = i64::try_from(window.as_secs()).unwrap_or(i64::MAX);
    let number = now.as_seconds() / seconds;
    // Stored for one window longer than it counts, so that a caller whose clock is late cannot restart the count.
    let until = now.plus(window).plus(window);
    let is_taken = ports.sign_ins.take(&format!("{what}/{number}"), most, until).await?;
    Ok((!is_taken).then(|| Timestamp::from_seconds((number + 1) * seconds).since(now)))
}

/// A limit of alerts that people share: its name, and about how many people it has alerts in an hour. One or two more
/// say that others are recorded without an alert.
pub(crate) struct SharedAlerts(&'static str, u32);

/// Disclosures of people whose address operators do not have.
pub(crate) const UNREACHABLE_DISCLOSURES: SharedAlerts = SharedAlerts("unreachable-disclosures", 10);

/// Disclosures of people who have accepted the agreement and have no grant. An acceptance costs no more than a mailbox,
/// but operators have its address.
pub(crate) const UNGRANTED_DISCLOSURES: SharedAlerts = SharedAlerts("ungranted-disclosures", 60);

/// How many alerts an hour one person raises, and how many say that there are more. With one, a count whose reply is lost,
/// or whose process dies before the alert is saved, would be an alert that no repeated message raises.
const TWICE: u32 = 2;

impl SharedAlerts {
    /// Counts this person's message and returns whether operators are alerted.
    pub(crate) async fn take(&self, ports: Ports<'_>, who: &SubscriberId) -> Result<Alerting, StepError> {
        let Self(name, people) = *self;
        // Otherwise one person who writes many messages would use up the alerts about the others.
        if Limit(name, HOUR, TWICE).take(ports, who).await?.is_some() {
            return Ok(Alerting::Nothing);
        }
        if take(ports, name, HOUR, people * TWICE).await?.is_none() {
            return Ok(Alerting::This);
        }
        let is_last = take(ports, &format!("more-{name}"), HOUR, TWICE).await?.is_none();
        Ok(if is_last { Alerting::Last } else { Alerting::Nothing })
    }
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
) -> Result<bool, StepError> {
    let (network, mailbox) = (network(key, from), subscriber.as_str());
    let a_minute = settings.mails_a_minute.div_ceil(NETWORKS_A_MINUTE);
    // A request over its own limits counts against neither the others of its network nor the owner of the mailbox. One that
    // the limit of all mailboxes refuses does not count against its mailbox.
    if take(ports, &format!("link/{mailbox}/{network}"), HOUR, LINKS_AN_HOUR).await?.is_some()
        || take(ports, &format!("links-minute/{network}"), MINUTE, a_minute).await?.is_some()
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
) -> Result<Option<Duration>, StepError> {
    take(ports, &format!("free/{}", network(key, from)), DAY, settings.per_network).await
}
