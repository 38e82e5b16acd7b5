//! One exchange: claims it, answers it, stores and counts the reply in one write, and appends it to the memory.
//! The file has more than 300 lines because every way in which an exchange can end has its own reply, and the POST and
//! the GET build these replies with the same private functions.

use crate::{
    Ports, Settings,
    account_memory::{self, OpenMemory, StoredExchange, malformed},
    answer::{self, Context},
    beginnings::{self, BeginningPublisher},
    bridge, limits, ports, reply, subscription,
};
use audit::{Change, ChatJournal, ChatStatus, Record, escalated, take_evaluation_records, take_interrupted_records};
use authority::{Evaluation, Refusal, evaluate, evaluate_followup};
use domain::{
    StepError, Timestamp,
    chat::{Access, Account, Ask, Claimed, Exchange, ExchangeId, ExchangeStage, Message, Plan, SubscriberId, Voice},
    ports::Versioned,
};
use runtime::{
    http::{Reply, Request},
    telemetry,
};
use serde_json::{Value, json};
use std::time::Duration;

/// A parsed request.
struct ExchangeRequest {
    id: ExchangeId,
    message: Message,
    /// A language tag that selects the sources of help of a refusal.
    locale: Option<String>,
    at: Timestamp,
}

/// The ways in which a call ends without a reply from the model.
pub(crate) enum NotAnswered {
    /// The authority gate declines the message because of an earlier message.
    Declined(Box<Evaluation>),
    /// The account no longer lists the exchange; the memory holds its reply.
    Remembered(StoredExchange),
    /// A store or a vendor failed.
    Failed(StepError),
}

impl From<StepError> for NotAnswered {
    fn from(error: StepError) -> Self {
        Self::Failed(error)
    }
}

fn parse(request: &Request, at: Timestamp) -> Result<ExchangeRequest, Reply> {
    let fields = reply::fields(request)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let id = ExchangeId::parse(text("id")).map_err(|error| Reply::error(400, "id_invalid", &error.to_string()))?;
    let message =
        Message::parse(text("text")).map_err(|error| Reply::error(400, "text_invalid", &error.to_string()))?;
    let locale = fields.get("locale").and_then(Value::as_str).map(str::to_owned);
    Ok(ExchangeRequest { id, message, locale, at })
}

const fn voices(plan: Plan) -> &'static [Voice] {
    match plan {
        Plan::Free | Plan::Chat => &[Voice::Aether],
        Plan::Pro | Plan::Bridge => &[Voice::FirstView, Voice::SecondView],
    }
}

/// How many free exchanges are left; `None` for subscribers.
fn free_left(access: Access, account: &Account) -> Option<u32> {
    (access.plan == Plan::Free).then(|| account.free_left())
}

/// POST: answers a message.
pub(crate) async fn ask(
    ports: Ports<'_>,
    settings: &Settings,
    who: &SubscriberId,
    request: &Request,
) -> Result<Reply, StepError> {
    let asked = match parse(request, ports.journal.clock.now()) {
        Ok(asked) => asked,
        Err(reply) => return Ok(reply),
    };
    // Checked before anything is read or claimed: a declined message is not counted, and the sources of help come although a
    // store fails.
    let evaluation = evaluate(asked.message.as_str(), asked.locale.as_deref());
    if let Some(refusal) = Refusal::of(&evaluation) {
        let recorded =
            async { declined(ports, account_memory::ready(ports, who).await?, &asked, &evaluation, None).await };
        report_unrecorded(ports, who.prefix(), &evaluation, recorded.await).await;
        return Ok(Reply::json(422, &json!(refusal)));
    }
    let (account, access, ask, claimed) = claim_exchange(ports, settings, who, request, &asked, &evaluation).await?;
    let left = free_left(access, &account.value);
    let claimed = match claimed {
        ClaimReply::Of(claimed) => claimed,
        ClaimReply::NetworkFull(wait) => {
            return Ok(remembered(ports, access, &account.value, &asked)
                .await?
                .unwrap_or_else(|| reply::network_full(wait)));
        }
    };
    match claimed {
        Claimed::Granted => Box::pin(granted(ports, settings, access, account, &ask, &asked)).await,
        Claimed::Busy => Ok(reply::pending(None)),
        Claimed::Answered(sealed) => answered(ports, access, account, &asked.id, &sealed).await,
        Claimed::Apologised => Ok(reply::apology(&asked.id, left)),
        Claimed::Erased => Ok(reply::erased()),
        Claimed::Erasing => Ok(reply::unavailable()),
        Claimed::OtherMessage => Ok(reply::other_message()),
        Claimed::UsedUp => match remembered(ports, access, &account.value, &asked).await? {
            Some(reply) => Ok(reply),
            None => Ok(reply::subscribe(&subscription::offer(ports, settings, who).await)),
        },
        Claimed::TooMany(wait) => {
            Ok(remembered(ports, access, &account.value, &asked).await?.unwrap_or_else(|| reply::too_many(wait)))
        }
    }
}

