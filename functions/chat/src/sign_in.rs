//! Signing in by a mailed link, and sessions. Secrets are stored as digests.

use crate::{Ports, Settings, limits, ports, reply};
use audit::hash::sha256;
use domain::{
    EmailAddress, ErrorCode, Metric, Secret, StepError,
    chat::{ChatSession, LINK_HOLDS, Login, SESSION_HOLDS, SubscriberId, sign_in_mails},
    ports::{MailError, OutgoingMail, SaveError, StorageError},
    texts,
};
use runtime::{
    http::{Reply, Request},
    telemetry,
};
use serde_json::{Value, json};

/// The cookie of a browser that requested a link, and the cookie of a browser that is signed in.
const LINK_COOKIE: &str = "chat_login";
const SESSION_COOKIE: &str = "chat_session";

fn has_tls(settings: &Settings) -> bool {
    settings.site.starts_with("https://")
}

/// The full name of a cookie. Browsers take a cookie whose name begins with `__Host-` only from this host, and only for
/// all its paths. Under the plain name, another host of the same domain could plant a cookie that is sent first, and so
/// sign the site's visitors in to an account of its owner. Such a name needs TLS, which a developer's site does not
/// have.
fn full_name(settings: &Settings, cookie: &str) -> String {
    if has_tls(settings) { format!("__Host-{cookie}") } else { cookie.to_owned() }
}

/// The secret in a cookie of the request.
fn held<'r>(settings: &Settings, request: &'r Request, cookie: &str) -> Option<&'r str> {
    request.cookie(&full_name(settings, cookie)).filter(|held| is_secret(held))
}

/// A random secret: 64 hexadecimal digits.
fn is_secret(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn secret(ports: Ports<'_>) -> Result<Secret, StepError> {
    let missing = || ErrorCode::NoRandomBytes.because("the operating system supplied no random bytes");
    ports.randomness.secret().ok_or_else(missing)
}

fn field(request: &Request, name: &str) -> Result<String, Reply> {
    let fields = reply::fields(request)?;
    match fields.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(Reply::error(400, "field_invalid", &format!("{name} must be a string"))),
    }
}

/// Mails a link. The reply is always the same, so that it shows neither whether the address has an account nor how
/// often a link was requested for it.
pub(crate) async fn login(ports: Ports<'_>, settings: &Settings, request: &Request) -> Result<Reply, StepError> {
    let address = match field(request, "email") {
        Ok(address) => address,
        Err(reply) => return Ok(reply),
    };
    // A second request of the same browser keeps its secret, so that both links work.
    let browser = match held(settings, request, LINK_COOKIE) {
        Some(held) => Secret::new(held),
        None => secret(ports)?,
    };
    if let Ok(address) = EmailAddress::parse(&address)
        && let Err(error) = mail(ports, settings, address, &browser, request.network().as_deref()).await
    {
        ports.meter.record(&[Metric::ChatLinkFailed.once()], ports.journal.clock.now());
        let (code, error) = (error.code().as_str(), telemetry::chain(&error));
        tracing::error!(code, error, "no link was mailed");
    }
    // A developer's site has no TLS, and clients other than browsers do not send a Secure cookie back to it.
    let secure = if has_tls(settings) { "; Secure" } else { "" };
    let (name, held, seconds) = (full_name(settings, LINK_COOKIE), browser.expose(), LINK_HOLDS.as_secs());
    let cookie = format!("{name}={held}; Path=/; Max-Age={seconds}; HttpOnly{secure}; SameSite=Strict");
    Ok(Reply::json(202, &json!({ "status": "sent" })).header("set-cookie", cookie))
}

async fn mail(
    ports: Ports<'_>,
    settings: &Settings,
    to: EmailAddress,
    browser: &Secret,
    network: Option<&str>,
) -> Result<(), StepError> {
    let key = ports::key(ports).await?;
    let subscriber = SubscriberId::of(&key, &to);
    if !limits::link(ports, settings, &key, &subscriber, network).await? {
        tracing::warn!(subscriber = subscriber.prefix(), "too many links were asked for: none is mailed");
        return Ok(());
    }
    let token = secret(ports)?;
    let now = ports.journal.clock.now();
    let login = Login::new(subscriber, sha256(browser.expose().as_bytes()), now);
    let kept = ports.sign_ins.save_login(&sha256(token.expose().as_bytes()), &login, 0).await;
    kept.map_err(|error| ErrorCode::Storage.because_of("the link could not be kept", error))?;
    let link = format!("{}/chat?token={}", settings.site, token.expose());
    let mail = OutgoingMail {
        to,
        subject: texts::CHAT_LINK_SUBJECT.to_owned(),
        body: texts::CHAT_LINK_BODY.replace("{link}", &link),
        session_id: sign_in_mails(now),
    };
    let not_taken = |error: MailError| ErrorCode::Mailbox.because_of("the mailbox did not take it", error);
    let draft = ports.mailbox.create_draft(&mail).await.map_err(not_taken)?;
    let sent = ports.mailbox.send_draft(&draft).await;
    // A draft of SES's mails would stay in the table for hours, with the address and the link.
    if sent.as_ref().is_err_and(is_unsent)
        && let Err(error) = ports.mailbox.discard_draft(&draft).await
    {
        tracing::warn!(error = telemetry::chain(&error), "a draft with a link could not be removed");
    }
    sent.map_err(not_taken)
}

