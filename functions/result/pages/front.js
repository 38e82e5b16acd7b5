// The front page: takes the question and the tier, asks for a payment session and goes to the payment page.
// Every text is inserted with textContent; the page's policy allows nothing else.
{
  const MAX_CHARACTERS = 20000;
  const DRAFT = "oracle.draft";
  const SESSION_ID = /^cs_[A-Za-z0-9_-]{1,252}$/;
  const CONNECTION_ERROR = "We could not reach the payment page. Nothing was charged. Please try again.";

  const form = byId("ask");
  const query = byId("query");
  const referral = byId("referral_code");
  const submit = byId("submit");
  const tiers = [...form.elements.tier];
  const number = new Intl.NumberFormat("en-CA");

  // Characters are Unicode code points, as the server counts them, not UTF-16 units.
  const characters = (text) => {
    let count = 0;
    for (const _ of text) count += 1;
    return count;
  };
  const selectedTier = () => tiers.find((input) => input.checked);

  // ---- the draft survives the way to the payment page and back ----

  // `ordered` is the session that buys it. The result page of that session removes the draft, and no other one does.
  const saveDraft = (ordered) => {
    try {
      const draft = { query: query.value, tier: selectedTier()?.value, referral_code: referral.value, ordered };
      sessionStorage.setItem(DRAFT, JSON.stringify(draft));
    } catch {
      // Storage may be switched off; then there is no draft.
    }
  };
  const restoreDraft = () => {
    try {
      const draft = JSON.parse(sessionStorage.getItem(DRAFT) ?? "{}");
      if (typeof draft.query === "string" && query.value === "") query.value = draft.query;
      if (typeof draft.referral_code === "string" && referral.value === "") referral.value = draft.referral_code;
      return draft.tier;
    } catch {
      return undefined;
    }
  };

  // The draft went to the payment page. The customer may have paid, and nothing else here would tell them so.
  const showOrdered = () => {
    let ordered;
    try {
      ({ ordered } = JSON.parse(sessionStorage.getItem(DRAFT) ?? "{}"));
    } catch {
      // Storage may be switched off; then nothing is known of an order.
    }
    const isKnown = typeof ordered === "string" && SESSION_ID.test(ordered);
    byId("ordered").hidden = !isKnown;
    if (isKnown) byId("ordered-link").href = `/oracle/result?session_id=${encodeURIComponent(ordered)}`;
  };

  // ---- the counter and the total ----

  const showCount = () => {
    const count = characters(query.value);
    const over = count - MAX_CHARACTERS;
    const text = over > 0
      ? `${number.format(over)} over the limit of ${number.format(MAX_CHARACTERS)}`
      : `${number.format(count)} / ${number.format(MAX_CHARACTERS)} characters`;
    byId("query-count").textContent = text;
    byId("query-count").classList.toggle("over", over > 0);
    // Read aloud only where it matters: near the end and beyond it.
    const live = byId("query-count-live");
    const spoken = over > 0 ? "The question is too long." : over > -500 ? "Fewer than 500 characters are left." : "";
    if (live.textContent !== spoken) live.textContent = spoken;
  };
  const showTotal = () => {
    byId("total").textContent = selectedTier()?.dataset.price ?? "";
  };

  // ---- errors stand beside the field they concern ----

  const fields = {
    query: { input: query, error: byId("query-error") },
    tier: { input: byId("tiers"), error: byId("tier-error"), focus: tiers[0] },
    referral_code: { input: referral, error: byId("referral_code-error") },
  };
  const showError = (name, sentence) => {
    const field = fields[name];
    const error = field ? field.error : byId("form-error");
    error.textContent = sentence;
    error.hidden = false;
    if (field) {
      field.input.setAttribute("aria-invalid", "true");
      (field.focus ?? field.input).focus();
    } else {
      error.scrollIntoView({ block: "center" });
    }
  };
  const clearError = (name) => {
    const field = fields[name];
    const error = field ? field.error : byId("form-error");
    error.hidden = true;
    error.textContent = "";
    field?.input.removeAttribute("aria-invalid");
  };
  const clearErrors = () => {
    [...Object.keys(fields), "form"].forEach(clearError);
    fillList("query-missing", []);
  };

  // Which field an error code of the API speaks of.
  const fieldOf = (code) => {
    if (/tier/.test(code)) return "tier";
    if (/referral|promotion/.test(code)) return "referral_code";
    if (/query|too_large/.test(code)) return "query";
    return "form";
  };

  // ---- what must not be answered, or not yet (the authority gate) ----

  const showGate = (reply) => {
    const sentence = typeof reply.error === "string" ? reply.error : CONNECTION_ERROR;
    if (reply.code !== "blocked" && reply.code !== "needs_verification") {
      showError("query", sentence);
      fillList("query-missing", advice(reply));
      return;
    }
    // A page of its own: nothing here sells anything.
    fillCare(sentence, reply);
    if (reply.crisis) {
      query.value = "";
      showCount();
      saveDraft();
    }
    showStep("care");
  };
  byId("care-back").addEventListener("click", () => backToQuestion());

  // Shows one of the page's steps. Focus goes to the whole step, so that it is read aloud and a second Enter does not
  // press its first button.
  const frontTitle = document.title;
  const showStep = (id) => {
    for (const step of ["offer", "care", "with-notice"]) byId(step).hidden = step !== id;
    document.title = id === "offer" ? frontTitle : byId(`${id}-title`).textContent;
    scrollTo(0, 0);
    if (id !== "offer") byId(id).focus();
  };
  const backToQuestion = () => {
    showStep("offer");
    query.focus();
  };

  // ---- what is sold with a notice: the customer reads it before the payment ----

  const showNotice = (notice, address) => {
    byId("notice-text").textContent = notice;
    byId("notice-continue").href = address;
    setBusy(false);
    showStep("with-notice");
  };
  byId("notice-back").addEventListener("click", () => backToQuestion());

  // ---- to the payment page ----

  let busy = false;
  const setBusy = (value) => {
    busy = value;
    submit.setAttribute("aria-disabled", String(value));
    form.setAttribute("aria-busy", String(value));
    byId("live").textContent = value ? "Opening the payment page." : "";
  };

  const paymentUrl = (text) => {
    const url = new URL(text);
    // Plain http only where this page itself is plain http, as on a developer's machine.
    if (url.protocol !== "https:" && url.protocol !== location.protocol) throw new Error("not a payment page");
    return url.href;
  };

  const order = async () => {
    const body = { tier: selectedTier()?.value ?? "", query: sendable(query.value), locale: navigator.language };
    const code = referral.value.trim();
    if (code) body.referral_code = code;
    const response = await fetch("/api/checkout", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(body),
      signal: timeLimit(),
    });
    const reply = await response.json();
    if (response.ok) {
      saveDraft(reply.session_id);
      const address = paymentUrl(reply.url);
      if (typeof reply.notice === "string") return showNotice(reply.notice, address);
      location.assign(address);
      // Who stops a slow payment page from loading can press the button again.
      setTimeout(() => setBusy(false), 15_000);
      return;
    }
    setBusy(false);
    if (response.status === 422) return showGate(reply);
    showError(fieldOf(String(reply.code ?? "")), typeof reply.error === "string" ? reply.error : CONNECTION_ERROR);
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (busy) return;
    try {
      clearErrors();
      if (query.value.trim() === "") return showError("query", "Please write your question first.");
      if (characters(query.value) > MAX_CHARACTERS) return showError("query", "Please shorten your question.");
      if (!selectedTier()) return showError("tier", "Please choose one of the three.");
      setBusy(true);
      await order();
    } catch {
      setBusy(false);
      showError("form", CONNECTION_ERROR);
    }
  });

  query.addEventListener("input", () => {
    clearError("query");
    fillList("query-missing", []);
    // The note is about the question as it was ordered.
    byId("ordered").hidden = true;
    showCount();
    saveDraft();
  });
  referral.addEventListener("input", () => {
    clearError("referral_code");
    saveDraft();
  });
  byId("tiers").addEventListener("change", () => {
    clearError("tier");
    showTotal();
    saveDraft();
  });
  // The browser's Back button may bring the page back as it was left: waiting.
  addEventListener("pageshow", (event) => {
    setBusy(false);
    if (event.persisted) showOrdered();
    if (!byId("with-notice").hidden) showStep("offer");
  });

  const parameters = new URLSearchParams(location.search);
  const draftTier = restoreDraft();
  const wanted = tiers.find((input) => input.value === (parameters.get("tier") ?? draftTier));
  if (wanted) wanted.checked = true;
  if (parameters.get("canceled") === "1") {
    byId("canceled").hidden = false;
    byId("canceled-kept").hidden = query.value === "";
    history.replaceState(null, "", location.pathname);
  } else showOrdered();
  showCount();
  showTotal();
  // Last: it stays where the script cannot run to its end, as in an old browser.
  byId("fallback").hidden = true;
}
