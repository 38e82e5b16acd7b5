//! The function's settings, which the template sets in its environment.

use aws::FunctionVersion;
use runtime::{ConfigurationError, Environment};

/// The settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The stack's name (`STACK_NAME`).
    pub stack: String,
    /// The deployed release (`RELEASE_NAME`).
    pub release: String,
    /// The new versions whose calls are counted (`TRAFFIC_VERSIONS`, such as `oracle-checkout:7`, separated by commas).
    pub versions: Vec<FunctionVersion>,
}

impl Settings {
    /// Reads the settings.
    ///
    /// # Errors
    /// [`ConfigurationError`] names the variable that is missing.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigurationError> {
        let versions = environment.required("TRAFFIC_VERSIONS")?;
        let malformed = || ConfigurationError::Malformed {
            name: "TRAFFIC_VERSIONS",
            expected: "names of functions, each with a version, separated by commas".to_owned(),
        };
        Ok(Self {
            stack: environment.required("STACK_NAME")?,
            release: environment.required("RELEASE_NAME")?,
            versions: versions
                .split(',')
                .map(|version| FunctionVersion::parse(version.trim()).ok_or_else(malformed))
                .collect::<Result<_, _>>()?,
        })
    }
}
