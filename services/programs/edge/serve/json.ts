import { isUtf8 } from 'node:buffer';
import { type Fault, invalid, toFault } from '#errors/fault';

/** Maximum body depth: a context with 16 levels in a batch item, plus a margin. */
const BODY_DEPTH_MAX = 24;

/** Byte order mark. RFC 8259 forbids the mark between systems, but some editors write it. */
const BYTE_ORDER_MARK = 0xfeff;

const QUOTE = 0x22;
const COLON = 0x3a;
const OPENING = new Set(['[', '{'].map((text) => text.charCodeAt(0)));
const CLOSING = new Set([']', '}'].map((text) => text.charCodeAt(0)));

/**
 * Parses a JSON request body. Contexts become `ContextSource`, item keys become `ItemKeySource`.
 *
 * Throws `invalid_request` (400) for bytes that are not UTF-8, for invalid JSON and for a duplicate
 * key in an object. Throws 422 for a lone surrogate, for nesting deeper than `BODY_DEPTH_MAX`
 * (before parsing) and for keys that reach a prototype.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  const text = textOf(bytes);
  const colons = colonsOf(text);
  const value = parse(text);
  assertSound(value, text, colons);
  keepContexts(value, text, bytes);
  keepItemKeys(value, text);
  return value;
}

/** A request body whose observations are refused one by one. */
export type ItemsBody = {
  /** The body, as from `parseJsonBody`. */
  readonly value: unknown;
  /** Refusals of invalid observations, by index. Other observations have no entry. */
  readonly refused: ReadonlyMap<number, Fault>;
};

/**
 * Parses a JSON request body like `parseJsonBody`. A duplicate key, a lone surrogate or a key that
 * reaches a prototype refuses only its observation if it is in the list `observations`. Otherwise,
 * throws the faults of `parseJsonBody`. Does not check a list of more than `itemsMax` observations.
 */
export function parseJsonItems(bytes: Buffer, itemsMax: number): ItemsBody {
  const text = textOf(bytes);
  const colons = colonsOf(text);
  const value = parse(text);
  // The schema refuses a longer list. Checking its items could take a second.
  if (observationsIn(value).length > itemsMax) return { value, refused: NONE_REFUSED };
  let refused: ReadonlyMap<number, Fault> = NONE_REFUSED;
  try {
    assertSound(value, text, colons);
  } catch (error) {
    refused = unsoundItems(value, text, colons, error);
  }
  keepContexts(value, text, bytes);
  keepItemKeys(value, text);
  return { value, refused };
}

const NONE_REFUSED: ReadonlyMap<number, Fault> = new Map();

/** The list `observations` of a body; empty if there is no list. */
function observationsIn(value: unknown): readonly unknown[] {
  const { observations } = isObject(value) ? (value as Body) : {};
  return Array.isArray(observations) ? observations : [];
}

/** The faults of unsound observations. Throws `cause` if the rest of the body is unsound. */
function unsoundItems(
  value: unknown,
  text: string,
  colons: number,
  cause: unknown,
): ReadonlyMap<number, Fault> {
  const { start } = valueAt(text, 0);
  const list = isPlainObject(value) ? memberOf(text, start, 'observations') : undefined;
  const observations = observationsIn(value);
  if (list === undefined) throw cause;
  const refused = new Map<number, Fault>();
  let colonsOfItems = 0;
  for (const [index, { start: from, end }] of itemsOf(text, list.start).entries()) {
    const item = text.slice(from, end);
    const colonsOfItem = colonsOf(item);
    colonsOfItems += colonsOfItem;
    try {
      assertSound(observations[index], item, colonsOfItem);
    } catch (error) {
      refused.set(index, toFault(error));
    }
  }
  const rest = `${text.slice(0, list.start)}[]${text.slice(list.end)}`;
  assertSound(JSON.parse(rest), rest, colons - colonsOfItems);
  return refused;
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalid('invalid_utf8', undefined, 'the body is not UTF-8');
  const text = bytes.toString('utf8');
  if (text.charCodeAt(0) !== BYTE_ORDER_MARK) return text;
  const message = 'the body starts with a byte order mark; remove the mark';
  throw invalid('malformed_json', undefined, message);
}

