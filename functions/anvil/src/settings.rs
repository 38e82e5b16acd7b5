//! The function's settings, which the template sets in its environment.

use runtime::{ConfigurationError, Environment};

/// The settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The stack's name (`STACK_NAME`).
    pub stack: String,
    /// The deployed release (`RELEASE_NAME`).
    pub release: String,
    /// The functions whose calls are counted (`TRAFFIC_FUNCTIONS`, names separated by commas).
    pub functions: Vec<String>,
}

impl Settings {
    /// Reads the settings.
    ///
    /// # Errors
    /// [`ConfigurationError`] names the variable that is missing.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigurationError> {
        let functions = environment.required("TRAFFIC_FUNCTIONS")?;
        Ok(Self {
            stack: environment.required("STACK_NAME")?,
            release: environment.required("RELEASE_NAME")?,
            functions: functions
                .split(',')
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect(),
        })
    }
}
