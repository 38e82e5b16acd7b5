//! One run: ten stages, each with its own limit; one that fails stops no other that does not need what it made.

use crate::{
    environment,
    report::Report,
    stage::{Failure, Outcome, Stage},
    within::{Broke, within},
};
use async_trait::async_trait;
use domain::{
    CachedVerdict, Sale, Secret, SessionId, Timestamp,
    mail::{Draft, Mail},
    ports::{
        CacheEntry, Clock, MailError, Mailbox, Pause, PaymentError, Randomness, SaleStore, SecretSource, StorageError,
        Versioned,
    },
    sale::Fulfilment,
    smoke,
};
use serde_json::{Value, json};
use std::{error::Error, future::Future, time::Duration};
use stripe::{Created, signature};

/// The whole test ends within a minute (invariant 6).
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// So much of it is kept for the clean-up.
const FOR_CLEANUP: Duration = Duration::from_secs(5);

/// Between two looks at what the pipeline is doing.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What the site answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The body; null where it is no JSON.
    pub body: Value,
}

/// Nobody answered.
#[derive(Clone, Debug, thiserror::Error)]
#[error("not reachable: {0}")]
pub struct Unreachable(pub String);

/// The public site.
#[async_trait]
pub trait Site: Send + Sync {
    /// GET /health.
    async fn health(&self) -> Result<Reply, Unreachable>;
    /// POST /api/webhook with this `Stripe-Signature`.
    async fn webhook(&self, body: &str, signature: &str) -> Result<Reply, Unreachable>;
    /// GET /api/verdict.
    async fn verdict(&self, session: &SessionId) -> Result<Reply, Unreachable>;
}

/// Where sessions are created: Stripe's test mode.
#[async_trait]
pub trait Till: Send + Sync {
    /// Creates the smoke test's session.
    async fn create(&self, idempotency_key: &str) -> Result<Created, PaymentError>;
}

/// The network as far as a TCP connection.
#[async_trait]
pub trait Network: Send + Sync {
    /// Connects to the host and port of an address, and hangs up.
    async fn connect(&self, url: &str) -> Result<(), Unreachable>;
}

/// What is cached.
#[async_trait]
pub trait Entries: Send + Sync {
    /// Takes a session's entry out and keeps the counters right; `false` where there was none.
    async fn remove(&self, session: &SessionId) -> Result<bool, StorageError>;
}

/// What a run needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub smoke_secret: &'a dyn SecretSource,
    pub gemini_secret: &'a dyn SecretSource,
    pub network: &'a dyn Network,
    pub site: &'a dyn Site,
    pub mailbox: &'a dyn Mailbox,
    pub till: &'a dyn Till,
    pub store: &'a dyn SaleStore,
    pub entries: &'a dyn Entries,
    pub clock: &'a dyn Clock,
    pub pause: &'a dyn Pause,
    pub randomness: &'a dyn Randomness,
}

/// How a run goes about it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses that must take a TCP connection: the site's and the mailbox's.
    pub addresses: Vec<String>,
    /// Sessions of earlier runs whose entries are to be taken out.
    pub leftovers: Vec<SessionId>,
}

/// A stage's answer: what later stages need, and what stands behind PASS.
type Answer<T> = Result<(T, String), Failure>;

struct Run<'a> {
    ports: Ports<'a>,
    started_at: Timestamp,
    stages: Vec<(Stage, Outcome)>,
    warnings: Vec<String>,
}

/// Runs all stages. It never fails: what goes wrong is in the report.
pub async fn run(ports: Ports<'_>, settings: &Settings) -> Report {
    let started_at = ports.clock.now();
    let mut run = Run { ports, started_at, stages: Vec::new(), warnings: Vec::new() };
    let (session, leftovers) = run.all(settings).await;
    let took = ports.clock.now().since(started_at);
    Report { started_at, took, stages: run.stages, warnings: run.warnings, session, leftovers }
}

