//! What a scheduled function remembers, with its own stream of the log: the discipline of a sale's journal for
//! functions that work on no sale.
//!
//! A run loads its notebook, decides, and saves memory, records and alerts in one write, on condition that no other
//! run saved in between; then it publishes the records and raises the alerts, and saves that it did. A run that
//! dies in between is followed by one that publishes the same objects under the same keys. Two runs at the same time
//! meet at the version: the later one decides again on what the earlier one has left, or gives up.
//!
//! While the log takes nothing the records wait in the note, and a note has an end. So what waits is published before
//! anything is added to it, and when too much waits, further records are left out, but for those that a step waits
//! for. How many were left out, and from when to when, is a record of its own, in their place.

use crate::{
    chain,
    digest::sha256,
    journal::{CommitError, MAX_CONFLICTS, Unpublished, publish_outbox},
};
use domain::{
    Alert, Timestamp,
    alert::Severity,
    ports::{Alerts, AuditLog, Clock, Notes, SaveError, StorageError, Versioned},
    sale::{AuditEntry, AuditHead},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// With more bytes of records than these waiting, plain ones are left out. A note is one item of the table, which
/// holds 400 KB: memory, alerts and JSON's quoting of the records must fit besides.
const MOST_WAITING: usize = 150_000;

/// One record of a scheduled function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionEvent {
    /// What happened, in snake case.
    pub name: &'static str,
    /// What is to be known of it: no question, no verdict, no address.
    pub facts: Value,
    /// Whether it waits for the log however long that takes, because a step waits for it.
    pub is_required: bool,
}

/// Records that never were, because the log took nothing for too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LeftOut {
    count: u64,
    from: Timestamp,
    to: Timestamp,
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
    /// Whether operators were told that the log takes nothing.
    #[serde(default)]
    log_fails: bool,
    #[serde(default)]
    left_out: Option<LeftOut>,
}

impl<T> Notebook<T> {
    /// Whether records or alerts wait that have not reached the log or operators: nobody may count on their being
    /// there yet.
    #[must_use]
    pub const fn has_something_to_tell(&self) -> bool {
        !self.outbox.is_empty() || !self.alerts.is_empty()
    }

    fn waiting_bytes(&self) -> usize {
        self.outbox.iter().map(|entry| entry.key.len() + entry.line.len()).sum()
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

    /// The log is told of it, unless it has taken nothing for so long that too much waits already.
    #[must_use]
    pub fn recording(mut self, name: &'static str, facts: Value) -> Self {
        self.events.push(FunctionEvent { name, facts, is_required: false });
        self
    }

    /// The log is told of it, however long that takes: for what a later step waits for, of which there is never much.
    #[must_use]
    pub fn requiring(mut self, name: &'static str, facts: Value) -> Self {
        self.events.push(FunctionEvent { name, facts, is_required: true });
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
            let waited = notebook.has_something_to_tell() || notebook.log_fails;
            let published = publish_outbox(self.log, &mut notebook.outbox).await;
            let noted = decide(&mut notebook.memory);
            if !noted.save && !waited {
                return Ok((Versioned { value: notebook, version }, noted.answer));
            }
            let now = self.clock.now();
            if published.is_ok() && std::mem::take(&mut notebook.log_fails) {
                let detail = "recovered: the log takes records again";
                notebook.alerts.push(Alert::all_clear("ORACLE-AUDIT", now, "AUDIT_WRITE", self.function, detail));
            }
            for event in &noted.events {
                self.append(&mut notebook, event, now);
            }
            notebook.alerts.extend(noted.alerts);
            match self.save(&notebook, version).await {
                Ok(version) => return Ok((self.told(notebook, version, published).await, noted.answer)),
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

    /// Appends a record, and before it that some were left out; or leaves it out too, where too much waits. What was
    /// left out never had a number, so the chain has no hole.
    fn append<T>(&self, notebook: &mut Notebook<T>, event: &FunctionEvent, now: Timestamp) {
        if !event.is_required && notebook.waiting_bytes() > MOST_WAITING {
            match &mut notebook.left_out {
                Some(left_out) => (left_out.count, left_out.to) = (left_out.count + 1, now),
                nothing => {
                    *nothing = Some(LeftOut { count: 1, from: now, to: now });
                    let detail = "too many audit records wait for the log: from now on they are left out and counted";
                    notebook.alerts.push(self.alert(detail));
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

    /// Appends a record. Each day has numbers of its own, and its first record the hash of the last one before it.
    fn append_line<T>(&self, notebook: &mut Notebook<T>, event: &str, details: &Value, now: Timestamp) {
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
            event,
            details,
            v: chain::VERSION,
            stream: &stream,
            seq,
            prev: &head.hash,
        };
        // Every field serialises: strings, numbers and JSON values with string keys.
        let line = serde_json::to_string(&line).unwrap_or_default();
        head.count = seq;
        head.hash = sha256(line.as_bytes());
        notebook.outbox.push(AuditEntry {
            key: chain::key(&head.opened, &stream, seq),
            line,
            measurements: Vec::new(),
        });
    }

    /// Raises the alerts, publishes the records in their order, and saves how far that went. A log that has just
    /// failed is not asked again; operators are told once that it fails.
    async fn told<T: Serialize + Send + Sync>(
        &self,
        mut notebook: Notebook<T>,
        mut version: u64,
        mut published: Result<(), Unpublished>,
    ) -> Versioned<Notebook<T>> {
        if !notebook.has_something_to_tell() {
            return Versioned { value: notebook, version };
        }
        for alert in std::mem::take(&mut notebook.alerts) {
            self.alerts.raise(alert).await;
        }
        if published.is_ok() {
            published = publish_outbox(self.log, &mut notebook.outbox).await;
        }
        if matches!(published, Err(Unpublished::Forked)) {
            self.tell("audit stream forked: the place of a record is taken, it goes on at another number").await;
            // Saved before it is published: a record must not be there under two numbers.
            if renumber(&mut notebook, self.clock.now())
                && let Ok(saved) = self.save(&notebook, version).await
            {
                version = saved;
                published = publish_outbox(self.log, &mut notebook.outbox).await;
            }
        }
        if let Err(Unpublished::Failed(error)) = published
            && !std::mem::replace(&mut notebook.log_fails, true)
        {
            self.tell(&format!("audit record not written, kept until the log takes it: {}", error.operation)).await;
        }
        // A conflict means that another run saved later and will tell; a failure, that the next one will again.
        if let Ok(saved) = self.save(&notebook, version).await {
            version = saved;
        }
        Versioned { value: notebook, version }
    }

    fn alert(&self, detail: &str) -> Alert {
        Alert::about("ORACLE-AUDIT", Severity::Critical, self.clock.now(), "AUDIT_WRITE", self.function, detail)
    }

    async fn tell(&self, detail: &str) {
        self.alerts.raise(self.alert(detail)).await;
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
        outbox.push(AuditEntry {
            key: chain::key(&head.opened, text("stream"), seq),
            line: renumbered,
            measurements: Vec::new(),
        });
    }
    (head.count, head.hash, notebook.outbox) = (seq, prev, outbox);
    true
}

/// As much of a notebook as the chain needs, where the memory cannot be read.
#[derive(Deserialize)]
struct HeadOnly {
    head: Option<AuditHead>,
}
