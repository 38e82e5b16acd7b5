//! Microsoft Graph as the mailbox behind [`domain::ports::Mailbox`] and [`domain::ports::Inbox`].
//!
//! Mails are created as drafts and sent by the draft's id. Drafts have Graph's ordinary ids, not the immutable kind (no
//! `Prefer: IdType`): such an id becomes invalid when the draft leaves its folder, so sending it twice is not possible.
//! Messages of the inbox are identified by immutable ids, so that a moved message does not look like a new one.

pub mod client;
mod credentials;
mod encode;
mod inbox;
mod lazy;
mod message;
mod reply;
pub mod token;

pub use client::{Client, Config, ConfigError, GRAPH_URL, LOGIN_URL};
pub use credentials::Credentials;
pub use lazy::LazyClient;
pub use token::{Grant, NotKept, RefreshTokenStore};
