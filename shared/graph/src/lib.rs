//! Microsoft Graph as the mailbox behind [`domain::ports::Mailbox`].
//!
//! Mails are made as drafts and sent by the draft's id. Ids are Graph's ordinary ones, not the immutable kind
//! (no `Prefer: IdType`): such an id dies when the draft leaves its folder, so sending it twice cannot work.

pub mod client;
mod encode;
mod lazy;
mod message;
mod reply;
pub mod token;

pub use client::{Client, Config, ConfigError, GRAPH_URL, LOGIN_URL};
pub use lazy::LazyClient;
pub use token::{Grant, RefreshTokenStore};
