//! What a scheduled function remembers, with its own stream of the log: the discipline of a sale's journal for
//! functions that work on no sale.
//!
//! A run loads its notebook, decides, and saves memory, records and alerts in one write, on condition that no other
//! run saved in between; then it publishes the records and raises the alerts, and saves that it did. A run that
//! dies in between is followed by one that publishes the same objects under the same keys. Two runs at the same time
//! meet at the version: the later one decides again on what the earlier one has left, or gives up.

use crate::{
    chain,
    digest::sha256,
    journal::{CommitError, MAX_CONFLICTS},
};
use domain::{
    Alert, Timestamp,
    alert::Severity,
    ports::{Alerts, AuditLog, Clock, Notes, Published, SaveError, StorageError, Versioned},
    sale::{AuditEntry, AuditHead},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// One record of a scheduled function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionEvent {
    /// What happened, in snake case.
    pub name: &'static str,
    /// What is to be known of it: no question, no verdict, no address.
    pub facts: Value,
}

/// What a function remembers, and what it has not told yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notebook<T> {
    /// The memory.
    pub memory: T,
    head: Option<AuditHead>,
    #[serde(default)]
    outbox: Vec<AuditEntry>,
    #[serde(default)]
    alerts: Vec<Alert>,
}

impl<T> Notebook<T> {
    /// Whether records or alerts wait that have not reached the log or operators: nobody may count on their being
    /// there yet.
    #[must_use]
    pub const fn has_something_to_tell(&self) -> bool {
        !self.outbox.is_empty() || !self.alerts.is_empty()
    }
}

/// What a decision wants done.
#[derive(Debug)]
pub struct Noted<A> {
    /// The records of it.
    pub events: Vec<FunctionEvent>,
    /// What operators are told of it.
    pub alerts: Vec<Alert>,
    /// Whether the memory is to be saved at all.
    pub save: bool,
    /// What the caller wants to know.
    pub answer: A,
}

impl<A> Noted<A> {
    /// Nothing changes.
    pub const fn nothing(answer: A) -> Self {
        Self { events: Vec::new(), alerts: Vec::new(), save: false, answer }
    }

    /// The memory changes.
    pub const fn save(answer: A) -> Self {
        Self { events: Vec::new(), alerts: Vec::new(), save: true, answer }
    }

    /// The log is told of it.
    #[must_use]
    pub fn recording(mut self, name: &'static str, facts: Value) -> Self {
        self.events.push(FunctionEvent { name, facts });
        self
    }

    /// Operators are told of it.
    #[must_use]
    pub fn alerting(mut self, alert: Alert) -> Self {
        self.alerts.push(alert);
        self
    }
}

/// The line as it is written.
#[derive(Serialize)]
struct FunctionLine<'a> {
    timestamp: String,
    function: &'a str,
    event: &'a str,
    details: &'a Value,
    v: u8,
    stream: &'a str,
    seq: u64,
    prev: &'a str,
}

