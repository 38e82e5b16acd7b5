"use strict";
// The result page: asks for the verdict until it is there and shows it.
// Every text is inserted with textContent; the page's policy allows nothing else.
{
  const DRAFT = "oracle.draft";
  const SESSION_ID = /^cs_[A-Za-z0-9_-]{1,252}$/;
  // How customers and operators name a sale to each other: the end of the session id.
  const REFERENCE_CHARACTERS = 8;
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
  };
  const UNREADABLE = "The answer could not be read. Please try again in a few minutes or write to oracle@42sisters.ai.";

  const byId = (id) => document.getElementById(id);
  const sections = ["pending", "review", "problem", "result"].map(byId);
  const sessionId = new URLSearchParams(location.search).get("session_id") ?? "";
  const started = Date.now();

  const setText = (id, text) => {
    byId(id).textContent = typeof text === "string" ? text : "";
  };
  const colour = (dot, word) => {
    if (word in MEANINGS) dot.classList.add(word.toLowerCase());
  };

  // Shows one section; what changed is said once to screen readers.
  const show = (id, title, spoken) => {
    for (const section of sections) section.hidden = section.id !== id;
    document.title = `${title} · Oracle by 42 Sisters AI`;
    if (byId("live").textContent !== spoken) byId("live").textContent = spoken;
  };

  // ---- states ----

  const showPending = (message, nextAttempt) => {
    // What the server says of a delay takes the place of our own words.
    const delayed = typeof message === "string";
    const title = delayed ? "Your verdict takes longer than usual" : "Your verdict is being written";
    setText("pending-title", title);
    byId("pending-details").hidden = delayed;
    byId("offline").hidden = true;
    byId("slow").hidden = delayed || Date.now() - started < SLOW_AFTER;
    byId("delayed").hidden = !delayed;
    setText("delayed-message", message);
    const next = new Date(nextAttempt ?? Number.NaN);
    const known = !Number.isNaN(next.getTime());
    byId("next-attempt").hidden = !known;
    if (known) setText("next-attempt-at", next.toLocaleTimeString("en-CA", { timeStyle: "short" }));
    show("pending", title, delayed ? message : `${title}. It appears here by itself.`);
  };

  const showReview = () => {
    show("review", "A person is looking at your verdict",
      "A person is looking at your verdict. It will be delivered, or your payment refunded, within 24 hours.");
  };

  // Who helps and what to do instead: of a question that is not answered.
  const showHelp = ({ resources = [], suggested_actions: actions = [] }) => {
    const lines = [...resources.map(({ name, contact }) => `${name}: ${contact}`), ...actions];
    byId("problem-help").replaceChildren(...lines.map((line) => {
      const item = document.createElement("li");
      item.textContent = line;
      return item;
    }));
    byId("problem-help").hidden = lines.length === 0;
  };

  const showProblem = (status, sentence, reply = {}) => {
    const title = reply.crisis ? "Please talk to somebody" : PROBLEMS[status] ?? "Something went wrong";
    showHelp(reply);
    setText("problem-title", title);
    setText("problem-sentence", sentence);
    // An address somebody made up is not repeated on our page, nor a whole id: it opens the verdict.
    const known = status !== 404 && status !== 410 && SESSION_ID.test(sessionId);
    byId("problem-reference").hidden = !known;
    setText("problem-id", known ? sessionId.slice(-REFERENCE_CHARACTERS) : "");
    byId("again").hidden = [404, 410, 422].includes(status);
    // An open session can still be paid; the address is Stripe's.
    const pay = reply.payment_url;
    byId("pay").hidden = typeof pay !== "string" || !/^https?:\/\//.test(pay);
    if (!byId("pay").hidden) byId("pay").href = pay;
    byId("again").classList.toggle("quiet", !byId("pay").hidden);
    byId("front").hidden = Boolean(reply.crisis);
    show("problem", title, `${title}. ${sentence}`);
  };

  const showDimensions = (breakdown) => {
    const list = byId("dimensions");
    list.replaceChildren();
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
    byId("breakdown").hidden = list.childElementCount === 0;
  };

  const showStrategy = (strategy) => {
    byId("strategy").hidden = !strategy;
    if (!strategy) return;
    setText("next-step", strategy.next_step);
    setText("alternative", strategy.alternative);
    const tests = Array.isArray(strategy.tests) ? strategy.tests : [];
    byId("tests").replaceChildren(...tests.map((test) => {
      const item = document.createElement("li");
      item.className = "prose";
      item.textContent = test;
      return item;
    }));
    byId("tests-block").hidden = tests.length === 0;
  };

  const showVerdict = (reply) => {
    const { tier, query, verdict, cached_at: cachedAt, notice, query_withheld: withheld } = reply;
    const word = verdict.verdict;
    setText("tier", NAMES[tier]);
    const date = new Date(cachedAt);
    if (!Number.isNaN(date.getTime())) {
      byId("date").dateTime = date.toISOString();
      setText("date", date.toLocaleString("en-CA", { dateStyle: "long", timeStyle: "short" }));
    }
    colour(byId("dot"), word);
    setText("word", word);
    setText("meaning", MEANINGS[word]);
    setText("summary", verdict.summary);
    setText("notice", notice);
    byId("notice").hidden = !notice;
    showDimensions(verdict.breakdown);
    showStrategy(verdict.strategy);
    // Instead of a submission that is not repeated the server says under which reference it is kept.
    byId("query").hidden = Boolean(withheld);
    byId("withheld").hidden = !withheld;
    setText(withheld ? "withheld" : "query", query);
    byId("follow-up").hidden = tier !== "strategy";
    show("result", `${word}: your verdict`, `Your verdict is ready: ${word}. ${verdict.summary}`);
    try {
      sessionStorage.removeItem(DRAFT);
    } catch {
      // Storage may be switched off; then there is no draft either.
    }
  };

  // ---- asking ----

  // Statuses that pass by themselves: the sentence is shown, and the page asks again.
  const PASSING = [429, 502, 503, 504];
  const PASSING_WAIT = 5;
  let timer;
  const askAgain = (seconds) => {
    clearTimeout(timer);
    const waited = (Date.now() - started) / SECOND;
    // The server's wish, and slower for a page that has been open for long.
    const patience = waited < 120 ? 1 : waited < 600 ? 10 : 60;
    timer = setTimeout(ask, Math.max(seconds, patience) * SECOND);
  };
  const retryAfter = (response) => {
    const seconds = Number(response.headers.get("retry-after") || DEFAULT_WAIT);
    return seconds > 0 ? Math.min(seconds, LONGEST_WAIT) : DEFAULT_WAIT;
  };

  async function ask() {
    let response;
    let reply;
    try {
      response = await fetch(`/api/verdict?session_id=${encodeURIComponent(sessionId)}`, {
        headers: { accept: "application/json" },
        cache: "no-store",
      });
    } catch {
      if (!byId("problem").hidden) byId("problem").hidden = true;
      if (byId("review").hidden) byId("pending").hidden = false;
      byId("offline").hidden = false;
      askAgain(DEFAULT_WAIT);
      return;
    }
    try {
      reply = await response.json();
      if (response.status === 200) return showVerdict(reply);
    } catch {
      if (PASSING.includes(response.status)) askAgain(PASSING_WAIT);
      return showProblem(response.ok ? 0 : response.status, UNREADABLE);
    }
    if (response.status === 202) {
      const inReview = reply.status === "in_review";
      if (inReview) showReview();
      else showPending(reply.message, reply.next_attempt_at);
      askAgain(Math.max(retryAfter(response), inReview ? REVIEW_WAIT : 0));
      return;
    }
    showProblem(response.status, typeof reply.error === "string" ? reply.error : UNREADABLE, reply);
    if (PASSING.includes(response.status)) askAgain(Math.max(retryAfter(response), PASSING_WAIT));
  }

  byId("again").addEventListener("click", () => {
    setText("pending-title", "One moment");
    byId("pending-details").hidden = true;
    byId("delayed").hidden = true;
    byId("offline").hidden = true;
    show("pending", "One moment", "One moment");
    ask();
  });
  byId("print").addEventListener("click", () => print());

  byId("pending").hidden = false;
  if (sessionId) ask();
  else showProblem(404, "This address has no order in it. Please open the link from your verdict email again.");
}
