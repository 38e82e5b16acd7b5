//! The deployed system as its customers, its vendors and its operators meet it: through the site, the vendors'
//! look-alikes, and the queues, buckets and table of a running stack. Nothing is called in process.
//!
//! The sandbox's faults go to whichever vendor call comes next. So a test that plans one, or counts messages in the
//! queues, runs alone ([`world::World::alone`]); all others run side by side ([`world::World::beside_others`]). Every
//! test makes its own sessions and waits until their sales are settled, so that no late call of one takes another's
//! fault. A test alone starts with an empty sandbox and empty queues: use a stack that nobody else is using.

#![allow(clippy::expect_used, reason = "what a test expects and does not find is its failure")]

mod alerts;
mod audit_log;
mod aws;
mod cache_health;
mod chat;
mod checkout;
mod console;
mod doctor;
mod drills;
mod erasure;
mod followup;
mod hardening;
mod inbox;
mod integrity;
mod killed;
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
mod tiers;
mod toll;
mod vendor_faults;
mod webhook;
mod world;
