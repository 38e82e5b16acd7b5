//! The vendors that the sandbox simulates.

use serde::Serialize;
use serde_json::{Value, json};

/// One vendor's HTTP interface.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Target {
    Stripe,
    Gemini,
    Graph,
    Login,
    Ses,
    Facilitator,
    Rpc,
}

impl Target {
    pub(crate) const ALL: [Self; 7] =
        [Self::Stripe, Self::Gemini, Self::Graph, Self::Login, Self::Ses, Self::Facilitator, Self::Rpc];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
            Self::Gemini => "gemini",
            Self::Graph => "graph",
            Self::Login => "login",
            Self::Ses => "ses",
            Self::Facilitator => "facilitator",
            Self::Rpc => "rpc",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }

    pub(crate) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// The vendor's error body, for faults that have a status and no body. `kind` names another error of SES than the
    /// usual one of the status.
    pub(crate) fn failure_body(self, status: u16, kind: Option<&str>) -> Value {
        match self {
            Self::Stripe => {
                let kind = if status == 429 { "invalid_request_error" } else { "api_error" };
                json!({"error": {"type": kind, "message": "Something went wrong on Stripe's end (injected by the sandbox)."}})
            }
            Self::Gemini => {
                let (name, message) = match status {
                    429 => ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
                    503 => ("UNAVAILABLE", "The model is overloaded. Please try again later."),
                    504 => ("DEADLINE_EXCEEDED", "The request timed out. Please try again."),
                    404 => ("NOT_FOUND", "Requested entity was not found."),
                    403 => ("PERMISSION_DENIED", "The caller does not have permission."),
                    402 => ("RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
                    401 => ("UNAUTHENTICATED", "Request had invalid authentication credentials."),
                    400..=499 => ("INVALID_ARGUMENT", "Request contains an invalid argument."),
                    _ => ("INTERNAL", "An internal error has occurred. Please retry."),
                };
                json!({"error": {"code": status, "message": message, "status": name}})
            }
            Self::Graph => {
                let (code, message) = match status {
                    401 => ("InvalidAuthenticationToken", "Access token validation failure."),
                    403 => ("ErrorAccessDenied", "Access is denied. Check credentials and try again."),
                    404 => ("ErrorItemNotFound", "The specified object was not found in the store."),
                    429 => ("ApplicationThrottled", "Application is over its MailboxConcurrency limit."),
                    503 => ("ServiceUnavailable", "The service is temporarily unavailable."),
                    400..=499 => ("BadRequest", "The request is malformed or incorrect."),
                    _ => ("InternalServerError", "An internal server error occurred."),
                };
                json!({"error": {"code": code, "message": message, "innerError": {}}})
            }
            Self::Ses => {
                let usual = match status {
                    403 => "AccessDeniedException",
                    404 => "NotFoundException",
                    429 => "TooManyRequestsException",
                    400..=499 => "MessageRejected",
                    _ => "InternalFailure",
                };
                let kind = kind.unwrap_or(usual);
                json!({"__type": kind, "message": "injected by the sandbox"})
            }
            Self::Facilitator | Self::Rpc => json!({"error": "injected by the sandbox"}),
            Self::Login => {
                let (code, number) =
                    if status >= 500 { ("temporarily_unavailable", 90033) } else { ("invalid_grant", 700_082) };
                json!({"error": code, "error_codes": [number],
                       "error_description": format!("AADSTS{number}: injected by the sandbox.")})
            }
        }
    }
}
