//! The chat in the table of sales: an account at `pk` CHAT#{subscriber}, `sk` ACCOUNT; the beginning of a reply that is
//! being made beside it, at `sk` REPLY#{exchange}, and the list of the subscriber's sessions, one item each, at `sk`
//! SESSION#{digest}; a sign-in link at CHATLOGIN#{digest}, `sk` LOGIN, a session at CHATSESSION#{digest}, `sk` SESSION,
//! a counter against abuse at CHATLIMIT#{name}, `sk` LIMIT. All but the account expire.
//!
//! The list is read only to end all sessions of a subscriber, so that no other request pays for it.

use crate::{
    DynamoSales,
    attempts::{Failure, Step},
    audited::{Part, TableState},
    items::{Item, document_item, item, numeral, string, text},
};
use async_trait::async_trait;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use domain::{
    Timestamp,
    audit_trail::Audited,
    chat::{Account, ChatSession, ExchangeId, Login, SubscriberId},
    ports::{ChatAccounts, ReplyBeginnings, SaveError, SignIns, StorageError, Versioned},
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

const EXPIRES: &str = "expires_at";

/// Where the index of open work lists the accounts whose erasure has not ended.
const ERASURES: &str = "CHAT_ERASURE";

/// Where the index lists the other accounts with records or alerts that are not published, at once, and those with an
/// evaluation that no record has, from the end of its claim.
const UNPUBLISHED: &str = "CHAT_UNPUBLISHED";

/// How the sort keys of a subscriber's list of sessions begin.
const LISTED_SESSION: &str = "SESSION#";

/// Sessions that are deleted at the same time.
const DELETED_AT_ONCE: usize = 25;

/// Accounts that one look lists.
const PAGE: usize = 100;

fn key(partition: &str, id: &str, sort: &str) -> Item {
    item([("pk", string(format!("{partition}#{id}"))), ("sk", string(sort))])
}

fn beginning_key(who: &SubscriberId, exchange: &ExchangeId) -> Item {
    key("CHAT", who.as_str(), &format!("REPLY#{}", exchange.as_str()))
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

impl TableState for Account {
    const PARTITION: &str = "CHAT#";
    const SORT: &str = "ACCOUNT";
    const READ: &str = "chat account read";
    const WRITE: &str = "chat account write";
    const LIST: &str = "chat erasures read";
    const OPERATION: &str = "CHAT";

    /// An account is listed while its memory is being erased, and while records or alerts are not published or an exchange
    /// has no record: usually until the call that claimed the exchange has published its record.
    fn open(&self) -> Option<(&'static str, Timestamp)> {
        let erasing = self.erasure().map(|erasure| (ERASURES, erasure.due()));
        let unpublished = (!self.trail().is_published()).then_some(Timestamp::from_millis(0));
        erasing.or_else(|| unpublished.or_else(|| self.evaluation_due()).map(|due| (UNPUBLISHED, due)))
    }
}

#[async_trait]
impl ChatAccounts for DynamoSales {
    async fn erasures_due(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.open::<Account>(ERASURES, Part::Until(until), PAGE).await
    }

    async fn unpublished(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.open::<Account>(UNPUBLISHED, Part::Until(until), PAGE).await
    }
}

#[async_trait]
impl ReplyBeginnings for DynamoSales {
    async fn put(
        &self,
        who: &SubscriberId,
        exchange: &ExchangeId,
        sealed: &str,
        until: Timestamp,
    ) -> Result<(), StorageError> {
        let step = Step { subject: who.prefix(), ..step("chat beginning write") };
        let mut item = beginning_key(who, exchange);
        item.insert("sealed".to_owned(), string(sealed));
        item.insert(EXPIRES.to_owned(), numeral(until.as_seconds()));
        self.overwrite(step, item).await
    }

    async fn find(&self, who: &SubscriberId, exchange: &ExchangeId) -> Result<Option<String>, StorageError> {
        let step = Step { subject: who.prefix(), ..step("chat beginning read") };
        let found = self.get(step, &beginning_key(who, exchange)).await?;
        Ok(found.as_ref().and_then(|item| text(item, "sealed")).map(str::to_owned))
    }
}

#[async_trait]
impl SignIns for DynamoSales {
    async fn login(&self, digest: &str) -> Result<Option<Versioned<Login>>, StorageError> {
        self.document(step("chat link read"), &login_key(digest)).await
    }

    async fn save_login(&self, digest: &str, login: &Login, expected: u64) -> Result<(), SaveError> {
        let mut item = login_key(digest);
        item.insert(EXPIRES.to_owned(), numeral(login.until().as_seconds()));
        self.put_document(step("chat link write"), item, login, expected).await.map(drop)
    }

    async fn session(&self, digest: &str) -> Result<Option<ChatSession>, StorageError> {
        let found = self.document(step("chat session read"), &session_key(digest)).await?;
        Ok(found.map(|session| session.value))
    }

    /// The list gets the session first: a session that is on no list could not be ended from elsewhere.
    async fn begin_session(&self, digest: &str, session: &ChatSession) -> Result<(), StorageError> {
        let step = step("chat session write");
        let listed = key("CHAT", session.owner().as_str(), &format!("{LISTED_SESSION}{digest}"));
        for mut item in [listed, document_item(session_key(digest), session, 1, "", step.name)?] {
            item.insert(EXPIRES.to_owned(), numeral(session.until().as_seconds()));
            self.overwrite(step, item).await?;
        }
        Ok(())
    }

    async fn end_session(&self, digest: &str) -> Result<(), StorageError> {
        self.delete(step("chat session end"), session_key(digest)).await
    }

    /// The list's own items are left to expire.
    async fn end_sessions(&self, who: &SubscriberId, except: Option<&str>) -> Result<usize, StorageError> {
        let step = Step { subject: who.prefix(), ..step("chat sessions end") };
        let (mut ended, mut from): (usize, Option<Item>) = (0, None);
        loop {
            let query = || async {
                let query = self.client().query().table_name(self.table()).consistent_read(true);
                let query = query
                    .key_condition_expression("pk = :pk AND begins_with(sk, :sk)")
                    .expression_attribute_values(":pk", string(format!("CHAT#{}", who.as_str())))
                    .expression_attribute_values(":sk", string(LISTED_SESSION));
                Ok(query.set_exclusive_start_key(from.clone()).send().await?)
            };
            let page = self.connection().call(step, query).await?;
            let listed = page.items.unwrap_or_default();
            let digests = listed.iter().filter_map(|item| text(item, "sk")?.strip_prefix(LISTED_SESSION));
            let others: Vec<_> = digests.filter(|digest| Some(*digest) != except).map(session_key).collect();
            ended += others.len();
            // An attacker who reads the member's mail can begin thousands, and one request has 28 seconds.
            let deletions = others.into_iter().map(|key| self.delete(step, key));
            stream::iter(deletions).buffer_unordered(DELETED_AT_ONCE).try_collect::<()>().await?;
            from = page.last_evaluated_key;
            if from.is_none() {
                return Ok(ended);
            }
        }
    }

    /// A count whose reply was lost may count twice, which is safe for a counter against abuse.
    async fn take(&self, name: &str, most: u32, until: Timestamp) -> Result<bool, StorageError> {
        let update = || async {
            let update = self.client().update_item().table_name(self.table());
            let update = update
                .set_key(Some(key("CHATLIMIT", name, "LIMIT")))
                .update_expression("ADD #taken :one SET #expires = :until")
                .condition_expression("attribute_not_exists(#taken) OR #taken < :most")
                .expression_attribute_names("#taken", "taken")
                .expression_attribute_names("#expires", EXPIRES)
                .expression_attribute_values(":one", numeral(1))
                .expression_attribute_values(":most", numeral(most))
                .expression_attribute_values(":until", numeral(until.as_seconds()));
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
    use crate::{
        audited::stored,
        items::{DUE, WORK, parse_document},
    };
    use domain::chat::Ask;
    use std::time::Duration;

    #[test]
    fn what_is_stored_is_read_again_and_what_is_malformed_is_an_error() {
        let id = SubscriberId::parse("d".repeat(64)).unwrap();
        let mut account = Account::new(id.clone());
        assert!(!stored(&account, 3, "token").unwrap().contains_key(WORK));
        let ask = Ask {
            id: ExchangeId::parse("00000000-0000-4000-8000-000000000001").unwrap(),
            fingerprint: "f".to_owned(),
            owner: "o".to_owned(),
            is_free: true,
            evaluation: "e".into(),
        };
        account.claim(&ask, Timestamp::from_seconds(5), Duration::from_secs(35));
        let claimed = stored(&account, 4, "token").unwrap();
        assert_eq!((text(&claimed, WORK), &claimed[DUE]), (Some("CHAT_UNPUBLISHED"), &numeral(40_000)));
        account.begin_erasure(Timestamp::from_seconds(10));
        let mut item = stored(&account, 4, "token").unwrap();
        assert_eq!((text(&item, WORK), &item[DUE]), (Some("CHAT_ERASURE"), &numeral(130_000)));
        assert_eq!(text(&item, "pk").unwrap(), format!("CHAT#{}", "d".repeat(64)));
        assert_eq!(parse_document::<Account>(&item, "test").unwrap(), Versioned { value: account, version: 4 });
        item.remove("version");
        assert!(parse_document::<Account>(&item, "test").is_err());
    }
}
