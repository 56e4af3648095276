// Decides what protobuf without a schema shows, by field numbers; and where frames of gRPC end.

import { Branch, Word } from "./json.js";

const depthMax = 20;
const fieldsMax = 20_000;

/** Reads a message as a tree. Throws where it is none. */
export function parseProtobuf(bytes) {
  return message(bytes, 0, { count: 0 });
}

function message(bytes, depth, state) {
  if (depth > depthMax) throw new Error("it is nested too deep");
  const reader = { bytes, place: 0 };
  const names = [];
  const items = [];
  while (reader.place < bytes.length) {
    if ((state.count += 1) > fieldsMax) throw new Error("it has too many fields");
    const tag = varint(reader);
    const number = tag >> 3n;
    if (number < 1n || number > 536_870_911n) throw new Error("a field has no number");
    const [kind, value] = field(reader, Number(tag & 7n), depth, state);
    names.push(`${number} (${kind})`);
    items.push(value);
  }
  return new Branch(items, names);
}

function field(reader, wire, depth, state) {
  switch (wire) {
  case 0: return ["varint", integer(varint(reader))];
  case 1: return ["64 bits", fixed(take(reader, 8))];
  case 2: return delimited(take(reader, Number(varint(reader))), depth, state);
  case 5: return ["32 bits", fixed(take(reader, 4))];
  default: throw new Error(`wire type ${wire} is unknown`);
  }
}

function varint(reader) {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    if (reader.place >= reader.bytes.length) throw new Error("it is cut");
    const byte = reader.bytes[reader.place++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return value;
  }
  throw new Error("a number is too long");
}

function take(reader, count) {
  if (count > reader.bytes.length - reader.place) throw new Error("it is cut");
  reader.place += count;
  return reader.bytes.subarray(reader.place - count, reader.place);
}

function integer(value) {
  // Negative numbers of int32 and int64 have all bits set at the top.
  const signed = BigInt.asIntN(64, value);
  return new Word(signed < 0n ? `${signed} (unsigned ${value})` : String(value));
}

function fixed(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isLong = bytes.length === 8;
  const whole = isLong ? view.getBigInt64(0, true) : view.getInt32(0, true);
  const float = isLong ? view.getFloat64(0, true) : view.getFloat32(0, true);
  return new Word(`${whole}, as float ${Number(float.toPrecision(isLong ? 15 : 7))}`);
}

function delimited(bytes, depth, state) {
  if (bytes.length === 0) return ["text", ""];
  const text = utf8(bytes);
  // Short texts also read as messages; letters are the likelier meaning.
  if (text !== undefined && /^[\t\n\r\x20-\x7e\u00a0-\uffff]*$/u.test(text)) return ["text", text];
  const before = state.count;
  try {
    return ["message", message(bytes, depth + 1, state)];
  } catch (error) {
    if (state.count > fieldsMax) throw error;
    state.count = before + 1;
  }
  if (text !== undefined) return ["text", text];
  const hex = [...bytes.subarray(0, 64)].map((byte) => byte.toString(16).padStart(2, "0"));
  const tail = bytes.length > 64 ? ` … ${bytes.length} bytes` : "";
  return [`bytes, ${bytes.length}`, new Word(hex.join(" ") + tail)];
}

function utf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const framesMax = 1000;
const inflatedMax = 4 * 1024 * 1024;

/** The messages of a gRPC body: `{isCompressed, bytes, isCut}`. */
export function grpcFrames(bytes) {
  const frames = [];
  let place = 0;
  while (place + 5 <= bytes.length && frames.length < framesMax) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + place, 5);
    const length = view.getUint32(1);
    const flags = view.getUint8(0);
    if (flags > 1 && (flags & 0x80) === 0) throw new Error("these are no frames of gRPC");
    const end = Math.min(bytes.length, place + 5 + length);
    frames.push({
      isCompressed: (flags & 1) === 1,
      isTrailer: (flags & 0x80) !== 0,
      isCut: place + 5 + length > bytes.length,
      bytes: bytes.subarray(place + 5, end),
    });
    place = end;
  }
  return frames;
}

/** Undoes gzip, up to 4 MiB. */
export async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = stream.getReader();
  const parts = [];
  let count = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    parts.push(value);
    count += value.length;
    if (count > inflatedMax) {
      await reader.cancel();
      throw new Error("it is longer than 4 MiB when gzip is undone");
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
