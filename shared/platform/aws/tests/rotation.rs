//! A rotated field against Secrets Manager's replies: the first version of a secret, the next, a lost race, no reply.

#![allow(clippy::unwrap_used)]

mod server;

use aws::{Connection, Rotation, SecretDocument};
use domain::Secret;
use serde_json::{Value, json};
use server::{Reply, Server, nobody};

fn secret(url: &str) -> SecretDocument {
    let connection = Connection::from_environment(|name| match name {
        "AWS_ENDPOINT_URL" => Some(url.to_owned()),
        "AWS_REGION" => Some("us-east-1".to_owned()),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
        "CACHE_RETRY_DELAY_MS" => Some("0".to_owned()),
        _ => None,
    });
    SecretDocument::new(connection.unwrap(), "oracle/graph-token".to_owned())
}

fn read(version: &str, token: &str) -> Reply {
    let document = json!({ "refresh_token": token }).to_string();
    (200, json!({ "SecretString": document, "VersionId": version }).to_string())
}

fn written(version: &str) -> Reply {
    (200, json!({ "VersionId": version }).to_string())
}

fn refused(error: &str) -> Reply {
    (400, json!({ "__type": error, "message": "" }).to_string())
}

async fn rotate(replies: Vec<Reply>) -> (Rotation, Vec<Value>) {
    let server = Server::start(replies).await;
    let outcome = secret(&server.url).rotate_field("refresh_token", &Secret::new("new")).await.unwrap();
    let bodies = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    (outcome, bodies)
}

fn moved(bodies: &[Value]) -> (&str, Option<&str>) {
    let body = &bodies[2];
    assert_eq!(body["VersionStage"], "AWSCURRENT");
    (body["MoveToVersionId"].as_str().unwrap(), body["RemoveFromVersionId"].as_str())
}

#[tokio::test]
async fn the_first_token_becomes_the_secrets_first_version() {
    // Secrets Manager labels a first version as the current one by itself, and may refuse to do so again.
    for labelled in [(200, "{}".to_owned()), refused("InvalidParameterException")] {
        let replies = vec![refused("ResourceNotFoundException"), written("v1"), labelled, read("v1", "new")];
        let (outcome, bodies) = rotate(replies).await;
        assert_eq!(outcome, Rotation::Stored);
        let stored: Value = serde_json::from_str(bodies[1]["SecretString"].as_str().unwrap()).unwrap();
        assert_eq!(stored, json!({ "refresh_token": "new" }));
        assert_eq!(moved(&bodies), ("v1", None));
    }
}

#[tokio::test]
async fn a_first_token_does_not_replace_one_that_another_process_has_stored() {
    let lost = refused("InvalidParameterException");
    let replies = vec![refused("ResourceNotFoundException"), written("v2"), lost, read("v1", "other")];
    let (outcome, bodies) = rotate(replies).await;
    assert_eq!((outcome, moved(&bodies)), (Rotation::Overtaken, ("v2", None)));
}

#[tokio::test]
async fn a_token_replaces_the_version_that_was_read_and_no_newer_one() {
    let (outcome, bodies) =
        rotate(vec![read("v1", "old"), written("v2"), (200, "{}".to_owned()), read("v2", "new")]).await;
    assert_eq!((outcome, moved(&bodies)), (Rotation::Stored, ("v2", Some("v1"))));
    let lost = refused("InvalidParameterException");
    let (outcome, bodies) = rotate(vec![read("v1", "old"), written("v2"), lost, read("v3", "other")]).await;
    assert_eq!((outcome, moved(&bodies)), (Rotation::Overtaken, ("v2", Some("v1"))));
}

/// The error is in an alert.
#[tokio::test]
async fn a_token_that_was_written_in_place_of_the_document_is_in_no_error() {
    for stored in [r#""0.AXtoken""#, "0.AXtoken"] {
        let server = Server::start(vec![(200, json!({ "SecretString": stored, "VersionId": "v1" }).to_string())]).await;
        let error = secret(&server.url).rotate_field("refresh_token", &Secret::new("new")).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "the secret is not a JSON object", "{stored}");
        assert!(!format!("{error:?}").contains("AX"), "{stored}");
        assert_eq!(server.seen().len(), 1, "nothing is written");
    }
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_an_error() {
    let rotated = secret(&nobody().await).rotate_field("refresh_token", &Secret::new("new")).await;
    assert!(rotated.is_err());
}
