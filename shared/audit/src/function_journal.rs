//! The journal of functions that work on no sale: a scheduled function's saved state, with its own stream of the log.
//!
//! A run loads its notebook, decides, and saves state, records and alerts in one write. Two concurrent runs conflict on
//! the version: the later one decides again on the state that the earlier one saved, or fails.
//!
//! While the log fails, the records wait in the notebook, whose size is limited. So waiting records are published
//! before new ones are added, and above a limit only required records are added. The others are counted, and a separate
//! record says how many were left out, from when to when.
//!
//! The file has more than 300 lines because the notebook's outbox is private, and loading, appending, publishing and
//! renumbering all work on it.

use crate::{
    chain, escalation,
    journal::{self, Change, CommitError, Committed, Effects, Journaled, Outbox, Ports, Refusal, Unpublished},
    line,
};
use domain::{
    Alert, Timestamp,
    alert::Severity,
    ports::{Alerts, AuditLog, Clock, Notes, SaveError, StorageError, Versioned},
    sale::{AuditEntry, AuditHead},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{convert::Infallible, marker::PhantomData};

/// Above this many bytes of waiting records, optional records are left out. A notebook is one item of the table, which
/// holds 400 KB, and must also have room for state, alerts and JSON's quoting of the records.
const MOST_WAITING: usize = 150_000;

/// One record of a scheduled function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionEvent {
    /// What happened, in snake case.
    pub name: &'static str,
    /// The facts: no question, no verdict, no address.
    pub facts: Value,
    /// Whether it is never left out, because a later step waits for it.
    pub is_required: bool,
}

/// Records that were left out because the log failed for too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LeftOut {
    count: u64,
    from: Timestamp,
    to: Timestamp,
}

/// A function's saved state, with its outbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notebook<T> {
    /// The state.
    pub memory: T,
    head: Option<AuditHead>,
    #[serde(default)]
    outbox: Vec<AuditEntry>,
    #[serde(default)]
    alerts: Vec<Alert>,
    /// Whether operators were alerted that the log fails.
    #[serde(default)]
    log_fails: bool,
    #[serde(default)]
    left_out: Option<LeftOut>,
}

impl<T> Notebook<T> {
    /// Whether records or alerts wait: a step that requires them to be published must not continue yet.
    #[must_use]
    pub const fn has_outbox(&self) -> bool {
        !self.outbox.is_empty() || !self.alerts.is_empty()
    }

    fn waiting_bytes(&self) -> usize {
        self.outbox.iter().map(|entry| entry.key.len() + entry.line.len()).sum()
    }
}

impl<T: Default> Notebook<T> {
    /// An empty state with the rest of a document whose state cannot be read: its head counts the records that wait, so
    /// without them the log would have a hole.
    fn begun_anew(document: &str) -> Self {
        let document: Value = serde_json::from_str(document).unwrap_or_default();
        Self {
            memory: T::default(),
            head: readable(&document["head"]),
            outbox: readable(&document["outbox"]),
            alerts: readable(&document["alerts"]),
            log_fails: readable(&document["log_fails"]),
            left_out: readable(&document["left_out"]),
        }
    }
}

/// The state of a stream that keeps none: its notebook only holds the records that wait for the log.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Stateless {}

/// A scheduled function's decision.
pub type Noted<A> = Change<A, FunctionEvent>;

impl<A> Noted<A> {
    /// Adds a record, which is left out if too many wait for the log already.
    #[must_use]
    pub fn recording(self, name: &'static str, facts: Value) -> Self {
        self.with_record(FunctionEvent { name, facts, is_required: false })
    }

    /// Adds a record that is never left out: for the few that a later step waits for.
    #[must_use]
    pub fn requiring(self, name: &'static str, facts: Value) -> Self {
        self.with_record(FunctionEvent { name, facts, is_required: true })
    }
}

