const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const SPACES = new Set([' ', '\t', '\n', '\r'].map((text) => text.charCodeAt(0)));
const OPENING = new Set(['[', '{'].map((text) => text.charCodeAt(0)));
const CLOSING = new Set([']', '}'].map((text) => text.charCodeAt(0)));

/** A value's place in a text: from `start` up to `end`. */
export type JsonSpan = { readonly start: number; readonly end: number };

/** Where the string that opens at `start` closes, or the end of the text. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

/** The value that begins at or behind `from`. The text is valid JSON, here and below. */
export function valueAt(text: string, from: number): JsonSpan {
  const start = behindSpace(text, from);
  const unit = text.charCodeAt(start);
  if (unit === QUOTE) return { start, end: endOfString(text, start) + 1 };
  if (OPENING.has(unit)) return { start, end: endOfContainer(text, start) };
  let end = start;
  while (end < text.length && !isDelimiter(text.charCodeAt(end))) end += 1;
  return { start, end };
}

/** The values of the list that opens at `start`. */
export function itemsOf(text: string, start: number): JsonSpan[] {
  const items: JsonSpan[] = [];
  for (let at = behindSpace(text, start + 1); at < text.length; ) {
    if (CLOSING.has(text.charCodeAt(at))) break;
    const item = valueAt(text, at);
    items.push(item);
    at = behindComma(text, item.end);
  }
  return items;
}

/** The value of `key` in the object that opens at `start`, however the key is spelled. */
export function memberOf(text: string, start: number, key: string): JsonSpan | undefined {
  for (let at = behindSpace(text, start + 1); at < text.length; ) {
    if (CLOSING.has(text.charCodeAt(at))) break;
    const name = valueAt(text, at);
    const value = valueAt(text, behindSpace(text, name.end) + 1);
    if (JSON.parse(text.slice(name.start, name.end)) === key) return value;
    at = behindComma(text, value.end);
  }
  return undefined;
}

/**
 * The object that stands at `start`, as text, without its member `key` and one comma; undefined if it has
 * no such member. What is left is the caller's own text.
 */
export function withoutMember(text: string, start: number, key: string): string | undefined {
  let previousEnd: number | undefined;
  for (let at = behindSpace(text, start + 1); at < text.length; ) {
    if (CLOSING.has(text.charCodeAt(at))) break;
    const name = valueAt(text, at);
    const value = valueAt(text, behindSpace(text, name.end) + 1);
    const next = behindComma(text, value.end);
    if (JSON.parse(text.slice(name.start, name.end)) === key) {
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
 * The same JSON in fewer characters: without gaps, and with characters in place of their escapes.
 * Numbers and the order of keys stay as they are.
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
      const string = text.slice(i, end + 1);
      if (string.includes('\\')) {
        compact += text.slice(taken, i) + JSON.stringify(JSON.parse(string));
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