impl Run<'_> {
    /// The session that was used, and those whose entries are not known to be gone.
    async fn all(&mut self, settings: &Settings) -> (Option<SessionId>, Vec<SessionId>) {
        let ports = self.ports;
        let checked = self.stage(Stage::EnvironmentCheck, configuration(ports)).await;
        // Whoever has no key of the test mode calls nobody (invariant 1, verification criterion 3).
        let Some(signing_secret) = checked else {
            for stage in Stage::ALL.into_iter().skip(1) {
                self.skip(stage, "the environment check failed: nothing is called");
            }
            return (None, settings.leftovers.clone());
        };
        self.reach(settings).await;
        self.stage(Stage::TollHealth, toll_health(ports)).await;
        self.stage(Stage::EmailServiceHealth, mailbox_health(ports)).await;
        let created = self.stage(Stage::SessionCreation, create(ports)).await;
        let session = created.as_ref().map(|created| created.id.clone());
        let cached = match &created {
            Some(created) => self.stage(Stage::WebhookSimulation, simulate(ports, created, &signing_secret)).await,
            None => {
                self.skip(Stage::WebhookSimulation, "no session");
                None
            }
        };
        match (&session, &cached) {
            (Some(session), Some(_)) => {
                self.stage(Stage::CacheWrite, cache_write(ports, session)).await;
                self.stage(Stage::VerdictRoute, verdict_route(ports, session)).await;
                self.stage(Stage::EmailSend, mail_sent(ports, session)).await;
            }
            _ => {
                for stage in [Stage::CacheWrite, Stage::VerdictRoute, Stage::EmailSend] {
                    self.skip(stage, "no verdict is cached");
                }
            }
        }
        match &cached {
            Some(cached) => drop(self.stage(Stage::Crosscheck, crosscheck(cached)).await),
            None => self.skip(Stage::Crosscheck, "no verdict is cached"),
        }
        let leftovers = self.clean_up(session.as_ref(), &settings.leftovers).await;
        (session, leftovers)
    }

    /// How long a stage may take: its own limit, and what is left of the minute.
    fn limit(&self, stage: Stage) -> Duration {
        let reserved = if stage == Stage::CacheCleanup { Duration::ZERO } else { FOR_CLEANUP };
        let passed = self.ports.clock.now().since(self.started_at);
        stage.limit().min(LIMIT.saturating_sub(reserved).saturating_sub(passed))
    }

    /// Runs one stage within its limit and keeps how it ended.
    async fn stage<T>(&mut self, stage: Stage, work: impl Future<Output = Answer<T>>) -> Option<T> {
        let limit = self.limit(stage);
        let answer = within(self.ports.pause, limit, work).await;
        let (made, outcome) = match answer {
            Ok(Ok((made, detail))) => (Some(made), Outcome::Pass(detail)),
            Ok(Err(failure)) => (None, Outcome::Fail(failure)),
            Err(Broke::OutOfTime) => (None, Outcome::Fail(out_of_time(limit))),
            Err(Broke::Panicked) => (None, Outcome::Fail(Failure::new("the stage itself broke"))),
        };
        self.stages.push((stage, outcome));
        made
    }

    fn skip(&mut self, stage: Stage, reason: &str) {
        self.stages.push((stage, Outcome::Skip(reason.to_owned())));
    }

    /// The rest of stage 1: whether somebody listens at each address. A configuration that is right and a service that
    /// is down are told apart, so the other stages are tried all the same (verification criterion 2).
    async fn reach(&mut self, settings: &Settings) {
        let ports = self.ports;
        let connect = async {
            for address in &settings.addresses {
                ports.network.connect(address).await?;
            }
            Ok::<(), Unreachable>(())
        };
        let failure = match within(ports.pause, self.limit(Stage::EnvironmentCheck), connect).await {
            Ok(Ok(())) => return,
            Ok(Err(unreachable)) => Failure::new(unreachable.to_string()),
            Err(broke) => Failure::new(format!("TCP connect: {broke}")),
        };
        if let Some((_, outcome)) = self.stages.first_mut() {
            *outcome = Outcome::Fail(failure);
        }
    }

    /// Stage 10, and what earlier runs have left behind. Answers what may still be there.
    async fn clean_up(&mut self, session: Option<&SessionId>, earlier: &[SessionId]) -> Vec<SessionId> {
        let (ports, mut remaining) = (self.ports, Vec::new());
        match session {
            None => self.skip(Stage::CacheCleanup, "no session"),
            Some(session) => match within(ports.pause, self.limit(Stage::CacheCleanup), remove(ports, session)).await {
                Ok(Ok(true)) => {
                    self.stages.push((Stage::CacheCleanup, Outcome::Pass(format!("{} deleted", session.as_str()))));
                }
                Ok(Ok(false)) => {
                    // Its order may still be under way.
                    remaining.push(session.clone());
                    self.skip(Stage::CacheCleanup, "nothing was cached");
                    let prefix = session.prefix();
                    self.warnings.push(format!("{prefix} may be cached yet; the next run takes it out"));
                }
                Ok(Err(failure)) => {
                    remaining.push(session.clone());
                    self.stages.push((Stage::CacheCleanup, Outcome::Fail(failure)));
                }
                Err(broke) => {
                    remaining.push(session.clone());
                    self.stages.push((Stage::CacheCleanup, Outcome::Fail(Failure::new(broke.to_string()))));
                }
            },
        }
        for earlier in earlier {
            let removed = within(ports.pause, self.limit(Stage::CacheCleanup), remove(ports, earlier)).await;
            if !matches!(removed, Ok(Ok(_))) {
                remaining.push(earlier.clone());
                let prefix = earlier.prefix();
                self.warnings.push(format!("{prefix}, which an earlier run left cached, could not be taken out"));
            }
        }
        remaining
    }
}

