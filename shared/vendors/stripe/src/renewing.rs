//! A client that is built at its first use. A refused key is read again, so that a rotated one works without a restart.

use crate::{Client, maker::Maker, reply::is_key_refused};
use domain::{
    MadeFromSecret, RenewableSecret, Secret, SessionId,
    ports::PaymentError,
    renewable::{Made, NotMade},
};
use std::sync::Arc;

/// The client.
pub(crate) struct RenewingClient {
    made: MadeFromSecret<Client>,
}

impl RenewingClient {
    /// A client whose key `read_key` takes from the document in `secret`.
    pub(crate) fn new(
        maker: Maker,
        secret: Arc<dyn RenewableSecret>,
        read_key: fn(&Secret) -> Result<Secret, NotMade>,
    ) -> Self {
        Self { made: MadeFromSecret::new(secret, move |document| maker.make(read_key(document)?)) }
    }

    /// The client. If this fails, Stripe has not been called.
    pub(crate) async fn get(&self) -> Result<Made<Client>, PaymentError> {
        self.made.get().await.map_err(PaymentError::Unavailable)
    }

    /// As [`Self::get`], for a call about a session: with the key of its mode, if there is one. With one of the other
    /// mode Stripe answers that there is no such session instead of refusing the key, so the key is read again before
    /// the call.
    pub(crate) async fn get_for(&self, id: &SessionId) -> Result<Made<Client>, PaymentError> {
        let client = self.get().await?;
        if !client.is_id_of_other_mode(id) {
            return Ok(client);
        }
        Ok(self.made.other_than(&client).await.unwrap_or(client))
    }

    /// Makes a call, and once more with another client, if Stripe refused this one's key or the key has no permission
    /// for it, and there is another key. The refused call had no effect.
    pub(crate) async fn call<T, F>(&self, call: impl Fn(Made<Client>) -> F) -> Result<T, PaymentError>
    where
        F: Future<Output = Result<T, PaymentError>>,
    {
        self.made.call(self.get().await?, is_key_refused, call).await
    }
}
