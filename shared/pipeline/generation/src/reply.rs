//! Asks for one reply of the chat: the models in their order, each once, behind their circuits.

use crate::{
    asking::{Policy, Ports},
    guard::Circuits,
};
use domain::{
    SessionId,
    ports::{Listener, ModelError, ModelReply, Prompt},
};

/// Why no model replied.
#[derive(Debug, thiserror::Error)]
pub enum NotReplied {
    /// Every circuit is open.
    #[error("no model may be asked now")]
    CircuitOpen,
    /// The last model that was called failed.
    #[error("no model replied")]
    Failed(#[source] ModelError),
}

/// Asks for one reply; `listener` receives it while a model writes it. If a model fails, the next one is called at once,
/// because the customer waits.
///
/// # Errors
/// [`NotReplied`]
pub async fn reply(
    ports: Ports<'_>,
    policy: &Policy,
    session: &SessionId,
    prompt: &Prompt,
    listener: &mut dyn Listener,
) -> Result<ModelReply, NotReplied> {
    let circuits = Circuits { ports, policy, session };
    let mut last = NotReplied::CircuitOpen;
    for model in &policy.models {
        let Ok(admitted) = circuits.admit(model).await else { continue };
        let asked_at = ports.clock.now();
        match ports.model.stream(model, prompt, listener).await {
            Ok(reply) => {
                circuits.succeeded(model, asked_at).await;
                return Ok(reply);
            }
            Err(error) => {
                tracing::warn!(session = session.prefix(), model, %error, "[gemini] a reply of the chat failed");
                circuits.ended(model, admitted, &error).await;
                last = NotReplied::Failed(error);
            }
        }
    }
    Err(last)
}
