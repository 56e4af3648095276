// Decides what request an exchange stands for when it is copied, sent again, or made a rule.

import { typeOf } from "./body.js";
import { at, listOf, valuesOf } from "./text.js";
import { decoded, isText } from "./plainviews.js";

/** A value, or part of one, that lupin hid. */
export const mask = /REDACTED(?:\.[0-9a-f]+)?/;

// The connection makes these itself.
const framing = new Set(["host", "content-length", "transfer-encoding", "connection", "keep-alive",
  "proxy-connection", "proxy-authorization", "te", "trailer", "upgrade", "expect", "via"]);

const inlineMax = 256 * 1024;

/** The address of an exchange, whatever form its target had. */
function urlOf(detail, head = detail.request) {
  const target = String(head?.target ?? "");
  if (/^https?:\/\//i.test(target)) return target;
  const url = at(detail.record, "url") ?? {};
  const full = typeof url === "string" ? url : url.full;
  if (!target.startsWith("/")) return typeof full === "string" ? full : "";
  const scheme = url.scheme ?? "https";
  const isUsual = url.port === undefined || url.port === (scheme === "http" ? 80 : 443);
  const host = valuesOf(head, "host")[0] ?? `${url.domain ?? ""}${isUsual ? "" : `:${url.port}`}`;
  return `${scheme}://${host}${target}`;
}

/** The fields that a person would send again. */
export function sendableFields(head) {
  return listOf(head?.fields).map(([name, value]) => [String(name), String(value)])
    .filter(([name]) => !framing.has(name.toLowerCase()) && !name.startsWith(":"));
}

/**
 * The request: `{method, url, fields, body, bodyNote}`; `body` is a text, or nothing where
 * `bodyNote` says why.
 */
export async function requestOf(context) {
  const { detail, source, id } = context;
  const head = detail.request ?? { method: at(detail.record, "http", "request", "method"),
    fields: [] };
  const result = { method: String(head.method ?? "GET"), url: urlOf(detail, head),
    fields: sendableFields(head), body: undefined, bodyNote: "" };
  const size = at(detail.record, "http", "request", "body", "size") ?? 0;
  const kept = listOf(detail.bodies).find((body) => body.side === "request");
  if (kept === undefined || kept.withheld || !(kept.kept > 0)) {
    if (size > 0) result.bodyNote = `the body (${size} bytes) was not recorded`;
    return result;
  }
  if (kept.truncated)
    result.bodyNote = `of the body, ${kept.kept} of ${kept.bytes} bytes were recorded`;
  else if (kept.kept > inlineMax) result.bodyNote = `the body has ${kept.kept} bytes; download it`;
  else {
    const bytes = await source.body(id, "request");
    if (isText(bytes) && !bytes.includes(0)) {
      result.body = decoded(bytes, "utf-8");
      // What was compressed on the wire is plain text now.
      result.fields = result.fields.filter(([name]) => !kept.coding
        || name.toLowerCase() !== "content-encoding");
    } else result.bodyNote = `the body is binary (${typeOf(kept, detail) || "no type"})`;
  }
  return result;
}
