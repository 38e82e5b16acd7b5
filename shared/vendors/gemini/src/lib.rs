//! Gemini as the model behind [`domain::ports::Model`]: one call, one reply (whole, or streamed), one time-out. The caller decides about
//! retries, the circuit breaker and the order of models.

pub mod client;
mod events;
mod lazy;
pub mod model_list;
pub mod profile;
mod reply;
mod request;

pub use client::{BASE_URL, Client, Config, ConfigError};
pub use lazy::LazyClient;
pub use model_list::{InvalidModelList, ModelList, ModelName};
