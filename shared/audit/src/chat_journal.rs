//! The journal of chat accounts: an account is saved with its audit records and alerts.

use crate::{
    chain,
    journal::{self, Change, CommitError, Committed, Journaled, Outbox, Ports, Refusal, Unpublished},
    record::Record,
};
use domain::{
    Alert, CachedVerdict, Timestamp,
    alert::Severity,
    chat::{Account, SubscriberId},
    ports::{Alerts, AuditLog, ChatAccounts, Clock, SaveError, StorageError, Versioned},
};

/// The ports of an account's commit.
#[derive(Clone, Copy)]
pub struct ChatJournal<'a> {
    /// Accounts.
    pub store: &'a dyn ChatAccounts,
    /// The log.
    pub log: &'a dyn AuditLog,
    /// Operators.
    pub alerts: &'a dyn Alerts,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl<'a> ChatJournal<'a> {
    /// The account as it is, or a new one.
    ///
    /// # Errors
    /// [`StorageError`]
    pub async fn load(&self, id: &SubscriberId) -> Result<Versioned<Account>, StorageError> {
        let found = self.store.load(id).await?;
        Ok(found.unwrap_or_else(|| Versioned { value: Account::new(id.clone()), version: 0 }))
    }

    /// Lets `decide` change the account and saves it with its records and alerts; then publishes these. `decide` runs
    /// again on the newer account after a conflict, so its result must depend on nothing but the account and the time.
    ///
    /// # Errors
    /// [`CommitError`]: nothing was changed, or it was and the reply got lost.
    pub async fn commit<T: Send>(
        &self,
        account: Versioned<Account>,
        decide: impl Fn(&mut Account, Timestamp) -> Change<T> + Send + Sync,
    ) -> Result<Committed<ChatJournal<'a>, T>, CommitError> {
        journal::commit(*self, account, decide).await
    }
}

impl Journaled for ChatJournal<'_> {
    type State = Account;
    type Record = Record;

    fn ports(&self) -> Ports<'_> {
        Ports { log: self.log, alerts: self.alerts, clock: self.clock }
    }

    fn outbox(account: &mut Account) -> Outbox<'_> {
        let (entries, alerts) = account.outbox_mut();
        Outbox { entries, alerts }
    }

    /// Somebody who asks again and again while the log is away must not make the account outgrow its item.
    fn publishes_first(account: &Account) -> bool {
        account.outbox().len() > 20
    }

    async fn reload(&self, account: &Account) -> Result<Versioned<Account>, StorageError> {
        self.load(account.id()).await
    }

    async fn save(&self, account: &Account, expected: u64, _: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        self.store.save(account, expected).await
    }

    fn apply<T>(&self, account: &mut Account, change: &mut Change<T>, _now: Timestamp) {
        for record in &change.records {
            chain::append_chat(account, record);
        }
        account.keep_alerts(change.alerts.drain(..));
    }

    fn log_refuses(&self, account: &mut Account, reason: &Unpublished, now: Timestamp) -> Refusal {
        let detail = match reason {
            Unpublished::Forked => "audit stream forked: the place of a record is taken".to_owned(),
            Unpublished::Failed(error) => {
                format!("audit record not written, kept for the next step: {}", error.operation)
            }
        };
        let subject = account.id().prefix();
        let alert = Alert::about("ORACLE-AUDIT", Severity::Critical, now, "AUDIT_WRITE", subject, &detail);
        Refusal { alert: Some(alert), republish: false }
    }

    fn is_worth_settling(account: &mut Account, had_outbox: bool) -> bool {
        had_outbox && Self::outbox(account).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChatStatus;
    use serde_json::{Value, json};
    use testkit::{World, run};

    #[test]
    fn a_record_names_the_account_and_holds_no_text() {
        let now = Timestamp::from_millis(1_776_349_500_312);
        let world = World::at(now);
        let journal = ChatJournal { store: &world, log: &world, alerts: &world, clock: &world };
        let id = SubscriberId::parse("c".repeat(64)).unwrap();
        let account = run(journal.load(&id)).unwrap().unwrap();
        let declined = |_: &mut Account, now| {
            Change::recorded(vec![Record::chat(now, now, ChatStatus::Declined, json!({ "state": "BLOCKED" }))], ())
        };
        let committed = run(journal.commit(account, declined)).unwrap().unwrap();
        run(committed.settle()).unwrap();
        let state = world.state();
        let (key, line) = state.log.iter().next().unwrap();
        assert_eq!(*key, format!("2026-04-16/session/cs_chat_{}/000001.json", "c".repeat(64)));
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["event"], &line["status"]), (&json!("chat"), &json!("DECLINED")));
        assert_eq!(line["details"]["state"], "BLOCKED");
        assert!(state.accounts.values().all(|(account, _)| account.outbox().is_empty()));
    }
}
