use super::*;
use std::sync::Mutex;

/// A stored document, and the one that was read from it last.
struct Stored(Mutex<String>);

impl Stored {
    fn of(text: &str) -> Arc<Self> {
        Arc::new(Self(Mutex::new(text.to_owned())))
    }
    fn write(&self, text: &str) {
        text.clone_into(&mut self.0.lock().unwrap());
    }
}

#[async_trait]
impl SecretSource for Stored {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(Secret::new(self.0.lock().unwrap().clone()))
    }
}

#[async_trait]
impl RenewableSecret for Stored {
    async fn renewed(&self, refused: &Secret) -> Result<Option<Secret>, StorageError> {
        Ok(Some(self.document().await?).filter(|now| now.expose() != refused.expose()))
    }
}

const APPLICATION: &str = r#"{"tenant_id":"t","client_id":"c","client_secret":"s"}"#;
const WITH_TOKEN: &str = r#"{"tenant_id":"t","client_id":"c","client_secret":"s","refresh_token":"before"}"#;

fn consent(application: &str, token: &str) -> Result<(Option<String>, Option<String>), Unusable> {
    let text = |secret: Secret| secret.expose().to_owned();
    let access = Access::parse(&join(&Secret::new(application), &Secret::new(token)))?;
    assert_eq!((access.tenant.as_str(), access.client_id.as_str()), ("t", "c"));
    Ok(match access.consent {
        Consent::Person { refresh_token, client_secret } => (Some(text(refresh_token)), client_secret.map(text)),
        Consent::Administrator { client_secret } => (None, Some(text(client_secret))),
    })
}

#[test]
fn the_token_of_its_own_secret_is_used_and_the_earlier_place_only_until_it_has_one() {
    let some = |text: &str| Some(text.to_owned());
    let token = r#"{"refresh_token":"now"}"#;
    assert_eq!(consent(APPLICATION, token), Ok((some("now"), some("s"))));
    assert_eq!(consent(WITH_TOKEN, token), Ok((some("now"), some("s"))));
    for empty in ["{}", "", r#"{"refresh_token":""}"#] {
        assert_eq!(consent(WITH_TOKEN, empty), Ok((some("before"), some("s"))), "{empty}");
        assert_eq!(consent(APPLICATION, empty), Ok((None, some("s"))), "{empty}");
    }
    assert_eq!(consent(r#"{"tenant_id":"t","client_id":"c"}"#, token), Ok((some("now"), None)));
}

#[test]
fn credentials_that_are_not_filled_in_are_refused() {
    let refused = |application: &str| consent(application, "{}").err();
    for application in ["", "{}", r#"{"tenant_id":"t"}"#] {
        assert_eq!(refused(application), Some(Unusable::Application), "{application}");
    }
    assert_eq!(refused(r#"{"tenant_id":"t","client_id":"c"}"#), Some(Unusable::Token));
    assert_eq!(refused(r#"{"tenant_id":"t","client_id":"c","client_secret":""}"#), Some(Unusable::Token));
    assert_eq!(Access::parse(&Secret::new("{}")).err(), Some(Unusable::Application));
}

#[tokio::test]
async fn refused_credentials_are_renewed_when_either_secret_was_replaced() {
    let (application, token) = (Stored::of(APPLICATION), Stored::of("{}"));
    let credentials = Credentials { application: application.clone(), token: token.clone() };
    let first = credentials.document().await.unwrap();
    assert!(credentials.renewed(&first).await.unwrap().is_none());

    token.write(r#"{"refresh_token":"r"}"#);
    let second = credentials.renewed(&first).await.unwrap().unwrap();
    assert_eq!(second.expose(), credentials.document().await.unwrap().expose());
    assert!(credentials.renewed(&second).await.unwrap().is_none());

    application.write(WITH_TOKEN);
    let third = credentials.renewed(&second).await.unwrap().unwrap();
    let Consent::Person { refresh_token, .. } = Access::parse(&third).unwrap().consent else { panic!("no token") };
    assert_eq!(refresh_token.expose(), "r", "a change of the application leaves the token as it is");
}
