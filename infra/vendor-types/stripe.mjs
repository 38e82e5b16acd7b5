// Holds recorded calls and events of Stripe's look-alike against the types of the npm package `stripe`.
//
// Usage: node stripe.mjs [--wrong] RECORDINGS.jsonl... ; each line is {"target":"stripe","method","path","query",
// "request_body","reply":{"status","body"},"fault"} or {"target":"event","event"}. Every object is written into a
// TypeScript file as a literal of its type, so that a missing field, an unknown field and a value outside a list of
// values are compile errors. Prints {"checked","violations":[…]} and ends with 1 where there are any; with --wrong,
// where any line of Stripe's has none.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const HERE = dirname(fileURLToPath(import.meta.url));

// [method, path, type of the request (null: none), type of the reply]
const CALLS = [
  ["POST", /^\/v1\/checkout\/sessions$/, "Stripe.Checkout.SessionCreateParams", "Stripe.Checkout.Session"],
  ["GET", /^\/v1\/checkout\/sessions$/, "Stripe.Checkout.SessionListParams", "Stripe.ApiList<Stripe.Checkout.Session>"],
  ["GET", /^\/v1\/checkout\/sessions\/[^/]+$/, "Stripe.Checkout.SessionRetrieveParams", "Stripe.Checkout.Session"],
  ["POST", /^\/v1\/checkout\/sessions\/[^/]+\/expire$/, "Stripe.Checkout.SessionExpireParams", "Stripe.Checkout.Session"],
  ["GET", /^\/v1\/checkout\/sessions\/[^/]+\/line_items$/, null, "Stripe.ApiList<Stripe.LineItem>"],
  ["GET", /^\/v1\/promotion_codes$/, "Stripe.PromotionCodeListParams", "Stripe.ApiList<Stripe.PromotionCode>"],
  ["GET", /^\/v1\/promotion_codes\/[^/]+$/, "Stripe.PromotionCodeRetrieveParams", "Stripe.PromotionCode"],
  ["GET", /^\/v1\/payment_intents\/[^/]+$/, "Stripe.PaymentIntentRetrieveParams", "Stripe.PaymentIntent"],
  ["GET", /^\/v1\/charges\/search$/, "Stripe.ChargeSearchParams", "Stripe.ApiSearchResult<Stripe.Charge>"],
  ["GET", /^\/v1\/charges\/[^/]+$/, "Stripe.ChargeRetrieveParams", "Stripe.Charge"],
  ["POST", /^\/v1\/refunds$/, "Stripe.RefundCreateParams", "Stripe.Refund"],
  ["GET", /^\/v1\/refunds$/, "Stripe.RefundListParams", "Stripe.ApiList<Stripe.Refund>"],
  ["GET", /^\/v1\/refunds\/[^/]+$/, "Stripe.RefundRetrieveParams", "Stripe.Refund"],
  ["GET", /^\/v1\/disputes$/, "Stripe.DisputeListParams", "Stripe.ApiList<Stripe.Dispute>"],
  ["GET", /^\/v1\/disputes\/[^/]+$/, "Stripe.DisputeRetrieveParams", "Stripe.Dispute"],
  ["GET", /^\/v1\/subscriptions$/, "Stripe.SubscriptionListParams", "Stripe.ApiList<Stripe.Subscription>"],
  ["GET", /^\/v1\/subscriptions\/[^/]+$/, "Stripe.SubscriptionRetrieveParams", "Stripe.Subscription"],
  ["GET", /^\/v1\/invoices$/, "Stripe.InvoiceListParams", "Stripe.ApiList<Stripe.Invoice>"],
  ["GET", /^\/v1\/invoice_payments$/, "Stripe.InvoicePaymentListParams", "Stripe.ApiList<Stripe.InvoicePayment>"],
  ["POST", /^\/v1\/billing_portal\/sessions$/, "Stripe.BillingPortal.SessionCreateParams", "Stripe.BillingPortal.Session"],
  ["GET", /^\/v1\/payment_method_configurations$/, "Stripe.PaymentMethodConfigurationListParams",
    "Stripe.ApiList<Stripe.PaymentMethodConfiguration>"],
  ["GET", /^\/v1\/payment_links$/, "Stripe.PaymentLinkListParams", "Stripe.ApiList<Stripe.PaymentLink>"],
  ["GET", /^\/v1\/payment_links\/[^/]+\/line_items$/, "Stripe.PaymentLinkListLineItemsParams", "Stripe.ApiList<Stripe.LineItem>"],
  ["GET", /^\/v1\/webhook_endpoints$/, "Stripe.WebhookEndpointListParams", "Stripe.ApiList<Stripe.WebhookEndpoint>"],
  ["GET", /^\/v1\/billing_portal\/configurations$/, "Stripe.BillingPortal.ConfigurationListParams", "Stripe.ApiList<Stripe.BillingPortal.Configuration>"],
];

// Where the package lets a field hold any text beside the values that it lists, only those are right here.
const OPEN = "export type OtherString = string & Record<never, never>;";
const CLOSED = "export type OtherString = never;";

// Form fields are text on the wire; under these names text is meant, whatever it looks like.
const TEXT = /(^|\.)(metadata|description|name|starting_after|ending_before|query|code)(\.|$)/;

/** `{"a[0][b]":"1"}` as `{a:[{b:1}]}`. */
function unflattened(fields) {
  const root = {};
  for (const [name, value] of Object.entries(fields ?? {})) {
    const steps = name.replaceAll("]", "").split("[");
    let at = root;
    steps.forEach((step, index) => {
      if (index === steps.length - 1) at[step] = typed(steps.join("."), value);
      else at = at[step] ??= {};
    });
  }
  return listed(root);
}

