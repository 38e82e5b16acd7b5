//! The versions of Stripe's API.

/// The API version of events and replies, which the implementation was checked against.
pub(super) const API_VERSION: &str = "2026-07-29.dahlia";

/// Existing versions that our callers may request. Any other is refused, as Stripe refuses an unknown one.
pub(super) const VERSIONS: [&str; 2] = [API_VERSION, "2026-10-28.endive"];
