//! The checks: the subject of each, and the condition under which it works.

use crate::probe::Checks;
use audit::AuditKeys;
use aws::Subscriptions;
use doctor::{Finding, TOLL_SUBJECTS};
use domain::{
    Secret, SessionId,
    chat::{InvalidSubscriberKey, SubscriberKey},
    ports::{MailError, Mailbox, PaymentError, Payments, SecretSource, StorageError},
    sale::Draft,
};
use runtime::telemetry;
use serde_json::Value;
use std::{error::Error, future::Future};

/// A promotion code that does not exist.
const UNKNOWN_CODE: &str = "ORACLE-BOOT-PROBE";

/// A session that does not exist.
const UNKNOWN_SESSION: &str = "cs_live_oraclebootprobe000000000000000000000000";

/// The check of the key that opens Stripe sessions.
const CHECKOUT_KEY: &str = "Stripe key for checkout";

/// The check of the key that makes refunds.
const REFUND_KEY: &str = "Stripe key for refunds";

/// The Stripe clients, and the documents with the keys of two of them.
#[derive(Clone, Copy)]
pub(crate) struct StripeKeys<'a> {
    pub(crate) reading: &'a dyn Payments,
    pub(crate) checkout: &'a dyn SecretSource,
    pub(crate) selling: &'a dyn Payments,
    pub(crate) refund: &'a dyn SecretSource,
    pub(crate) refunding: &'a dyn Payments,
}

impl Checks {
    /// Checks the three keys. While Stripe does not answer, nothing is learned about the other keys.
    pub(crate) async fn stripe(&mut self, keys: StripeKeys<'_>) {
        self.look("Stripe", stripe_answers(keys.reading)).await;
        let stripe_works = !self.findings.contains_key("Stripe");
        if !stripe_works {
            self.unknown.extend([CHECKOUT_KEY, REFUND_KEY]);
        }
        let key = stripe_key(keys.checkout, stripe_works, checkout_key_works(keys.selling));
        self.look(CHECKOUT_KEY, key).await;
        let key = stripe_key(keys.refund, stripe_works, refund_key_works(keys.refunding));
        self.look(REFUND_KEY, key).await;
    }

    /// Runs one check. The log gets the whole chain of causes; the alert gets only the first error, because the others
    /// may contain internal details.
    pub(crate) async fn look<E>(&mut self, name: &'static str, outcome: impl Future<Output = Result<(), E>>)
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        if let Err(error) = outcome.await {
            let error = error.into();
            tracing::error!(name, error = %telemetry::chain(error.as_ref()), "the dependency is misconfigured or unreachable");
            self.findings.insert(name, error.to_string());
        }
    }

    /// Checks that a topic exists and has a confirmed subscription.
    pub(crate) async fn subscribers(
        &mut self,
        topic: &'static str,
        found: impl Future<Output = Result<Subscriptions, StorageError>>,
    ) {
        match found.await {
            Ok(found) => self.take(doctor::account::topic(topic, found.confirmed, found.pending)),
            Err(error) => self.look(topic, async { Err(error) }).await,
        }
    }

    /// Adds findings about a wrong set-up. What could not be checked is no finding: then the vendor is down or refuses
    /// our key, and a check of its own, or an alarm of the toll, reports that.
    pub(crate) fn take(&mut self, found: Vec<Finding>) {
        for Finding { subject, problem, remedy, is_unknown } in found {
            if is_unknown {
                tracing::warn!(subject, problem, "the check could not be made");
                self.unknown.insert(subject);
                continue;
            }
            tracing::error!(subject, problem, "a dependency is set up wrongly");
            let text = self.findings.entry(subject).or_default();
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(&format!("{problem} ({remedy})"));
        }
    }

    /// Examines the facilitator and the node, if they are `needed`.
    pub(crate) async fn toll(&mut self, needed: Result<bool, StorageError>, found: impl Future<Output = Vec<Finding>>) {
        match needed {
            Ok(true) => self.take(found.await),
            Ok(false) => self.unused.extend(TOLL_SUBJECTS),
            Err(error) => {
                tracing::error!(error = %telemetry::chain(&error), "whether a purchase in USDC is open is unknown");
                self.unknown.extend(TOLL_SUBJECTS);
            }
        }
    }
}

