//! The chat's functions, connected to the ports of one world.

use super::{defects::ChatDefect, ports::Ports};
use crate::{
    ports::NoReminder,
    settings::{SETTINGS, SITE},
};
use async_trait::async_trait;
use audit::{BridgeJournal, ChatJournal, FunctionJournal, Journal, SubscriberJournal, TollJournal};
use chat::Settings;
use domain::{
    EmailAddress, Secret, StepError, Timestamp,
    chat::{Bridge, Message as ChatMessage, SubscriberId, SubscriberKey},
    message::Message,
    operator::Operator,
    ports::{Pause, SecretSource, StorageError},
};
use reconcile::NotReconciled;
use runtime::{
    Handled,
    http::{Reply, Request},
    queue::Delivery,
};
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use testkit::World;

const KEY: &str = r#"{"subscriber_key":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}"#;

/// The key of subscribers' ids.
struct Key;

#[async_trait]
impl SecretSource for Key {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(Secret::new(KEY))
    }
}

/// Implements waiting. Unlike the world's own pause, it can be awaited concurrently with an effect.
struct Clockwork {
    world: Arc<World>,
    /// The earliest time that a poll waits for.
    next: Mutex<Option<i64>>,
}

struct Waiting<'a> {
    clock: &'a Clockwork,
    until: i64,
}

impl Future for Waiting<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.clock.world.state().now >= self.until {
            return Poll::Ready(());
        }
        let mut next = self.clock.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(next.map_or(self.until, |next| next.min(self.until)));
        Poll::Pending
    }
}

#[async_trait]
impl Pause for Clockwork {
    async fn pause(&self, duration: Duration) {
        let until = self.world.state().now + i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Waiting { clock: self, until }.await;
    }
}

/// What an operator does about a Bridge.
#[derive(Clone, Debug)]
pub(super) enum Decision {
    /// Grants access until then.
    Grant(Timestamp),
    Revoke,
    Reply(ChatMessage),
}

/// The functions of one world.
pub(super) struct Functions {
    pub(super) world: Arc<World>,
    pub(super) ports: Ports,
    settings: Settings,
    pause: Clockwork,
}

impl Functions {
    pub(super) fn new(world: World, defect: Option<ChatDefect>) -> Self {
        // These worlds have enough customers, links and failures of the model to reach the template's limits. What
        // happens at a limit is tested elsewhere.
        let mut settings = Settings { mails_a_minute: 1000, per_network: 1000, ..SETTINGS.chat.clone() };
        settings.policy.breaker.failures = 1000;
        settings.policy.breaker.slow_successes = 1000;
        let world = Arc::new(world);
        let pause = Clockwork { world: Arc::clone(&world), next: Mutex::new(None) };
        let ports = Ports { world: Arc::clone(&world), defect };
        Self { world, ports, settings, pause }
    }

    /// The time of the next poll of the function that was polled last; `None` if its process has ended.
    pub(super) fn wake(&self) -> Option<i64> {
        let waits = self.pause.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        [self.world.wake(), waits].into_iter().flatten().min()
    }

    pub(super) async fn chat(&self, request: Request) -> Reply {
        let ports = chat::Ports {
            journal: self.accounts(),
            bridges: self.bridges(),
            sign_ins: &self.ports,
            access: &self.ports,
            subscribers: &self.ports,
            pages: &*self.world,
            mailbox: &*self.world,
            logs: &self.ports,
            keys: &self.ports,
            secret: &Key,
            model: &*self.world,
            beginnings: &self.ports,
            breakers: &*self.world,
            randomness: &*self.world,
            pause: &self.pause,
            meter: &*self.world,
        };
        chat::handle(ports, &self.settings, request).await
    }

