//! The site in a real browser against the running stack: buying in both flows, every state of the result page,
//! and what a customer's own words must not be able to do. Screenshots are left in `target/screenshots`.

#![allow(clippy::expect_used, reason = "what a test expects and does not find is its failure")]

mod browser;
mod chat;
mod driver;
mod follow_up;
mod front_page;
mod purchases;
mod result_page;
mod stack;
