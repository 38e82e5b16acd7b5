"use strict";
// The chat: signs in by a mailed link, sends messages and shows replies, the memory and the offer.
// Every text is inserted with textContent; the page's policy allows nothing else.
{
  const MAX_CHARACTERS = 4000;
  const PENDING = "oracle.chat.pending";
  const AGAIN = 2500;
  const TRIES = 24;

  const byId = (id) => document.getElementById(id);
  const number = new Intl.NumberFormat("en-CA");
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const states = ["sign-in", "sent", "broken", "talk"];

  const show = (state, focus = true) => {
    for (const name of states) byId(name).hidden = name !== state;
    if (focus) byId(`${state}-title`).focus();
  };
  const say = (sentence) => {
    byId("live").textContent = sentence;
  };
  const problem = (id, sentence) => {
    byId(id).textContent = sentence;
    byId(id).hidden = sentence === "";
  };
  const busy = (button, is) => button.setAttribute("aria-disabled", String(is));
  const isBusy = (button) => button.getAttribute("aria-disabled") === "true";

  // A reply without a body, or none at all, is status 0.
  const call = async (method, path, body) => {
    try {
      const request = { method, credentials: "same-origin", cache: "no-store" };
      if (body !== undefined) {
        request.headers = { "content-type": "application/json" };
        request.body = JSON.stringify(body);
      }
      const reply = await fetch(path, request);
      let told = {};
      try {
        told = await reply.json();
      } catch {
        // The status says enough.
      }
      return { status: reply.status, told };
    } catch {
      return { status: 0, told: {} };
    }
  };

  // ---- the message that is on its way survives a reload: it is sent again under its id ----

  const pending = (value) => {
    try {
      if (value === undefined) return JSON.parse(sessionStorage.getItem(PENDING) ?? "null");
      if (value === null) sessionStorage.removeItem(PENDING);
      else sessionStorage.setItem(PENDING, JSON.stringify(value));
    } catch {
      // Storage may be switched off; then a reload forgets it.
    }
    return null;
  };
  const newId = () => {
    if (crypto.randomUUID) return crypto.randomUUID();
    const hex = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  };

  // ---- signing in ----

  byId("sign-in-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const email = byId("email").value.trim();
    problem("sign-in-problem", "");
    problem("email-error", email.includes("@") ? "" : "Please write your email address.");
    byId("email").toggleAttribute("aria-invalid", false);
    if (!email.includes("@")) {
      byId("email").setAttribute("aria-invalid", "true");
      byId("email").focus();
      return;
    }
    if (isBusy(byId("email-send"))) return;
    busy(byId("email-send"), true);
    const { status } = await call("POST", "/api/chat/login", { email });
    busy(byId("email-send"), false);
    if (status === 202) {
      byId("sent-to").textContent = email;
      show("sent");
    } else {
      problem("sign-in-problem", "The link could not be sent. Please try again in a moment.");
    }
  });
  byId("sent-again").addEventListener("click", () => {
    show("sign-in", false);
    byId("email").focus();
  });

  // ---- the conversation ----

  const entry = (who, text) => {
    const article = document.createElement("article");
    const heading = document.createElement("h2");
    const words = document.createElement("p");
    article.className = who === "You" ? "said own" : "said";
    heading.textContent = who;
    words.className = "prose";
    words.textContent = text;
    article.append(heading, words);
    return { article, words };
  };
  const asked = (text) => {
    byId("empty").hidden = true;
    const { article } = entry("You", text);
    byId("thread").append(article);
    article.scrollIntoView({ block: "nearest" });
  };
  const names = { "first view": "First view", "second view": "Second view" };
  const answered = async (told, slowly) => {
    const group = document.createElement("div");
    group.className = told.replies.length > 1 ? "views" : "";
    byId("thread").append(group);
    await Promise.all(told.replies.map(async ({ voice, text }) => {
      const { article, words } = entry(names[voice] ?? voice, slowly ? "" : text);
      group.append(article);
      if (!slowly) return;
      for (const sentence of text.match(/[^.!?]+[.!?]*\s*/g) ?? [text]) {
        words.textContent += sentence;
        article.scrollIntoView({ block: "nearest" });
        if (!calm()) await sleep(140);
      }
      words.textContent = text;
    }));
    if (told.notice) {
      const notice = document.createElement("p");
      notice.className = "small muted";
      notice.textContent = told.notice;
      group.append(notice);
    }
  };
  const counts = ["No free exchanges are", "One free exchange is", "Two free exchanges are", "Three free exchanges are"];
  const plans = { chat: "You are subscribed.", pro: "You are subscribed to Pro.", bridge: "You have access to the Bridge." };
  const tellPlan = (plan, count) => {
    byId("plan").textContent = plans[plan] ?? `${counts[count]} left.`;
    if (plan !== "free") byId("offer").hidden = true;
    byId("manage").hidden = plan !== "chat" && plan !== "pro";
  };

  const offer = () => {
    byId("offer").hidden = false;
    byId("offer-title").focus();
    say("Your three free exchanges are used.");
  };
  for (const plan of ["chat", "pro"]) {
    byId(`subscribe-${plan}`).addEventListener("click", async () => {
      problem("offer-problem", "");
      const { status, told } = await call("POST", "/api/chat/subscribe", { plan });
      if (status === 200 && typeof told.url === "string") location.assign(told.url);
      else problem("offer-problem", "The payment page could not be reached. Nothing was charged. Please try again.");
    });
  }

  byId("portal").addEventListener("click", async () => {
    problem("portal-problem", "");
    const { status, told } = await call("POST", "/api/chat/portal", {});
    if (status === 200 && typeof told.url === "string") location.assign(told.url);
    else problem("portal-problem", "The page of your subscription could not be reached. Please try again.");
  });

  const refuse = (sentence, lines = []) => {
    problem("message-error", sentence);
    byId("message-lines").replaceChildren(...lines.map((line) => {
      const item = document.createElement("li");
      item.textContent = line;
      return item;
    }));
    byId("message-lines").hidden = lines.length === 0;
    byId("message").toggleAttribute("aria-invalid", false);
    if (sentence !== "") byId("message").setAttribute("aria-invalid", "true");
  };

  // Sends one message until there is an answer; the id makes it one exchange, however often it is sent.
  const exchange = async (id, text) => {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const got = await call("POST", "/api/chat/exchanges", { id, text });
      if (got.status === 202 || got.status === 0 || got.status >= 500) {
        byId("waiting-text").textContent = got.status === 0
          ? "The connection was lost. This page tries again by itself."
          : "AETHER is writing.";
        await sleep(AGAIN);
        continue;
      }
      return got;
    }
    return { status: 503, told: {} };
  };
  const converse = async (id, text) => {
    pending({ id, text });
    busy(byId("send"), true);
    asked(text);
    byId("waiting-text").textContent = "AETHER is writing.";
    byId("waiting").hidden = false;
    byId("thread").setAttribute("aria-busy", "true");
    const { status, told } = await exchange(id, text);
    byId("waiting").hidden = true;
    if (status !== 503) pending(null);
    if (status === 200) {
      if (told.free_left !== undefined) tellPlan("free", told.free_left);
      await answered(told, true);
      if (told.free_left === 0) byId("offer").hidden = false;
    } else {
      byId("thread").lastElementChild?.remove();
      byId("empty").hidden = byId("thread").childElementCount > 0;
      if (byId("message").value === "") byId("message").value = text;
      count();
      if (status === 402) offer();
      else if (status === 401) show("sign-in");
      else if (status === 422) {
        const helpers = (told.resources ?? []).map(({ name, contact }) => `${name}: ${contact}`);
        refuse(told.error, [...(told.questions ?? []), ...(told.suggested_actions ?? []), ...helpers]);
        byId("message").focus();
      } else if (status === 429) refuse("That is a lot at once. Please try again later.");
      else if (status === 410) refuse("This message was erased with your memory.");
      else refuse("This message could not be answered. Nothing was counted. Please try again.");
    }
    byId("thread").removeAttribute("aria-busy");
    busy(byId("send"), false);
  };

  const characters = (text) => [...text].length;
  const count = () => {
    const length = characters(byId("message").value);
    byId("message-count").textContent = `${number.format(length)} / ${number.format(MAX_CHARACTERS)} characters`;
    byId("message-count").classList.toggle("over", length > MAX_CHARACTERS);
  };
  byId("message").addEventListener("input", () => {
    count();
    refuse("");
  });
  byId("message").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("say").requestSubmit();
  });
  byId("say").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy(byId("send"))) return;
    const text = byId("message").value.trim();
    const wrong = text === "" ? "Please write your message first."
      : characters(text) > MAX_CHARACTERS ? "Please shorten your message." : "";
    refuse(wrong);
    if (wrong !== "") {
      byId("message").focus();
      return;
    }
    byId("message").value = "";
    count();
    await converse(newId(), text);
  });

  // ---- the memory ----

  const recall = async () => {
    const { status, told } = await call("GET", "/api/chat/memory");
    if (status !== 200) return;
    byId("thread").replaceChildren();
    const turns = told.events.map(({ payload }) => payload).filter((payload) => payload?.kind === "EXCHANGE");
    for (const { payload } of turns) {
      asked(payload.asked);
      await answered(payload, false);
    }
    byId("empty").hidden = turns.length > 0;
  };
  const sure = (is) => {
    byId("memory-sure").hidden = !is;
    byId("memory-erase").setAttribute("aria-expanded", String(is));
    (is ? byId("memory-question") : byId("memory-erase")).focus();
  };
  byId("memory-erase").addEventListener("click", () => sure(byId("memory-sure").hidden));
  byId("memory-no").addEventListener("click", () => sure(false));
  byId("memory-yes").addEventListener("click", async () => {
    problem("memory-problem", "");
    const { status } = await call("DELETE", "/api/chat/memory");
    sure(false);
    if (status === 202) {
      byId("thread").replaceChildren();
      byId("empty").hidden = false;
      say("Your memory is erased.");
      byId("memory-text").textContent = "Your memory is erased. What you say from now on is remembered anew.";
    } else {
      problem("memory-problem", "It could not be erased. Please try again.");
    }
  });
  byId("sign-out").addEventListener("click", async () => {
    const { status } = await call("DELETE", "/api/chat/session");
    if (status !== 200) return;
    byId("thread").replaceChildren();
    pending(null);
    show("sign-in");
  });

  // ---- the beginning ----

  const begin = async () => {
    const address = new URL(location.href);
    const token = address.searchParams.get("token");
    let refused = false;
    if (token !== null) {
      // Nobody who looks at the address or the history later finds the link.
      address.searchParams.delete("token");
      history.replaceState(null, "", address);
      const { status } = await call("POST", "/api/chat/session", { token });
      refused = status !== 200;
    }
    const { status, told } = await call("GET", "/api/chat/me");
    if (status === 200) {
      tellPlan(told.plan, told.free_left);
      show("talk", token !== null);
      await recall();
      if (told.plan === "free" && (told.free_left === 0 || address.hash === "#subscribe")) byId("offer").hidden = false;
      const waiting = pending();
      if (waiting?.id && waiting?.text) await converse(waiting.id, waiting.text);
    } else if (status === 401) {
      show("sign-in", false);
      if (refused) {
        problem("sign-in-problem", "This link does not work any more, or was asked for in another browser. Please ask for a new one here.");
        byId("email").focus();
      }
    } else {
      show("broken");
    }
  };
  byId("broken-again").addEventListener("click", begin);
  begin();
}
