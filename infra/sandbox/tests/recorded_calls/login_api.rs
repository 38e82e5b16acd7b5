//! The login service's interface over HTTP: its grants, and what its tokens open.

use crate::{
    graph_api::Graph,
    support::{REFRESH, ok, read, world},
};
use serde_json::json;

#[tokio::test]
async fn only_tokens_issued_here_and_still_fresh_open_the_mailbox() {
    let world = world().await;
    let address = world.mailbox("messages");
    let (status, body) = read(world.client.get(&address)).await;
    assert_eq!(status, 401);
    assert_eq!(body["error"]["code"], "InvalidAuthenticationToken");
    let foreign = world.client.get(&address).bearer_auth("foreign");
    assert_eq!(read(foreign).await.0, 401);
    let token = world.token().await;
    let call = || world.client.get(&address).bearer_auth(&token);
    assert_eq!(read(call()).await.0, 200);
    world.control("reset", json!({})).await;
    assert_eq!(read(call()).await.0, 200, "a reset leaves tokens alone");
    world.advance(3_599);
    let (status, body) = read(call()).await;
    assert_eq!(status, 401);
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("expired"), "{message}");
}

#[tokio::test]
async fn a_token_opens_only_what_its_scope_allows() {
    let world = world().await;
    let mut fields = REFRESH.to_vec();
    fields.push(("scope", "https://graph.microsoft.com/Mail.ReadWrite"));
    let body = ok(read(world.login(&fields))).await;
    assert_eq!(body.get("refresh_token"), None, "offline_access was not asked for");
    let graph = Graph { world: &world, token: body["access_token"].as_str().unwrap().to_owned() };
    let draft = graph.draft("Verdict").await;
    let (status, body) = graph.send(draft["id"].as_str().unwrap()).await;
    assert_eq!((status, &body["error"]["code"]), (403, &json!("ErrorAccessDenied")));
}

#[tokio::test]
async fn a_refresh_gives_a_new_token_and_the_old_one_stays_valid() {
    let world = world().await;
    let scope = "offline_access https://graph.microsoft.com/Mail.ReadWrite https://graph.microsoft.com/Mail.Send";
    let refresh = |token: &str| {
        world.login(&[
            ("grant_type", "refresh_token"),
            ("client_id", "sandbox-client"),
            ("refresh_token", token),
            ("scope", scope),
        ])
    };
    let first = ok(read(refresh("sandbox-refresh-token"))).await;
    assert_eq!((&first["token_type"], &first["expires_in"]), (&json!("Bearer"), &json!(3599)));
    let second_token = first["refresh_token"].as_str().unwrap();
    let (_, second) = read(refresh(second_token)).await;
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    assert_eq!(read(refresh(second_token)).await.0, 200);
    assert_eq!(read(refresh("sandbox-refresh-token")).await.0, 200);
    world.advance(90 * 24 * 3600);
    let (status, body) = read(refresh(second_token)).await;
    assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")));
    assert_eq!(body["error_codes"], json!([700_082]));
}

#[tokio::test]
async fn bad_grants_are_refused() {
    let world = world().await;
    let client = ("client_id", "sandbox-client");
    let secret = ("client_secret", "sandbox-client-secret");
    let credentials = ("grant_type", "client_credentials");
    let default = ("scope", "https://graph.microsoft.com/.default");
    for (fields, status, error) in [
        (vec![], 400, "invalid_request"),
        (vec![("grant_type", "refresh_token"), client], 400, "invalid_request"),
        (vec![("grant_type", "refresh_token"), client, ("refresh_token", "foreign")], 400, "invalid_grant"),
        (
            vec![("grant_type", "refresh_token"), ("client_id", "other"), ("refresh_token", "x")],
            400,
            "unauthorized_client",
        ),
        (vec![("grant_type", "password"), client], 400, "unsupported_grant_type"),
        (vec![credentials, client, default], 401, "invalid_client"),
        (vec![credentials, client, default, ("client_secret", "wrong")], 401, "invalid_client"),
        (vec![credentials, client, secret, ("scope", "Mail.Send")], 400, "invalid_scope"),
    ] {
        let (found, body) = read(world.login(&fields)).await;
        assert_eq!((found, &body["error"]), (status, &json!(error)), "{fields:?}");
        assert!(body["error_description"].as_str().unwrap().starts_with("AADSTS"));
    }
    let body = ok(read(world.login(&[credentials, client, secret, default]))).await;
    assert_eq!(body.get("refresh_token"), None);
    let elsewhere = world
        .client
        .post(world.url("/login/other-tenant/oauth2/v2.0/token"))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body("grant_type=refresh_token");
    assert_eq!(read(elsewhere).await.0, 400);
    let as_json = world
        .client
        .post(world.url("/login/sandbox-tenant/oauth2/v2.0/token"))
        .json(&json!({"grant_type": "refresh_token"}));
    assert_eq!(read(as_json).await.0, 400);
}