/// The ports that a function's commit needs.
#[derive(Clone, Copy)]
pub struct FunctionJournal<'a> {
    /// The function's name: that of its note and of its stream, `function/{name}`.
    pub function: &'static str,
    /// What functions remember.
    pub notes: &'a dyn Notes,
    /// The log.
    pub log: &'a dyn AuditLog,
    /// Operators.
    pub alerts: &'a dyn Alerts,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl FunctionJournal<'_> {
    /// What the function remembers; version 0 and the default before its first run, or where nobody can read what
    /// is there: a function that forgot must still run, so that is told and begun anew, in a stream that the log
    /// shows to be a new one.
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
                self.tell(&detail).await;
                Notebook {
                    head: serde_json::from_str::<HeadOnly>(&document).ok().and_then(|it| it.head),
                    ..Notebook::default()
                }
            }
        };
        Ok(Versioned { value, version })
    }

    /// Lets `decide` change the memory and saves it with its records and alerts; then tells them. `decide` runs again
    /// on the newer memory after a conflict, so it must depend on nothing but the memory it is given.
    ///
    /// # Errors
    /// [`CommitError`]: nothing was changed, or it was and the reply got lost.
    pub async fn commit<T, A>(
        &self,
        mut current: Versioned<Notebook<T>>,
        decide: impl Fn(&mut T) -> Noted<A> + Send + Sync,
    ) -> Result<(Versioned<Notebook<T>>, A), CommitError>
    where
        T: Default + Serialize + DeserializeOwned + Send + Sync,
        A: Send,
    {
        for _ in 0..MAX_CONFLICTS {
            let Versioned { value: mut notebook, version } = current;
            let noted = decide(&mut notebook.memory);
            if !noted.save && !notebook.has_something_to_tell() {
                return Ok((Versioned { value: notebook, version }, noted.answer));
            }
            let now = self.clock.now();
            for event in &noted.events {
                self.append(&mut notebook, event, now);
            }
            notebook.alerts.extend(noted.alerts);
            match self.save(&notebook, version).await {
                Ok(version) => return Ok((self.told(notebook, version).await, noted.answer)),
                Err(SaveError::Conflict) => current = self.load().await?,
                Err(SaveError::Storage(error)) => return Err(error.into()),
            }
        }
        Err(CommitError::Contended)
    }

    async fn save<T: Serialize + Sync>(&self, notebook: &Notebook<T>, expected: u64) -> Result<u64, SaveError> {
        let unwritable = |error| StorageError { operation: "note write", source: Box::new(error) };
        let document = serde_json::to_string(notebook).map_err(unwritable)?;
        self.notes.save(self.function, &document, expected).await
    }

    /// Appends a record. Each day has numbers of its own, and its first record the hash of the last one before it.
    fn append<T>(&self, notebook: &mut Notebook<T>, event: &FunctionEvent, now: Timestamp) {
        let stream = format!("function/{}", self.function);
        let today = now.to_date();
        let head =
            notebook.head.get_or_insert_with(|| AuditHead { opened: today.clone(), count: 0, hash: sha256(b"") });
        // A clock that was set back stays in the day that was begun.
        if today > head.opened {
            head.opened = today;
            head.count = 0;
        }
        let seq = head.count + 1;
        let line = FunctionLine {
            timestamp: now.to_iso(),
            function: self.function,
            event: event.name,
            details: &event.facts,
            v: chain::VERSION,
            stream: &stream,
            seq,
            prev: &head.hash,
        };
        // Every field serialises: strings, numbers and JSON values with string keys.
        let line = serde_json::to_string(&line).unwrap_or_default();
        head.count = seq;
        head.hash = sha256(line.as_bytes());
        notebook.outbox.push(AuditEntry { key: chain::key(&head.opened, &stream, seq), line });
    }

    /// Raises the alerts, publishes the records in their order, and saves how far that went.
    async fn told<T: Serialize + Send + Sync>(
        &self,
        mut notebook: Notebook<T>,
        mut version: u64,
    ) -> Versioned<Notebook<T>> {
        if !notebook.has_something_to_tell() {
            return Versioned { value: notebook, version };
        }
        for alert in std::mem::take(&mut notebook.alerts) {
            self.alerts.raise(alert).await;
        }
        let mut renumbered = false;
        while let Some(entry) = notebook.outbox.first() {
            let detail = match self.log.publish(entry).await {
                Ok(Published::Written | Published::AlreadyThere) => {
                    notebook.outbox.remove(0);
                    continue;
                }
                Ok(Published::Forked) => {
                    self.tell("audit stream forked: the place of a record is taken, it goes on at another number")
                        .await;
                    // Saved before it is published: a record must not be there under two numbers.
                    if !renumbered && renumber(&mut notebook, self.clock.now()) {
                        renumbered = true;
                        if let Ok(saved) = self.save(&notebook, version).await {
                            version = saved;
                            continue;
                        }
                    }
                    break;
                }
                Err(error) => format!("audit record not written, kept for the next run: {}", error.operation),
            };
            self.tell(&detail).await;
            break;
        }
        // A conflict means that another run saved later and will tell; a failure, that the next one will again.
        if let Ok(saved) = self.save(&notebook, version).await {
            version = saved;
        }
        Versioned { value: notebook, version }
    }

    async fn tell(&self, detail: &str) {
        let now = self.clock.now();
        let alert = Alert::about("ORACLE-AUDIT", Severity::Critical, now, "AUDIT_WRITE", self.function, detail);
        self.alerts.raise(alert).await;
    }
}

/// Gives the records that wait numbers that nobody can have taken that day: tenths of its seconds. A function whose
/// note was lost does not know how far its stream had come; were its records to wait for their old places, none would
/// ever be written again, and the note would grow without end. The log shows the gap. Whether that was possible.
fn renumber<T>(notebook: &mut Notebook<T>, now: Timestamp) -> bool {
    let Some(head) = notebook.head.as_mut() else { return false };
    let waiting: Result<Vec<Value>, _> =
        notebook.outbox.iter().map(|entry| serde_json::from_str(&entry.line)).collect();
    let Ok(waiting) = waiting else { return false };
    let tenths = u64::try_from(now.as_seconds().rem_euclid(86_400)).unwrap_or(0) * 10;
    let (mut seq, mut outbox) = (tenths.max(head.count), Vec::with_capacity(waiting.len()));
    let mut prev = waiting.first().and_then(|line| line["prev"].as_str()).unwrap_or_default().to_owned();
    for line in &waiting {
        let text = |name: &str| line[name].as_str().unwrap_or_default();
        seq += 1;
        let renumbered = FunctionLine {
            timestamp: text("timestamp").to_owned(),
            function: text("function"),
            event: text("event"),
            details: &line["details"],
            v: chain::VERSION,
            stream: text("stream"),
            seq,
            prev: &prev,
        };
        let Ok(renumbered) = serde_json::to_string(&renumbered) else { return false };
        prev = sha256(renumbered.as_bytes());
        outbox.push(AuditEntry { key: chain::key(&head.opened, text("stream"), seq), line: renumbered });
    }
    (head.count, head.hash, notebook.outbox) = (seq, prev, outbox);
    true
}

/// As much of a notebook as the chain needs, where the memory cannot be read.
#[derive(Deserialize)]
struct HeadOnly {
    head: Option<AuditHead>,
}
