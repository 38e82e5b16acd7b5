//! The functions on the ports of one world: what each function's `main` does with the clients of AWS and the vendors.

mod queues;
mod requests;
mod schedules;

use crate::{
    defects::Defect,
    ports::{KeptSecret, Outgoing, Ports},
    settings::SETTINGS,
};
use audit::{BridgeJournal, Journal, SubscriberJournal};
use domain::UnknownIdLimiter;
use testkit::World;

/// What Stripe signs its events with.
pub const SIGNING_SECRET: &str = "whsec_simulated";
/// What the smoke test signs its event with.
pub const SMOKE_SIGNING_SECRET: &str = "whsec_smoke";
const SMOKE_SECRET: &str = r#"{"secret_key":"sk_test_smoke","signing_secret":"whsec_smoke"}"#;
const AUDIT_KEYS: &str = r#"{"current":"v1","keys":{"v1":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}}"#;

/// The functions of one world.
pub struct Deployment<'w> {
    /// The world.
    pub world: &'w World,
    pub(crate) ports: Ports<'w>,
    pub(crate) orders: Outgoing<'w>,
    mails: Outgoing<'w>,
    pub(crate) retries: Outgoing<'w>,
    pub(crate) notices: Outgoing<'w>,
    payments: Outgoing<'w>,
    signing: KeptSecret<'w>,
    smoke: KeptSecret<'w>,
    audit_keys: KeptSecret<'w>,
    /// The settings of the verdict function: those of the template, unless a world changes them.
    pub verdict: verdict::Settings,
    recent_answers: result::RecentAnswers,
    codes: UnknownIdLimiter,
}

impl<'w> Deployment<'w> {
    /// The functions with the template's settings.
    #[must_use]
    pub fn new(world: &'w World) -> Self {
        Self::with_defect(world, None)
    }

    /// The same; a port or a queue may have a defect.
    #[must_use]
    pub fn with_defect(world: &'w World, defect: Option<Defect>) -> Self {
        let ports = Ports { world, defect };
        Self {
            world,
            ports,
            orders: Outgoing::new(ports, "orders"),
            mails: Outgoing::new(ports, "email"),
            retries: Outgoing::new(ports, "email-retry"),
            notices: Outgoing::new(ports, "notices"),
            payments: Outgoing::new(ports, "payments"),
            signing: KeptSecret::new(world, &format!(r#"{{"signing_secrets":["{SIGNING_SECRET}"]}}"#)),
            smoke: KeptSecret::new(world, SMOKE_SECRET),
            audit_keys: KeptSecret::new(world, AUDIT_KEYS),
            verdict: SETTINGS.verdict.clone(),
            recent_answers: result::RecentAnswers::new(SETTINGS.unknown_id_limits),
            codes: checkout::codes(SETTINGS.unknown_id_limits),
        }
    }

    /// The journal of sales.
    #[must_use]
    pub const fn journal(&self) -> Journal<'_> {
        Journal { store: &self.ports, log: &self.ports, alerts: &self.ports, clock: self.world }
    }

    /// The journal of subscribers.
    #[must_use]
    pub const fn subscriber_journal(&self) -> SubscriberJournal<'_> {
        SubscriberJournal { store: self.world, log: &self.ports, alerts: &self.ports, clock: self.world }
    }

    /// The stores of Bridges.
    const fn bridges(&self) -> bridge::Ports<'_> {
        let journal = BridgeJournal { store: self.world, log: &self.ports, alerts: &self.ports, clock: self.world };
        bridge::Ports { journal, accounts: self.world, keys: self.world }
    }
}
