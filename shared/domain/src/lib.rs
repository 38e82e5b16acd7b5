//! The vocabulary of Oracle: what a sale is, what a verdict is, which states a sale passes through, and the
//! ports (traits) through which decisions reach the outside world.
//!
//! Nothing here does I/O, reads a clock or draws a random number: time and randomness come in as arguments.

pub mod alert;
pub mod backoff;
pub mod breaker;
pub mod cache_entries;
pub mod cache_health;
pub mod chat;
pub mod checkout_session;
pub mod customer_text;
pub mod deployment;
pub mod erasure;
pub mod inbox;
pub mod mail;
pub mod message;
pub mod metric;
pub mod money;
pub mod operator;
pub mod ports;
pub mod query;
pub mod recent;
pub mod renewable;
pub mod retry;
pub mod sale;
pub mod secret;
pub mod sending;
pub mod session_id;
pub mod smoke;
pub mod step_error;
pub mod suppression;
pub mod texts;
pub mod tier;
pub mod time;
pub mod toll;
pub mod verdict;
pub mod words;

pub use alert::{Alert, Channel};
pub use checkout_session::{CheckoutSession, PaymentStatus, Submission, Unusable};
pub use metric::{Measurement, Metric};
pub use operator::Operator;
pub use query::Query;
pub use recent::{Recall, Recent};
pub use renewable::MadeFromSecret;
pub use sale::{Sale, open_work};
pub use secret::{EmailAddress, RenewableSecret, Secret};
pub use session_id::SessionId;
pub use step_error::{ErrorCode, StepError};
pub use tier::Tier;
pub use time::Timestamp;
pub use verdict::{CachedVerdict, Colour, Dimension, FirstVerdict, Strategy, Verdict};