/**
 * Throws for a duplicate key, a lone surrogate and a key that reaches a prototype. `colons`: number
 * of colons outside the strings of `text`.
 */
function assertSound(value: unknown, text: string, colons: number): void {
  if (keysOf(value) !== colons) {
    throw invalid('duplicate_key', undefined, 'an object of the body has a duplicate key');
  }
  if (text.includes('\\u')) assertWellFormed(value);
}

/**
 * Throws 422 for a lone surrogate. The bytes are valid UTF-8, so only an escape can contain one.
 */
function assertWellFormed(value: unknown): void {
  const place = illFormedPlace(value);
  if (place === undefined) return;
  const field = place === '' ? undefined : place;
  throw invalid('invalid_text', field, `${place || 'the body'}: has a lone surrogate`);
}

/**
 * Member that contains the caller's own content. A position inside this member is reported by the
 * member's name only.
 */
const CONTEXT = 'context';

/**
 * Path to the first lone surrogate in a string or key of a JSON value, for example
 * `observations[3].context`. Undefined if there is none. Languages other than JavaScript cannot
 * decode such text.
 */
function illFormedPlace(value: unknown, path = ''): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(value)) {
    // The refusal must not repeat the broken key.
    const place = placeOf(path, key.toWellFormed(), isList);
    if (!key.isWellFormed()) return place;
    const found = illFormedPlace(item, place);
    if (found !== undefined) return found;
  }
  return undefined;
}

function placeOf(path: string, key: string, isList: boolean): string {
  if (path === CONTEXT || path.endsWith(`.${CONTEXT}`)) return path;
  if (isList) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('malformed_json', undefined, 'the body is not valid JSON');
  }
}

/**
 * Counts colons outside strings. Valid JSON has as many keys as colons outside strings.
 *
 * More colons than parsed keys reveal a duplicate key. Throws if the text nests too deep.
 */
function colonsOf(text: string): number {
  let colons = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i);
    else if (unit === COLON) colons += 1;
    else if (OPENING.has(unit)) depth += 1;
    else if (CLOSING.has(unit)) depth -= 1;
    if (depth > BODY_DEPTH_MAX) throw invalid('too_deep', undefined, 'the nesting is too deep');
  }
  return colons;
}

/**
 * Counts a value's keys on all levels.
 *
 * Throws 422 for keys that could change the prototype of all objects (prototype pollution). Schemas
 * do not see `__proto__`, so a context with this key would be stored and returned.
 */
function keysOf(value: unknown, within = ''): number {
  if (typeof value !== 'object' || value === null) return 0;
  let sum = 0;
  if (Array.isArray(value)) {
    for (const item of value) sum += keysOf(item);
    return sum;
  }
  // No `Object.entries`, which creates a list for each key.
  const object = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(object)) {
    if (key === '__proto__' || (key === 'prototype' && within === 'constructor')) {
      throw invalid('unknown_field', key, `${key}: unknown field`);
    }
    sum += 1 + keysOf(object[key], key);
  }
  return sum;
}

const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const SPACES = new Set([' ', '\t', '\n', '\r'].map((text) => text.charCodeAt(0)));

/** A value's position in a text: from `start` up to, but excluding, `end`. */
type JsonSpan = { readonly start: number; readonly end: number };

/** Index of the quote that closes the string opened at `start`, or the text's end. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

/** Finds the next value at or after `from`. Requires valid JSON, like all functions below. */
function valueAt(text: string, from: number): JsonSpan {
  const start = behindSpace(text, from);
  return { start, end: endOfValue(text, start) };
}

/** Index behind the value that starts at `start`. */
function endOfValue(text: string, start: number): number {
  const unit = text.charCodeAt(start);
  if (unit === QUOTE) return endOfString(text, start) + 1;
  if (OPENING.has(unit)) return endOfContainer(text, start);
  let end = start;
  while (end < text.length && !isDelimiter(text.charCodeAt(end))) end += 1;
  return end;
}

