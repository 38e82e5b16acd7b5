//! `oracle memory export|show|verify --customer`: reads a customer's stored memory. Exporting and showing open the
//! customer's words: an operator signs for it, and the account's audit stream has the record before anything is written.
//! Verifying checks the sealed records and needs no key.

use super::{
    content::{shown, state_hash},
    erase::customer,
};
use crate::{
    command::{CommandError, Ended, OrFailed, Signed, wait},
    terminal::output,
};
use audit::{Change, ChatJournal, ChatStatus, Record};
use aws::SubjectSeal;
use clap::Args;
use domain::{
    Operator,
    chat::{Account, SubscriberId},
    ports::{MemoryLogs, SubjectKeys, Versioned},
};
use memory::{
    Handle, export, log,
    store::{self, StoreError},
};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Whose stored memory is read, and by whom.
#[derive(Args)]
pub(crate) struct CustomerArguments {
    /// Read the stored memory of this customer instead of standard input: their email address in any spelling, or the
    /// subscriber's whole id.
    #[arg(long)]
    pub(crate) customer: Option<String>,
    #[command(flatten)]
    signed: Signed,
}

/// What is written about a customer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Export,
    Show,
    Verify,
}

/// The stores of the customers' memories.
#[derive(Clone, Copy)]
struct MemoryPorts<'a> {
    journal: ChatJournal<'a>,
    logs: &'a dyn MemoryLogs,
    keys: &'a dyn SubjectKeys,
}

/// Writes a customer's stored memory, or the result of its verification.
pub(crate) fn run(
    arguments: &CustomerArguments,
    name: &str,
    view: View,
    output: &mut impl Write,
) -> Result<Ended, CommandError> {
    let deployed = arguments.signed.target.open()?;
    let id = customer(&deployed, name)?;
    let keys = deployed.memory_keys()?;
    let logs = deployed.stores.memory_logs();
    let ports = MemoryPorts { journal: deployed.stores.chat_journal(), logs: &logs, keys: &keys };
    if view == View::Verify {
        writeln!(output, "{}", wait(verify(ports, &id))?)?;
        return Ok(Ended::Done);
    }
    let operator = arguments.signed.operator_with_reason(&deployed, "reading a customer's memory")?;
    let read = wait(read(ports, &id, &operator, view))?;
    print(read, output, io::stderr())
}

#[derive(Debug)]
struct Read {
    written: Vec<u8>,
    /// The number of replies that the account keeps and the memory does not hold yet.
    missing: usize,
}

/// Writes the memory, and to `errors` that it is incomplete. A closed pipe does not change the exit code.
fn print(read: Read, output: impl Write, mut errors: impl Write) -> Result<Ended, CommandError> {
    let Read { mut written, missing } = read;
    written.push(b'\n');
    output::print_to(output, &written)?;
    let Some(missing) = incomplete(missing) else { return Ok(Ended::Done) };
    // The exit code says it too.
    let _ = writeln!(errors, "{missing}");
    Ok(Ended::Nothing)
}

/// The warning about a memory without its latest replies: a copy for the customer would lack them.
fn incomplete(missing: usize) -> Option<String> {
    let what = "is incomplete: the account keeps replies that the memory does not hold yet";
    let next = "the customer's next call of the chat adds them, then repeat the command";
    (missing > 0).then(|| format!("this {what} ({missing}); {next}"))
}

/// The account, and the name of its memory.
async fn account(ports: MemoryPorts<'_>, id: &SubscriberId) -> Result<(Versioned<Account>, Handle), CommandError> {
    let account = ports.journal.load(id).await.or_failed("the account cannot be read")?;
    if account.version == 0 {
        return Err(CommandError::Refused(format!("{} has no memory", id.prefix())));
    }
    let name = Handle::parse(account.value.memory()).or_failed("the account's memory has no usable name")?;
    Ok((account, name))
}

