//! Gemini as the model behind [`domain::ports::Model`]: one call, one answer, one time-out. Retries, the circuit
//! breaker and the order of models are the caller's decision.

pub mod client;
mod lazy;
pub mod model_list;
pub mod profile;
mod reply;
mod request;

pub use client::{BASE_URL, Client, Config, ConfigError};
pub use lazy::LazyClient;
pub use model_list::{InvalidModelList, ModelList, ModelName};
