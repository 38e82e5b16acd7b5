//! The paid chat: subscribers, plans, accounts, and the stages of an exchange.

mod access;
mod account;
mod agreement;
pub mod billing;
mod bridge;
mod erasure;
mod exchange;
mod sign_in;
mod subscriber;
mod subscriber_id;

pub use access::{Access, PaidPlan, Plan, RENEWAL_GRACE, UnknownPlan};
pub use account::{Account, Ask, CHAT_PREFIX, Claimed, FREE_EXCHANGES, MOST_DECLINES_A_DAY, Refused};
pub use agreement::{AGREEMENTS, Agreement, CURRENT_AGREEMENT};
pub use billing::{Billing, BillingChange, BillingReport};
pub use bridge::{
    ANSWER_WITHIN, Acceptance, AccessChange, AccessLetter, Author, BRIDGE_PREFIX, Bridge, BridgeEvent, BridgeRefused,
    BridgeState, BridgeTask, BridgeWork, LONGEST_GRANT, MailStep, Post, SignedBy,
};
pub use erasure::Erasure;
pub use exchange::{
    Exchange, ExchangeId, ExchangeStage, InvalidExchangeId, InvalidMessage, LONGEST_MESSAGE, Message, Voice, VoiceReply,
};
pub use sign_in::{
    ChatSession, LINK_HOLDS, LINKS_AN_HOUR, Login, NotRedeemed, SESSION_HOLDS, expired_sign_in_mails, sign_in_mails,
};
pub use subscriber::{STREAM_PREFIX, Subscriber};
pub use subscriber_id::{InvalidSubscriberId, InvalidSubscriberKey, SubscriberId, SubscriberKey};