fn out_of_time(limit: Duration) -> Failure {
    if limit.is_zero() {
        Failure::new(format!("no time was left of the {} s", LIMIT.as_secs()))
    } else {
        Failure::new(format!("no answer within {:.0} s", limit.as_secs_f64()))
    }
}

/// An error with what caused it; adapters keep addresses and questions out of theirs.
fn told(error: &(dyn Error + 'static)) -> Failure {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    Failure::new(text)
}

async fn configuration(ports: Ports<'_>) -> Answer<Secret> {
    let smoke = ports.smoke_secret.document().await.map_err(|error| told(&error))?;
    let gemini = ports.gemini_secret.document().await.map_err(|error| told(&error))?;
    let signing = environment::check(&smoke, &gemini).map_err(Failure::new)?;
    Ok((signing, String::new()))
}

async fn toll_health(ports: Ports<'_>) -> Answer<()> {
    let reply = ports.site.health().await.map_err(|error| told(&error))?;
    let resonant = reply.body["status"] == "resonant" && reply.body["phi"] == json!(0.042);
    if reply.status == 200 && resonant {
        return Ok(((), String::new()));
    }
    Err(Failure::with(format!("GET /health → {}, not resonant", reply.status), reply.body))
}

/// The mailbox can be searched: for a mail that nobody sent.
async fn mailbox_health(ports: Ports<'_>) -> Answer<()> {
    let nobodys = Draft { id: String::new(), internet_message_id: "<smoke-test@oracle.invalid>".to_owned() };
    let answered: Result<bool, MailError> = ports.mailbox.was_sent(&nobodys).await;
    answered.map(|_| ((), String::new())).map_err(|error| told(&error))
}

async fn create(ports: Ports<'_>) -> Answer<Created> {
    let key = format!("smoke-{}", ports.randomness.token());
    let created = ports.till.create(&key).await.map_err(|error| told(&error))?;
    if !created.id.is_test_mode() {
        return Err(Failure::new(format!("{} is not a session of the test mode", created.id.prefix())));
    }
    let detail = format!("session_id={}", created.id.as_str());
    Ok((created, detail))
}

/// The event that Stripe would send had somebody paid, signed with the smoke test's own secret.
fn paid_event(ports: Ports<'_>, created: &Created) -> String {
    let mut object = created.object.clone();
    object["payment_status"] = "paid".into();
    object["status"] = "complete".into();
    json!({
        "id": format!("evt_smoke_{}", ports.randomness.token()),
        "object": "event",
        "type": "checkout.session.completed",
        "livemode": false,
        "created": ports.clock.now().as_seconds(),
        "data": { "object": object },
    })
    .to_string()
}

async fn simulate(ports: Ports<'_>, created: &Created, signing_secret: &Secret) -> Answer<CachedVerdict> {
    let event = paid_event(ports, created);
    let header = signature::sign(signing_secret, event.as_bytes(), ports.clock.now());
    let reply = ports.site.webhook(&event, &header).await.map_err(|error| told(&error))?;
    if reply.status != 200 || reply.body != json!({ "received": true }) {
        return Err(Failure::with(format!("POST /api/webhook → {}", reply.status), reply.body));
    }
    let deadline = ports.clock.now().plus(Stage::WebhookSimulation.limit());
    let cached = loop {
        match ports.store.load_with_verdict(&created.id).await.map_err(|error| told(&error))? {
            (_, CacheEntry::Hit(cached)) => break *cached,
            (_, CacheEntry::Corrupt) => return Err(Failure::new("the cached entry is no verdict")),
            (sale, CacheEntry::Miss | CacheEntry::Removed) => {
                if let Some(failure) = sale.as_ref().and_then(made_no_verdict) {
                    return Err(failure);
                }
            }
        }
        if ports.clock.now() >= deadline {
            return Err(out_of_time(Stage::WebhookSimulation.limit()));
        }
        ports.pause.pause(LOOK_EVERY).await;
    };
    // The colour is one of the four, or it could not have been read.
    if cached.tier != smoke::TIER || cached.verdict.summary.trim().is_empty() || !cached.smoke || cached.regen {
        let found = json!({ "tier": cached.tier, "smoke": cached.smoke, "regen": cached.regen });
        return Err(Failure::with("the cached verdict is not what was ordered", found));
    }
    let detail = format!("verdict={}", cached.verdict.verdict.word());
    Ok((cached, detail))
}

/// Why there will be no verdict, once that is certain.
fn made_no_verdict(sale: &Versioned<Sale>) -> Option<Failure> {
    match &sale.value.fulfilment {
        Fulfilment::Failed { reason, .. } => {
            Some(Failure::with(format!("no verdict: {reason}"), json!({ "error": reason })))
        }
        Fulfilment::InReview { gate, .. } => Some(Failure::new(format!("held by the content filter at gate {gate}"))),
        Fulfilment::Unusable { .. } => Some(Failure::new("the session was found unusable")),
        Fulfilment::Ordered { .. } if sale.value.unavailable_until.is_some() => {
            Some(Failure::new("Gemini is not asked: its circuit is open"))
        }
        Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } | Fulfilment::Ready { .. } => None,
    }
}