/** Whether the name between `start` and `end`, with its quotes, is `key`. Decodes escapes. */
function isName(text: string, start: number, end: number, key: string): boolean {
  const length = end - start - 2;
  if (length <= key.length) return length === key.length && text.startsWith(key, start + 1);
  return hasEscape(text, start, end) && JSON.parse(text.slice(start, end)) === key;
}

/** Whether the text between `start` and `end` has a backslash. */
function hasEscape(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (text.charCodeAt(at) === BACKSLASH) return true;
  return false;
}

/** Item positions in the array that opens at `start`. */
function itemsOf(text: string, start: number): JsonSpan[] {
  const items: JsonSpan[] = [];
  for (let at = behindSpace(text, start + 1); at < text.length; ) {
    if (CLOSING.has(text.charCodeAt(at))) break;
    const item = valueAt(text, at);
    items.push(item);
    at = behindComma(text, item.end);
  }
  return items;
}

/**
 * The position of `key`'s value in the object that opens at `start`. Escapes in keys are decoded.
 */
function memberOf(text: string, start: number, key: string): JsonSpan | undefined {
  const found = startOfMember(text, start, key);
  return found === undefined ? undefined : { start: found, end: endOfValue(text, found) };
}

/** Like `memberOf`, but returns the start alone, without reading the value. */
function startOfMember(text: string, start: number, key: string): number | undefined {
  for (let at = behindSpace(text, start + 1); at < text.length; ) {
    if (CLOSING.has(text.charCodeAt(at))) break;
    const nameEnd = endOfValue(text, at);
    const value = behindSpace(text, behindSpace(text, nameEnd) + 1);
    if (isName(text, at, nameEnd, key)) return value;
    at = behindComma(text, endOfValue(text, value));
  }
  return undefined;
}

/**
 * The object at `start` as text, without its member `key` and a comma; undefined without such a
 * member. All other bytes stay unchanged.
 */
export function withoutMember(text: string, start: number, key: string): string | undefined {
  let previousEnd: number | undefined;
  for (let at = behindSpace(text, start + 1); at < text.length; ) {
    if (CLOSING.has(text.charCodeAt(at))) break;
    const name = valueAt(text, at);
    const value = valueAt(text, behindSpace(text, name.end) + 1);
    const next = behindComma(text, value.end);
    if (isName(text, name.start, name.end, key)) {
      const { end } = valueAt(text, start);
      const isFirst = previousEnd === undefined;
      const [from, to] = isFirst ? [name.start, next] : [previousEnd, value.end];
      return text.slice(start, from) + text.slice(to, end);
    }
    previousEnd = value.end;
    at = next;
  }
  return undefined;
}

/**
 * The same JSON without whitespace and unnecessary escapes. Numbers and key order do not change.
 */
export function compactJson(text: string): string {
  let compact = '';
  let taken = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (SPACES.has(unit)) {
      compact += text.slice(taken, i);
      taken = i + 1;
    } else if (unit === QUOTE) {
      const end = endOfString(text, i);
      if (hasEscape(text, i, end)) {
        compact += text.slice(taken, i) + JSON.stringify(JSON.parse(text.slice(i, end + 1)));
        taken = end + 1;
      }
      i = end;
    }
  }
  return taken === 0 ? text : compact + text.slice(taken);
}

function endOfContainer(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i);
    else if (OPENING.has(unit)) depth += 1;
    else if (CLOSING.has(unit)) depth -= 1;
    if (depth === 0) return i + 1;
  }
  return text.length;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

function isDelimiter(unit: number): boolean {
  return unit === COMMA || CLOSING.has(unit) || SPACES.has(unit);
}

function behindSpace(text: string, from: number): number {
  let at = from;
  while (SPACES.has(text.charCodeAt(at))) at += 1;
  return at;
}

function behindComma(text: string, from: number): number {
  const at = behindSpace(text, from);
  return text.charCodeAt(at) === COMMA ? behindSpace(text, at + 1) : at;
}

/**
 * A context as a parsed value, for checks, and as the caller's text, for storage. Parsed objects
 * would round numbers to doubles and move keys that look like numbers first (decision 153).
 */
export class ContextSource {
  readonly value: object;
  readonly json: string;

  constructor(value: object, json: string) {
    this.value = value;
    this.json = json;
  }
}

