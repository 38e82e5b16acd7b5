//! The vocabulary of Oracle: sales, verdicts, the states of a sale, and the ports (traits) through which decisions
//! reach the outside world.
//!
//! This crate does no I/O, reads no clock and draws no random number: time and randomness come in as arguments.

pub mod alert;
pub mod audit_trail;
pub mod authority_state;
pub mod backoff;
pub mod breaker;
pub mod cache_entries;
pub mod cache_health;
pub mod chat;
pub mod checkout_session;
pub mod customer_text;
pub mod deployment;
pub mod due;
mod enum_with_words;
pub mod erasure;
pub mod gate;
pub mod inbox;
pub mod mail;
pub mod message;
pub mod metric;
pub mod money;
pub mod notebooks;
pub mod operator;
#[cfg(test)]
mod poll_once;
pub mod ports;
pub mod query;
pub mod recent;
pub mod recorded_words;
pub mod relay;
pub mod renewable;
pub mod retry;
pub mod sale;
pub mod sales_period;
pub mod secret;
pub mod sending;
pub mod serde_skip;
pub mod session_id;
pub mod smoke;
pub mod step_error;
pub mod suppression;
mod text_newtype;
pub mod texts;
pub mod tier;
pub mod time;
pub mod toll;
pub mod unknown_ids;
pub mod verdict;
mod web_address;

pub use alert::{Alert, Channel};
pub use checkout_session::{CheckoutSession, PaymentStatus, SessionStage, Submission, Unusable};
pub use gate::Gate;
pub use metric::{Measurement, Metric};
pub use operator::{CallerIdentity, Operator};
pub use ports::RenewableSecret;
pub use query::Query;
pub use recent::Recent;
pub use renewable::MadeFromSecret;
pub use sale::{Sale, open_work};
pub use sales_period::SalesPeriod;
pub use secret::{EmailAddress, Secret};
pub use session_id::SessionId;
pub use step_error::{ErrorCode, StepError};
pub use tier::Tier;
pub use time::Timestamp;
pub use unknown_ids::UnknownIdLimiter;
pub use verdict::{CachedVerdict, Colour, Dimension, FirstVerdict, Strategy, Verdict};
pub use web_address::web_address;