/// The account's reply to a claim, or why it was not asked.
enum ClaimReply {
    Of(Claimed),
    /// The free exchanges of the customer's network are used up for this time.
    NetworkFull(Duration),
}

/// Claims the exchange under its customer's access. A free one counts for its network first, once.
async fn claim_exchange(
    ports: Ports<'_>,
    settings: &Settings,
    who: &SubscriberId,
    request: &Request,
    asked: &ExchangeRequest,
    evaluation: &Evaluation,
) -> Result<(Versioned<Account>, Access, Ask, ClaimReply), StepError> {
    let key = ports::key(ports).await?;
    let mut ask = Ask {
        id: asked.id.clone(),
        fingerprint: key.digest("oracle.chat.message.v1", &format!("{}\n{}", who.as_str(), asked.message.as_str())),
        owner: ports.randomness.token(),
        is_free: false,
        evaluation: json!(evaluation.envelope()),
    };
    let (mut is_counted, mut is_again) = (false, false);
    loop {
        let now = ports.journal.clock.now();
        let (account, access) = futures_util::join!(ports.journal.load(who), bridge::access(ports, who, now));
        let (mut account, mut access) = (account?, access?);
        let had_erasure = is_again || account.value.is_erasing();
        if account.value.is_erasing() {
            account = account_memory::finish(ports, account).await?;
        }
        if had_erasure {
            // The erasure ended the Bridge's access, which may have been read before.
            access = bridge::access(ports, who, now).await?;
        }
        ask.is_free = access.plan == Plan::Free;
        if !is_counted && account.value.would_reserve(&ask, asked.at) {
            if let Some(wait) = limits::free(ports, settings, &key, request.network().as_deref()).await? {
                return Ok((account, access, ask, ClaimReply::NetworkFull(wait)));
            }
            is_counted = true;
        }
        let (account, claimed) = ports.journal.commit(account, claim(&ask, settings.lease)).await?.settle().await;
        // An erasure began since the account was read: the exchange belongs to the next memory, and to its access.
        if claimed != Claimed::Erasing || is_again {
            return Ok((account, access, ask, ClaimReply::Of(claimed)));
        }
        is_again = true;
    }
}

/// Claims an exchange of an account. The claim has the evaluation of its message, so that a record of it follows although
/// the process ends (Authority Governance, RFC-0008).
fn claim(ask: &Ask, lease: Duration) -> impl Fn(&mut Account, Timestamp) -> Change<Claimed> {
    move |account, now| {
        // First, because the claim may take the place of one whose process has ended.
        let records = take_interrupted_records(account, now);
        match account.claim(ask, now, lease) {
            Claimed::Granted => Change::recorded(records, Claimed::Granted),
            other => Change::recorded_if_any(records, other),
        }
    }
}

/// POST, from a browser whose session cannot be read: refuses a message that the authority gate declines, because the
/// sources of help do not wait for a store. No account can have its record.
pub(crate) async fn refuse_unknown(ports: Ports<'_>, request: &Request, error: StepError) -> Result<Reply, StepError> {
    let Ok(asked) = parse(request, ports.journal.clock.now()) else { return Err(error) };
    let evaluation = evaluate(asked.message.as_str(), asked.locale.as_deref());
    match Refusal::of(&evaluation) {
        Some(refusal) => {
            report_unrecorded(ports, "chat", &evaluation, Err(error)).await;
            Ok(Reply::json(422, &json!(refusal)))
        }
        None => Err(error),
    }
}

