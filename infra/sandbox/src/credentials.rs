//! The credentials that the sandbox accepts, and the mailbox that they open. The help text names them.

pub(crate) const STRIPE_KEY: &str = "sk_test_sandbox";
pub(crate) const GEMINI_KEY: &str = "sandbox-gemini-key";
/// Directory (tenant) of the mailbox.
pub(crate) const GRAPH_TENANT: &str = "sandbox-tenant";
/// Application (client) id.
pub(crate) const GRAPH_CLIENT: &str = "sandbox-client";
/// Needed for client_credentials, optional for refresh_token.
pub(crate) const GRAPH_CLIENT_SECRET: &str = "sandbox-client-secret";
/// The refresh token from a person's consent.
pub(crate) const GRAPH_REFRESH_TOKEN: &str = "sandbox-refresh-token";
/// Owner of the mailbox.
pub(crate) const GRAPH_SENDER: &str = "oracle@42sisters.ai";