/// Checks that the document of signing secrets has at least one.
pub(crate) fn check_signing_secret(document: &Secret) -> Result<(), &'static str> {
    let document: Value = serde_json::from_str(document.expose()).unwrap_or_default();
    let mut secrets = document["signing_secrets"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let found = secrets.any(|secret| secret.trim().starts_with("whsec_"));
    if found { Ok(()) } else { Err("no signing secret (whsec_…) is configured") }
}

/// Checks that the document has a Stripe key.
pub(crate) fn check_stripe_key(document: &Secret) -> Result<(), &'static str> {
    let document: Value = serde_json::from_str(document.expose()).unwrap_or_default();
    let key = document["secret_key"].as_str().unwrap_or_default().trim();
    if key.starts_with("sk_") || key.starts_with("rk_") {
        Ok(())
    } else {
        Err("no key (rk_… or sk_…) is configured")
    }
}

/// Whether the document has a refresh token of the mailbox.
pub(crate) fn has_refresh_token(document: &Secret) -> bool {
    let document: Value = serde_json::from_str(document.expose()).unwrap_or_default();
    document["refresh_token"].as_str().is_some_and(|token| !token.trim().is_empty())
}

/// Checks that the document of audit keys has the current key.
pub(crate) fn check_audit_key(document: &Secret) -> Result<(), Box<dyn Error + Send + Sync>> {
    AuditKeys::parse(document)?.current()?;
    Ok(())
}

/// Checks that the document has the key of the chat's subscribers. Without the key, sign-in fails, although the page says that
/// a link was sent.
pub(crate) fn check_chat_key(document: &Secret) -> Result<(), InvalidSubscriberKey> {
    SubscriberKey::parse(document).map(drop)
}

/// Checks that a secret has a Stripe key, and, unless Stripe is down, that the call that tries the key succeeds.
async fn stripe_key<E>(
    secret: &dyn SecretSource,
    stripe_works: bool,
    trial: impl Future<Output = Result<(), E>>,
) -> Result<(), Box<dyn Error + Send + Sync>>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    check_stripe_key(&secret.document().await?)?;
    if stripe_works {
        trial.await.map_err(Into::into)?;
    }
    Ok(())
}

/// Checks that Stripe accepts our key: it answers whether a promotion code exists.
pub(crate) async fn stripe_answers(payments: &dyn Payments) -> Result<(), Box<dyn Error + Send + Sync>> {
    payments.promotion_code(UNKNOWN_CODE).await?;
    Ok(())
}

/// Stripe answers calls with the reading key, but not the call that this key was tried with.
#[derive(Debug, thiserror::Error)]
#[error(
    "Stripe does not accept this key, or the key lacks a permission of the deployment guide: roll it at Stripe, then \
     `oracle secrets set {secret}`"
)]
pub(crate) struct KeyNotAccepted {
    secret: &'static str,
    source: PaymentError,
}

/// Checks that Stripe accepts the key of the checkout: as [`stripe_answers`].
pub(crate) async fn checkout_key_works(payments: &dyn Payments) -> Result<(), KeyNotAccepted> {
    let asked = payments.promotion_code(UNKNOWN_CODE).await;
    asked.map(drop).map_err(|source| KeyNotAccepted { secret: "stripe-checkout", source })
}

/// Checks that Stripe accepts the key for refunds: it answers that a session does not exist. Only a refund would show
/// that the key may make one.
pub(crate) async fn refund_key_works(payments: &dyn Payments) -> Result<(), Box<dyn Error + Send + Sync>> {
    match payments.session(&SessionId::parse(UNKNOWN_SESSION)?).await {
        Ok(_) | Err(PaymentError::NotFound) => Ok(()),
        Err(source) => Err(KeyNotAccepted { secret: "stripe-refund", source }.into()),
    }
}

