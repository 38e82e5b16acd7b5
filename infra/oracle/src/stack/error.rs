//! The errors of finding a stack and of opening its stores.

use std::path::PathBuf;

use aws::InvalidSetting;

use super::account::AccountError;

/// The reason why a stack cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StackError {
    #[error(
        "{} cannot be read; name a deployed stack with --stack-name or a file with --stack, or start one with \
         `cargo xtask up`", path.display()
    )]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is neither a stack.json nor the output of `aws cloudformation describe-stacks`", path.display())]
    Form { path: PathBuf, source: serde_json::Error },
    #[error("the stack has no output {0}")]
    NoOutput(&'static str),
    #[error("the stack's output {output} is not {expected}")]
    Output { output: &'static str, expected: String },
    #[error("the smoke test cannot be set up")]
    Smoke(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    #[error(transparent)]
    Configuration(runtime::ConfigurationError),
    #[error(transparent)]
    Models(gemini::InvalidModelList),
}
