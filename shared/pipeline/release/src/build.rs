//! What a verdict is about: people name a release, its versions identify the build.

use serde::{Deserialize, Serialize};

/// A build that is deployed. Other code under the name of an earlier release is another build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The name of the release, which people chose.
    pub release: String,
    /// The versions of the functions whose traffic shifts, such as `oracle-checkout:7`.
    pub versions: Vec<String>,
    /// CodeDeploy's deployment; `None` if the verdict was requested by hand.
    pub deployment: Option<String>,
}