/// Whether the mail is certainly still a draft.
const fn is_unsent(error: &MailError) -> bool {
    !matches!(error, MailError::OutcomeUnknown(_) | MailError::NoSuchDraft)
}

/// Signs in the browser that asked for the link, once.
pub(crate) async fn session(ports: Ports<'_>, settings: &Settings, request: &Request) -> Result<Reply, StepError> {
    let token = match field(request, "token") {
        Ok(token) => token,
        Err(reply) => return Ok(reply),
    };
    let (Some(browser), true) = (held(settings, request, LINK_COOKIE), is_secret(&token)) else {
        return Ok(reply::link_unusable());
    };
    let digest = sha256(token.as_bytes());
    let Some(mut found) = ports.sign_ins.login(&digest).await? else { return Ok(reply::link_unusable()) };
    let now = ports.journal.clock.now();
    let subscriber = match found.value.redeem(&sha256(browser.as_bytes()), now) {
        Ok(subscriber) => subscriber,
        Err(why) => {
            tracing::warn!(%why, "the sign-in link was refused");
            return Ok(reply::link_unusable());
        }
    };
    match ports.sign_ins.save_login(&digest, &found.value, found.version).await {
        Ok(()) => {}
        Err(SaveError::Conflict) => return Ok(reply::link_unusable()),
        Err(SaveError::Storage(error)) => return Err(error.into()),
    }
    let secret = secret(ports)?;
    let begun = ChatSession::new(subscriber, now);
    ports.sign_ins.begin_session(&sha256(secret.expose().as_bytes()), &begun).await?;
    let cookie = session_cookie(settings, secret.expose(), SESSION_HOLDS.as_secs());
    Ok(Reply::json(200, &json!({ "status": "signed_in" })).header("set-cookie", cookie))
}

fn session_cookie(settings: &Settings, value: &str, seconds: u64) -> String {
    let name = full_name(settings, SESSION_COOKIE);
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; Secure; SameSite=Strict")
}

fn session_digest(settings: &Settings, request: &Request) -> Option<String> {
    held(settings, request, SESSION_COOKIE).map(|held| sha256(held.as_bytes()))
}

/// Whether a request to sign out asks for the end of all sessions of the customer. One without a body asks for its own.
fn asks_for_everywhere(request: &Request) -> Result<bool, Reply> {
    if request.body().is_empty() {
        return Ok(false);
    }
    let fields = reply::fields(request)?;
    match fields.get("everywhere") {
        None => Ok(false),
        Some(Value::Bool(everywhere)) => Ok(*everywhere),
        Some(_) => Err(Reply::error(400, "field_invalid", "everywhere must be true or false")),
    }
}

/// Ends the session, and before it all others of its customer if the request asks for that. Only a valid session says
/// whose these are, so it ends last: after a failure the same request ends the rest.
pub(crate) async fn sign_out(ports: Ports<'_>, settings: &Settings, request: &Request) -> Result<Reply, StepError> {
    let everywhere = match asks_for_everywhere(request) {
        Ok(everywhere) => everywhere,
        Err(reply) => return Ok(reply),
    };
    let own = session_digest(settings, request);
    if everywhere {
        let Some(who) = who(ports, settings, request).await? else { return Ok(reply::signed_out()) };
        let others = ports.sign_ins.end_sessions(&who, own.as_deref()).await?;
        tracing::info!(subscriber = who.prefix(), others, "a customer signed out everywhere");
    }
    if let Some(digest) = own {
        ports.sign_ins.end_session(&digest).await?;
    }
    Ok(Reply::json(200, &json!({ "status": "signed_out" })).header("set-cookie", session_cookie(settings, "", 0)))
}

/// The signed-in customer, if the request carries a valid session.
pub(crate) async fn who(
    ports: Ports<'_>,
    settings: &Settings,
    request: &Request,
) -> Result<Option<SubscriberId>, StorageError> {
    let Some(digest) = session_digest(settings, request) else { return Ok(None) };
    let found = ports.sign_ins.session(&digest).await?;
    Ok(found.and_then(|session| session.subscriber(ports.journal.clock.now()).cloned()))
}
