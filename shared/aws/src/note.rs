//! One text under one name in the table: what a scheduled function remembers from one run to the next.

use crate::{
    Connection,
    attempts::Step,
    items::{note_item, note_key, text},
};
use aws_sdk_dynamodb::Client;
use domain::ports::StorageError;
use std::sync::OnceLock;

/// The note.
#[derive(Debug)]
pub struct DynamoNote {
    connection: Connection,
    table: String,
    name: &'static str,
    client: OnceLock<Client>,
}

impl DynamoNote {
    /// The note of this name. Whoever writes it last is right: a schedule runs one function at a time.
    #[must_use]
    pub const fn new(connection: Connection, table: String, name: &'static str) -> Self {
        Self { connection, table, name, client: OnceLock::new() }
    }

    fn client(&self) -> &Client {
        self.client.get_or_init(|| self.connection.dynamodb())
    }

    /// What was written last.
    ///
    /// # Errors
    /// [`StorageError`] when the table could not be read.
    pub async fn read(&self) -> Result<Option<String>, StorageError> {
        let get = || async {
            let get = self.client().get_item().table_name(&self.table).set_key(Some(note_key(self.name)));
            Ok(get.consistent_read(true).send().await?.item)
        };
        let item = self.connection.call(self.step("note read"), get).await?;
        Ok(item.as_ref().and_then(|item| text(item, "document")).map(str::to_owned))
    }

    /// Writes it.
    ///
    /// # Errors
    /// [`StorageError`] when the table could not be written.
    pub async fn write(&self, document: &str) -> Result<(), StorageError> {
        let put = || async {
            let put = self.client().put_item().table_name(&self.table);
            put.set_item(Some(note_item(self.name, document))).send().await?;
            Ok(())
        };
        self.connection.call(self.step("note write"), put).await
    }

    const fn step(&self, name: &'static str) -> Step<'static> {
        Step { name, operation: "NOTE", subject: "-" }
    }
}
