//! `oracle anvil`: the quality gate for a system, a configuration or a deployment.

pub(crate) mod command;
mod corpus;
mod deployment;
mod endpoint;
mod evidence;
mod override_command;
mod report;
mod specification;