    fn bridges(&self) -> BridgeJournal<'_> {
        BridgeJournal { store: &self.ports, log: &self.ports, alerts: &self.ports, clock: &*self.world }
    }

    fn accounts(&self) -> ChatJournal<'_> {
        ChatJournal { store: &self.ports, log: &self.ports, alerts: &self.ports, clock: &*self.world }
    }

    /// One run of the deadlines function, which finishes erasures and mails the letters about Bridges.
    pub(super) async fn deadlines(&self) {
        let world = &*self.world;
        let (orders, notices, mails, retries) =
            (world.queue("orders"), world.queue("notices"), world.queue("email"), world.queue("email-retry"));
        let (journal, bridges) = (self.accounts(), self.bridges());
        let purchases = TollJournal { store: world, log: &self.ports, alerts: &self.ports, clock: world };
        let ports = deadlines::Ports {
            journal: self.sales(),
            open: world,
            payments: world,
            ledger: world,
            orders: &orders,
            notices: &notices,
            mails: &mails,
            retries: &retries,
            data: world,
            stored_mails: world,
            settlements: settlement::Ports { journal: purchases, facilitator: world, node: world },
            notes: &NoReminder,
            memories: forgetting::Ports { journal, bridges, logs: &self.ports, keys: &self.ports },
            notebooks: &[],
            letters: bridge::Letters { bridges: self.bridge_ports(), mailbox: world, mails: world, site: SITE },
            meter: world,
            summaries: world,
        };
        // What failed stays due, and the next run handles it.
        let _ = deadlines::handle(ports, SETTINGS.deadlines).await;
    }

    fn bridge_ports(&self) -> bridge::Ports<'_> {
        bridge::Ports { journal: self.bridges(), accounts: &self.ports, keys: &self.ports }
    }

    /// An operator's command about a Bridge. Returns whether it was carried out.
    pub(super) async fn decide(&self, who: &SubscriberId, decision: Decision) -> bool {
        let Ok(operator) = Operator::parse("dana", Some("looked at it")) else { return false };
        let (bridges, mailbox) = (self.bridge_ports(), &*self.world);
        match decision {
            Decision::Grant(expires) => bridge::grant(bridges, who, &operator, expires).await.is_ok(),
            Decision::Revoke => bridge::revoke(bridges, who, &operator).await.is_ok(),
            Decision::Reply(text) => {
                // The operator has just read the thread; what is posted from now on is unread.
                let row = self.world.state().bridges.get(who).map(|(bridge, _)| bridge.clone());
                let last = row.as_ref().and_then(Bridge::last_question);
                bridge::reply(bridges, mailbox, SITE, who, &operator, last, &text).await.is_ok()
            }
        }
    }

    fn sales(&self) -> Journal<'_> {
        Journal { store: &*self.world, log: &*self.world, alerts: &*self.world, clock: &*self.world }
    }

    /// Processes one message of the payments queue. Returns whether the message may leave the queue.
    pub(super) async fn payment_event(&self, message: Message) -> bool {
        let ports = payment_events::Ports {
            journal: self.sales(),
            ledger: &*self.world,
            subscribers: SubscriberJournal {
                store: &self.ports,
                log: &self.ports,
                alerts: &self.ports,
                clock: &*self.world,
            },
            subscriptions: &*self.world,
            sold_here: domain::SalesPeriod::ALL,
        };
        let delivery = Delivery { message_id: "message".to_owned(), receive_count: 1, message };
        let handled = payment_events::handle(ports, delivery).await;
        handled == Handled::Done || self.ports.defect == Some(ChatDefect::FailureAcknowledged)
    }

    /// The daily comparison with Stripe.
    pub(super) async fn reconcile(&self) -> Result<(), StepError> {
        if self.ports.defect == Some(ChatDefect::BillingUnlisted) {
            return Ok(());
        }
        let (orders, notices, payments) =
            (self.world.queue("orders"), self.world.queue("notices"), self.world.queue("payments"));
        let world = &*self.world;
        let ports = reconcile::Ports {
            journal: self.sales(),
            notebook: FunctionJournal {
                function: reconcile::FUNCTION,
                notes: world,
                log: world,
                alerts: world,
                clock: world,
            },
            ledger: &*self.world,
            subscriptions: &self.ports,
            orders: &orders,
            notices: &notices,
            payments: &payments,
            meter: &*self.world,
            sold_here: domain::SalesPeriod::ALL,
        };
        match reconcile::handle(ports, SETTINGS.look_back).await {
            Ok(_) | Err(NotReconciled::Incomplete(_)) => Ok(()),
            Err(NotReconciled::Step(error)) => Err(error),
        }
    }
}

/// The subscriber of an address.
pub(super) fn subscriber(address: &str) -> Option<SubscriberId> {
    let key = SubscriberKey::parse(&Secret::new(KEY)).ok()?;
    Some(SubscriberId::of(&key, &EmailAddress::parse(address).ok()?))
}
