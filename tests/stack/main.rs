//! The deployed system as its customers, vendors and operators see it: through the site, the simulated vendors, and the
//! queues, buckets and table of a running stack. No code is called in process.
//!
//! The sandbox applies a fault to the next vendor call, whichever test makes it. So a test that plans faults or counts
//! messages in queues runs alone ([`world::World::alone`]); all others run side by side
//! ([`world::World::beside_others`]). Every test makes its own sessions and waits until their sales are settled, so
//! that no late call uses up another test's fault. A test that runs alone begins with an empty sandbox and empty
//! queues: use a stack that has no other users. Most of the time of these tests is waiting, so several stacks shorten it:
//! ORACLE_STACK may name more than one, separated as in PATH, and a test that runs alone takes one that is free.

#![allow(clippy::expect_used, reason = "what a test expects and does not find is its failure")]

mod alerts;
mod audit_log;
mod aws;
mod bridge;
mod cache_health;
mod chat;
mod checkout;
mod console;
mod corpus;
mod doctor;
mod drills;
mod erasure;
mod followup;
mod hardening;
mod human_lock;
mod inbox;
mod integrity;
mod killed;
mod mail_service;
mod model_faults;
mod money;
mod operators;
mod quarantine;
mod redelivery;
mod release;
mod restoration;
mod retrieval;
mod smoke;
mod stripe_fixtures;
mod subscriptions;
mod tiers;
mod toll;
mod toll_debts;
mod vendor_faults;
mod webhook;
mod world;
