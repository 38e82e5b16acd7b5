//! `oracle secrets`: fills the secrets of a stack. A deployment creates them empty, so that no value is ever a
//! parameter: CloudFormation shows parameters in processed templates and stores them with the stack.

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
};

use clap::{Args, Subcommand, ValueEnum};
use domain::{
    Timestamp,
    ports::{Clock, SecretSource},
};
use ring::rand::{SecureRandom, SystemRandom};
use runtime::System;
use serde_json::{Value, json};

use super::secret_documents::Name;
use crate::{
    command::{CommandError, Ended, OrFailed, Signed, Target, read_file, wait},
    stack::Deployed,
    terminal::output,
};

#[derive(Subcommand)]
pub(crate) enum SecretsCommand {
    /// List the secrets: which fields each has, when it was set, and which are still empty. Never shows a value.
    #[command(after_help = "Example:\n  oracle secrets list --stack-name oracle\n\nExit code 1: one of them is empty.")]
    List(Target),
    /// Fill or replace a secret with the value on standard input, or in a file. A value is never an argument.
    ///
    /// Functions read the new value when Stripe, Gemini or Graph refuses the old one, at the latest when they are next
    /// started. No service refuses an old signing secret (`stripe-webhook`, `stripe-smoke`) or key of `audit`:
    /// functions read these again after ten minutes, and then refuse a signing secret that was left out. Who set which
    /// secret is in the audit log, and nothing of the value. Secrets Manager keeps the value before it (AWSPREVIOUS).
    #[command(
        after_help = "Examples:\n  oracle secrets set stripe --stack-name oracle < key.txt\n  oracle secrets set audit --stack-name oracle < audit-key-v1.txt\n  oracle secrets set graph --from application.json\n  oracle secrets set graph-token < refresh-token.txt\n\nExit code 1: the value was refused, and nothing was changed."
    )]
    Set(SetArguments),
}

#[derive(Args)]
pub(crate) struct SetArguments {
    /// Which secret.
    #[arg(value_enum)]
    name: Name,
    /// The file that holds the value; without this, standard input.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    signed: Signed,
}

pub(crate) fn run(command: &SecretsCommand) -> Result<Ended, CommandError> {
    match command {
        SecretsCommand::List(target) => list(target),
        SecretsCommand::Set(arguments) => set(arguments),
    }
}

/// The document of a secret, as [`parsed`] returns it, and when it was set.
async fn current(deployed: &Deployed, name: Name) -> Result<(Value, Option<Timestamp>), CommandError> {
    let secret = deployed.secret(name.text());
    let document = secret.document().await.or_failed("the secret cannot be read")?;
    Ok((parsed(document.expose()), secret.written_at()))
}

/// The secret's object, which is empty until the secret is filled in. A value that is no object was written by hand,
/// and is `null` here.
fn parsed(document: &str) -> Value {
    if document.trim().is_empty() {
        return json!({});
    }
    serde_json::from_str(document).ok().filter(Value::is_object).unwrap_or_default()
}

fn fields(document: &Value) -> Vec<&str> {
    document.as_object().into_iter().flatten().map(|(field, _)| field.as_str()).collect()
}

/// The fields, as one text.
fn shown(document: &Value) -> String {
    let fields = fields(document);
    if document.is_null() {
        return "not readable: its value is not a JSON object".to_owned();
    }
    if fields.is_empty() { "empty".to_owned() } else { fields.join(", ") }
}

/// When the value was set, and its age: a refresh token expires, and a value that is older than its change at the vendor
/// is a stale one.
fn age(set_at: Option<Timestamp>, now: Timestamp) -> String {
    let Some(at) = set_at else { return String::new() };
    format!("; set {}, {} ago", output::minute(&at.to_iso()), output::age(now.since(at).as_secs()))
}

fn list(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let now = System.now();
    let (documents, set_at) = wait(async {
        let (mut documents, mut set_at) = (Vec::new(), Vec::new());
        for name in Name::value_variants() {
            let (document, at) = current(&deployed, *name).await?;
            documents.push((name.text(), document));
            set_at.push(at);
        }
        Ok((documents, set_at))
    })?;
    if target.json {
        let entry = |((name, document), at): (&(&str, Value), &Option<Timestamp>)| {
            let (fields, unreadable) = (fields(document), document.is_null());
            json!({ "name": name, "fields": fields, "unreadable": unreadable, "set_at": at.map(Timestamp::to_iso) })
        };
        output::print_json(&documents.iter().zip(&set_at).map(entry).collect::<Vec<_>>())?;
    } else {
        for ((name, document), at) in documents.iter().zip(&set_at) {
            output::print(&format!("{name:<15} {}{}\n", shown(document), age(*at, now)))?;
        }
    }
    Ok(if are_complete(&documents) { Ended::Done } else { Ended::Nothing })
}

