"use strict";
// What the pages share. It precedes a page's own script: lists, and the step that shows only who helps.
// Every text is inserted with textContent; the pages' policies allow nothing else.
const byId = (id) => document.getElementById(id);

const fillList = (id, texts) => {
  byId(id).replaceChildren(...texts.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  byId(id).hidden = texts.length === 0;
};

// Who helps: of a text that is not answered.
const helpers = (reply) => (reply.resources ?? []).map(({ name, contact }) => `${name}: ${contact}`);

// What can be done about a text that is not answered.
const advice = (reply) => [...(reply.questions ?? []), ...(reply.suggested_actions ?? []), ...helpers(reply)];

const fillCare = (sentence, reply) => {
  byId("care-text").textContent = sentence;
  fillList("care-resources", helpers(reply));
  fillList("care-actions", reply.suggested_actions ?? []);
};
