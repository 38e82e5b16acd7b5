//! The functions and their secrets, by calls that no client of ours makes.

use super::Aws;
use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::SystemTime;

impl Aws {
    /// Runs a function once, as its schedule would, and waits for its end.
    pub(crate) async fn invoke(&self, function: &str, event: &Value) {
        let url = format!("{}/2015-03-31/functions/{}/invocations", self.endpoint, self.output(function));
        let reply = self.signed(Method::POST, "lambda", &url, &[], event).await;
        let failed = reply.headers().contains_key("x-amz-function-error");
        let (status, text) = (reply.status(), reply.text().await.unwrap_or_default());
        assert!(status.is_success() && !failed, "{function}: {status} {text}");
    }

    /// Changes one setting of a function.
    pub(crate) async fn configure(&self, function: &str, name: &str, value: &str) {
        let url = format!("{}/2015-03-31/functions/{}/configuration", self.endpoint, self.output(function));
        let reply = self.signed(Method::GET, "lambda", &url, &[], &Value::Null).await.text().await.expect("a reply");
        let configuration: Value = serde_json::from_str(&reply).expect("a configuration");
        let mut variables = configuration["Environment"]["Variables"].clone();
        variables[name] = value.into();
        let change = json!({ "Environment": { "Variables": variables } });
        let reply = self.signed(Method::PUT, "lambda", &url, &[], &change).await;
        assert!(reply.status().is_success(), "{function}: {}", reply.status());
    }

    /// Reads one of the stack's secrets.
    pub(crate) async fn secret(&self, name: &str) -> Value {
        let reply = self.secrets("GetSecretValue", &json!({ "SecretId": format!("{}/{name}", self.stack) })).await;
        serde_json::from_str(reply["SecretString"].as_str().expect("a secret")).expect("a document")
    }

    /// Replaces one of the stack's secrets.
    pub(crate) async fn set_secret(&self, name: &str, document: &Value) {
        let put = json!({ "SecretId": format!("{}/{name}", self.stack), "SecretString": document.to_string() });
        self.secrets("PutSecretValue", &put).await;
    }

    async fn secrets(&self, action: &str, body: &Value) -> Value {
        let target = format!("secretsmanager.{action}");
        let headers = [("x-amz-target", target.as_str()), ("content-type", "application/x-amz-json-1.1")];
        let reply = self.signed(Method::POST, "secretsmanager", &format!("{}/", self.endpoint), &headers, body).await;
        let (status, text) = (reply.status(), reply.text().await.unwrap_or_default());
        assert!(status.is_success(), "{action}: {status} {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Makes a signed call to a service that has no client here.
    async fn signed(
        &self,
        method: Method,
        service: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> reqwest::Response {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let credentials = Credentials::new("test", "test", None, None, "emulator").into();
        let signing = v4::SigningParams::builder().identity(&credentials).region(&self.region).name(service);
        let signing = signing.time(SystemTime::now()).settings(SigningSettings::default()).build();
        let request = SignableRequest::new(method.as_str(), url, headers.iter().copied(), SignableBody::Bytes(&body));
        let signed = sign(request.expect("a request"), &signing.expect("signing parameters").into());
        let (signature, _) = signed.expect("a signature").into_parts();
        let mut call = reqwest::Client::new().request(method.clone(), url).body(body.clone());
        for (name, value) in headers.iter().copied().chain(signature.headers()) {
            call = call.header(name, value);
        }
        call.send().await.expect("the emulator answers")
    }
}