/// Records that the authority gate declined a message, and releases its claim with the same write: if that fails, the claim
/// stays and its evaluation is recorded later. A customer can send many such messages at once.
async fn declined(
    ports: Ports<'_>,
    account: Versioned<Account>,
    asked: &ExchangeRequest,
    evaluation: &Evaluation,
    claim: Option<&Ask>,
) -> Result<(), StepError> {
    let facts = json!({ "exchange": asked.id, "authority": evaluation.envelope() });
    let is_escalated = escalated(&facts).is_some();
    let decline = |account: &mut Account, now| {
        // Refused if another invocation has taken the claim over, or the memory is being erased.
        let is_released = claim.is_some_and(|ask| account.release(&ask.id, &ask.owner).is_ok());
        match account.count_declined(is_escalated, now) {
            true => Change::recorded(vec![Record::chat(now, asked.at, ChatStatus::Declined, facts.clone())], ()),
            false if is_released => Change::save(()),
            false => Change::nothing(()),
        }
    };
    Ok(ports.journal.commit_persistently(account, decline).await?)
}

/// Logs and counts a record of a declined message that could not be written, and alerts operators to an escalated one,
/// because no list may have it. `who` is the customer as alerts name them. The reply to the customer does not depend on
/// it.
async fn report_unrecorded(ports: Ports<'_>, who: &str, evaluation: &Evaluation, recorded: Result<(), StepError>) {
    if let Err(error) = recorded {
        let (code, error) = (error.code().as_str(), telemetry::chain(&error));
        tracing::error!(code, error, "a declined message is not recorded");
        let ChatJournal { alerts, clock, .. } = ports.journal;
        audit::report_unrecorded(alerts, ports.meter, &evaluation.envelope(), who, clock.now()).await;
    }
}

/// Returns the stored reply again. Reads the memory only while it lacks a reply of the account, because no limit counts
/// this call.
async fn answered(
    ports: Ports<'_>,
    access: Access,
    account: Versioned<Account>,
    id: &ExchangeId,
    sealed: &str,
) -> Result<Reply, StepError> {
    let left = free_left(access, &account.value);
    if account.value.unlogged().next().is_none() {
        let stored = account_memory::kept_exchange(ports, &account.value, sealed).await?;
        return Ok(reply_of(id, &stored, left));
    }
    let mut opened = OpenMemory::of(ports, &account.value).await?;
    let stored = opened.open(sealed)?;
    remember(ports, account, &mut opened).await;
    Ok(reply_of(id, &stored, left))
}

fn reply_of(id: &ExchangeId, stored: &StoredExchange, left: Option<u32>) -> Reply {
    reply::replies(id, &stored.replies, left, stored.notice.as_deref())
}

/// The reply to an exchange that the account no longer lists, if the memory has it. The limits of new exchanges do not
/// apply: it was answered and counted before. Its own, higher limit applies, because each search reads the whole
/// memory. If that limit cannot be counted, the memory is not searched, and the offer or the limit is the reply.
async fn remembered(
    ports: Ports<'_>,
    access: Access,
    account: &Account,
    asked: &ExchangeRequest,
) -> Result<Option<Reply>, StepError> {
    match limits::LOOKUP.take(ports, account.id()).await {
        Ok(None) => {}
        Ok(Some(wait)) => return Ok(Some(reply::too_many(wait))),
        Err(error) => {
            let (code, error) = (error.code().as_str(), telemetry::chain(&error));
            tracing::error!(code, error, "a refused message is not looked for in the memory");
            return Ok(None);
        }
    }
    let stored = OpenMemory::existing(ports, account).await?.and_then(|opened| opened.exchange(&asked.id));
    Ok(stored.map(|stored| of_known(asked, &stored, free_left(access, account))))
}

/// The reply of an exchange in the memory, unless the id was used for another message.
fn of_known(asked: &ExchangeRequest, stored: &StoredExchange, left: Option<u32>) -> Reply {
    if stored.asked == asked.message.as_str() { reply_of(&asked.id, stored, left) } else { reply::other_message() }
}

