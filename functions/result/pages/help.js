"use strict";
// What the pages share. It precedes a page's own script: the time limit of requests, what is sent of a text, lists, and the
// step that shows only who helps.
// Every text is inserted with textContent; the pages' policies allow nothing else.
const byId = (id) => document.getElementById(id);

// As `replaceChildren`, which the browsers of some phones in use lack.
const setChildren = (element, ...nodes) => {
  element.textContent = "";
  element.append(...nodes);
};

// Ends a request that hangs, as after a change of the network; its page then does what it does without a connection. The
// gateway answers within 29 seconds. Undefined in old browsers, which wait.
const timeLimit = () => AbortSignal.timeout?.(35_000);

// A text as the server takes it. Pasted texts may have control characters, such as Word's line breaks, and halves of
// characters, which nobody sees and the server refuses.
const sendable = (text) => text
  .replace(/\p{Cs}/gu, "\ufffd")
  .replace(/[\u000b\u000c\u0085]/gu, "\n")
  .replace(/\p{Cc}/gu, (sign) => (sign === "\n" || sign === "\t" ? sign : ""));

// Fills a list with lines, which are texts or elements.
const fillList = (id, lines) => {
  setChildren(byId(id), ...lines.map((line) => {
    const item = document.createElement("li");
    item.append(line);
    return item;
  }));
  byId(id).hidden = lines.length === 0;
};

const linkTo = (href, text) => {
  const link = document.createElement("a");
  link.href = href;
  link.textContent = text;
  return link;
};

// A telephone number, after the character before it: no part of a word, as in 1-844-POISON-X.
const NUMBER = /(^|[^\w-])(\d(?:[\d -]*\d)?)(?![\w-])/gu;
// What precedes a number that only takes text messages, with the word to send.
const WRITTEN_TO = /(?:^|, or )text (?:([A-Z]+) to )?$/iu;
const SITE = /^[a-z\d-]+(?:\.[a-z\d-]+)+$/u;

// The parts of a contact. Numbers and sites are links, because telephones do not recognise short numbers such as 988.
const linked = (contact) => {
  if (SITE.test(contact)) return [linkTo(`//${contact}`, contact)];
  const parts = [];
  let end = 0;
  for (const { 0: whole, 1: before, 2: number, index } of contact.matchAll(NUMBER)) {
    const start = index + before.length;
    const digits = number.replace(/\D/gu, "");
    const written = WRITTEN_TO.exec(contact.slice(0, start));
    const message = written?.[1] ? `?&body=${written[1]}` : "";
    parts.push(contact.slice(end, start), linkTo(written ? `sms:${digits}${message}` : `tel:${digits}`, number));
    end = index + whole.length;
  }
  return [...parts, contact.slice(end)];
};

// Who helps: of a text that is not answered.
const helpers = (reply) => (reply.resources ?? []).map(({ name, contact }) => {
  const line = document.createElement("span");
  line.append(`${name}: `, ...linked(contact));
  return line;
});

// What can be done about a text that is not answered.
const advice = (reply) => [...(reply.questions ?? []), ...(reply.suggested_actions ?? []), ...helpers(reply)];

const fillCare = (sentence, reply) => {
  byId("care-text").textContent = sentence;
  fillList("care-resources", helpers(reply));
  fillList("care-actions", reply.suggested_actions ?? []);
};