function typed(path, value) {
  if (typeof value !== "string" || TEXT.test(path)) return value;
  if (/^-?\d+$/.test(value)) return Number(value);
  return value === "true" || value === "false" ? value === "true" : value;
}

function listed(value) {
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value);
  const inner = Object.fromEntries(keys.map((key) => [key, listed(value[key])]));
  const isList = keys.length > 0 && keys.every((key) => key === "" || /^\d+$/.test(key));
  return isList ? Object.values(inner) : inner;
}

/** The package reads `…_decimal` fields, which are text on the wire, into objects of its own. */
function withoutDecimals(value) {
  return JSON.parse(JSON.stringify(value), (key, inner) => (key.endsWith("_decimal") ? null : inner));
}

/** The shape of an object without its texts and numbers: objects of one shape are checked once. */
function shape(value) {
  return JSON.stringify(value, (key, inner) => (typeof inner === "number" ? 0 : inner))
    .replaceAll(/"(cs|pi|ch|re|evt|req|promo|dp|du|txn)_[^"]*"/g, '"id"')
    .replaceAll(/"https?:[^"]*"/g, '"url"');
}

/** What a recorded call or event is held against: objects with their types, or what is missing. */
function parts(record) {
  if (record.target === "event") {
    const name = record.event?.type;
    const type = `Extract<Stripe.Event, { type: ${JSON.stringify(name ?? "")} }>`;
    return [{ what: `event ${name}`, type, value: withoutDecimals(record.event) }];
  }
  const status = record.reply?.status;
  if (record.target !== "stripe" || record.fault || !status || status >= 400) return [];
  const path = record.path.replace(/^\/stripe/, "");
  const call = CALLS.find(([method, pattern]) => method === record.method && pattern.test(path));
  if (!call) return [{ what: `${record.method} ${path}`, missing: "no type is named for this call" }];
  const [, , request, reply] = call;
  const sent = record.method === "POST" ? record.request_body : record.query;
  const answered = { what: `reply to ${record.method} ${path}`, type: reply, value: withoutDecimals(record.reply.body) };
  if (!request) return [answered];
  return [{ what: `request ${record.method} ${path}`, type: request, value: unflattened(sent) }, answered];
}

/** The parts of all records, those of one shape once, each with the records that it is in. */
function wanted(records) {
  const found = new Map();
  records.forEach((record, number) => {
    for (const part of parts(record)) {
      const key = `${part.what} ${part.type} ${part.missing ?? shape(part.value)}`;
      if (!found.has(key)) found.set(key, { ...part, records: [] });
      found.get(key).records.push(number);
    }
  });
  return [...found.values()];
}

/** Reads the package's types with every list of values closed. */
function host(options) {
  const files = ts.createCompilerHost(options);
  const read = files.readFile.bind(files);
  let closed = false;
  files.readFile = (name) => {
    const text = read(name);
    if (!/node_modules\/stripe\/.*\/shared\.d\.ts$/.test(name)) return text;
    closed = text.includes(OPEN);
    return text.replace(OPEN, CLOSED);
  };
  files.getSourceFile = (name, version) => {
    const text = files.readFile(name);
    return text === undefined ? undefined : ts.createSourceFile(name, text, version);
  };
  return { files, isClosed: () => closed };
}

/** The items with the compile errors of their literals. */
function judged(items) {
  const directory = mkdtempSync(join(HERE, "node_modules", ".check-"));
  const file = join(directory, "check.ts");
  const typed = items.filter((item) => item.type);
  const lines = typed.map((item, index) => `export const x${index}: ${item.type} = ${JSON.stringify(item.value)};`);
  writeFileSync(file, ['import Stripe from "stripe";', ...lines].join("\n"));
  const options = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
  };
  const { files, isClosed } = host(options);
  const program = ts.createProgram([file], options, files);
  const source = program.getSourceFile(file);
  const diagnostics = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  rmSync(directory, { recursive: true });
  if (!isClosed()) throw new Error("the package's open lists of values are declared otherwise than expected");
  for (const diagnostic of diagnostics) {
    const line = source.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line;
    const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n").split("\n").slice(-2).join(" ").trim();
    const item = typed[line - 1];
    if (!item) throw new Error(message);
    (item.problems ??= []).push(message.length > 600 ? `${message.slice(0, 600)}…` : message);
  }
  for (const item of items) if (item.missing) item.problems = [item.missing];
  return items;
}

const wrong = process.argv[2] === "--wrong";
const records = process.argv.slice(wrong ? 3 : 2).flatMap((path) =>
  readFileSync(path, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)));
const items = judged(wanted(records));
const bad = items.filter((item) => item.problems);
const violations = bad.flatMap((item) => item.problems.map((problem) => `${item.what}: ${problem}`));
console.log(JSON.stringify({ checked: items.length, violations }, null, 1));
if (wrong) {
  const caught = new Set(bad.flatMap((item) => item.records));
  const missed = records.flatMap((record, number) =>
    ["stripe", "event"].includes(record.target) && !caught.has(number) ? [number + 1] : []);
  if (missed.length > 0) console.log(`nothing is wrong with the lines ${missed.join(", ")}`);
  process.exitCode = missed.length > 0 || items.length === 0 ? 1 : 0;
} else {
  process.exitCode = bad.length > 0 || items.length === 0 ? 1 : 0;
}