/// Appends the stored reply to the memory. A failure is only logged: the account's next call appends it.
async fn remember(ports: Ports<'_>, account: Versioned<Account>, opened: &mut OpenMemory) {
    if let Err(error) = account_memory::catch_up(ports, account, opened).await {
        let (code, error) = (error.code().as_str(), telemetry::chain(&error));
        tracing::error!(code, error, "the memory lacks a reply until the next call");
    }
}

/// The result of making a reply, before it is stored.
struct UnstoredReply {
    opened: OpenMemory,
    sealed: Option<String>,
    stored: StoredExchange,
    facts: Value,
}

async fn make(
    ports: Ports<'_>,
    settings: &Settings,
    access: Access,
    account: &mut Versioned<Account>,
    ask: &Ask,
    asked: &ExchangeRequest,
) -> Result<UnstoredReply, NotAnswered> {
    let mut opened = OpenMemory::of(ports, &account.value).await?;
    // Usually nothing waits, and an account may list 200 KB of replies.
    if account.value.unlogged().next().is_some() {
        *account = account_memory::catch_up(ports, account.clone(), &mut opened).await?;
    }
    if let Some(stored) = opened.exchange(&asked.id) {
        return Err(NotAnswered::Remembered(stored));
    }
    // The model gets earlier messages too. Together with them a message may be one that must not be answered.
    let evaluation = evaluate_followup(&opened.latest_asked(), asked.message.as_str(), asked.locale.as_deref());
    if Refusal::of(&evaluation).is_some() {
        return Err(NotAnswered::Declined(Box::new(evaluation)));
    }
    let memory = opened.working_set(&asked.message)?;
    let session = account.value.session().ok_or_else(|| malformed("an account's name"))?;
    let context = Context { session: &session, message: &asked.message, memory: &memory, evaluation: &evaluation };
    let notice = evaluation.notice();
    let publisher = BeginningPublisher {
        ports,
        who: account.value.id(),
        ask,
        notice: notice.as_deref(),
        until: asked.at.plus(settings.lease),
        write_time: settings.write_time,
        seal: account_memory::seal_of_beginnings(opened.key(), &account.value, &ask.id)?,
        state: Default::default(),
    };
    let made = answer::make(ports, settings, voices(access.plan), context, &publisher, asked.at).await;
    let stored = StoredExchange {
        asked: asked.message.as_str().to_owned(),
        replies: made.replies.clone().unwrap_or_default(),
        notice: notice.clone(),
    };
    let sealed = made.replies.is_some().then(|| opened.seal(&stored)).transpose()?;
    Ok(UnstoredReply { opened, sealed, stored, facts: made.facts })
}

/// Makes the reply under this invocation's claim, or ends the claim.
async fn granted(
    ports: Ports<'_>,
    settings: &Settings,
    access: Access,
    mut account: Versioned<Account>,
    ask: &Ask,
    asked: &ExchangeRequest,
) -> Result<Reply, StepError> {
    let release = |account: &mut Account, _| Change::saved(account.release(&ask.id, &ask.owner));
    match make(ports, settings, access, &mut account, ask, asked).await {
        Ok(made) => keep(ports, access, account, ask, asked, made).await,
        Err(NotAnswered::Remembered(stored)) => {
            let (account, ()) = ports.journal.commit(account, release).await?.settle().await;
            Ok(of_known(asked, &stored, free_left(access, &account.value)))
        }
        Err(NotAnswered::Declined(evaluation)) => {
            let who = account.value.id().clone();
            let recorded = declined(ports, account, asked, &evaluation, Some(ask)).await;
            report_unrecorded(ports, who.prefix(), &evaluation, recorded).await;
            Ok(Reply::json(422, &json!(Refusal::of(&evaluation))))
        }
        Err(NotAnswered::Failed(error)) => {
            let fail = |account: &mut Account, now| {
                let is_own = |exchange: &Exchange| exchange.is_held_by(&ask.owner);
                let records = take_evaluation_records(account, now, "a store failed", is_own);
                match account.release(&ask.id, &ask.owner) {
                    Ok(()) => Change::recorded(records, ()),
                    Err(_) => Change::nothing(()),
                }
            };
            ports.journal.commit(account, fail).await?.settle().await;
            Err(error)
        }
    }
}

