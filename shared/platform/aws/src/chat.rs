//! The chat in the table of sales: an account at `pk` CHAT#{subscriber}, `sk` ACCOUNT; a link at CHATLOGIN#{digest}, a
//! session at CHATSESSION#{digest}, what is counted against abuse at CHATLIMIT#{name}, each with the `sk` of its name's
//! first part. All but the account expire.

use crate::{
    DynamoSales,
    attempts::{Failure, Step},
    items::{Item, expects, item, string, text, version, with_document},
    sales::Conditional,
    storage,
};
use async_trait::async_trait;
use aws_sdk_dynamodb::{operation::update_item::UpdateItemError, types::AttributeValue};
use domain::{
    Timestamp,
    chat::{Account, ChatSession, Login, SubscriberId},
    ports::{ChatAccounts, SaveError, SignIns, StorageError, Versioned},
};
use serde::{Serialize, de::DeserializeOwned};

const EXPIRES: &str = "expires_at";

fn key(partition: &str, id: &str, sort: &str) -> Item {
    item([("pk", string(format!("{partition}#{id}"))), ("sk", string(sort))])
}

fn account_key(id: &SubscriberId) -> Item {
    key("CHAT", id.as_str(), "ACCOUNT")
}

fn login_key(digest: &str) -> Item {
    key("CHATLOGIN", digest, "LOGIN")
}

fn session_key(digest: &str) -> Item {
    key("CHATSESSION", digest, "SESSION")
}

const fn step(name: &'static str) -> Step<'static> {
    Step { name, operation: "CHAT", subject: "-" }
}

fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn stored<T: Serialize>(
    key: Item,
    value: &T,
    version: u64,
    token: &str,
    name: &'static str,
) -> Result<Item, StorageError> {
    let document = serde_json::to_string(value).map_err(|error| storage(name, error))?;
    Ok(with_document(key, version, token, document))
}

fn parse<T: DeserializeOwned>(found: &Item, name: &'static str) -> Result<Versioned<T>, StorageError> {
    let incomplete = || storage(name, std::io::Error::other("the item has no document or version"));
    let document = text(found, "document").ok_or_else(incomplete)?;
    let value = serde_json::from_str(document).map_err(|error| storage(name, error))?;
    Ok(Versioned { value, version: version(found).ok_or_else(incomplete)? })
}

#[async_trait]
impl ChatAccounts for DynamoSales {
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Account>>, StorageError> {
        let step = Step { subject: id.prefix(), ..step("chat account read") };
        // One that cannot be read is left where it is: a new one would give three free exchanges again.
        self.get(step, &account_key(id)).await?.as_ref().map(|found| parse(found, step.name)).transpose()
    }

    async fn save(&self, account: &Account, expected: u64) -> Result<u64, SaveError> {
        let step = Step { subject: account.id().prefix(), ..step("chat account write") };
        let (token, version) = (self.token(), expected + 1);
        let (condition, values) = expects(expected);
        let item = stored(account_key(account.id()), account, version, &token, step.name)?;
        self.put(step, &Conditional { item, condition, values, token: &token }).await?;
        Ok(version)
    }
}

#[async_trait]
impl SignIns for DynamoSales {
    async fn login(&self, digest: &str) -> Result<Option<Versioned<Login>>, StorageError> {
        let step = step("chat link read");
        self.get(step, &login_key(digest)).await?.as_ref().map(|found| parse(found, step.name)).transpose()
    }

    async fn save_login(&self, digest: &str, login: &Login, expected: u64) -> Result<(), SaveError> {
        let step = step("chat link write");
        let token = self.token();
        let (condition, values) = expects(expected);
        let mut item = stored(login_key(digest), login, expected + 1, &token, step.name)?;
        item.insert(EXPIRES.to_owned(), number(login.until().as_seconds()));
        self.put(step, &Conditional { item, condition, values, token: &token }).await
    }

    async fn session(&self, digest: &str) -> Result<Option<ChatSession>, StorageError> {
        let step = step("chat session read");
        let found = self.get(step, &session_key(digest)).await?;
        found.as_ref().map(|found| Ok(parse(found, step.name)?.value)).transpose()
    }

    async fn begin_session(&self, digest: &str, session: &ChatSession) -> Result<(), StorageError> {
        let step = step("chat session write");
        let mut item = stored(session_key(digest), session, 1, "", step.name)?;
        item.insert(EXPIRES.to_owned(), number(session.until().as_seconds()));
        let put = || async {
            self.client().put_item().table_name(self.table()).set_item(Some(item.clone())).send().await?;
            Ok(())
        };
        self.connection().call(step, put).await
    }

    async fn end_session(&self, digest: &str) -> Result<(), StorageError> {
        let delete = || async {
            let delete = self.client().delete_item().table_name(self.table());
            delete.set_key(Some(session_key(digest))).send().await?;
            Ok(())
        };
        self.connection().call(step("chat session end"), delete).await
    }

    /// A count whose reply got lost may count twice: it is against abuse, and errs on the safe side.
    async fn take(&self, name: &str, most: u32, until: Timestamp) -> Result<bool, StorageError> {
        let update = || async {
            let update = self.client().update_item().table_name(self.table());
            let update = update
                .set_key(Some(key("CHATLIMIT", name, "LIMIT")))
                .update_expression("ADD #taken :one SET #expires = :until")
                .condition_expression("attribute_not_exists(#taken) OR #taken < :most")
                .expression_attribute_names("#taken", "taken")
                .expression_attribute_names("#expires", EXPIRES)
                .expression_attribute_values(":one", number(1))
                .expression_attribute_values(":most", number(i64::from(most)))
                .expression_attribute_values(":until", number(until.as_seconds()));
            match update.send().await {
                Ok(_) => Ok(true),
                Err(error) => match error.as_service_error() {
                    Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
                    _ => Err(Failure::from(error)),
                },
            }
        };
        self.connection().call(step("chat count"), update).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_again_and_what_is_malformed_is_an_error() {
        let id = SubscriberId::parse("d".repeat(64)).unwrap();
        let account = Account::new(id.clone());
        let mut item = stored(account_key(&id), &account, 4, "token", "test").unwrap();
        assert_eq!(text(&item, "pk").unwrap(), format!("CHAT#{}", "d".repeat(64)));
        assert_eq!(parse::<Account>(&item, "test").unwrap(), Versioned { value: account, version: 4 });
        item.remove("version");
        assert!(parse::<Account>(&item, "test").is_err());
    }
}
