//! The whole state of the sandbox, behind one lock, and the parts that its tasks share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use crate::calls::Calls;
use crate::chain::ledger::Ledger;
use crate::config::Config;
use crate::faults::Faults;
use crate::gemini::catalogue::Catalogue;
use crate::graph::store::Mailbox;
use crate::identifiers::{Clock, Identifiers};
use crate::stripe::store::Store;
use crate::tokens::Tokens;

pub(crate) struct State {
    pub(crate) config: Config,
    /// The address of the sandbox itself, without a trailing slash.
    pub(crate) public_url: String,
    clock: Clock,
    pub(crate) identifiers: Identifiers,
    pub(crate) stripe: Store,
    pub(crate) catalogue: Catalogue,
    pub(crate) mailbox: Mailbox,
    pub(crate) login: Tokens,
    pub(crate) chain: Ledger,
    pub(crate) faults: Faults,
    pub(crate) calls: Calls,
    /// Events that are not delivered yet.
    pub(crate) unreported: Vec<Value>,
    pub(crate) deliveries: Vec<Value>,
    /// The messages of the stack's topics, oldest first.
    pub(crate) alerts: Vec<Value>,
}

impl State {
    pub(crate) fn new(
        config: Config,
        public_url: String,
        clock: Clock,
        identifiers: Identifiers,
    ) -> Result<Self, toml::de::Error> {
        Ok(Self {
            config,
            public_url,
            clock,
            identifiers,
            stripe: Store::new()?,
            catalogue: Catalogue::load()?,
            mailbox: Mailbox::default(),
            login: Tokens::default(),
            chain: Ledger::default(),
            faults: Faults::default(),
            calls: Calls::default(),
            unreported: Vec::new(),
            deliveries: Vec::new(),
            alerts: Vec::new(),
        })
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Clears mailboxes, sessions, faults and calls. Settings and issued tokens stay, so that running functions can
    /// continue.
    fn reset(&mut self) {
        self.stripe.clear();
        self.mailbox = Mailbox::default();
        self.chain.calm();
        self.faults = Faults::default();
        self.calls.clear();
        self.unreported.clear();
        self.deliveries.clear();
        self.alerts.clear();
    }
}

/// The state that all connections share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Counts resets: when it changes, hanging calls are cut and waiting webhooks are dropped.
    resets: watch::Sender<u64>,
    /// Counts releases of streams that are held.
    releases: watch::Sender<u64>,
    pub(crate) client: reqwest::Client,
}

impl Shared {
    pub(crate) fn new(state: State, client: reqwest::Client) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(state),
            resets: watch::Sender::new(0),
            releases: watch::Sender::new(0),
            client,
        })
    }

    /// Locks the state; the lock is never held across an await.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic elsewhere the sandbox continues to reply.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reset(&self) {
        self.lock().reset();
        self.resets.send_modify(|count| *count += 1);
    }

    pub(crate) fn watch_resets(&self) -> watch::Receiver<u64> {
        self.resets.subscribe()
    }

    /// Lets all streams that are held continue.
    pub(crate) fn release(&self) {
        self.releases.send_modify(|count| *count += 1);
    }

    pub(crate) fn watch_releases(&self) -> watch::Receiver<u64> {
        self.releases.subscribe()
    }
}
