// Decides how long hosts of `lupin inspect --capture` are captured: while this page is open.

import { api } from "./api.js";
import { listOf } from "./text.js";

const key = "lupin.hold";
// lupin keeps a hold for three minutes; browsers wake a hidden page once in one.
const renewMs = 60_000;

/** The hosts that are captured for as long as somebody wants them. */
export function hostsOf(captured) {
  return [...new Set([listOf(captured.hosts), ...listOf(captured.holds)
    .map((hold) => listOf(hold.hosts))].flat().map(String))];
}

/** The hosts that this page holds. */
export function heldHosts() {
  return read()?.hosts ?? [];
}

/** Takes over the hold that the address names, or goes on with the one before a reload. */
export async function beginHold(name) {
  if (/^[\w-]{1,64}$/.test(name ?? "")) {
    const captured = await api.capture();
    const hold = listOf(captured.holds).find((one) => one.name === name);
    if (hold !== undefined) write({ name, hosts: listOf(hold.hosts).map(String) });
  }
  await renew();
  setInterval(() => renew().catch(() => {
    // The page says where lupin does not answer; the next renewal begins the hold anew.
  }), renewMs);
}

/** Holds a host no longer. */
export async function dropHost(host) {
  const hold = read();
  if (hold === undefined) return;
  write({ name: hold.name, hosts: hold.hosts.filter((one) => one !== host) });
  await renew();
}

async function renew() {
  const hold = read();
  if (hold === undefined) return;
  if (hold.hosts.length > 0) await api.hold(hold.name, hold.hosts);
  else {
    await api.release(hold.name);
    sessionStorage.removeItem(key);
  }
}

function read() {
  const text = sessionStorage.getItem(key);
  return text === null ? undefined : JSON.parse(text);
}

function write(hold) {
  sessionStorage.setItem(key, JSON.stringify(hold));
}
