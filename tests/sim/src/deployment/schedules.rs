//! The functions that schedules start.

use super::Deployment;
use crate::{
    ports::NoReminder,
    settings::{SETTINGS, SITE},
};
use audit::{ChatJournal, FunctionJournal, TollJournal};
use domain::{StepError, notebooks};
use reconcile::NotReconciled;
use testkit::NoLimit;

impl Deployment<'_> {
    /// One run of inbox-watch, as the schedule starts it.
    pub async fn watch_inbox(&self, request_id: &str) {
        let world = self.world;
        let ports = inbox_watch::Ports {
            journal: FunctionJournal {
                function: inbox_watch::FUNCTION,
                notes: world,
                log: &self.ports,
                alerts: &self.ports,
                clock: world,
            },
            store: &self.ports,
            submissions: world,
            orders: &self.orders,
            bridges: self.bridges(),
            inbox: world,
            relayed: &self.ports,
            mailbox: &self.ports,
            broadcast: world,
            pause: &NoLimit,
            audit_keys: &self.audit_keys,
            meter: world,
        };
        inbox_watch::handle(ports, &SETTINGS.watching, request_id).await;
    }

    /// One run of the deadlines function.
    pub async fn deadlines(&self, refund_held: bool) -> domain::due::Report {
        let (world, bridges) = (self.world, self.bridges());
        let accounts = ChatJournal { store: world, log: &self.ports, alerts: &self.ports, clock: world };
        let purchases = TollJournal { store: world, log: &self.ports, alerts: &self.ports, clock: world };
        let notebook =
            |function| FunctionJournal { function, notes: world, log: &self.ports, alerts: &self.ports, clock: world };
        // The other notebooks are empty: to read them takes time and changes nothing.
        let is_stored = |name: &&str| world.state().notes.contains_key(*name);
        let notebooks: Vec<_> = notebooks::without_schedule().filter(is_stored).map(notebook).collect();
        let ports = deadlines::Ports {
            journal: self.journal(),
            open: &self.ports,
            payments: &self.ports,
            ledger: &self.ports,
            orders: &self.orders,
            notices: &self.notices,
            mails: &self.mails,
            retries: &self.retries,
            data: &self.ports,
            stored_mails: self.world,
            settlements: settlement::Ports { journal: purchases, facilitator: world, node: world },
            notes: &NoReminder,
            notebooks: &notebooks,
            memories: forgetting::Ports { journal: accounts, bridges: bridges.journal, logs: world, keys: world },
            letters: bridge::Letters { bridges, mailbox: &self.ports, mails: self.world, site: SITE },
            meter: self.world,
            summaries: self.world,
        };
        let settings = deadlines::Settings { refund_held, ..SETTINGS.deadlines };
        match deadlines::handle(ports, settings).await {
            Ok(report) => {
                assert_eq!(report.failed, 0, "a run in which work failed fails");
                report
            }
            Err(incomplete) => incomplete.report,
        }
    }

    /// One run of the reconcile function.
    ///
    /// # Errors
    /// [`StepError`], as the function.
    pub async fn reconcile(&self) -> Result<reconcile::Report, StepError> {
        let ports = reconcile::Ports {
            journal: self.journal(),
            notebook: FunctionJournal {
                function: reconcile::FUNCTION,
                notes: self.world,
                log: &self.ports,
                alerts: &self.ports,
                clock: self.world,
            },
            ledger: &self.ports,
            subscriptions: self.world,
            orders: &self.orders,
            notices: &self.notices,
            payments: &self.payments,
            meter: self.world,
            sold_here: domain::SalesPeriod::ALL,
        };
        match reconcile::handle(ports, SETTINGS.look_back).await {
            Ok(report) => {
                assert_eq!(report.failed + report.unreadable, 0, "a run in which work failed fails");
                Ok(report)
            }
            Err(NotReconciled::Incomplete(incomplete)) => Ok(incomplete.report),
            Err(NotReconciled::Step(error)) => Err(error),
        }
    }
}
