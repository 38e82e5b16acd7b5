//! Stripe's sessions, for tests.

use domain::{CheckoutSession, PaymentStatus, SessionId, SessionStage};

/// A completed session of which 500 cents CAD are paid, without metadata, address and payment. A test changes what it is
/// about: `CheckoutSession { email, ..paid("cs_test_1") }`.
///
/// # Panics
/// When `id` is not a session's.
#[must_use]
pub fn paid(id: &str) -> CheckoutSession {
    CheckoutSession {
        id: SessionId::parse(id).unwrap_or_else(|error| panic!("{id}: {error}")),
        payment_status: PaymentStatus::Paid,
        stage: SessionStage::Complete,
        url: None,
        metadata: Default::default(),
        idea: None,
        email: None,
        amount_total: Some(500),
        currency: Some("cad".to_owned()),
        payment: None,
        created: None,
        locale: None,
    }
}