/// The line in the log.
#[derive(Serialize)]
struct FunctionLine<'a> {
    timestamp: &'a str,
    function: &'a str,
    event: &'a str,
    details: &'a Value,
    v: u8,
    stream: &'a str,
    seq: u64,
    prev: &'a str,
}

/// The ports of a scheduled function's commit.
#[derive(Clone, Copy)]
pub struct FunctionJournal<'a> {
    /// The function's name: that of its saved state item and of its stream, `function/{name}`.
    pub function: &'static str,
    /// Saved state items.
    pub notes: &'a dyn Notes,
    /// The log.
    pub log: &'a dyn AuditLog,
    /// Operators.
    pub alerts: &'a dyn Alerts,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl<'a> FunctionJournal<'a> {
    /// Loads the function's notebook: empty and with version 0 before its first run. A function whose state cannot be
    /// read must still run, so it starts with an empty state in the same stream, with the records and alerts that wait,
    /// and operators are alerted.
    ///
    /// # Errors
    /// [`StorageError`] when the table could not be read.
    pub async fn load<T>(&self) -> Result<Versioned<Notebook<T>>, StorageError>
    where
        T: Default + DeserializeOwned,
    {
        let Versioned { value, version } = self.notes.load(self.function).await?;
        let Some(document) = value else { return Ok(Versioned { value: Notebook::default(), version }) };
        let value = match serde_json::from_str(&document) {
            Ok(notebook) => notebook,
            Err(error) => {
                let detail = format!("what it remembers cannot be read, it begins anew: {error}");
                self.alerts.raise(self.alert(self.clock.now(), &detail)).await;
                Notebook::begun_anew(&document)
            }
        };
        Ok(Versioned { value, version })
    }

    /// Lets `decide` change the state and saves it with its records and alerts; then publishes these. `decide` runs
    /// again on the newer state after a conflict, so its result must depend only on the state and the time.
    ///
    /// # Errors
    /// [`CommitError`]: nothing was changed, or it was and the reply was lost.
    pub async fn commit<T, A>(
        &self,
        current: Versioned<Notebook<T>>,
        decide: impl Fn(&mut T, Timestamp) -> Noted<A> + Send + Sync,
    ) -> Result<Committed<NotebookJournal<'a, T>, A>, CommitError>
    where
        T: Clone + Default + Serialize + DeserializeOwned + Send + Sync,
        A: Send,
    {
        let decide = |notebook: &mut Notebook<T>, now| (decide(&mut notebook.memory, now), None);
        journal::commit(NotebookJournal(*self, PhantomData), current, decide).await
    }

    /// Publishes what an earlier step could not, if anything waits, whatever the function's state is. For functions whose
    /// next step may not come for days.
    ///
    /// # Errors
    /// [`CommitError`]: it still waits.
    pub async fn flush(&self) -> Result<(), CommitError> {
        let notebook = self.load::<Value>().await?;
        if NotebookJournal::<Value>::publishes_first(&notebook.value) {
            self.commit(notebook, |_, _| Noted::nothing(())).await?.settle().await;
        }
        Ok(())
    }

    /// Adds a record to one of several streams that keep no state. There are several, so that concurrent requests seldom
    /// write to the same item. `token` is random hex text, whose last digit chooses the stream that is tried first. While others keep
    /// changing a stream, the next one is tried.
    ///
    /// # Errors
    /// [`CommitError`]: the record is not saved, or it is and the reply was lost.
    pub async fn record_in_one_of(
        &self,
        streams: &[&'static str],
        token: &str,
        event: &'static str,
        facts: impl Fn(Timestamp) -> Value + Send + Sync,
    ) -> Result<(), CommitError> {
        let first = token.chars().last().and_then(|digit| digit.to_digit(16)).unwrap_or(0) as usize;
        for tried in 0..streams.len() {
            let journal = FunctionJournal { function: streams[(first + tried) % streams.len()], ..*self };
            match journal.record(|now| Noted::save(()).recording(event, facts(now))).await {
                Err(CommitError::Contended) => {}
                recorded => return recorded,
            }
        }
        Err(CommitError::Contended)
    }

    /// Adds a record to a stream that keeps no state. It is never left out.
    ///
    /// # Errors
    /// [`CommitError`]: the record is not saved, or it is and the reply was lost.
    pub async fn record_required(&self, name: &'static str, facts: &Value) -> Result<(), CommitError> {
        self.record(|_| Noted::save(()).requiring(name, facts.clone())).await
    }

    /// Commits to a stream that keeps no state.
    async fn record(&self, noted: impl Fn(Timestamp) -> Noted<()> + Send + Sync) -> Result<(), CommitError> {
        let notebook = self.load::<Stateless>().await?;
        self.commit(notebook, |_: &mut Stateless, now| noted(now)).await?.settle().await;
        Ok(())
    }

    fn alert(&self, now: Timestamp, detail: &str) -> Alert {
        Alert::about("ORACLE-AUDIT", Severity::Critical, now, "AUDIT_WRITE", self.function, detail)
    }

    /// Adds a record, preceded by one about records that were left out; or leaves it out too. A record that is left out
    /// never has a number, so the chain has no gap.
    fn append<T>(&self, notebook: &mut Notebook<T>, event: &FunctionEvent, now: Timestamp) {
        if !event.is_required && notebook.waiting_bytes() > MOST_WAITING {
            notebook.alerts.extend(escalation::alert_unrecorded(&event.facts, self.function, now));
            match &mut notebook.left_out {
                Some(left_out) => (left_out.count, left_out.to) = (left_out.count + 1, now),
                nothing => {
                    *nothing = Some(LeftOut { count: 1, from: now, to: now });
                    let detail = "too many audit records wait for the log: from now on they are left out and counted";
                    notebook.alerts.push(self.alert(now, detail));
                }
            }
            return;
        }
        if let Some(LeftOut { count, from, to }) = notebook.left_out.take() {
            let facts = json!({ "count": count, "from": from.to_iso(), "to": to.to_iso() });
            self.append_line(notebook, "records_left_out", &facts, now);
        }
        self.append_line(notebook, event.name, &event.facts, now);
    }

    /// Adds a record. Numbers restart each day; a day's first record names the hash of the last record before it.
    fn append_line<T>(&self, notebook: &mut Notebook<T>, event: &str, details: &Value, now: Timestamp) {
        let (stream, today) = (format!("function/{}", self.function), now.to_date());
        let head = notebook.head.get_or_insert_with(|| chain::opened(today.clone()));
        // After the clock was set back, records stay in the day that was begun.
        if today > head.opened {
            head.opened = today;
            head.count = 0;
        }
        let timestamp = now.to_iso();
        let measurements = escalation::measurement(details).into_iter().collect();
        let entry = chain::link(head, &stream, measurements, |seq, prev| {
            line::json(&FunctionLine {
                timestamp: &timestamp,
                function: self.function,
                event,
                details,
                v: line::VERSION,
                stream: &stream,
                seq,
                prev,
            })
        });
        notebook.outbox.push(entry);
    }
}

