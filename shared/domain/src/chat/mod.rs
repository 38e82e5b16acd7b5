//! The paid chat: who talks, what is free, and how far one exchange is.

mod access;
mod account;
pub mod billing;
mod exchange;
mod record;
mod sign_in;
mod subscriber;

pub use access::{Access, PaidPlan, Plan, RENEWAL_GRACE, UnknownPlan};
pub use account::{Account, Ask, CHAT_PREFIX, Claimed, FREE_EXCHANGES, Refused};
pub use billing::{Billing, BillingChange, BillingReport};
pub use exchange::{
    Exchange, ExchangeId, InvalidExchangeId, InvalidMessage, LONGEST_MESSAGE, Message, Said, Stage, Voice,
};
pub use record::{STREAM_PREFIX, Subscriber};
pub use sign_in::{ChatSession, LINK_HOLDS, Login, NotRedeemed, SESSION_HOLDS};
pub use subscriber::{InvalidSubscriberId, InvalidSubscriberKey, SubscriberId, SubscriberKey};
