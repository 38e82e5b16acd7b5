//! Builds clients from keys that are read at their first use.

use crate::{Client, Config};
use domain::{
    Secret,
    ports::{Pause, Randomness},
    renewable::NotMade,
};
use std::sync::Arc;

/// The settings of a client, except its key.
pub(crate) struct Maker {
    pub(crate) base_url: String,
    pub(crate) site: String,
    pub(crate) pause: Arc<dyn Pause>,
    pub(crate) randomness: Arc<dyn Randomness>,
}

impl Maker {
    pub(crate) fn make(&self, secret_key: Secret) -> Result<Client, NotMade> {
        let config = Config::new(&self.base_url, secret_key, &self.site);
        Ok(Client::new(config, reqwest::Client::builder(), Arc::clone(&self.pause), Arc::clone(&self.randomness))?)
    }
}