/// Opens the memory, records who reads it and why, and returns what is written.
async fn read(
    ports: MemoryPorts<'_>,
    id: &SubscriberId,
    operator: &Operator,
    view: View,
) -> Result<Read, CommandError> {
    let (account, name) = account(ports, id).await?;
    let key = ports.keys.find(name.as_str()).await.or_failed("the memory's key cannot be read")?;
    let Some(key) = key.filter(|_| !account.value.is_erasing()) else {
        return Err(CommandError::Refused(format!("{} has no memory, or it is being erased", id.prefix())));
    };
    let seal = SubjectSeal::new(&key, name.as_str());
    let seal = seal.ok_or_else(|| CommandError::Refused("the memory's key is unusable".to_owned()))?;
    let log = store::load(ports.logs, name.as_str(), &name, &seal).await.or_failed("the memory cannot be read")?;
    let written = match view {
        View::Export => export::export(&log, &seal).or_failed("the export failed")?,
        View::Show | View::Verify => shown(&log)?.to_string().into_bytes(),
    };
    let facts = json!({ "view": if view == View::Export { "export" } else { "show" }, "by": operator.name(),
        "identity": operator.identity(), "reason": operator.reason(), "state_hash": state_hash(&log)? });
    let missing = account.value.unlogged().count();
    let record =
        |_: &mut Account, now| Change::recorded(vec![Record::chat(now, now, ChatStatus::Read, facts.clone())], ());
    let recorded = ports.journal.commit(account, record).await;
    recorded.or_failed("nothing is shown: it could not be recorded")?.settle().await;
    Ok(Read { written, missing })
}