async fn cache_write(ports: Ports<'_>, session: &SessionId) -> Answer<()> {
    let (_, entry) = ports.store.load_with_verdict(session).await.map_err(|error| told(&error))?;
    let CacheEntry::Hit(cached) = entry else { return Err(Failure::new("the entry is not there any more")) };
    if cached.tier != smoke::TIER || cached.query != smoke::QUERY || !is_timestamp(&cached.cached_at) {
        let found =
            json!({ "tier": cached.tier, "query_match": cached.query == smoke::QUERY, "cached_at": cached.cached_at });
        return Err(Failure::with("the entry is not the smoke test's", found));
    }
    Ok(((), format!("GET /cache/{} → 200", session.as_str())))
}

/// `2026-04-16T14:23:07.412Z`.
fn is_timestamp(text: &str) -> bool {
    let digits =
        |from: usize, to: usize| text.get(from..to).is_some_and(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let marked = marks.into_iter().all(|(at, mark)| text.as_bytes().get(at) == Some(&mark));
    let numbers = [(0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19)];
    marked && text.ends_with('Z') && numbers.into_iter().all(|(from, to)| digits(from, to))
}

async fn verdict_route(ports: Ports<'_>, session: &SessionId) -> Answer<()> {
    let reply = ports.site.verdict(session).await.map_err(|error| told(&error))?;
    let colour = reply.body["verdict"]["verdict"].as_str().and_then(domain::Colour::parse);
    let tier = reply.body["tier"] == smoke::TIER.key();
    let query_match = reply.body["query"] == smoke::QUERY;
    if reply.status == 200 && tier && query_match && colour.is_some() {
        return Ok(((), "tier=quick query_match=true".to_owned()));
    }
    let found = json!({ "tier": tier, "query_match": query_match, "verdict": colour.is_some() });
    Err(Failure::with(format!("GET /api/verdict → {}, not the smoke test's verdict", reply.status), found))
}

/// The pipeline's own mail was accepted by the mailbox.
async fn mail_sent(ports: Ports<'_>, session: &SessionId) -> Answer<()> {
    let deadline = ports.clock.now().plus(Stage::EmailSend.limit());
    loop {
        let sale = ports.store.load(session).await.map_err(|error| told(&error))?;
        let Some(sale) = sale else { return Err(Failure::new("the sale is not there any more")) };
        let failed = |what: &str, failures: &[String]| Failure::with(what, json!({ "failures": failures }));
        match &sale.value.mail {
            Mail::Sent { .. } => return Ok(((), "status=sent".to_owned())),
            Mail::NotOrdered | Mail::Ordered | Mail::Sending { .. } => {}
            Mail::Retrying { progress, .. } => return Err(failed("the mailbox asks to wait", &progress.failures)),
            Mail::Dead { progress, .. } => return Err(failed("the mail was given up", &progress.failures)),
            Mail::Held => return Err(Failure::new("held by the content filter at gate 2")),
            Mail::NoAddress => return Err(Failure::new("the sale has no address")),
            Mail::Unknown { .. } => return Err(Failure::new("the mail may or may not have gone")),
        }
        if ports.clock.now() >= deadline {
            return Err(out_of_time(Stage::EmailSend.limit()));
        }
        ports.pause.pause(LOOK_EVERY).await;
    }
}

async fn crosscheck(cached: &CachedVerdict) -> Answer<()> {
    let value = serde_json::to_value(&cached.verdict).unwrap_or_default();
    let check = crosscheck::crosscheck_value(&value, cached.tier);
    let detail = format!("C={:.4} approved={}", check.coherence_score, check.approved);
    if check.approved && check.coherence_score >= crosscheck::constants::OMEGA {
        return Ok(((), detail));
    }
    Err(Failure::with(detail, json!({ "flags": check.flags })))
}

/// Takes the entry out, if it is the smoke test's own: nobody else's is ever touched (invariant 2).
async fn remove(ports: Ports<'_>, session: &SessionId) -> Result<bool, Failure> {
    let (_, entry) = ports.store.load_with_verdict(session).await.map_err(|error| told(&error))?;
    match entry {
        CacheEntry::Miss | CacheEntry::Removed => Ok(false),
        CacheEntry::Hit(cached) if !cached.smoke => Err(Failure::new("the entry is a customer's: left alone")),
        CacheEntry::Hit(_) | CacheEntry::Corrupt => ports.entries.remove(session).await.map_err(|error| told(&error)),
    }
}

#[cfg(test)]
mod tests;
