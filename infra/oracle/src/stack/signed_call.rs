//! Signed calls of three AWS services without their clients. Only a call or two of each is needed, and a client of each
//! would be as large as the rest of this program.

use aws_config::SdkConfig;
use aws_sdk_cloudformation::config::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use doctor::account::MailService;
use reqwest::Method;
use serde_json::{Value, json};
use std::{error::Error, time::SystemTime};

type CallError = Box<dyn Error + Send + Sync>;

/// An account's services.
pub(crate) struct SignedCalls<'a> {
    pub(crate) config: &'a SdkConfig,
    pub(crate) credentials: &'a Credentials,
    pub(crate) region: &'a str,
}

impl SignedCalls<'_> {
    /// The limit of concurrent executions of functions in the account and region.
    pub(crate) async fn concurrency_limit(&self) -> Result<u64, CallError> {
        let settings = self.call(Method::GET, "lambda", "/2016-08-19/account-settings", &[], None).await?;
        settings["AccountLimit"]["ConcurrentExecutions"].as_u64().ok_or_else(|| "the reply names no limit".into())
    }

    /// The version to which an alias shifts or has shifted its traffic.
    pub(crate) async fn newest_version(&self, function: &str, alias: &str) -> Result<String, CallError> {
        let path = format!("/2015-03-31/functions/{function}/aliases/{alias}");
        let found = self.call(Method::GET, "lambda", &path, &[], None).await?;
        let shifting = found["RoutingConfig"]["AdditionalVersionWeights"].as_object();
        let version = match shifting.and_then(|weights| weights.keys().next()) {
            Some(version) => Some(version.as_str()),
            None => found["FunctionVersion"].as_str(),
        };
        version.map(str::to_owned).ok_or_else(|| "the reply names no version".into())
    }

    /// The log groups whose names begin with `prefix`, with their retention in days, if it is limited.
    pub(crate) async fn log_groups(&self, prefix: &str) -> Result<Vec<(String, Option<i64>)>, CallError> {
        let headers =
            [("x-amz-target", "Logs_20140328.DescribeLogGroups"), ("content-type", "application/x-amz-json-1.1")];
        let mut groups = Vec::new();
        let mut body = json!({ "logGroupNamePrefix": prefix });
        loop {
            let page = self.call(Method::POST, "logs", "/", &headers, Some(&body)).await?;
            for group in page["logGroups"].as_array().into_iter().flatten() {
                let name = group["logGroupName"].as_str().unwrap_or_default().to_owned();
                groups.push((name, group["retentionInDays"].as_i64()));
            }
            match page["nextToken"].as_str() {
                Some(token) => body["nextToken"] = token.into(),
                None => return Ok(groups),
            }
        }
    }

    pub(crate) async fn mail_service(&self, identity: &str) -> Result<MailService, CallError> {
        let account = self.call(Method::GET, "ses", "/v2/email/account", &[], None).await?;
        // The template allows letters, digits and these in an identity.
        let path = format!("/v2/email/identities/{}", identity.replace('@', "%40").replace('+', "%2B"));
        let identity = self.call(Method::GET, "ses", &path, &[], None).await?;
        let is_set = |value: &Value| value.as_bool().unwrap_or_default();
        Ok(MailService {
            is_sending: is_set(&account["SendingEnabled"]),
            is_in_production: is_set(&account["ProductionAccessEnabled"]),
            is_verified: is_set(&identity["VerifiedForSendingStatus"]),
            is_signed: identity["DkimAttributes"]["Status"] == "SUCCESS",
        })
    }

    async fn call(
        &self,
        method: Method,
        service: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, CallError> {
        let host = match self.config.endpoint_url() {
            Some(emulator) => emulator.trim_end_matches('/').to_owned(),
            None => {
                let name = if service == "ses" { "email" } else { service };
                format!("https://{name}.{}.amazonaws.com", self.region)
            }
        };
        let url = format!("{host}{path}");
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let identity = self.credentials.clone().into();
        let signing = v4::SigningParams::builder().identity(&identity).region(self.region).name(service);
        let signing = signing.time(SystemTime::now()).settings(SigningSettings::default()).build()?;
        let request = SignableRequest::new(method.as_str(), &url, headers.iter().copied(), SignableBody::Bytes(&body))?;
        let (signature, _) = sign(request, &signing.into())?.into_parts();
        let mut call = reqwest::Client::new().request(method, &url).body(body);
        for (name, value) in headers.iter().copied().chain(signature.headers()) {
            call = call.header(name, value);
        }
        let reply = call.send().await?;
        let (status, text) = (reply.status(), reply.text().await?);
        if !status.is_success() {
            return Err(format!("{service} answers {status}").into());
        }
        Ok(serde_json::from_str(&text)?)
    }
}
