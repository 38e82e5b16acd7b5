//! The parts of Stripe that Oracle uses: webhook signatures and events, and some calls of its HTTP API.
//!
//! Replies and events contain customers' questions and addresses, so no error here contains text that a vendor or a
//! customer wrote: only codes, reduced to known characters.

mod account;
mod billing_objects;
pub mod client;
pub mod event;
mod find;
mod form;
mod lazy;
mod ledger;
mod maker;
mod payment_methods;
mod payment_objects;
mod renewing;
mod reply;
pub mod session;
pub mod signature;
mod smoke;
mod subscriptions;
mod transport;

pub use account::{LinkItem, PaymentLink, Portal, WebhookEndpoint};
pub use billing_objects::BillingError;
pub use client::{BASE_URL, Client, Config, ConfigError};
pub use event::{Event, EventError, EventKind, HANDLED};
pub use find::{Found, LastDigits, Wanted};
pub use lazy::LazyClient;
pub use session::SessionError;
pub use signature::SignatureError;
pub use smoke::{Created, SmokeClient, SmokeSecret};
pub use transport::API_VERSION;
