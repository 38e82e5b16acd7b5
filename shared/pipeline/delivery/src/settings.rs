//! The settings of a delivery, read from the environment at start.

use domain::mail::{Letter, MailSchedule};
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// The lease of one invocation on a mail: longer than the function's time-out (90 s), so that no second worker takes
/// over from a running one, and shorter than the queue's visibility time-out (540 s).
const LEASE: Duration = Duration::from_secs(120);

/// The settings of a delivery.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The public address, for the link to the result page.
    pub site: String,
    /// The lease on a mail; longer than the function's time-out, shorter than the queue's visibility time-out.
    pub lease: Duration,
    /// The retry schedule of a verdict mail or silent-drop mail.
    pub schedule: MailSchedule,
}

impl Settings {
    /// Reads and validates the settings of a deployment whose site has this address.
    ///
    /// # Errors
    /// [`ConfigurationError`] when `EMAIL_RETRY_DELAYS` is not a schedule.
    pub fn from_environment(environment: &Environment, site: String) -> Result<Self, ConfigurationError> {
        Ok(Self { site, lease: LEASE, schedule: schedule(environment)? })
    }

    /// The retry schedule of a mail.
    pub(crate) fn schedule(&self, letter: Letter, smoke: bool) -> MailSchedule {
        if smoke {
            return MailSchedule::at_once();
        }
        match letter {
            Letter::Verdict | Letter::SilentDrop | Letter::Refund => self.schedule.clone(),
            Letter::Divergence => MailSchedule::once_more(),
        }
    }
}

/// Reads `EMAIL_RETRY_DELAYS`; the spec's schedule when it is not set.
fn schedule(environment: &Environment) -> Result<MailSchedule, ConfigurationError> {
    let Some(delays) = environment.optional("EMAIL_RETRY_DELAYS") else { return Ok(MailSchedule::standard()) };
    MailSchedule::parse(&delays)
        .map_err(|error| ConfigurationError::Malformed { name: "EMAIL_RETRY_DELAYS", expected: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_is_the_specs_unless_the_environment_has_another() {
        let read = |table| Settings::from_environment(&Environment::of(table), "https://oracle.example".to_owned());
        let schedule = |table: &'static [(&'static str, &'static str)]| read(table).map(|settings| settings.schedule);
        assert_eq!(schedule(&[]), Ok(MailSchedule::standard()));
        assert_eq!(schedule(&[("EMAIL_RETRY_DELAYS", "7")]), Ok(MailSchedule::parse("7").unwrap()));
        let malformed = schedule(&[("EMAIL_RETRY_DELAYS", "soon")]).unwrap_err().to_string();
        assert!(malformed.starts_with("environment variable EMAIL_RETRY_DELAYS is not "), "{malformed}");
    }
}