/// Checks that a token can be obtained and the mailbox can be searched, for a mail that was never sent.
pub(crate) async fn mailbox_answers(mailbox: &dyn Mailbox) -> Result<(), MailError> {
    let nobodys = Draft { id: String::new(), internet_message_id: "<boot-probe@oracle.invalid>".to_owned() };
    mailbox.was_sent(&nobodys).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Findings;
    use domain::{
        Timestamp,
        toll::{Offer, Paid, Purchase, purchase_id},
    };
    use std::collections::BTreeSet;
    use testkit::{Fault, Plan, World, run};

    #[test]
    fn a_secret_that_nobody_filled_in_is_found() {
        for text in
            ["", "{}", r#"{"signing_secrets":[]}"#, r#"{"signing_secrets":[""]}"#, r#"{"signing_secrets":["sk"]}"#]
        {
            assert!(check_signing_secret(&Secret::new(text)).is_err(), "{text}");
            assert!(check_audit_key(&Secret::new(text)).is_err(), "{text}");
            assert!(check_chat_key(&Secret::new(text)).is_err(), "{text}");
            assert!(check_stripe_key(&Secret::new(text)).is_err(), "{text}");
        }
        assert_eq!(check_signing_secret(&Secret::new(r#"{"signing_secrets":["whsec_1"]}"#)), Ok(()));
        assert_eq!(check_stripe_key(&Secret::new(r#"{"secret_key":"rk_live_1"}"#)), Ok(()));
        let key = "0".repeat(64);
        assert_eq!(check_chat_key(&Secret::new(format!(r#"{{"subscriber_key":"{key}"}}"#))), Ok(()));
        assert!(check_audit_key(&Secret::new(format!(r#"{{"current":"v1","keys":{{"v1":"{key}"}}}}"#))).is_ok());
    }

    /// An emptied secret raises no alarm about its age.
    #[test]
    fn an_emptied_secret_has_no_refresh_token() {
        assert!(has_refresh_token(&Secret::new(r#"{"refresh_token":"r"}"#)));
        for text in ["", "{}", r#"{"refresh_token":""}"#, r#""r""#] {
            assert!(!has_refresh_token(&Secret::new(text)), "{text}");
        }
    }

    #[test]
    fn vendors_that_answer_work_and_nothing_is_changed_by_asking() {
        let world = World::default();
        assert!(run(stripe_answers(&world)).unwrap().is_ok());
        assert!(run(mailbox_answers(&world)).unwrap().is_ok());
        assert_eq!(world.state().boundaries, ["payments.promotion_code", "mailbox.was_sent"]);
        world.plan(Plan::at(0, Fault::Fail).and_at(1, Fault::Fail));
        assert!(run(stripe_answers(&world)).unwrap().is_err());
        assert!(run(mailbox_answers(&world)).unwrap().is_err());
    }

    #[test]
    fn a_key_that_stripe_refuses_is_found_and_a_session_that_does_not_exist_is_an_answer() {
        let world = World::default();
        assert!(run(checkout_key_works(&world)).unwrap().is_ok());
        assert!(run(refund_key_works(&world)).unwrap().is_ok());
        assert_eq!(world.state().boundaries, ["payments.promotion_code", "payments.session"]);
        for refused in [Fault::Refuse(401), Fault::Refuse(403)] {
            world.plan(Plan::none().whenever("payments.promotion_code", refused));
            let error = run(checkout_key_works(&world)).unwrap().unwrap_err().to_string();
            assert!(error.contains("`oracle secrets set stripe-checkout`"), "{error}");
            assert!(run(refund_key_works(&world)).unwrap().is_ok());
            world.plan(Plan::none().whenever("payments.session", refused));
            let error = run(refund_key_works(&world)).unwrap().unwrap_err().to_string();
            assert!(error.contains("`oracle secrets set stripe-refund`"), "{error}");
            assert!(run(checkout_key_works(&world)).unwrap().is_ok());
        }
    }

    #[test]
    fn while_stripe_does_not_answer_nothing_is_learned_about_the_other_keys() {
        let world = World::default();
        let key = world.secret(r#"{"secret_key":"rk_live_1"}"#);
        let empty = world.secret("{}");
        let checked = |checkout: &dyn SecretSource| {
            let mut checks = Checks::default();
            let keys = StripeKeys { reading: &world, checkout, selling: &world, refund: &key, refunding: &world };
            run(checks.stripe(keys)).unwrap();
            (checks.findings.into_keys().collect::<Vec<_>>(), checks.unknown)
        };
        assert_eq!(checked(&key), (vec![], BTreeSet::new()));
        assert_eq!(checked(&empty), (vec![CHECKOUT_KEY], BTreeSet::new()));
        world.plan(Plan::none().whenever("payments.session", Fault::Refuse(401)));
        assert_eq!(checked(&key), (vec![REFUND_KEY], BTreeSet::new()));
        let down = Plan::none().whenever("payments.promotion_code", Fault::Fail);
        world.plan(down.whenever("payments.session", Fault::Fail));
        let unknown = BTreeSet::from([CHECKOUT_KEY, REFUND_KEY]);
        assert_eq!(checked(&key), (vec!["Stripe"], unknown.clone()));
        assert_eq!(checked(&empty), (vec!["Stripe", CHECKOUT_KEY], unknown), "an emptied secret is found all the same");
    }

    #[test]
    fn findings_alert_with_their_remedy_and_unknown_ones_do_not() {
        let mut checks = Checks::default();
        let mut found = doctor::account::topic("ops topic", 0, 0);
        found.extend(doctor::account::concurrency(1, 1, 2));
        found.push(Finding::unknown("Gemini models", &std::io::Error::other("down"), "wait"));
        checks.take(found);
        assert_eq!(checks.findings.keys().copied().collect::<Vec<_>>(), ["Lambda concurrency", "ops topic"]);
        assert_eq!(checks.unknown, BTreeSet::from(["Gemini models"]));
        assert!(
            checks.findings["ops topic"].contains("nobody has subscribed")
                && checks.findings["ops topic"].contains("(deploy with")
        );
    }

    #[test]
    fn a_topic_without_subscribers_alerts_with_a_remedy() {
        let found = |confirmed, pending| {
            let mut checks = Checks::default();
            let subscriptions = async { Ok(Subscriptions { confirmed, pending }) };
            run(checks.subscribers("ops topic", subscriptions)).unwrap();
            checks.findings.remove("ops topic")
        };
        assert_eq!(found(2, 0), None);
        for (confirmed, pending, remedy) in [
            (0, 0, "(deploy with AlertEmail"),
            (0, 1, "(open the mail of AWS and confirm)"),
            (1, 1, "(open the mail of AWS and confirm)"),
        ] {
            let text = found(confirmed, pending).unwrap();
            assert!(text.contains(remedy), "{text}");
        }
        let mut checks = Checks::default();
        let error = StorageError { operation: "topic look-up", source: "arn:aws:sns:1".into() };
        run(checks.subscribers("ops topic", async { Err(error) })).unwrap();
        assert_eq!(checks.findings, Findings::from([("ops topic", "topic look-up failed".to_owned())]));
    }

    /// Purchases that have begun are finished with the facilitator and the node.
    #[test]
    fn the_node_is_examined_without_an_address_while_a_purchase_is_open() {
        let now = Timestamp::from_seconds(1_700_000_000);
        let [facilitator, node] = TOLL_SUBJECTS;
        let world = World::at(now);
        let checked = |accepts_usdc| {
            let mut checks = Checks::default();
            let (problem, remedy) = ("it is of another chain".to_owned(), "deploy with another".to_owned());
            let found = async { vec![Finding { subject: node, problem, remedy, is_unknown: false }] };
            let needed = run(doctor::needs_toll(accepts_usdc, &world)).unwrap();
            run(checks.toll(needed, found)).unwrap();
            (checks.findings.contains_key(node), checks.unused, checks.unknown)
        };
        let (none, both) = (BTreeSet::new(), BTreeSet::from([facilitator, node]));
        assert_eq!(checked(true), (true, none.clone(), none.clone()));
        assert_eq!(checked(false), (false, both.clone(), none.clone()));
        let transferred = |digit: &str| {
            let paid =
                Paid::Transferred { transaction: "0x1".to_owned(), payer: "0x2".to_owned(), network: "n".to_owned() };
            let id = purchase_id(&digit.repeat(64)).unwrap();
            Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), paid, now)
        };
        let (begun, mut owed) = (transferred("a"), transferred("b"));
        owed.settled("0x1", true, now).unwrap();
        for purchase in [begun, owed] {
            world.state().purchases = [(purchase.id().clone(), (purchase, 1))].into();
            assert_eq!(checked(false), (true, none.clone(), none.clone()));
        }
        world.plan(Plan::none().whenever("purchases.listed", Fault::Fail));
        assert_eq!(checked(false), (false, none, both), "it stays as it was");
    }

    #[test]
    fn only_what_is_wrong_is_a_finding_and_only_its_first_link() {
        let mut checks = Checks::default();
        run(checks.look("fine", async { Ok::<_, &str>(()) })).unwrap();
        let error = domain::ports::StorageError { operation: "topic read", source: "arn:aws:sns:1".into() };
        run(checks.look("ops topic", async { Err(error) })).unwrap();
        assert_eq!(checks.findings, Findings::from([("ops topic", "topic read failed".to_owned())]));
    }
}