/// Checks the chain of the sealed records, and that it ends at the head that the store keeps separately.
async fn verify(ports: MemoryPorts<'_>, id: &SubscriberId) -> Result<Value, CommandError> {
    let (_, name) = account(ports, id).await?;
    let unusable = |error| match error {
        StoreError::Storage(error) => CommandError::failed("the memory cannot be read", error),
        error => CommandError::Refused(format!("the memory was changed: {error}")),
    };
    let records = store::complete(ports.logs, name.as_str()).await.map_err(unusable)?;
    log::verify(&name, &records).map_err(|error| unusable(error.into()))?;
    let head = records.last().map(|record| record.hash);
    Ok(json!({ "memory": name, "records": records.len(), "head": head, "erased": log::erasure_of(&records).is_some() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        Timestamp,
        chat::{Ask, Claimed, ExchangeId},
    };
    use memory::Event;
    use memory::EventLog;
    use std::time::Duration;
    use testkit::{Fault, Plan, World, memory::MemoryStores, run as live};

    const WORDS: &str = "Should we open a second bakery?";

    fn somebody() -> SubscriberId {
        SubscriberId::parse("e".repeat(64)).unwrap()
    }

    fn ports(world: &World) -> MemoryPorts<'_> {
        let journal = ChatJournal { store: world, log: world, alerts: world, clock: world };
        MemoryPorts { journal, logs: world, keys: world }
    }

    fn operator() -> Operator {
        Operator::parse("dana", Some("asked for by letter")).unwrap()
    }

    /// A world in which a customer's memory has one exchange.
    fn world() -> World {
        let world = World::at(Timestamp::from_seconds(1_800_000_000));
        let account = Account::new(somebody());
        live(ports(&world).journal.store.save(&account, 0)).unwrap().unwrap();
        let name = Handle::parse(account.memory()).unwrap();
        let key = live(ports(&world).keys.find_or_create(name.as_str())).unwrap().unwrap();
        let seal = SubjectSeal::new(&key, name.as_str()).unwrap();
        let mut log = EventLog::new(name.clone());
        for line in [
            format!(
                r#"{{"at":0,"campaign_id":"{name}","event":"EV-030","key":"mode","payload":{{"mode":"COMPANION"}}}}"#
            ),
            format!(
                r#"{{"at":1,"campaign_id":"{name}","event":"EV-ORC-004","payload":{{"kind":"EXCHANGE","payload":{{"asked":"{WORDS}"}},"precision_tag":"UNLOCKED","provenance":{{"source":"chat"}},"stable_key":"one","visibility_mask":["COMPANION"]}}}}"#
            ),
        ] {
            let event = Event::parse(line.as_bytes()).unwrap();
            live(store::append(&world, name.as_str(), &mut log, event, &seal)).unwrap().unwrap();
        }
        world
    }

    fn reading(world: &World, view: View) -> Result<String, CommandError> {
        let read = live(read(ports(world), &somebody(), &operator(), view)).unwrap();
        read.map(|read| String::from_utf8(read.written).unwrap())
    }

    /// The reply was made, and appending it to the memory failed.
    #[test]
    fn a_reply_that_the_memory_lacks_is_reported() {
        let world = world();
        let missing = || live(read(ports(&world), &somebody(), &operator(), View::Export)).unwrap().unwrap().missing;
        assert_eq!((missing(), incomplete(0)), (0, None));
        let id = ExchangeId::parse("00000000-0000-4000-8000-000000000001").unwrap();
        let (fingerprint, owner) = ("f".to_owned(), "o".to_owned());
        let ask = Ask { id: id.clone(), fingerprint, owner, is_free: true, evaluation: "e".into() };
        let change = |change: &dyn Fn(&mut Account)| {
            let stored = live(ports(&world).journal.load(&somebody())).unwrap().unwrap();
            let Versioned { mut value, version } = stored;
            change(&mut value);
            live(ports(&world).journal.store.save(&value, version)).unwrap().unwrap();
        };
        change(&|account| {
            let now = Timestamp::from_seconds(1_800_000_000);
            assert_eq!(account.claim(&ask, now, Duration::from_secs(40)), Claimed::Granted);
            account.answer(&id, "o", "sealed".to_owned(), now).unwrap();
        });
        assert_eq!(missing(), 1);
        assert!(incomplete(1).unwrap().contains("next call"));
        change(&|account| account.logged(&id).unwrap());
        assert_eq!(missing(), 0);
    }

    #[test]
    fn a_closed_pipe_does_not_make_an_incomplete_memory_complete() {
        let (reader, closed) = io::pipe().unwrap();
        drop(reader);
        for (missing, expected) in [(0, Ended::Done), (1, Ended::Nothing)] {
            let read = Read { written: vec![b'x'; 10], missing };
            assert_eq!(print(read, &closed, &closed).unwrap(), expected);
        }
        let (mut written, mut warning) = (Vec::new(), Vec::new());
        print(Read { written: b"{}".to_vec(), missing: 1 }, &mut written, &mut warning).unwrap();
        assert_eq!(written, b"{}\n");
        assert!(warning.starts_with(b"this is incomplete"));
    }

    #[test]
    fn what_an_operator_reads_is_recorded_first_and_its_words_are_not() {
        let world = world();
        for view in [View::Export, View::Show] {
            assert!(reading(&world, view).unwrap().contains(WORDS));
        }
        assert!(export::import(reading(&world, View::Export).unwrap().as_bytes()).is_ok());
        let state = world.state();
        let lines: Vec<&String> = state.log.values().filter(|line| line.contains(r#""status":"READ""#)).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.contains("asked for by letter") && !line.contains("bakery")), "{lines:?}");
        drop(state);
        world.plan(Plan::none().whenever("accounts.save", Fault::Fail));
        assert!(matches!(reading(&world, View::Show), Err(CommandError::Failed { .. })), "nothing without a record");
    }

    #[test]
    fn nothing_is_read_of_a_stranger_or_while_an_erasure_runs() {
        let world = world();
        let stranger = SubscriberId::parse("d".repeat(64)).unwrap();
        let read = live(read(ports(&world), &stranger, &operator(), View::Show)).unwrap();
        assert!(matches!(read, Err(CommandError::Refused(_))));
        let account = live(ports(&world).journal.load(&somebody())).unwrap().unwrap();
        live(forgetting::begin(ports(&world).journal, account, Some(&operator()))).unwrap().unwrap();
        assert!(matches!(reading(&world, View::Export), Err(CommandError::Refused(_))));
        assert!(world.state().log.values().all(|line| !line.contains(r#""status":"READ""#)));
    }

    /// Verifying needs neither the key nor a record, and finds a changed and a missing record.
    #[test]
    fn a_stored_memory_is_verified_without_its_key() {
        let world = world();
        world.plan(Plan::none().whenever("memory.find_key", Fault::Fail));
        let verified = || live(verify(ports(&world), &somebody())).unwrap();
        let sound = verified().unwrap();
        assert_eq!((&sound["records"], &sound["erased"]), (&json!(2), &json!(false)));
        assert!(world.state().log.is_empty());
        let kept = world.state().memory_logs.values().next().unwrap().clone();
        let change = |change: &dyn Fn(&mut Vec<domain::ports::MemoryRecord>)| {
            let mut state = world.state();
            let records = state.memory_logs.values_mut().next().unwrap();
            records.clone_from(&kept);
            change(records);
        };
        change(&|records| records[0].body[3] ^= 1);
        assert!(matches!(verified(), Err(CommandError::Refused(_))), "a changed record");
        change(&|records| drop(records.remove(0)));
        assert!(matches!(verified(), Err(CommandError::Refused(_))), "a missing record");
        change(&|_| {});
        assert_eq!(verified().unwrap(), sound);

        // A store that lost the head, and perhaps records with it.
        let stores = MemoryStores::default();
        let name = Account::new(somebody()).memory();
        live(stores.append(&name, &kept)).unwrap().unwrap();
        let verified = || live(verify(MemoryPorts { logs: &stores, ..ports(&world) }, &somebody())).unwrap();
        assert_eq!(verified().unwrap(), sound);
        stores.lose_head(&name);
        assert!(matches!(verified(), Err(CommandError::Refused(_))), "a missing head");
    }
}