/// A function's journal, with the type of its state.
pub struct NotebookJournal<'a, T>(FunctionJournal<'a>, PhantomData<fn() -> T>);

impl<T> Clone for NotebookJournal<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for NotebookJournal<'_, T> {}

impl<T> Journaled for NotebookJournal<'_, T>
where
    T: Clone + Default + Serialize + DeserializeOwned + Send + Sync,
{
    type State = Notebook<T>;
    type Record = FunctionEvent;
    type Beside = Infallible;

    fn ports(&self) -> Ports<'_> {
        Ports { log: self.0.log, alerts: self.0.alerts, clock: self.0.clock }
    }

    fn outbox(notebook: &mut Notebook<T>) -> Outbox<'_> {
        Outbox { entries: &mut notebook.outbox, alerts: &mut notebook.alerts }
    }

    fn publishes_first(notebook: &Notebook<T>) -> bool {
        notebook.has_outbox() || notebook.log_fails
    }

    async fn reload(&self, _notebook: &Notebook<T>) -> Result<Versioned<Notebook<T>>, StorageError> {
        self.0.load().await
    }

    async fn save(
        &self,
        notebook: &Notebook<T>,
        expected: u64,
        _beside: Option<&Infallible>,
    ) -> Result<u64, SaveError> {
        let unwritable = |error| StorageError { operation: "note write", source: Box::new(error) };
        let document = serde_json::to_string(notebook).map_err(unwritable)?;
        self.0.notes.save(self.0.function, &document, expected).await
    }

    fn apply(&self, notebook: &mut Notebook<T>, Effects { records, alerts }: Effects<FunctionEvent>, now: Timestamp) {
        for event in &records {
            self.0.append(notebook, event, now);
        }
        notebook.alerts.extend(alerts);
    }

    fn log_works(&self, notebook: &mut Notebook<T>, now: Timestamp) {
        if std::mem::take(&mut notebook.log_fails) {
            let detail = "recovered: the log takes records again";
            notebook.alerts.push(Alert::all_clear("ORACLE-AUDIT", now, "AUDIT_WRITE", self.0.function, detail));
        }
    }

    /// Alerts operators once that the log fails. A fork indicates a lost notebook: its function continues at another
    /// number.
    fn log_refuses(&self, notebook: &mut Notebook<T>, reason: &Unpublished, now: Timestamp) -> Refusal {
        match reason {
            Unpublished::Forked => {
                let detail = "audit stream forked: the place of a record is taken, it goes on at another number";
                Refusal { alert: Some(self.0.alert(now, detail)), republish: renumber(notebook, now) }
            }
            Unpublished::Failed(error) => {
                let detail = format!("audit record not written, kept until the log takes it: {}", error.operation);
                let is_known = std::mem::replace(&mut notebook.log_fails, true);
                Refusal { alert: (!is_known).then(|| self.0.alert(now, &detail)), republish: false }
            }
        }
    }

    /// Also saved while records still wait, because the state includes that operators were alerted.
    fn is_worth_settling(_notebook: &mut Notebook<T>) -> bool {
        true
    }
}

