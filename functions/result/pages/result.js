// The result page: asks for the verdict until it is there and shows it.
// Every text is inserted with textContent; the page's policy allows nothing else.
// The file has more than 300 lines because a page has one inlined script, and this one shows every state of a sale and
// its follow-up.
{
  const DRAFT = "oracle.draft";
  const SESSION_ID = /^cs_[A-Za-z0-9_-]{1,252}$/;
  // How customers and operators name a sale to each other: the end of the session id.
  const REFERENCE_CHARACTERS = 8;
  const MAX_CHARACTERS = 20000;
  const SECOND = 1000;
  const SLOW_AFTER = 90 * SECOND;
  const DEFAULT_WAIT = 3;
  const REVIEW_WAIT = 15;
  const LONGEST_WAIT = 60;

  const NAMES = { quick: "Quick Take", full: "Full Breakdown", strategy: "Strategy Session" };
  const MEANINGS = {
    GREEN: "Positive signal. Proceed.",
    AMBER: "Conditional. Proceed with caution.",
    RED: "Negative signal. Do not proceed.",
    NULL: "Insufficient signal. It cannot be judged either way on what was given.",
  };
  const DIMENSIONS = {
    Stability: "Does it stand on solid ground?",
    Turbulence: "How much noise surrounds it?",
    "Change Rate": "How fast is it all moving?",
    Completion: "What is still missing?",
    Curvature: "Where does the path bend?",
  };
  const PROBLEMS = {
    402: "The payment is not complete",
    404: "There is no verdict at this address",
    410: "This verdict was erased",
    422: "We do not give a verdict here",
    500: "We could not produce your verdict",
    503: "Not available right now",
    payment_in_process: "Your payment is on its way",
    unusable: "Your question did not reach us",
  };
  // Instead of the sentence of the API, which speaks of a refund alone: what the mail about it asks for.
  const UNUSABLE = "We received your payment, but something was missing. This is our error. Please reply to the email we sent you with your question and your tier, or say that you want a refund. No email? Write to oracle@42sisters.ai.";
  // What the page says of a follow-up that is not shown (yet).
  const FOLLOW_UP = {
    available: "",
    pending: "Your follow-up is being worked on. Its verdict appears here by itself and goes to your email address.",
    in_review: "A person is looking at the verdict on your follow-up before it goes out.",
    failed: "We could not produce the verdict on your follow-up. A person is looking into it and will write to you. Please contact oracle@42sisters.ai with any question.",
    declined: "",
    delivered: "",
  };
  const STILL_YOURS = "Your follow-up is still yours to use.";
  const CONNECTION_ERROR = "It could not be sent. Please check your connection and try again.";
  const TOO_LONG = `Please shorten your follow-up to ${MAX_CHARACTERS.toLocaleString("en-CA")} characters.`;
  const UNREADABLE = "The answer could not be read. Please try again in a few minutes or write to oracle@42sisters.ai.";

  const sections = ["pending", "review", "problem", "care", "result"].map(byId);
  const sessionId = new URLSearchParams(location.search).get("session_id") ?? "";
  // When the wait began: with the page, or with the sending of the follow-up.
  let started = Date.now();

  // An equal text is left alone: writing it anew ends a reader's selection, and a screen reader says it again.
  const write = (element, value) => {
    const text = typeof value === "string" ? value : "";
    if (element.textContent !== text) element.textContent = text;
  };
  const setText = (id, text) => write(byId(id), text);
  const colour = (dot, word) => {
    if (word in MEANINGS) dot.classList.add(word.toLowerCase());
  };

  // Shows one section; what changed is said once to screen readers. The focus of a section that is hidden goes to the title
  // of the new one; it would go to the top of the page.
  const show = (id, title, spoken) => {
    const isLeft = sections.some((section) => section.id !== id && section.contains(document.activeElement));
    for (const section of sections) section.hidden = section.id !== id;
    if (isLeft) byId(id).querySelector("h1").focus();
    document.title = `${title} · Oracle by 42 Sisters AI`;
    if (byId("live").textContent !== spoken) byId("live").textContent = spoken;
  };

  // ---- states ----

  const showMoment = () => {
    setText("pending-title", "One moment");
    byId("pending-details").hidden = true;
    byId("delayed").hidden = true;
    show("pending", "One moment", "One moment");
  };

  const showPending = (message, nextAttempt) => {
    // What the server says of a delay takes the place of our own words.
    const delayed = typeof message === "string";
    const title = delayed ? "Your verdict takes longer than usual" : "Your verdict is being written";
    setText("pending-title", title);
    byId("pending-details").hidden = delayed;
    byId("slow").hidden = delayed || Date.now() - started < SLOW_AFTER;
    byId("delayed").hidden = !delayed;
    setText("delayed-message", message);
    const next = new Date(nextAttempt ?? Number.NaN);
    const known = !Number.isNaN(next.getTime());
    byId("next-attempt").hidden = !known;
    if (known) setText("next-attempt-at", next.toLocaleTimeString("en-CA", { timeStyle: "short", hourCycle: "h23" }));
    const usual = byId("slow").hidden ? `${title}. It appears here by itself.` : byId("slow").textContent;
    show("pending", title, delayed ? message : usual);
  };

  const showReview = (message) => {
    // The server has a sentence where no refund may be promised: it takes the place of our own words.
    const isStated = typeof message === "string";
    byId("review-promise").hidden = isStated;
    byId("review-message").hidden = !isStated;
    setText("review-message", message);
    const spoken = isStated ? message : "It will be delivered, or your payment refunded, within 24 hours.";
    show("review", "A person is looking at your verdict", `A person is looking at your verdict. ${spoken}`);
  };

  // When the money went back, where it did.
  const showRefund = (id, { refunded_at: refundedAt }) => {
    const date = new Date(refundedAt ?? NaN);
    const known = !Number.isNaN(date.getTime());
    const sentence = known ? `Your payment was refunded on ${date.toLocaleDateString("en-CA", { dateStyle: "long" })}.` : "";
    setText(id, known ? `${sentence} Most banks show it within 5 to 10 business days.` : "");
    byId(id).hidden = !known;
    return sentence;
  };

  // Who helps and what to do instead: of a question that is not answered.
  const showHelp = (id, reply) => fillList(id, [...helpers(reply), ...(reply.suggested_actions ?? [])]);

  let shownProblem = "";
  const showProblem = (status, sentence, reply = {}) => {
    // What is shown already is left alone: writing its list anew would take the focus off a number in it.
    const received = JSON.stringify([status, sentence, reply]);
    if (received === shownProblem && !byId("problem").hidden) return;
    shownProblem = received;
    const title = reply.crisis ? "Please talk to somebody" : PROBLEMS[reply.code] ?? PROBLEMS[status] ?? "Something went wrong";
    showHelp("problem-help", reply);
    setText("problem-title", title);
    setText("problem-sentence", sentence);
    // An address somebody made up is not repeated on our page, nor a whole id: it opens the verdict.
    const known = status !== 404 && status !== 410 && SESSION_ID.test(sessionId);
    byId("problem-reference").hidden = !known;
    setText("problem-id", known ? sessionId.slice(-REFERENCE_CHARACTERS) : "");
    const refunded = showRefund("problem-refund", reply);
    byId("problem-passing").hidden = !PASSING.includes(status);
    // An open session can still be paid; the address is Stripe's.
    const pay = reply.payment_url;
    byId("pay").hidden = typeof pay !== "string" || !/^https?:\/\//.test(pay);
    const isOver = [404, 410, 422].includes(status) || (reply.code === "unpaid" && byId("pay").hidden);
    byId("again").hidden = isOver || Boolean(reply.refunded_at);
    if (!byId("pay").hidden) byId("pay").href = pay;
    byId("again").classList.toggle("quiet", !byId("pay").hidden);
    byId("front").hidden = Boolean(reply.crisis);
    show("problem", title, `${title}. ${sentence} ${refunded}`.trim());
  };

  // A text of this tab that survives a reload, and "" if there is none. With a text: stores it, or removes it if it is "".
  const stored = (name, text) => {
    try {
      if (text === undefined) return sessionStorage.getItem(name) ?? "";
      if (text === "") sessionStorage.removeItem(name);
      else sessionStorage.setItem(name, text);
    } catch {
      // Storage may be switched off; then a reload forgets it.
    }
    return "";
  };

  // Forgets the front page's draft if this sale is its order. Another one is the customer's next question.
  const forgetDraft = () => {
    try {
      if (JSON.parse(stored(DRAFT) || "{}").ordered === sessionId) stored(DRAFT, "");
    } catch {
      // It is no draft of ours.
    }
  };

  // The follow-up that is being written survives a reload, until it is sent.
  const KEPT = `oracle.followup.${sessionId}`;
  const keepFollowUp = (text) => stored(KEPT, text);
  const restoreFollowUp = () => {
    if (byId("follow-up-query").value === "") byId("follow-up-query").value = stored(KEPT);
  };

  // ---- a verdict: the one that was bought, and that of its follow-up ----

  // A copy of the article for the follow-up, made before anything is shown in it: names take the place of ids.
  const article = byId("verdict");
  for (const element of article.querySelectorAll("[id]")) element.dataset.part = element.id;
  const copyOfArticle = () => {
    const copy = article.cloneNode(true);
    for (const element of [copy, ...copy.querySelectorAll("[id]")]) element.removeAttribute("id");
    for (const part of copy.querySelectorAll("[data-part='follow-up']")) part.remove();
    copy.lastElementChild.remove();
    copy.querySelector("[data-part='query']").previousElementSibling.textContent = "Your follow-up";
    return copy;
  };
  const followUpArticle = copyOfArticle();
  const part = (root, name) => root.querySelector(`[data-part="${name}"]`);
  const setPart = (root, name, text) => write(part(root, name), text);

  const showDimensions = (root, breakdown) => {
    const list = part(root, "dimensions");
    setChildren(list);
    for (const [name, asks] of Object.entries(DIMENSIONS)) {
      const dimension = breakdown?.[name];
      if (!dimension) continue;
      const row = byId("dimension").content.cloneNode(true);
      row.querySelector("h3").textContent = name;
      row.querySelector(".word span").textContent = dimension.verdict;
      row.querySelector(".asks").textContent = asks;
      row.querySelector(".prose").textContent = dimension.analysis;
      colour(row.querySelector(".dot"), dimension.verdict);
      list.append(row);
    }
    part(root, "breakdown").hidden = list.childElementCount === 0;
  };

  const showStrategy = (root, strategy) => {
    part(root, "strategy").hidden = !strategy;
    if (!strategy) return;
    setPart(root, "next-step", strategy.next_step);
    setPart(root, "alternative", strategy.alternative);
    const tests = Array.isArray(strategy.tests) ? strategy.tests : [];
    setChildren(part(root, "tests"), ...tests.map((test) => {
      const item = document.createElement("li");
      item.className = "prose";
      item.textContent = test;
      return item;
    }));
    part(root, "tests-block").hidden = tests.length === 0;
  };

  const fill = (root, name, { query, verdict, cached_at: cachedAt, notice, query_withheld: withheld }) => {
    const word = verdict.verdict;
    setPart(root, "tier", name);
    const date = new Date(cachedAt);
    if (!Number.isNaN(date.getTime())) {
      part(root, "date").dateTime = date.toISOString();
      setPart(root, "date", date.toLocaleString("en-CA", { dateStyle: "long", timeStyle: "short" }));
    }
    colour(part(root, "dot"), word);
    setPart(root, "word", word);
    setPart(root, "meaning", MEANINGS[word]);
    setPart(root, "summary", verdict.summary);
    setPart(root, "notice", notice);
    part(root, "notice").hidden = !notice;
    showDimensions(root, verdict.breakdown);
    showStrategy(root, verdict.strategy);
    // Instead of a submission that is not repeated the server says under which reference it is kept.
    part(root, "query").hidden = Boolean(withheld);
    part(root, "withheld").hidden = !withheld;
    setPart(root, withheld ? "withheld" : "query", query);
  };

  const showFollowUp = (reply) => {
    const { followup, followup_status: status, followup_declined: declined, followup_message: message } = reply;
    const isLeft = status !== "available" && byId("follow-up-form").contains(document.activeElement);
    byId("follow-up").hidden = !(status in FOLLOW_UP) || status === "delivered";
    byId("follow-up-form").hidden = status !== "available";
    // A person reads every reply to the mails once a note about a regenerated verdict was ordered.
    byId("follow-up-by-mail").hidden = Boolean(reply.regen);
    if (status === "available") restoreFollowUp();
    byId("follow-up-state").hidden = status === "available";
    setText("follow-up-state", declined?.error ?? message ?? FOLLOW_UP[status]);
    showHelp("follow-up-help", declined ?? {});
    const place = byId("follow-up-verdict");
    place.hidden = !followup;
    byId("first-title").hidden = !followup;
    // The focus of the form that is hidden would go to the top of the page.
    if (isLeft) (byId("follow-up").hidden ? byId("result").querySelector("h1") : byId("follow-up-state")).focus();
    if (!followup) return;
    fill(followUpArticle, "Strategy Session, follow-up", followup);
    setChildren(place, followUpArticle);
  };

  const showReply = (reply) => {
    const { verdict: word, summary } = reply.verdict;
    fill(article, NAMES[reply.tier], reply);
    showRefund("refund", reply);
    showFollowUp(reply);
    const { followup } = reply;
    if (followup) {
      const latest = followup.verdict;
      show("result", `${latest.verdict}: your follow-up`, `The verdict on your follow-up is ready: ${latest.verdict}. ${latest.summary}`);
    } else {
      show("result", `${word}: your verdict`, `Your verdict is ready: ${word}. ${summary}`);
    }
    forgetDraft();
  };

  // While a follow-up is pending or in review, only its state is asked for: a verdict that is asked for counts as read.
  const FOLLOW_UP_WAITS = { pending: DEFAULT_WAIT, in_review: REVIEW_WAIT };
  const followUpState = ({ followup_status: status, followup_message: message }) => JSON.stringify([status, message]);
  // The state that is shown, or "" if nothing is waited for.
  let awaited = "";
  const awaitFollowUp = (reply) => {
    const wait = FOLLOW_UP_WAITS[reply.followup_status];
    awaited = wait ? followUpState(reply) : "";
    if (wait) askAgain(wait);
  };
  const showProgress = (reply) => {
    if (followUpState(reply) === awaited) return awaitFollowUp(reply);
    awaited = "";
    return ask();
  };

  let shown = "";
  const showVerdict = (reply) => {
    const received = JSON.stringify(reply);
    if (received !== shown || byId("result").hidden) showReply(reply);
    shown = received;
    // The follow-up's verdict appears by itself; what a person looks at takes longer.
    awaitFollowUp(reply);
  };

  // ---- asking ----

  // Statuses that pass by themselves: the sentence is shown, and the page asks again.
  const PASSING = [429, 502, 503, 504];
  const PASSING_WAIT = 5;
  let timer;
  const askAgain = (seconds) => {
    clearTimeout(timer);
    const waited = (Date.now() - started) / SECOND;
    // The server's wish, and slower for a page that has waited for long.
    const minimum = waited < 120 ? 1 : waited < 600 ? 10 : 60;
    timer = setTimeout(askNow, Math.max(seconds, minimum) * SECOND);
  };
  const askNow = () => {
    clearTimeout(timer);
    timer = undefined;
    return ask();
  };
  // Who comes back to the page does not wait for the rest of a minute.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && timer !== undefined) askNow();
  });
  const retryAfter = (response) => {
    const seconds = Number(response.headers.get("retry-after") || DEFAULT_WAIT);
    return seconds > 0 ? Math.min(seconds, LONGEST_WAIT) : DEFAULT_WAIT;
  };
  // A reply that is not ours says nothing about the sale, such as the gateway's 500 while more calls come than the function
  // may run. It passes, and a verdict that is shown stays.
  const waitForOurs = (response) => {
    if (byId("result").hidden) showProblem(503, UNREADABLE);
    askAgain(Math.max(retryAfter(response), PASSING_WAIT));
  };

  async function ask() {
    let response;
    let text;
    let reply;
    const isProgress = awaited !== "" && !byId("result").hidden;
    const only = isProgress ? "&only=followup" : "";
    try {
      response = await fetch(`/api/verdict?session_id=${encodeURIComponent(sessionId)}${only}`, {
        headers: { accept: "application/json" },
        cache: "no-store",
        signal: timeLimit(),
      });
      // A body that does not arrive is a lost connection, too.
      text = await response.text();
    } catch {
      if (!byId("care").hidden) return;
      // What is shown stays; only its follow-up is late.
      if (!byId("result").hidden) return askAgain(DEFAULT_WAIT);
      if (!byId("problem").hidden) showMoment();
      if (byId("review").hidden) byId("pending").hidden = false;
      if (byId("offline").hidden) setText("live", byId("offline").textContent);
      byId("offline").hidden = false;
      askAgain(DEFAULT_WAIT);
      return;
    }
    // The step that says who helps stays until its reader leaves it; then the page asks again.
    if (!byId("care").hidden) return;
    byId("offline").hidden = true;
    try {
      reply = JSON.parse(text);
      if (response.status === 200) return isProgress ? showProgress(reply) : showVerdict(reply);
    } catch {
      return waitForOurs(response);
    }
    // Without a verdict, each of our replies has one of these.
    const stated = response.status === 202 ? reply?.status : reply?.error;
    if (typeof stated !== "string") return waitForOurs(response);
    if (!byId("result").hidden && (response.status === 202 || PASSING.includes(response.status))) {
      return askAgain(Math.max(retryAfter(response), PASSING_WAIT));
    }
    if (response.status === 202) {
      const inReview = reply.status === "in_review";
      if (inReview) showReview(reply.message);
      else showPending(reply.message, reply.next_attempt_at);
      askAgain(Math.max(retryAfter(response), inReview ? REVIEW_WAIT : 0));
      return;
    }
    showProblem(response.status, reply.code === "unusable" ? UNUSABLE : reply.error, reply);
    // A reply with that header is not the end either: a session that can still be paid, or a bank that processes a payment.
    const passes = PASSING.includes(response.status) || response.headers.has("retry-after");
    if (passes) askAgain(Math.max(retryAfter(response), PASSING_WAIT));
  }

  byId("again").addEventListener("click", () => {
    showMoment();
    askNow();
  });

  // ---- the follow-up ----

  const SENDING = "Sending your follow-up.";
  let sending = false;
  const setSending = (value) => {
    sending = value;
    byId("follow-up-send").setAttribute("aria-disabled", String(value));
    if (value) setText("live", SENDING);
    // What the page said since then stays.
    else if (byId("live").textContent === SENDING) setText("live", "");
  };
  const showFollowUpError = (sentence, lines) => {
    setText("follow-up-error", sentence);
    byId("follow-up-error").hidden = sentence === "";
    fillList("follow-up-lines", lines);
    const field = byId("follow-up-query");
    if (sentence === "") return field.removeAttribute("aria-invalid");
    field.setAttribute("aria-invalid", "true");
    field.focus();
  };
  byId("follow-up-query").addEventListener("input", () => {
    showFollowUpError("", []);
    keepFollowUp(byId("follow-up-query").value);
  });

  // After a possible disclosure of self-harm the page shows only who helps, and forgets the text.
  const showCare = (reply) => {
    fillCare(reply.error, reply);
    byId("follow-up-query").value = "";
    keepFollowUp("");
    clearTimeout(timer);
    timer = undefined;
    show("care", byId("care-title").textContent, "");
    scrollTo(0, 0);
    byId("care").focus();
  };
  byId("care-back").addEventListener("click", () => {
    show("result", "Your verdict", "");
    byId("follow-up-query").focus();
    askNow();
  });

  // Shows a text that can no longer be sent. Its form is hidden: another text is the follow-up, or the money went back.
  const showUnsent = (text) => {
    setText("follow-up-unsent-text", text);
    byId("follow-up-unsent").hidden = false;
    byId("follow-up-unsent").scrollIntoView({ block: "nearest" });
  };

  const sendFollowUp = async (query) => {
    const response = await fetch("/api/followup", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ session_id: sessionId, query, locale: navigator.language }),
      signal: timeLimit(),
    });
    const reply = await response.json();
    // Sent, or sent before from another window or by mail: the page shows what has become of it.
    if (response.status === 202 || response.status === 409) {
      started = Date.now();
      if (response.status === 202) {
        keepFollowUp("");
        // The look may fail.
        showFollowUp({ followup_status: "pending" });
      }
      await askNow();
      if (response.status === 202) return;
      // The form stays while the verdict is being made again, as when the cache lost it.
      if (byId("follow-up-form").hidden) return showUnsent(query);
    }
    if (response.status === 422 && reply.crisis) return showCare(reply);
    const lines = response.status === 422 ? [...advice(reply), ...(reply.emergency ? [] : [STILL_YOURS])] : [];
    showFollowUpError(typeof reply.error === "string" ? reply.error : CONNECTION_ERROR, lines);
  };

  byId("follow-up-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (sending) return;
    const query = sendable(byId("follow-up-query").value);
    if (query.trim() === "") return showFollowUpError("Please write your follow-up first.", []);
    if ([...query].length > MAX_CHARACTERS) return showFollowUpError(TOO_LONG, []);
    showFollowUpError("", []);
    setSending(true);
    try {
      await sendFollowUp(query);
    } catch {
      showFollowUpError(CONNECTION_ERROR, []);
    }
    setSending(false);
  });

  byId("print").addEventListener("click", () => print());

  byId("pending").hidden = false;
  if (sessionId) ask();
  else showProblem(404, "This address has no order in it. Please open the link from your verdict email again.");
  // Last: it stays where the script cannot run to its end, as in an old browser.
  byId("fallback").hidden = true;
}
