//! The paid chat: who talks, what is free, and how far one exchange is.

mod access;
pub mod billing;
mod record;
mod subscriber;

pub use access::{Access, PaidPlan, Plan, RENEWAL_GRACE, UnknownPlan};
pub use billing::{Billing, BillingChange, BillingReport};
pub use record::{STREAM_PREFIX, Subscriber};
pub use subscriber::{InvalidSubscriberId, InvalidSubscriberKey, SubscriberId, SubscriberKey};
