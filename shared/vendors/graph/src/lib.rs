//! Microsoft Graph as the mailbox behind [`domain::ports::Mailbox`] and [`domain::ports::Inbox`].
//!
//! Mails are made as drafts and sent by the draft's id. Ids are Graph's ordinary ones, not the immutable kind
//! (no `Prefer: IdType`): such an id dies when the draft leaves its folder, so sending it twice cannot work.
//! Messages of the inbox are named by immutable ids: one that is moved must not look like a new one.

pub mod client;
mod encode;
mod inbox;
mod lazy;
mod message;
mod reply;
pub mod token;

pub use client::{Client, Config, ConfigError, GRAPH_URL, LOGIN_URL};
pub use lazy::LazyClient;
pub use token::{Grant, NotKept, RefreshTokenStore};
