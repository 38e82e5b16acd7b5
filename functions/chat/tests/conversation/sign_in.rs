//! Links and sessions, and the limits of links.

use super::*;

#[test]
fn a_link_signs_in_the_browser_that_asked_once_within_ten_minutes() {
    let world = world();
    let browser = login(&world, "someone@example.com");
    let link = token(&world);
    let mail = world.state().sent.last().unwrap().1.clone();
    assert_eq!(mail.to, "someone@example.com");
    assert_eq!(
        mail.session,
        domain::chat::sign_in_mails(domain::ports::Clock::now(&world)),
        "the name by which it is removed later"
    );
    let other = login(&world, "other@example.com");
    assert_eq!(redeem(&world, &link, &other).status(), 401, "another browser");
    let reply = redeem(&world, &link, &browser);
    assert_eq!(reply.status(), 200);
    let set = reply.header_value("set-cookie").unwrap();
    for attribute in ["HttpOnly", "Secure", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(attribute), "{set}");
    }
    assert!(set.starts_with("__Host-chat_session=") && !set.contains("Domain"), "{set}");
    assert_eq!(redeem(&world, &link, &browser).status(), 401, "it was used");

    let browser = login(&world, "someone@example.com");
    let late = token(&world);
    world.advance(Duration::from_secs(600));
    assert_eq!(redeem(&world, &late, &browser).status(), 401, "ten minutes are over");
    for wrong in ["", "x", &"0".repeat(64)] {
        assert_eq!(redeem(&world, wrong, &browser).status(), 401);
    }
    let stored = stored(&world);
    assert!(!stored.contains(&link) && !stored.contains(&browser) && !stored.contains("someone@"), "digests alone");
}

/// Another host of the domain can plant cookies of the plain names, and browsers send them first.
#[test]
fn a_cookie_that_another_host_planted_is_not_read() {
    let world = world();
    let own = signed_in(&world, "someone@example.com");
    let planted = signed_in(&world, "evil@example.com").replace("__Host-", "");
    assert_eq!(get(&world, "/api/chat/me", &planted).status(), 401);
    assert_eq!(ask(&world, 1, QUESTION, &format!("{planted}; {own}")).status(), 200);
    assert_eq!(body(&get(&world, "/api/chat/me", &own))["free_left"], 2, "it is in the visitor's own account");

    let asking = || link_for(&json!("other@example.com"));
    let asked = send(&world, asking()).unwrap();
    let set = asked.header_value("set-cookie").unwrap();
    assert!(set.contains("; Path=/;") && set.contains("Secure") && !set.contains("Domain"), "{set}");
    let browser = cookie(&asked, "__Host-chat_login").unwrap();
    let following = Request::post("/api/chat/session", json!({ "token": token(&world) }).to_string());
    let followed = send(&world, following.with_header("cookie", &format!("chat_login={browser}"))).unwrap();
    assert_eq!(followed.status(), 401);

    // Browsers refuse the prefix without TLS, so a developer's site has the plain names.
    let local = Settings { site: "http://127.0.0.1:8080".to_owned(), ..settings() };
    let on_local = |request: Request| run(handle(ports(&world), &local, request)).unwrap();
    let browser = cookie(&on_local(asking()), "chat_login").unwrap();
    let following = Request::post("/api/chat/session", json!({ "token": token(&world) }).to_string());
    let followed = on_local(following.with_header("cookie", &format!("chat_login={browser}")));
    let session = format!("chat_session={}", cookie(&followed, "chat_session").unwrap());
    assert_eq!(on_local(Request::get("/api/chat/me").with_header("cookie", &session)).status(), 200);
}

