//! Handles a message for which a step has failed.

use crate::{
    alerts::alert,
    answer,
    error::WatchError,
    state::{Ended, Failed, Kind, digest},
    watch::Watch,
};
use audit::Noted;
use domain::alert::Severity;

impl Watch<'_> {
    /// Counts a failure. The next runs try the message again, up to a limit, and then without the step that failed. A
    /// message is abandoned only if operators were alerted to it (Inbox Watch, invariant 6). Its sender is acknowledged
    /// even if its sale cannot be determined (Inbox Watch, V3).
    pub(crate) async fn failed(&mut self, id: &str) -> Result<(), WatchError> {
        let failed = self.commit_state(|state, now| {
            let failed = state.failed(id);
            let noted = Noted::save(failed);
            if failed == Failed::Unlinked {
                let detail = "the search for a message's sale failed: read the message in the inbox";
                // A storm withholds errors, and the list of inquiries may lack the message.
                noted.alerting(alert(Severity::Warn, now, "REPLY", &digest(id), detail))
            } else {
                noted
            }
        });
        match failed.await? {
            Failed::Again | Failed::Unlinked => Ok(()),
            Failed::NotAlerted => self.announce_without_details(id).await,
            Failed::TooOften => self.give_up(id).await,
        }
    }

    /// Alerts operators that there is a message, without its details, because the full alert failed repeatedly.
    async fn announce_without_details(&mut self, id: &str) -> Result<(), WatchError> {
        if let Err(error) = self.ports.broadcast.announce(answer::WITHOUT_DETAILS).await {
            // The message stays in work until an alert can be sent.
            let error = runtime::telemetry::chain(&error);
            tracing::error!(message = digest(id), error, "a message could not be announced");
            return Ok(());
        }
        self.record_announcement(id).await
    }

    async fn give_up(&mut self, id: &str) -> Result<(), WatchError> {
        let answer = self.at_hand(id).and_then(|it| it.answer);
        let (severity, outcome, detail) = match answer.map(|answer| (answer.kind, answer.draft.is_some())) {
            Some((Kind::Help, true)) => {
                (Severity::Critical, "unknown", "sources of help may or may not have gone: answer it")
            }
            Some((Kind::Help, false)) => {
                let detail = "sources of help were not sent to somebody who may disclose self-harm: answer it";
                (Severity::Critical, "given_up", detail)
            }
            Some((Kind::Acknowledgement | Kind::Followup, true)) => {
                (Severity::Error, "unknown", "an acknowledgement may or may not have gone: it is not sent again")
            }
            Some((Kind::Acknowledgement | Kind::Followup, false)) | None => {
                // A storm withholds errors, and no list may have the message.
                (Severity::Warn, "given_up", "a message could not be handled: read it in the inbox")
            }
        };
        let alert = alert(severity, self.now(), "AUTORESPONSE", &digest(id), detail);
        self.finish(id, outcome, Ended::Well, Some(alert)).await
    }
}
