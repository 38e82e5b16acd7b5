//! The ports of the function, and the key of subscribers' ids that is read through one of them.

use audit::{BridgeJournal, ChatJournal};
use domain::{
    ErrorCode, StepError,
    chat::SubscriberKey,
    ports::{
        Breakers, ChatAccess, Mailbox, MemoryLogs, Meter, Model, Pause, Randomness, ReplyBeginnings, SecretSource,
        SignIns, SubjectKeys, Subscribers, SubscriptionPages,
    },
};

/// The ports of the function.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: ChatJournal<'a>,
    pub bridges: BridgeJournal<'a>,
    pub sign_ins: &'a dyn SignIns,
    pub access: &'a dyn ChatAccess,
    pub subscribers: &'a dyn Subscribers,
    pub pages: &'a dyn SubscriptionPages,
    pub mailbox: &'a dyn Mailbox,
    pub logs: &'a dyn MemoryLogs,
    pub keys: &'a dyn SubjectKeys,
    /// The key of subscribers' ids.
    pub secret: &'a dyn SecretSource,
    pub model: &'a dyn Model,
    pub beginnings: &'a dyn ReplyBeginnings,
    pub breakers: &'a dyn Breakers,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
    pub meter: &'a dyn Meter,
}

/// The key of subscribers' ids.
pub(crate) async fn key(ports: Ports<'_>) -> Result<SubscriberKey, StepError> {
    let document = ports.secret.document().await?;
    SubscriberKey::parse(&document).map_err(|error| ErrorCode::Malformed.of(error))
}