/** A body that may have a context, or observations with contexts. */
type Body = { context?: unknown; readonly observations?: unknown };

/**
 * Replaces the contexts in an observation or a batch by their sources. `text` is the text that
 * `value` was parsed from, and `bytes` is its encoding. Costs almost nothing without contexts.
 */
function keepContexts(value: unknown, text: string, bytes: Buffer): void {
  if (!isObject(value)) return;
  const body: Body = value;
  if (isPlainObject(body.context)) {
    const json = JSON.stringify(body.context);
    // If the caller formats JSON as JavaScript does, parsing loses nothing: skip the search.
    if (text.includes(`"context":${json}`)) body.context = new ContextSource(body.context, json);
    else keepContext(body, text, behindSpace(text, 0), bytes);
  }
  const { observations } = body;
  if (!Array.isArray(observations) || !observations.some(hasContext)) return;
  const list = startOfMember(text, behindSpace(text, 0), 'observations');
  if (list === undefined) return;
  let at = behindSpace(text, list + 1);
  for (const observation of observations) {
    const end = hasContext(observation)
      ? keepContext(observation, text, at, bytes)
      : endOfValue(text, at);
    at = behindComma(text, end);
  }
}

/**
 * Replaces the context of the object that starts at `start`. Returns the index behind the object:
 * one pass over the text finds the context and the next object.
 */
function keepContext(owner: Body, text: string, start: number, bytes: Buffer): number {
  let at = behindSpace(text, start + 1);
  let isKept = false;
  while (at < text.length && !CLOSING.has(text.charCodeAt(at))) {
    const nameEnd = endOfValue(text, at);
    const from = behindSpace(text, behindSpace(text, nameEnd) + 1);
    const end = endOfValue(text, from);
    if (!isKept && isPlainObject(owner.context) && isName(text, at, nameEnd, 'context')) {
      owner.context = new ContextSource(owner.context, contextText(text, from, end, bytes));
      isKept = true;
    }
    at = behindComma(text, end);
  }
  return at + 1;
}

/** The context between `from` and `end`, compact, as a string of its own. */
function contextText(text: string, from: number, end: number, bytes: Buffer): string {
  const slice = text.slice(from, end);
  const json = compactJson(slice);
  // Copy the text: a slice of a string keeps the whole body in memory.
  const isAscii = text.length === bytes.length;
  if (isAscii && json === slice) return bytes.toString('latin1', from, end);
  return Buffer.from(json).toString();
}

function hasContext(value: unknown): value is Body {
  return isObject(value) && isPlainObject((value as Body).context);
}

/** Whether a value is an object and no list. The schema refuses contexts of other types. */
function isPlainObject(value: unknown): value is object {
  return isObject(value) && !Array.isArray(value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The batch item member that holds the item's idempotency key. */
const ITEM_KEY = 'idempotency_key';

/**
 * A batch item's idempotency key, with the item's text without the key. A single call with the same
 * observation has exactly this text as its body (decision 280).
 */
export class ItemKeySource {
  readonly key: string;
  readonly observationText: string;

  constructor(key: string, observationText: string) {
    this.key = key;
    this.observationText = observationText;
  }
}

/** A batch observation that may have a key. */
type Item = { [ITEM_KEY]?: unknown };

/**
 * Replaces batch item keys by their sources. `text` is the text that `value` was parsed from.
 * Without keys, only checks whether the member exists.
 */
function keepItemKeys(value: unknown, text: string): void {
  if (typeof value !== 'object' || value === null) return;
  const { observations } = value as { readonly observations?: unknown };
  if (!Array.isArray(observations) || !observations.some(hasKey)) return;
  const list = startOfMember(text, behindSpace(text, 0), 'observations');
  const spans = list === undefined ? [] : itemsOf(text, list);
  observations.forEach((observation: unknown, index) => {
    const span = spans[index];
    if (span === undefined || !hasKey(observation)) return;
    const key = observation[ITEM_KEY];
    const rest = withoutMember(text, span.start, ITEM_KEY);
    if (typeof key !== 'string' || rest === undefined) return;
    observation[ITEM_KEY] = new ItemKeySource(key, rest);
  });
}

function hasKey(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, ITEM_KEY);
}