/// Gives the waiting records numbers that cannot be taken yet: the tenths of seconds of the day. A function whose
/// notebook was lost does not know where its stream ended; if its records waited for their old places, none would ever
/// be written again, and the notebook would grow without limit. The log shows the gap. Returns whether renumbering was
/// possible.
fn renumber<T>(notebook: &mut Notebook<T>, now: Timestamp) -> bool {
    let Some(mut head) = notebook.head.clone() else { return false };
    let waiting: Result<Vec<Value>, _> =
        notebook.outbox.iter().map(|entry| serde_json::from_str(&entry.line)).collect();
    let Ok(waiting) = waiting else { return false };
    let tenths = u64::try_from(now.as_seconds().rem_euclid(86_400)).unwrap_or(0) * 10;
    head.count = tenths.max(head.count);
    head.hash = waiting.first().and_then(|line| line["prev"].as_str()).unwrap_or_default().to_owned();
    let renumbered = |(entry, line): (&AuditEntry, &Value)| {
        let text = |name: &str| line[name].as_str().unwrap_or_default();
        chain::link(&mut head, text("stream"), entry.measurements.clone(), |seq, prev| {
            line::json(&FunctionLine {
                timestamp: text("timestamp"),
                function: text("function"),
                event: text("event"),
                details: &line["details"],
                v: line::VERSION,
                stream: text("stream"),
                seq,
                prev,
            })
        })
    };
    notebook.outbox = notebook.outbox.iter().zip(&waiting).map(renumbered).collect();
    notebook.head = Some(head);
    true
}

/// A field of a document of which other fields cannot be read; its default if it cannot be read either.
fn readable<F: Default + DeserializeOwned>(field: &Value) -> F {
    F::deserialize(field).unwrap_or_default()
}
