//! The site in a real browser against the running stack: purchases in both flows, every state of the result page, and
//! customers' texts that try to inject code. Screenshots are stored in `target/screenshots`.

#![allow(clippy::expect_used, reason = "what a test expects and does not find is its failure")]

mod agents;
mod before_payment;
mod bridge;
mod bridge_faults;
mod browser;
mod chat;
mod chat_faults;
mod chat_links;
mod chat_plans;
mod chat_sessions;
mod chat_spoken;
mod chat_use;
mod driver;
mod follow_up;
mod front_page;
mod gate;
mod hostile_texts;
mod outcomes;
mod purchases;
mod result_faults;
mod result_page;
mod stack;