/// A stolen cookie, or one that stays in another person's browser, signs in for 30 days.
#[test]
fn a_customer_ends_the_sessions_of_all_their_browsers() {
    let world = world();
    let [here, library] = [(); 2].map(|()| signed_in(&world, "someone@example.com"));
    let other = signed_in(&world, "other@example.com");
    let out = |cookie: &str, body: &str| {
        let request = Request::delete("/api/chat/session").with_header("cookie", cookie).with_body(body);
        send(&world, request).unwrap()
    };
    let signed_in_now = || [&here, &library, &other].map(|cookie| get(&world, "/api/chat/me", cookie).status() == 200);
    for wrong in ["null", "[]", "everywhere", r#"{"everywhere":1}"#] {
        assert_eq!(out(&here, wrong).status(), 400, "{wrong}");
    }
    let everywhere = r#"{"everywhere":true}"#;
    for (failing, left) in [("sign_ins.end_sessions", [true; 3]), ("sign_ins.end_session", [true, false, true])] {
        world.plan(Plan::none().whenever(failing, Fault::Fail));
        assert_eq!(out(&here, everywhere).status(), 503);
        world.plan(Plan::none());
        assert_eq!(signed_in_now(), left, "the own session ends last, so that it can be tried again");
    }
    let reply = out(&here, everywhere);
    assert_eq!(reply.status(), 200, "{}", reply.body());
    assert!(reply.header_value("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(signed_in_now(), [false, false, true]);
    assert_eq!(code(&out(&here, everywhere)), (401, "signed_out".to_owned()), "it says whose they are no more");

    let [own, left] = [(); 2].map(|()| signed_in(&world, "someone@example.com"));
    for (cookie, body) in [(&here, ""), (&here, "{}"), (&own, r#"{"everywhere":false}"#)] {
        assert_eq!(out(cookie, body).status(), 200, "{body}");
    }
    assert_eq!([&own, &left].map(|cookie| get(&world, "/api/chat/me", cookie).status()), [401, 200]);
}

#[test]
fn a_form_of_another_site_signs_nobody_in() {
    let world = world();
    let browser = login(&world, "someone@example.com");
    let link = token(&world);
    let from = |origin: &str, path: &str, body: serde_json::Value| {
        let request =
            Request::post(path, body.to_string()).with_header("cookie", &format!("__Host-chat_login={browser}"));
        send(&world, request.with_header("host", "shop.example").with_header("origin", origin)).unwrap().status()
    };
    for other in ["https://evil.example", "https://oracle.example.evil.example", "http://oracle.example", "null", ""] {
        assert_eq!(from(other, "/api/chat/login", json!({ "email": "evil@example.com" })), 403, "{other}");
        assert_eq!(from(other, "/api/chat/session", json!({ "token": link })), 403, "{other}");
    }
    assert_eq!(world.state().sent.len(), 1);
    assert_eq!(
        from("https://shop.example", "/api/chat/login", json!({ "email": "a@example.com" })),
        202,
        "its own host"
    );
    assert_eq!(from("https://oracle.example", "/api/chat/session", json!({ "token": link })), 200);
}

#[test]
fn who_asks_for_a_link_learns_nothing_and_cannot_flood_a_mailbox() {
    let world = world();
    let login = |email: serde_json::Value| send(&world, link_for(&email)).unwrap().status();
    assert_eq!((login(json!("no address")), login(json!(7))), (202, 400));
    assert!(world.state().sent.is_empty());
    for n in 0..30 {
        assert_eq!(login(json!(format!("some.one+{n}@gmail.com"))), 202);
    }
    assert_eq!(world.state().sent.len(), 5, "from one network to one mailbox in an hour, whatever its spelling");
    world.advance(Duration::from_secs(3600));
    assert_eq!((login(json!("someone@gmail.com")), world.state().sent.len()), (202, 6));
}

/// Asks for a link from a network, with the limits of a deployment. Returns how many links are mailed in all.
fn links(world: &testkit::World, email: &str, network: &str) -> usize {
    let settings = Settings { per_network: 90, mails_a_minute: 15, ..settings() };
    let reply = run(handle(ports(world), &settings, link_for(&email.into()).with_address(network))).unwrap();
    assert_eq!(reply.status(), 202, "the reply does not tell");
    world.state().sent.len()
}

fn counted(world: &testkit::World, metric: Metric) -> usize {
    world.state().measured(metric)
}

fn refused_links(world: &testkit::World) -> usize {
    counted(world, Metric::ChatLinkRefused)
}

/// A network that asks for a mailbox's links again and again keeps its owner from signing in no more than others in the
/// network.
#[test]
fn what_a_network_asks_for_beyond_its_limit_does_not_use_up_a_mailbox() {
    let world = world();
    for _ in 0..40 {
        links(&world, "someone@example.com", "203.0.113.7");
        world.advance(Duration::from_secs(20));
    }
    assert_eq!(world.state().sent.len(), 5);
    assert_eq!(links(&world, "someone@example.com", "198.51.100.9"), 6);
    assert_eq!(links(&world, "other@example.com", "203.0.113.7"), 7);
    assert_eq!(refused_links(&world), 0, "customers get their links");
}

/// A network that names strangers' mailboxes leaves the others of that minute their links.
#[test]
fn one_network_does_not_use_up_what_all_have_in_a_minute() {
    let world = world();
    for n in 0..15 {
        links(&world, &format!("stranger-{n}@example.com"), "203.0.113.7");
    }
    assert_eq!(world.state().sent.len(), 3);
    assert_eq!(links(&world, "owner@example.com", "198.51.100.9"), 4);
    assert_eq!(refused_links(&world), 0);
    world.advance(Duration::from_secs(60));
    assert_eq!(links(&world, "other@example.com", "203.0.113.7"), 5);
}

/// Links that the limit of all mailboxes refuses do not use up those of a mailbox. Operators learn of them.
#[test]
fn what_all_mailboxes_ask_for_does_not_use_up_one() {
    let world = world();
    for n in 0..15 {
        links(&world, &format!("customer-{n}@example.com"), &format!("203.0.113.{n}"));
    }
    for n in 100..200 {
        assert_eq!(links(&world, "someone@example.com", &format!("203.0.113.{n}")), 15, "of a minute");
    }
    assert_eq!(refused_links(&world), 100);
    world.advance(Duration::from_secs(60));
    assert_eq!(links(&world, "someone@example.com", "198.51.100.9"), 16);
    assert_eq!(refused_links(&world), 100);
}

#[test]
fn one_mailbox_gets_at_most_sixty_links_an_hour_and_operators_learn_of_it() {
    let world = world();
    for n in 0..80 {
        let _sent = links(&world, "someone@example.com", &format!("203.0.113.{n}"));
        world.advance(Duration::from_secs(5));
    }
    assert_eq!(world.state().sent.len(), 60);
    assert_eq!(refused_links(&world), 20);
}

/// The page says that a link was sent in every case, so operators must learn that none can be.
#[test]
fn a_link_that_cannot_be_mailed_is_counted() {
    let world = world();
    let login = || {
        assert_eq!(send(&world, link_for(&json!("someone@example.com"))).unwrap().status(), 202);
        counted(&world, Metric::ChatLinkFailed)
    };
    assert_eq!(login(), 0);
    for (number, name) in (1..).zip(["sign_ins.save_login", "mailbox.create_draft", "mailbox.send_draft"]) {
        world.plan(Plan::none().whenever(name, Fault::Fail));
        assert_eq!(login(), number, "{name}");
    }
    world.plan(Plan::none());
    assert_eq!(login(), 3);
    let unset = world.secret("{}");
    let ports = chat::Ports { secret: &unset, ..ports(&world) };
    let request = link_for(&json!("someone@example.com"));
    assert_eq!(run(handle(ports, &settings(), request)).unwrap().status(), 202);
    assert_eq!(counted(&world, Metric::ChatLinkFailed), 4);
}

/// A draft of SES's mails is ours: one that stayed would have the address and the link.
#[test]
fn a_link_that_ses_does_not_take_is_in_no_draft() {
    for (says, drafts) in [(MailError::Rejected, 0), (MailError::OutcomeUnknown("planned fault".into()), 1)] {
        let world = world();
        world.state().mailbox_says.push_back(Some(says));
        let mailbox = RelayMailbox { drafts: &world, relay: &world, randomness: &world };
        let ports = chat::Ports { mailbox: &mailbox, ..ports(&world) };
        let request = link_for(&json!("someone@example.com"));
        assert_eq!(run(handle(ports, &settings(), request)).unwrap().status(), 202);
        let state = world.state();
        assert!(state.sent.is_empty());
        assert_eq!(state.relay_drafts.len(), drafts);
        // A claimed draft has no text. It is kept, because its mail may have been sent.
        assert!(state.relay_drafts.values().all(|draft| draft.value == RelayDraft::Claimed));
    }
}
