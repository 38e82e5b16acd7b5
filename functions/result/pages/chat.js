// The chat: signs in by a mailed link, sends messages and shows replies, the memory and the offer.
// Every text is inserted with textContent; the page's policy allows nothing else.
// The file has more than 300 lines because a page has one inlined script, and the parts of this one share the functions
// at its top.
{
  const MAX_CHARACTERS = 4000;
  const AGAIN = 2500;
  const TRIES = 24;
  // Milliseconds between two looks at a reply that is being made: until its first sentence, after it, and otherwise.
  const LOOK = 200;
  const NEXT_LOOK = 400;
  const LATER_LOOK = 1000;
  // A payment is confirmed within seconds; the page asks for a minute.
  const CONFIRM = 2000;
  const CONFIRMS = 30;
  // The address in an offer is used for an hour; the payment page behind it closes after a day.
  const OFFERED = 3_600_000;
  const UNREADABLE = "This message has characters that we cannot read. Please type it anew.";

  const number = new Intl.NumberFormat("en-CA");
  const TOO_LONG = `Please shorten your message to ${number.format(MAX_CHARACTERS)} characters.`;
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const states = ["loading", "sign-in", "sent", "broken", "care", "talk"];

  const show = (state, focus = true) => {
    for (const name of states) byId(name).hidden = name !== state;
    if (focus) byId(`${state}-title`).focus();
  };
  // Says a sentence to screen readers, unless the page shows only who helps. They say what changes in this region, which
  // is there from the start, and not what appears with its text.
  const say = (sentence) => {
    byId("live").textContent = byId("care").hidden ? sentence : "";
  };
  const problem = (id, sentence) => {
    byId(id).textContent = sentence;
    byId(id).hidden = sentence === "";
  };
  const busy = (button, is) => button.setAttribute("aria-disabled", String(is));
  const isBusy = (button) => button.getAttribute("aria-disabled") === "true";

  // A reply whose body is lost, or none at all, is status 0.
  const call = async (method, path, body) => {
    try {
      const request = { method, credentials: "same-origin", cache: "no-store", signal: timeLimit() };
      if (body !== undefined) {
        request.headers = { "content-type": "application/json" };
        request.body = JSON.stringify(body);
      }
      const reply = await fetch(path, request);
      let answer = {};
      try {
        answer = await reply.json();
      } catch {
        // Of a failure the status says enough. Every success has a body, and that of a declined text says who helps.
        if (reply.ok || reply.status === 422) return { status: 0, answer };
      }
      return { status: reply.status, answer };
    } catch {
      return { status: 0, answer: {} };
    }
  };

  // ---- the message that is on its way survives a reload: it is sent again under its id ----

  // The tag of the account that is signed in, once it is known.
  let account;
  // Keeps a message under the account that wrote it. One of another account is dropped: the next person who signs in in
  // this tab neither reads nor sends it.
  const keptAs = (name) => (value) => {
    try {
      if (value === null) sessionStorage.removeItem(name);
      else if (value !== undefined) sessionStorage.setItem(name, JSON.stringify({ ...value, account }));
      else {
        const kept = JSON.parse(sessionStorage.getItem(name) ?? "null");
        if (kept?.account === account) return kept;
        sessionStorage.removeItem(name);
      }
    } catch {
      // Storage may be switched off; then a reload forgets it.
    }
    return null;
  };
  const pending = keptAs("oracle.chat.pending");
  // The message that is being written survives a reload, too.
  const draft = keptAs("oracle.chat.draft");
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
    say("Sending the link.");
    const { status } = await call("POST", "/api/chat/login", { email });
    busy(byId("email-send"), false);
    say("");
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

  const REMEMBERED = byId("memory-text").textContent;
  // Takes off the page what was said by and to the person who was signed in, and the address where they pay.
  const clearCustomer = () => {
    say("");
    setChildren(byId("thread"));
    clearBridge();
    paymentPage = null;
    refuse("");
    byId("memory-sure").hidden = true;
    byId("memory-erase").setAttribute("aria-expanded", "false");
    byId("memory-text").textContent = REMEMBERED;
  };
  // Ends the session on the page if a reply says that it has ended, and returns whether it did. Unsent texts stay in their
  // boxes, until another customer signs in.
  const endIfSignedOut = (status) => {
    if (status !== 401) return false;
    clearCustomer();
    // The step that says who helps stays until its reader leaves it.
    if (!byId("care").hidden) return true;
    show("sign-in");
    problem("sign-in-problem", "You are signed out. Please sign in again.");
    return true;
  };

  // Counts sign-outs. What was sent before one is neither sent again nor shown after it.
  let signOuts = 0;
  // Returns whether the person who sent a text has signed out since. Until the next sign-in, who helps is shown to them
  // nevertheless.
  const endIfLeft = (own, answer, field) => {
    if (own === signOuts) return false;
    if (answer.crisis && byId("talk").hidden) showCare(answer, field);
    return true;
  };

  // ---- the conversation ----

  const entry = (who, text) => {
    const article = document.createElement("article");
    const heading = document.createElement("h2");
    const words = document.createElement("p");
    article.className = who === "You" ? "said own" : "said";
    // Customers write in any language; ours is the page's.
    if (who === "You") words.lang = "";
    heading.textContent = who;
    words.className = "prose";
    words.textContent = text;
    article.append(heading, words);
    return { article, words };
  };
  // Asks what is on the customer's mind, unless something was said, or might have been.
  const tellEmpty = () => {
    byId("empty").hidden = byId("thread").childElementCount > 0 || !byId("unread").hidden;
  };
  const asked = (text) => {
    byId("empty").hidden = true;
    const { article } = entry("You", text);
    byId("thread").append(article);
    article.scrollIntoView({ block: "nearest" });
    return article;
  };
  const names = { "first view": "First view", "second view": "Second view" };
  const nameOf = (voice) => names[voice] ?? voice;
  // The replies to one message: their whole sentences while they are written, then the replies themselves.
  const view = () => {
    const group = document.createElement("div");
    const said = new Map();
    const small = document.createElement("p");
    small.className = "small muted";
    small.hidden = true;
    group.append(small);
    byId("thread").append(group);
    // Replies that are not among these were withdrawn.
    const place = ({ replies, notice }) => {
      small.textContent = notice ?? "";
      small.hidden = small.textContent === "";
      group.className = replies.some(({ voice }) => voice in names) ? "views" : "";
      for (const [voice, { article }] of said) {
        if (replies.some((reply) => reply.voice === voice)) continue;
        article.remove();
        said.delete(voice);
      }
      replies.forEach(({ voice }, index) => {
        if (said.has(voice)) return;
        said.set(voice, entry(nameOf(voice), ""));
        group.insertBefore(said.get(voice).article, group.children[index] ?? null);
      });
    };
    const write = ({ article, words }, text) => {
      if (words.textContent === text) return;
      words.textContent = text;
      article.scrollIntoView({ block: "nearest" });
    };
    return {
      begin: (answer) => {
        place(answer);
        for (const { voice, text } of answer.replies) write(said.get(voice), text);
      },
      end: async (answer, slowly) => {
        place(answer);
        await Promise.all(answer.replies.map(async ({ voice, text }) => {
          const shown = said.get(voice);
          const begun = shown.words.textContent;
          const rest = slowly && text.startsWith(begun) ? text.slice(begun.length) : "";
          for (const sentence of rest.match(/[^.!?]+[.!?]*\s*/g) ?? []) {
            write(shown, shown.words.textContent + sentence);
            if (!calm()) await sleep(140);
          }
          write(shown, text);
        }));
      },
      remove: () => group.remove(),
    };
  };
  const counts = ["No free exchanges are", "One free exchange is", "Two free exchanges are", "Three free exchanges are"];
  const USED = byId("offer-title").textContent;
  const LAPSED = "Your subscription has ended, or its last payment failed. ";
  const plans = { chat: "You are subscribed.", pro: "You are subscribed to Pro.", bridge: "You have access to the Bridge." };
  // Whether a subscription was paid before and gives no access now. It can still be charged, until it is canceled.
  let hasLapsed = false;
  const tellPlan = (plan, count) => {
    byId("plan").textContent = plans[plan] ?? `${hasLapsed ? LAPSED : ""}${counts[count]} left.`;
    if (plan !== "free") byId("offer").hidden = true;
    byId("offer-title").textContent = hasLapsed ? "Your subscription is not active" : USED;
  };
  const tellCustomer = ({ plan, free_left: count, paid_until: paidUntil, lapsed }) => {
    hasLapsed = lapsed === true;
    tellPlan(plan, count);
    // Who has cancelled is still subscribed until then.
    const until = new Date(paidUntil ?? NaN);
    if (!Number.isNaN(until.getTime())) {
      byId("plan").append(` Your subscription is paid until ${until.toLocaleDateString("en-CA", { dateStyle: "long" })}.`);
    }
    byId("manage").hidden = paidUntil === undefined && !hasLapsed;
    problem("portal-problem", "");
  };

  // The payment page of the plan "chat", if the last offer named one.
  let paymentPage = null;
  const offer = (url) => {
    const isElsewhere = typeof url === "string" && !url.startsWith(location.origin);
    paymentPage = isElsewhere ? { url, until: Date.now() + OFFERED } : null;
    byId("offer").hidden = false;
    byId("offer-title").focus();
    say(`${byId("offer-title").textContent}.`);
  };
  // Asks for the address of one of Stripe's pages and goes there. The buttons of all of them do nothing meanwhile.
  const stripeButtons = ["subscribe-chat", "subscribe-pro", "portal"].map(byId);
  const goToStripe = async (path, body, problemId, failure) => {
    if (stripeButtons.some(isBusy)) return;
    problem(problemId, "");
    for (const button of stripeButtons) busy(button, true);
    const { status, answer } = await call("POST", path, body);
    for (const button of stripeButtons) busy(button, false);
    if (endIfSignedOut(status)) return;
    if (status === 200 && typeof answer.url === "string") location.assign(answer.url);
    else if (answer.code === "not_subscribed") {
      byId("manage").hidden = true;
      problem(problemId, "There is no subscription any more, and nothing will be charged.");
      byId("talk-title").focus();
    } else problem(problemId, status === 429 ? "That is a lot at once. Please try again later." : failure);
  };
  for (const plan of ["chat", "pro"]) {
    byId(`subscribe-${plan}`).addEventListener("click", async () => {
      if (plan === "chat" && paymentPage !== null && Date.now() < paymentPage.until) {
        location.assign(paymentPage.url);
        return;
      }
      const failure = "The payment page could not be reached. Nothing was charged. Please try again.";
      await goToStripe("/api/chat/subscribe", { plan }, "offer-problem", failure);
    });
  }

  // ---- the way back from the payment page: Stripe reports the payment to us, a little later than to the customer ----

  const returned = () => new URL(location.href).searchParams.has("subscribed");
  const confirming = (sentence) => {
    byId("confirming").textContent = sentence;
    byId("confirming").hidden = sentence === "";
    if (sentence !== "") say(sentence);
  };
  // Asks for the plan until the payment gives access. Until then nothing is offered to a customer who has just paid.
  const confirm = async () => {
    const own = signOuts;
    confirming("Your payment is being confirmed.");
    for (let tries = 0; tries < CONFIRMS; tries += 1) {
      await sleep(CONFIRM);
      const { status, answer } = await call("GET", "/api/chat/me");
      if (own !== signOuts || endIfSignedOut(status)) return;
      // Another customer has signed in in another tab.
      if (status === 200 && answer.account !== account) return begin();
      if (status === 200 && answer.plan !== "free") {
        confirmed();
        tellCustomer(answer);
        say(`Your payment is confirmed. ${plans[answer.plan]}`);
        return;
      }
    }
    confirming("Your payment is not confirmed yet. Please reload this page in a few minutes; you do not pay twice.");
  };
  const confirmed = () => {
    confirming("");
    const address = new URL(location.href);
    address.searchParams.delete("subscribed");
    history.replaceState(null, "", address);
  };

  byId("portal").addEventListener("click", async () => {
    const failure = "The page of your subscription could not be reached. Please try again.";
    await goToStripe("/api/chat/portal", {}, "portal-problem", failure);
  });

  const refuse = (sentence, lines = []) => {
    problem("message-error", sentence);
    fillList("message-lines", lines);
    // The box may have the focus already: then screen readers do not read its description, which has the lines.
    if (lines.length > 0) say(lines.map((line) => (line.textContent ?? line).replace(/[^.?!]$/u, "$&.")).join(" "));
    byId("message").toggleAttribute("aria-invalid", false);
    if (sentence !== "") byId("message").setAttribute("aria-invalid", "true");
  };

  // After a possible disclosure of self-harm the page shows only who helps. Nothing of the text stays on it.
  let careFor = "message";
  const showCare = (answer, field) => {
    careFor = field;
    if (field === "message") draft(null);
    fillCare(answer.error, answer);
    show("care");
    say("");
    scrollTo(0, 0);
  };
  byId("care-back").addEventListener("click", () => {
    show("talk", false);
    byId(careFor).focus();
  });

  const WRITING = "AETHER is writing.";
  const LOST = "The connection was lost. This page tries again by itself.";
  // Shows what the page waits for, and says it to screen readers when it changes; "" once it waits for nothing.
  const waitFor = (sentence) => {
    byId("waiting").hidden = sentence === "";
    if (byId("waiting-text").textContent === sentence) return;
    byId("waiting-text").textContent = sentence;
    say(sentence);
  };

  // Sends one message until there is an answer; the id makes it one exchange, however often it is sent. `isUncertain` says
  // whether a try without an answer may have arrived.
  const exchange = async (id, text, wasSent) => {
    const own = signOuts;
    let isUncertain = wasSent;
    for (let tries = 0; tries < TRIES && own === signOuts; tries += 1) {
      const got = await call("POST", "/api/chat/exchanges", { id, text, locale: navigator.language });
      if (got.status === 202 || got.status === 0 || got.status >= 500) {
        isUncertain = true;
        if (own === signOuts) waitFor(got.status === 0 ? LOST : WRITING);
        await sleep(AGAIN);
        continue;
      }
      return { ...got, isUncertain };
    }
    return { status: 503, answer: {}, isUncertain };
  };
  // Reads the sentences of the replies that are being made, until `isOver`. Failures only make it slower.
  const follow = async (id, replies, isOver) => {
    let wait = NEXT_LOOK;
    for (;;) {
      await sleep(wait);
      if (isOver()) return;
      const { status, answer } = await call("GET", `/api/chat/exchanges/${id}`);
      if (isOver()) return;
      if (status === 202) replies.begin({ replies: [], ...answer });
      wait = status !== 202 ? LATER_LOOK : answer.replies === undefined ? LOOK : NEXT_LOOK;
    }
  };
  // The statuses after which a message is answered, or certainly is not and was not.
  const SETTLING = [200, 400, 402, 409, 410, 422];
  const converse = async (id, text) => {
    const own = signOuts;
    const wasSent = pending()?.id === id;
    pending({ id, text });
    busy(byId("send"), true);
    const question = asked(text);
    const replies = view();
    let isOver = false;
    waitFor(WRITING);
    byId("thread").setAttribute("aria-busy", "true");
    follow(id, replies, () => isOver || own !== signOuts);
    const { status, answer, isUncertain } = await exchange(id, text, wasSent);
    if (endIfLeft(own, answer, "message")) return;
    isOver = true;
    waitFor("");
    // A message that may have arrived keeps its id until a reply settles it. A limit and an ended session do not.
    const isSettled = !isUncertain || SETTLING.includes(status);
    if (isSettled) pending(null);
    if (status === 200) {
      const isFree = answer.free_left !== undefined;
      if (isFree) tellPlan("free", answer.free_left);
      // Said once and whole: of a region that is busy or grows, screen readers say nothing, or all with each sentence.
      const spoken = answer.replies.map(({ voice, text }) => `${nameOf(voice)}: ${text}`);
      say([...spoken, answer.notice ?? "", isFree ? byId("plan").textContent : ""].filter(Boolean).join(" "));
      await replies.end(answer, true);
      if (answer.free_left === 0 && !returned()) byId("offer").hidden = false;
    } else {
      replies.remove();
      question.remove();
      tellEmpty();
      // The customer may have written on meanwhile: neither text is lost.
      const written = byId("message").value;
      if (!answer.crisis && written !== text) byId("message").value = written === "" ? text : `${text}\n\n${written}`;
      count();
      if (status === 402 && returned()) refuse("Your payment is being confirmed. Please send this again in a moment.");
      else if (status === 402) {
        // A subscription may have lapsed while the page was open.
        const me = await call("GET", "/api/chat/me");
        if (me.status === 200) tellCustomer(me.answer);
        offer(answer.url);
      } else if (status === 401) endIfSignedOut(status);
      else if (status === 422 && answer.crisis) showCare(answer, "message");
      else if (status === 422) {
        // The sentence is the one of a sale; a message is counted, not charged.
        refuse(answer.error.replace("Nothing was charged.", "Nothing was counted."), advice(answer));
        byId("message").focus();
      } else if (status === 429) refuse(answer.code === "network_full" ? answer.error : "That is a lot at once. Please try again later.");
      else if (status === 410) refuse("This message was erased with your memory.");
      else if (status === 400) refuse(UNREADABLE);
      else if (!isSettled) refuse("This message could not be answered yet. Please send it again: it counts once.");
      else refuse("This message could not be answered. Nothing was counted. Please try again.");
    }
    byId("thread").removeAttribute("aria-busy");
    busy(byId("send"), false);
  };

  const characters = (text) => [...text].length;
  // Shows how long the message is, and keeps it.
  const count = () => {
    const text = byId("message").value;
    const length = characters(text);
    draft(text === "" ? null : { text });
    byId("message-count").textContent = `${number.format(length)} / ${number.format(MAX_CHARACTERS)} characters`;
    byId("message-count").classList.toggle("over", length > MAX_CHARACTERS);
  };
  // Puts the text of a page before this one into the box, without the message that is sent again by itself: that is the
  // whole text, or comes before what its customer has written since.
  const restore = (resent) => {
    const text = draft()?.text ?? "";
    const before = `${resent}\n\n`;
    const rest = text === resent ? "" : text.startsWith(before) ? text.slice(before.length) : text;
    // After a sign-in without a reload the box still has the whole text.
    if (["", text].includes(byId("message").value)) byId("message").value = rest;
    count();
  };
  byId("message").addEventListener("input", () => {
    count();
    refuse("");
    // Emptying the box discards a refused message that may have arrived: the next page does not send it.
    if (byId("message").value === "" && !isBusy(byId("send"))) pending(null);
  });
  byId("message").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("send").click();
  });
  byId("say").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy(byId("send"))) return;
    const text = sendable(byId("message").value).trim();
    const wrong = text === "" ? "Please write your message first."
      : characters(text) > MAX_CHARACTERS ? TOO_LONG : "";
    refuse(wrong);
    if (wrong !== "") {
      byId("message").focus();
      return;
    }
    byId("message").value = "";
    count();
    // The same words after an outage are the same message: the first may have arrived.
    const waiting = pending();
    await converse(waiting?.text === text ? waiting.id : newId(), text);
  });

  // ---- the Bridge ----

  const CHANGED = "The agreement has changed. Please read it again.";
  let agreement = null;
  const day = new Intl.DateTimeFormat("en-CA", { dateStyle: "long", timeStyle: "short", hourCycle: "h23" });
  const bridgeTexts = {
    accepted: "You have accepted the agreement. We look at it within 24 hours and write to you. If we give you access, you find this thread open here.",
    expired: "Your access to the Bridge has ended. What was written stays here until you erase it.",
    // Access was withdrawn, or never given.
    revoked: "You have no access to the Bridge now. Anything that was written stays here until you erase it.",
  };
  const offered = byId("bridge-text").textContent;

  // A message that is not confirmed is kept under its id until it is, so that sending it again posts it once.
  const unconfirmed = keptAs("oracle.chat.bridge");
  // Empties the box, unless its customer has written on since the text was sent.
  const clearSent = (text) => {
    if (sendable(byId("bridge-message").value).trim() === text) byId("bridge-message").value = "";
  };
  // Shows a message that can no longer be sent.
  const showUnsent = (text) => {
    byId("bridge-unsent-text").textContent = text;
    byId("bridge-unsent").hidden = text === "";
  };
  // Empties the box, which goes with the access, and shows what can no longer be sent.
  const closeBox = (text) => {
    unconfirmed(null);
    byId("bridge-message").value = "";
    showUnsent(text);
  };
  const bridgeEntry = ({ id, from, at, text }) => {
    const { article, words } = entry(from === "you" ? "You" : from, text);
    article.id = `bridge-${id}`;
    const time = document.createElement("p");
    time.className = "small muted";
    time.textContent = day.format(new Date(at));
    words.after(time);
    byId("bridge-thread").append(article);
  };
  const tellBridge = ({ state, agreement: current, expires }) => {
    // A tick is for the text that was read. A changed text needs a new tick.
    const shownHash = byId("agreement-hash").textContent;
    agreement = current;
    if (shownHash !== "" && shownHash !== current.sha256) {
      byId("agreement-yes").checked = false;
      agreementProblem(null, CHANGED);
    }
    // An equal text is left alone, so that readers do not lose their place in it.
    if (byId("agreement-text").textContent !== current.text) byId("agreement-text").textContent = current.text;
    byId("agreement-version").textContent = String(current.version);
    byId("agreement-hash").textContent = current.sha256;
    byId("bridge-text").textContent = state === "granted"
      ? `You have access until ${day.format(new Date(expires))}.` : bridgeTexts[state] ?? offered;
    const mayAccept = state !== "accepted" && state !== "granted";
    byId("bridge-begin").hidden = !mayAccept;
    if (!mayAccept) byId("agreement").hidden = true;
    byId("bridge-read").setAttribute("aria-expanded", String(!byId("agreement").hidden));
    byId("bridge-say").hidden = state !== "granted";
  };
  // Counts what is read and what is changed: a look that began before a later one, or before a change, shows nothing.
  let looks = 0;
  // Takes off the page what was read of the Bridge. A look that has begun brings nothing back.
  const clearBridge = () => {
    looks += 1;
    agreement = null;
    byId("bridge-text").textContent = offered;
    setChildren(byId("bridge-thread"));
    for (const id of ["bridge-begin", "agreement", "bridge-thread", "bridge-say", "bridge-keep"]) byId(id).hidden = true;
  };
  const readBridge = async () => {
    looks += 1;
    const own = looks;
    const bridge = await call("GET", "/api/chat/bridge");
    const thread = bridge.status === 200 ? await call("GET", "/api/chat/bridge/messages") : bridge;
    if (own !== looks || endIfSignedOut(thread.status)) return;
    if (thread.status !== 200) {
      // What was read before stays.
      if (agreement === null) byId("bridge-text").textContent = "The Bridge could not be read. Please reload this page in a moment.";
      return;
    }
    const { messages } = thread.answer;
    const written = byId("bridge-say").hidden ? "" : byId("bridge-message").value.trim();
    tellBridge(bridge.answer);
    // Shown text is left alone: readers keep their place in it, and screen readers say only what is new.
    const shown = [...byId("bridge-thread").children].map(({ id }) => id);
    const isKept = shown.every((id, place) => id === `bridge-${messages[place]?.id}`);
    if (!isKept) setChildren(byId("bridge-thread"));
    messages.slice(isKept ? shown.length : 0).forEach(bridgeEntry);
    byId("bridge-thread").hidden = messages.length === 0;
    byId("bridge-keep").hidden = bridge.answer.state === "offered";
    // What is not confirmed has arrived nevertheless, or was in the box of a page before this one.
    const kept = unconfirmed();
    if (kept !== null && messages.some(({ id }) => id === kept.id)) {
      unconfirmed(null);
      clearSent(kept.text);
    } else if (bridge.answer.state !== "granted") {
      const unsent = written || kept?.text;
      // A message on its way may still arrive; its own reply says what became of it.
      if (unsent && !isBusy(byId("bridge-send"))) closeBox(unsent);
    } else if (kept !== null && byId("bridge-message").value === "") {
      byId("bridge-message").value = kept.text;
    }
  };
  byId("bridge-read").addEventListener("click", () => {
    const open = byId("agreement").hidden;
    byId("agreement").hidden = !open;
    byId("bridge-read").setAttribute("aria-expanded", String(open));
    if (open) byId("agreement-title").focus();
  });
  const agreementProblem = (id, sentence) => {
    for (const name of ["agreement-name", "agreement-email", "agreement-yes"]) byId(name).toggleAttribute("aria-invalid", false);
    problem("agreement-error", sentence);
    if (id === null) return;
    byId(id).setAttribute("aria-invalid", "true");
    byId(id).focus();
  };
  byId("agreement").addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = sendable(byId("agreement-name").value).trim();
    const email = byId("agreement-email").value.trim();
    if (name === "") return agreementProblem("agreement-name", "Please write your full name.");
    if (!email.includes("@")) return agreementProblem("agreement-email", "Please write your email address.");
    if (!byId("agreement-yes").checked) return agreementProblem("agreement-yes", "Please tick the box if you accept the agreement.");
    agreementProblem(null, "");
    if (isBusy(byId("agreement-send"))) return;
    busy(byId("agreement-send"), true);
    const { version, sha256 } = agreement;
    const { status, answer } = await call("POST", "/api/chat/bridge/acceptance", { version, sha256, name, email });
    busy(byId("agreement-send"), false);
    if (endIfSignedOut(status)) return;
    if (status === 200) {
      looks += 1;
      tellBridge(answer);
      byId("bridge-keep").hidden = false;
      byId("bridge-title").focus();
      say("The agreement is accepted.");
    } else if (answer.code === "agreement_changed") {
      byId("agreement-yes").checked = false;
      await readBridge();
      agreementProblem(null, CHANGED);
      byId("agreement-title").focus();
    } else if (status === 400) {
      const field = answer.code === "name_invalid" ? "agreement-name" : "agreement-email";
      agreementProblem(field, answer.code === "name_invalid" ? "Please write your name in one line, without an address." : "Please write the email address with which you are signed in.");
    } else {
      agreementProblem(null, status === 429 ? "That is a lot at once. Please try again later." : "It could not be saved. Please try again.");
    }
  });
  const bridgeProblem = (sentence) => {
    problem("bridge-error", sentence);
    byId("bridge-message").toggleAttribute("aria-invalid", false);
    if (sentence === "") return;
    byId("bridge-message").setAttribute("aria-invalid", "true");
    byId("bridge-message").focus();
  };
  byId("bridge-message").addEventListener("input", () => {
    bridgeProblem("");
    // Emptying the box discards an unconfirmed message.
    if (byId("bridge-message").value === "" && !isBusy(byId("bridge-send"))) unconfirmed(null);
  });
  byId("bridge-say").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy(byId("bridge-send"))) return;
    const text = sendable(byId("bridge-message").value).trim();
    if (text === "") return bridgeProblem("Please write your message first.");
    if (characters(text) > MAX_CHARACTERS) return bridgeProblem(TOO_LONG);
    bridgeProblem("");
    const own = signOuts;
    const known = unconfirmed();
    const id = known?.text === text ? known.id : newId();
    unconfirmed({ id, text });
    busy(byId("bridge-send"), true);
    const { status, answer } = await call("POST", "/api/chat/bridge/messages", { id, text, locale: navigator.language });
    busy(byId("bridge-send"), false);
    if (endIfLeft(own, answer, "bridge-message") || endIfSignedOut(status)) return;
    if (status === 200) {
      looks += 1;
      unconfirmed(null);
      clearSent(text);
      // A look while it was on its way may have shown it.
      byId(`bridge-${answer.id}`)?.remove();
      bridgeEntry(answer);
      byId("bridge-thread").hidden = false;
      byId("bridge-thread").lastElementChild.scrollIntoView({ block: "nearest" });
      say("Your message is sent.");
    } else if (status === 422) {
      // The message is in the thread, or operators know that it could not be posted.
      unconfirmed(null);
      byId("bridge-message").value = "";
      showCare(answer, "bridge-message");
      await readBridge();
    } else if (answer.code === "bridge_closed") {
      closeBox(text);
      await readBridge();
      byId("bridge-title").focus();
    } else if (status === 400) {
      bridgeProblem(UNREADABLE);
    } else if (answer.code === "thread_full") {
      bridgeProblem("The thread is full. Please write to oracle@42sisters.ai.");
    } else if (byId(`bridge-${id}`) !== null) {
      // Only the reply was lost: a look has shown the message.
      clearSent(text);
      say("Your message is sent.");
    } else {
      bridgeProblem(status === 429 ? "That is a lot at once. Please try again later." : "It could not be sent. Please try again.");
    }
  });

  // A reply may have come, or access may have ended, while the page was open; or a customer signed in in another tab,
  // where mailed links usually open: the same one, or another.
  let isReturning = false;
  const lookAgain = async () => {
    const isTalking = !byId("talk").hidden;
    if (document.hidden || isReturning || (!isTalking && byId("sign-in").hidden && byId("sent").hidden)) return;
    const own = signOuts;
    isReturning = true;
    const { status, answer } = await call("GET", "/api/chat/me");
    const isNew = status === 200 && (!isTalking || answer.account !== account);
    if (isNew && own === signOuts) await begin();
    isReturning = false;
    if (!isTalking || isNew || own !== signOuts || endIfSignedOut(status)) return;
    // A Bridge is not read while it is unknown whose it would be.
    if (status === 200) await readBridge();
  };
  document.addEventListener("visibilitychange", lookAgain);
  window.addEventListener("hashchange", async () => {
    await lookAgain();
    if (location.hash === "#bridge") byId("bridge-title").focus();
  });

  // ---- the memory ----

  // Older exchanges are in the memory that can be downloaded.
  const SHOWN_EXCHANGES = 100;

  // Shows the memory without the message that is sent again: its answer comes as the reply to that.
  const recall = async (repeated) => {
    const { status, answer } = await call("GET", `/api/chat/memory?newest=${SHOWN_EXCHANGES}`);
    byId("unread").hidden = status === 200;
    if (status !== 200) {
      say(byId("unread").textContent);
      return tellEmpty();
    }
    byId("earlier").hidden = !answer.earlier;
    setChildren(byId("thread"));
    const others = answer.events.filter(({ key }) => repeated === undefined || key !== repeated);
    const turns = others.map(({ payload }) => payload).filter((payload) => payload?.kind === "EXCHANGE");
    for (const { payload } of turns) {
      asked(payload.asked);
      await view().end(payload, false);
    }
    tellEmpty();
  };
  const sure = (is) => {
    byId("memory-sure").hidden = !is;
    byId("memory-subscription").hidden = byId("manage").hidden;
    byId("memory-erase").setAttribute("aria-expanded", String(is));
    (is ? byId("memory-question") : byId("memory-erase")).focus();
  };
  // Fetched here, because the browser would save a refusal, as of a memory that is too large, like the memory itself.
  const download = async (link) => {
    try {
      const reply = await fetch(link.href, { credentials: "same-origin", cache: "no-store" });
      if (!reply.ok) return (await reply.json()).error ?? "";
      const file = document.createElement("a");
      file.href = URL.createObjectURL(await reply.blob());
      file.download = link.download;
      file.click();
      // The browser may still be reading it.
      setTimeout(() => URL.revokeObjectURL(file.href), 60_000);
      return null;
    } catch {
      return "";
    }
  };
  for (const [id, problemId] of [["memory-save", "memory-problem"], ["bridge-save", "bridge-save-problem"]]) {
    byId(id).addEventListener("click", async (event) => {
      event.preventDefault();
      if (isBusy(byId(id))) return;
      problem(problemId, "");
      busy(byId(id), true);
      const refused = await download(byId(id));
      busy(byId(id), false);
      if (refused !== null) problem(problemId, refused || "It could not be downloaded. Please try again.");
    });
  }
  byId("memory-erase").addEventListener("click", () => sure(byId("memory-sure").hidden));
  byId("memory-no").addEventListener("click", () => sure(false));
  byId("memory-yes").addEventListener("click", async () => {
    if (isBusy(byId("memory-yes"))) return;
    busy(byId("memory-yes"), true);
    problem("memory-problem", "");
    const { status } = await call("DELETE", "/api/chat/memory");
    busy(byId("memory-yes"), false);
    if (endIfSignedOut(status)) return;
    sure(false);
    if (status !== 202) {
      return problem("memory-problem", status === 429 ? "That is a lot at once. Please try again later." : "It could not be erased. Please try again.");
    }
    // What waits to be sent belongs to the erased memory. A message that is written from here on does not.
    pending(null);
    closeBox("");
    clearBridge();
    setChildren(byId("thread"));
    byId("earlier").hidden = true;
    byId("unread").hidden = true;
    tellEmpty();
    say("Your memory is erased.");
    byId("memory-text").textContent = "Your memory is erased. What you say from now on is remembered anew.";
    await readBridge();
  });
  // Ends all that was begun for the person who was signed in, and drops what they have written and not sent.
  const forgetCustomer = () => {
    signOuts += 1;
    clearCustomer();
    // A message on its way is no longer waited for, nor a payment.
    waitFor("");
    byId("thread").removeAttribute("aria-busy");
    busy(byId("send"), false);
    confirmed();
    for (const id of ["message", "agreement-name", "agreement-email"]) byId(id).value = "";
    byId("agreement-yes").checked = false;
    closeBox("");
    count();
    pending(null);
  };
  const NOT_ENDED =
    "This browser was signed out already, so others may still be signed in. Please sign in, then sign out everywhere.";
  const signOutButtons = ["sign-out", "sign-out-everywhere"].map(byId);
  for (const [id, body, failed] of [
    ["sign-out", undefined, "You may still be signed in. Please try again."],
    ["sign-out-everywhere", { everywhere: true }, "You may still be signed in, here or elsewhere. Please try again."],
  ]) {
    byId(id).addEventListener("click", async () => {
      if (signOutButtons.some(isBusy)) return;
      problem("memory-problem", "");
      for (const button of signOutButtons) busy(button, true);
      const { status } = await call("DELETE", "/api/chat/session", body);
      for (const button of signOutButtons) busy(button, false);
      if (status !== 200 && status !== 401) return problem("memory-problem", failed);
      forgetCustomer();
      // Only a session says whose the others are.
      problem("sign-in-problem", status === 200 ? "" : NOT_ENDED);
      // The step that says who helps stays until its reader leaves it.
      if (byId("care").hidden) show("sign-in");
    });
  }

  // ---- the beginning ----

  // The token of the link that was opened, until it is used or refused.
  let token = null;
  // Whether the customer comes back from a payment page that they left, until the page says so.
  let isCanceled = false;
  const begin = async () => {
    const address = new URL(location.href);
    const isOnPage = states.some((name) => !byId(name).hidden);
    if (!isOnPage || !byId("broken").hidden) show("loading", isOnPage);
    if (address.searchParams.has("token")) {
      token = address.searchParams.get("token");
      // The link is then neither in the address nor in the history.
      address.searchParams.delete("token");
      history.replaceState(null, "", address);
    }
    if (address.searchParams.has("canceled")) {
      isCanceled = true;
      address.searchParams.delete("canceled");
      history.replaceState(null, "", address);
    }
    const isLink = token !== null;
    let refused = false;
    if (isLink) {
      const { status } = await call("POST", "/api/chat/session", { token });
      // The link may still work: "Try again" uses it. If the session was not stored after the link was consumed, it is
      // refused, and the page says how to get another.
      if (![200, 400, 401].includes(status)) return show("broken");
      refused = status !== 200;
      token = null;
    }
    const { status, answer } = await call("GET", "/api/chat/me");
    if (status === 200) {
      // Another customer's session has ended in this tab.
      if (account !== undefined && account !== answer.account) forgetCustomer();
      account = answer.account;
      tellCustomer(answer);
      // Only now can the customer write. A message that they send while the rest loads is not one of a page before
      // this one, and what the memory holds must not replace it.
      const waiting = pending();
      restore(waiting?.text ?? "");
      await recall(waiting?.id);
      show("talk", isLink || isOnPage);
      byId("canceled").hidden = !isCanceled;
      if (isCanceled) say(byId("canceled").textContent);
      isCanceled = false;
      const isFree = answer.plan === "free";
      if (returned() && isFree) confirm();
      else if (returned()) confirmed();
      else byId("offer").hidden = !(isFree && (answer.free_left === 0 || address.hash === "#subscribe"));
      const repeated = waiting?.id && waiting?.text ? converse(waiting.id, waiting.text) : null;
      await readBridge();
      if (address.hash === "#bridge") byId("bridge-title").focus();
      await repeated;
    } else if (status === 401) {
      show("sign-in", isOnPage);
      if (!navigator.cookieEnabled) {
        problem("sign-in-problem", "Your browser blocks cookies, and signing in needs one. Please allow them for this site, then ask for a link here.");
      } else if (refused) {
        problem("sign-in-problem", "This link does not work any more, or was asked for in another browser. Please ask for a new one here.");
        byId("email").focus();
      }
    } else {
      show("broken");
    }
  };
  byId("broken-again").addEventListener("click", begin);
  begin();
  // Last: it stays where the script cannot run to its end, as in an old browser.
  byId("fallback").hidden = true;
}
