//! The corpus behind sold answers: operators build and activate it, the toll reads it, and its loss stops sales.

use crate::operators::{asked, decided};
use crate::toll::{ask, payment, records, settlements};
use crate::world::{World, question};
use serde_json::{Value, json};

const NOTE: &str = "A landlord pays for the roof of a lighthouse, and the tenant for its lamp.";

/// The answer of a command that succeeds.
fn answered(world: &World, arguments: &[&str]) -> Value {
    let (code, answer) = asked(world, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {answer}");
    answer
}

/// The content of the model's last request.
async fn given(world: &World) -> Value {
    let calls = world.calls("gemini", "streamGenerateContent").await;
    let body = &calls.last().expect("the model was asked")["request_body"];
    let body: Value = body.as_str().map_or_else(|| body.clone(), |text| serde_json::from_str(text).unwrap_or_default());
    let contents = body["contents"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    serde_json::from_str(contents["parts"][0]["text"].as_str().unwrap_or_default()).unwrap_or_default()
}

#[tokio::test]
async fn a_corpus_is_built_and_put_into_use_and_its_loss_settles_nothing() {
    let world = World::alone().await;
    let folder = std::env::temp_dir().join(format!("oracle-corpus-{}", tests::unique()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("notes.md"), NOTE).expect("a text");
    let path = folder.to_string_lossy().into_owned();
    let built = answered(&world, &["corpus", "build", &path]);
    let again = answered(&world, &["corpus", "build", &path]);
    assert_eq!(built, again, "the same texts are the same version");
    let version = built["version"].as_str().expect("a version").to_owned();
    let found = answered(&world, &["corpus", "show", &version[..12], "--question", "Whose is the lamp?"]);
    assert_eq!(found["found"][0], json!({ "source": "notes.md", "text": NOTE }));

    decided(&world, &["corpus", "activate", &version[..12]]);
    let shown = answered(&world, &["corpus", "show"]);
    assert_eq!((&shown["active"]["version"], &shown["active"]["by"]), (&json!(version), &json!("dana")));
    let asked = question();
    let signed = payment(&world, "/query", &asked).await;
    let bought = ask(&world, "/query", &asked, Some(("payment-signature", &signed))).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    assert_eq!(given(&world).await, json!({ "submission": asked, "references": [NOTE] }));
    let mut decisions = Vec::new();
    for key in world.aws.keys("AuditBucket", "/function/operator/").await {
        decisions.push(world.aws.text("AuditBucket", &key).await);
    }
    assert!(decisions.iter().any(|line| line.contains("corpus activate") && line.contains(&version)), "{decisions:?}");

    // A version that the process has not loaded, and whose index is missing.
    let lost = json!({ "version": "0".repeat(64), "since": 0, "by": "dana" });
    world.aws.replace_note("corpus", &lost).await;
    let (asked, before) = (question(), settlements(&world).await);
    let signed = payment(&world, "/query", &asked).await;
    ask(&world, "/query", &asked, Some(("payment-signature", &signed))).await.assert_code(503, "no_answer");
    assert_eq!(settlements(&world).await, before);
    let records = records(&world, &asked).await;
    assert!(records.iter().any(|record| record["status"] == "RAG_FAIL"), "{records:?}");

    decided(&world, &["corpus", "activate", "none"]);
    let bought = ask(&world, "/query", &asked, Some(("payment-signature", &signed))).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    assert_eq!(given(&world).await, json!({ "submission": asked }));
    std::fs::remove_dir_all(folder).expect("the folder is removed");
}