/// Whether all secrets that the stack needs are filled. The smoke test's key is optional: without it there is no smoke
/// test. The mailbox needs no token if `graph` has the client secret of an application that an administrator has
/// consented to, or still has the token itself; `oracle doctor` tries them.
fn are_complete(documents: &[(&'static str, Value)]) -> bool {
    let graph = documents.iter().find(|(name, _)| *name == Name::Graph.text()).map(|(_, document)| fields(document));
    let needs_token = !graph.is_some_and(|graph| graph.contains(&"client_secret") || graph.contains(&"refresh_token"));
    documents.iter().all(|(name, document)| {
        let is_needed = *name != Name::StripeSmoke.text() && (*name != Name::GraphToken.text() || needs_token);
        !is_needed || !fields(document).is_empty()
    })
}

fn set(arguments: &SetArguments) -> Result<Ended, CommandError> {
    let value = read(arguments)?;
    let name = arguments.name;
    // There is no confirmation, because standard input carries the value. Entering the value is the decision.
    let (deployed, operator) = arguments.signed.open()?;
    let random = random()?;
    let document = wait(async {
        let (current, _) = current(&deployed, name).await?;
        let document = name.document(&current, &value, &random);
        let document = document.map_err(|error| CommandError::Refused(format!("{}: {error}", name.text())))?;
        let failed = |error| CommandError::failed("the secret may not be stored: repeat the command", error);
        // Records the secret's name and its fields, and nothing of the value, not even a digest.
        let facts = json!({ "name": name.text(), "fields": fields(&document) });
        deployed.record(&operator, "secrets set", &facts).await?;
        deployed.secret(name.text()).store(&document).await.map_err(failed)?;
        Ok(document)
    })?;
    let id = format!("{}/{}", deployed.name(), name.text());
    let answer = answer(name, &id, &document);
    output::print_answer(arguments.signed.target.json, &answer, || text(&id, &document, &answer))
}

/// The command's answer: no value, only the version of a stored audit key. A recovery stores these keys in the order of
/// their versions.
fn answer(name: Name, id: &str, document: &Value) -> Value {
    let mut answer = json!({ "name": name.text(), "secret_id": id, "fields": fields(document) });
    if name == Name::Audit {
        answer["version"] = document["current"].clone();
    }
    answer
}

fn text(id: &str, document: &Value, answer: &Value) -> String {
    let version = answer["version"].as_str().map(|version| format!("; this key is {version}")).unwrap_or_default();
    format!("{id} is stored ({}{version})\n", shown(document))
}

fn read(arguments: &SetArguments) -> Result<String, CommandError> {
    let Some(path) = &arguments.from else {
        if io::stdin().is_terminal() {
            let why = "pass the value on standard input or with --from FILE: a typed value would stay on the terminal";
            return Err(CommandError::Usage(why.to_owned()));
        }
        return Ok(io::read_to_string(io::stdin())?);
    };
    read_file(path)
}

fn random() -> Result<String, CommandError> {
    let mut bytes = [0; 16];
    let failed = |_| CommandError::Usage("the operating system supplied no random bytes".to_owned());
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records name the version of their key, so the copy of a key needs it.
    #[test]
    fn the_answer_about_a_key_of_the_log_names_its_version() {
        let document = json!({ "current": "v2", "keys": { "v1": "0a", "v2": "0b" } });
        let audit = answer(Name::Audit, "oracle/audit", &document);
        assert_eq!(audit["version"], "v2");
        let said = text("oracle/audit", &document, &audit);
        assert_eq!(said, "oracle/audit is stored (current, keys; this key is v2)\n");
        let document = json!({ "subscriber_key": "0a" });
        let chat = answer(Name::Chat, "oracle/chat", &document);
        assert_eq!((chat.get("version"), text("oracle/chat", &document, &chat).contains("0a")), (None, false));
    }

    /// The alarm on the age of the refresh token names this list.
    #[test]
    fn the_list_shows_the_age_of_a_value() {
        let (at, now) = (Timestamp::from_seconds(0), Timestamp::from_seconds(60 * 86_400));
        assert_eq!(age(Some(at), now), "; set 1970-01-01 00:00, 60d ago");
        assert_eq!(age(None, now), "");
    }

    /// An operator saves a bare key in the console, which may be all digits, or an object with a comma too many.
    #[test]
    fn a_value_that_is_no_object_is_not_an_empty_secret() {
        for document in ["0a".repeat(32), "1".repeat(64), format!(r#"{{"subscriber_key":"{}",}}"#, "0a".repeat(32))] {
            assert_eq!(parsed(&document), Value::Null);
            assert!(shown(&parsed(&document)).starts_with("not readable"), "{document}");
        }
        assert_eq!((parsed(" "), shown(&parsed("{}"))), (json!({}), "empty".to_owned()));
    }

    #[test]
    fn the_mailbox_needs_a_token_or_an_applications_secret() {
        let complete = |graph: Value, token: Value| are_complete(&[("graph", graph), ("graph-token", token)]);
        let application = json!({ "tenant_id": "t", "client_id": "c" });
        assert!(complete(application.clone(), json!({ "refresh_token": "r" })));
        assert!(!complete(application, json!({})));
        assert!(complete(json!({ "tenant_id": "t", "client_id": "c", "client_secret": "s" }), json!({})));
        assert!(complete(json!({ "tenant_id": "t", "client_id": "c", "refresh_token": "r" }), json!({})));
        assert!(!complete(json!({}), json!({ "refresh_token": "r" })));
        assert!(are_complete(&[("stripe-smoke", json!({}))]) && !are_complete(&[("stripe", json!({}))]));
    }
}
