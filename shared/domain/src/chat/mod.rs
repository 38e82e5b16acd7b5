//! The paid chat: who talks, what is free, and how far one exchange is.

mod subscriber;

pub use subscriber::{InvalidSubscriberId, InvalidSubscriberKey, SubscriberId, SubscriberKey};
