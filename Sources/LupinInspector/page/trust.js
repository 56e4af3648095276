// Decides how the tab Trust tells who the origin was: verdict, checks, and pins ready to paste.

import { copyButton } from "./clipboard.js";
import { button, el, facts, remark } from "./dom.js";
import { at, day, duration, listOf, shown } from "./text.js";
import { quoted } from "./yaml.js";

const verdicts = {
  pass: "The origin's certificates passed.",
  fail: "The origin's certificates failed, and the request was not sent.",
  disabled: "The certificates were not judged: the policy accepts any.",
  tunnel: "lupin saw no certificate: the client made TLS with the origin itself, in the tunnel.",
};

/** The tab Trust. */
export function trustTab({ detail, source, makeRule }) {
  const record = detail.record ?? {};
  const trust = record.trust;
  if (trust === undefined) {
    return remark(at(record, "url", "scheme") === "https"
      ? "No certificate was judged: nothing went to the origin, or its connection was in use."
      : "The origin was asked without TLS.");
  }
  const checks = listOf(trust.checks);
  const links = listOf(detail.chain ?? trust.chain).slice(0, 20);
  const pins = pinsOf(trust);
  const tls = listOf(record.attempts).map((one) => at(one, "tls")).filter(Boolean).at(-1);
  return el("div", el("p", { class: `verdict ${trust.verdict === "pass" ? "good" : "bad"}`,
      text: at(verdicts, trust.verdict) ?? shown(trust.verdict) }),
    facts([["policy", shown(trust.policy)], ["TLS", shown(tls)],
      ["valid until", expiry(trust.not_after)]]),
    checks.length > 0 && [el("h3", "Checks"), checkTable(checks)],
    chain(links),
    el("h3", "Pins"),
    !source.isReadOnly && links.length === 0 && trust.leaf !== undefined && remark("lupin does not "
      + "remember the whole chain any more; `lupin pin HOST` asks the origin for it."),
    pins.length === 0 ? remark("The record names no key. `lupin pin HOST` shows those of the chain.")
      : [pins.map(pinLine), !source.isReadOnly && button("Pin these keys", () => makeRule("pin"))],
  );
}

function expiry(text) {
  const end = Date.parse(text);
  if (Number.isNaN(end)) return shown(text);
  const left = end - Date.now();
  const told = left < 0 ? `expired ${duration(-left)} ago` : `${duration(left)} left`;
  return `${day(end).slice(0, 16)} (${told})`;
}

/** The pins that a record names: `[pin, what it is]`. */
export function pinsOf(trust) {
  const found = new Map();
  const add = (pin, what) => {
    if (/^sha256\/[A-Za-z0-9+/]{43}=$/.test(pin) && !found.has(pin)) found.set(pin, what);
  };
  for (const one of listOf(at(trust, "checks"))) {
    add(at(one, "match"), `matched by ${shown(at(one, "is"))}`);
  }
  add(at(trust, "leaf"), "the origin's own key");
  return [...found];
}

function pinLine([pin, what]) {
  return el("p.pin", el("code", pin), " ", el("small", what), " ",
    copyButton("Copy", () => pin));
}

/** A rule that pins the keys of a host. */
export function pinRule(host, pins) {
  const list = pins.map((pin) => `          - ${quoted(pin)}\n`).join("");
  return `- name: ${quoted(`pins of ${host}`)}\n  match: {host: ${quoted(host)}, scheme: https}\n`
    + `  trust:\n    all:\n      - system\n      - pins:\n${list}`;
}

function checkTable(checks) {
  return el("table.fields", el("tbody", checks.map((check) => {
    const isFine = at(check, "ok") === true;
    return el("tr", { class: isFine ? "" : "removed" }, el("td.mark", {
        "aria-label": isFine ? "passed" : "failed",
        text: isFine ? "✓" : "✗" }),
      el("th", { scope: "row", text: shown(at(check, "is")) }),
      el("td.value", [at(check, "note"), at(check, "match")].filter(Boolean)
        .map((text) => el("div", shown(text)))),
    );
  })));
}

function chain(links) {
  if (links.length === 0) return undefined;
  return [el("h3", "Chain that the origin showed"), el("ol.chain", links.map((link) =>
    el("li", el("strong", shown(at(link, "subject"))), facts([
      ["issuer", shown(at(link, "issuer"))],
      ["valid from", day(Date.parse(at(link, "not_before"))).slice(0, 16)],
      ["valid until", expiry(at(link, "not_after"))],
      ["pin", pinText(at(link, "pin"))],
    ]))))];
}

function pinText(pin) {
  return el("span.pin", el("code", shown(pin)), " ", copyButton("Copy", () => pin));
}