/// Stores the reply and counts it in one write, or stores the apology, which counts nothing.
async fn keep(
    ports: Ports<'_>,
    access: Access,
    account: Versioned<Account>,
    ask: &Ask,
    asked: &ExchangeRequest,
    made: UnstoredReply,
) -> Result<Reply, StepError> {
    let UnstoredReply { mut opened, sealed, stored, facts } = made;
    let ended = |account: &mut Account, now: Timestamp| {
        let (status, done) = match &sealed {
            Some(sealed) => (ChatStatus::Answered, account.answer(&ask.id, &ask.owner, sealed.clone(), now)),
            None => (ChatStatus::Apologised, account.apologise(&ask.id, &ask.owner)),
        };
        if done.is_err() {
            return Change::nothing(false);
        }
        let mut facts = facts.clone();
        facts["exchange"] = json!(ask.id);
        facts["plan"] = access.plan.key().into();
        facts["free_left"] = json!(free_left(access, account));
        Change::recorded(vec![Record::chat(now, asked.at, status, facts)], true)
    };
    // After a reply the commit that marks it as remembered ends the step. Nothing follows an apology.
    let committed = ports.journal.commit(account, ended).await?;
    let (account, is_kept) = committed.settle_unless(|_, _| sealed.is_some()).await;
    let left = free_left(access, &account.value);
    if !is_kept {
        // Another invocation took over the claim, or the memory was erased meanwhile: return the stored state instead.
        return match account.value.exchange(&ask.id).map(|exchange| exchange.stage.clone()) {
            Some(ExchangeStage::Answered { sealed, .. }) => answered(ports, access, account, &ask.id, &sealed).await,
            Some(ExchangeStage::Apologised) => Ok(reply::apology(&ask.id, left)),
            Some(ExchangeStage::Erased) => Ok(reply::erased()),
            Some(ExchangeStage::Claimed { .. }) | None => Ok(reply::pending(None)),
        };
    }
    remember(ports, account, &mut opened).await;
    Ok(if sealed.is_some() { reply_of(&ask.id, &stored, left) } else { reply::apology(&ask.id, left) })
}

/// GET: the state of an exchange, with the beginnings of its replies while they are made. Ends it with the apology when
/// its claim has expired.
pub(crate) async fn get_exchange(ports: Ports<'_>, who: &SubscriberId, id: &str) -> Result<Reply, StepError> {
    let Ok(id) = ExchangeId::parse(id) else { return Ok(reply::not_found()) };
    let account = account_memory::ready(ports, who).await?;
    let now = ports.journal.clock.now();
    let exchange = account.value.exchange(&id).cloned();
    if let Some(exchange) = exchange.as_ref().filter(|exchange| exchange.is_open(now)) {
        return Ok(reply::pending(beginnings::find(ports, &account.value, exchange).await));
    }
    let access = bridge::access(ports, who, now).await?;
    let left = free_left(access, &account.value);
    match exchange {
        Some(Exchange { stage: ExchangeStage::Claimed { .. }, .. }) => {
            let give_up = |account: &mut Account, now| {
                let mut records = take_interrupted_records(account, now);
                let is_given_up = account.give_up(&id, now);
                if is_given_up {
                    let facts = json!({ "exchange": id, "problem": "its process ended" });
                    records.push(Record::chat(now, now, ChatStatus::Apologised, facts));
                }
                Change::recorded_if_any(records, is_given_up)
            };
            let (account, given_up) = ports.journal.commit(account, give_up).await?.settle().await;
            let left = free_left(access, &account.value);
            Ok(if given_up { reply::apology(&id, left) } else { reply::pending(None) })
        }
        Some(Exchange { stage: ExchangeStage::Answered { sealed, .. }, .. }) => {
            answered(ports, access, account, &id, &sealed).await
        }
        Some(Exchange { stage: ExchangeStage::Apologised, .. }) => Ok(reply::apology(&id, left)),
        Some(Exchange { stage: ExchangeStage::Erased, .. }) => Ok(reply::erased()),
        None => {
            if let Some(wait) = limits::MEMORY.take(ports, who).await? {
                return Ok(reply::too_many(wait));
            }
            let opened = OpenMemory::of(ports, &account.value).await?;
            Ok(opened.exchange(&id).map_or_else(reply::not_found, |stored| reply_of(&id, &stored, left)))
        }
    }
}
