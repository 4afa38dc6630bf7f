import { isUtf8 } from 'node:buffer';
import { keepContexts } from '#edge/context-source';
import { keepItemKeys } from '#edge/item-key-source';
import { endOfString } from '#edge/json-scan';
import { invalid } from '#fault/fault';
import { illFormedPlace } from '#platform/well-formed-json';

/** How deep a body may nest: a context of 16 inside a batch item, and some room. */
const BODY_DEPTH_MAX = 24;

/** A mark that RFC 8259 keeps out of JSON between systems; some editors write it. */
const BYTE_ORDER_MARK = 0xfeff;

const QUOTE = 0x22;
const COLON = 0x3a;
const OPENING = new Set(['[', '{'].map((text) => text.charCodeAt(0)));
const CLOSING = new Set([']', '}'].map((text) => text.charCodeAt(0)));

/**
 * The JSON value of a request body, contexts as `ContextSource`. Throws `invalid_request` (400) for
 * bytes that are not UTF-8, for text that is not JSON and for an object with the same key twice.
 * Throws 422 for half a surrogate pair in a string or key, for nesting beyond any use (before the
 * text is parsed), and for keys that reach for a prototype.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid('invalid_utf8', undefined, 'the body is not UTF-8');
  const text = bytes.toString('utf8');
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) {
    const message = 'the body begins with a byte order mark: send it without';
    throw invalid('malformed_json', undefined, message);
  }
  const colons = colonsOf(text);
  const value = parse(text);
  if (keysOf(value) !== colons) {
    throw invalid('duplicate_key', undefined, 'an object of the body has the same key twice');
  }
  if (text.includes('\\u')) assertWellFormed(value);
  keepContexts(value, text);
  keepItemKeys(value, text);
  return value;
}

/** The bytes are UTF-8, so half a surrogate pair can come from an escape alone. */
function assertWellFormed(value: unknown): void {
  const place = illFormedPlace(value);
  if (place === undefined) return;
  const field = place === '' ? undefined : place;
  throw invalid('invalid_text', field, `${place || 'the body'}: has half a surrogate pair`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('malformed_json', undefined, 'the body is not valid JSON');
  }
}

/**
 * Colons outside strings: as many as the text has keys, so comparing with the parsed value's keys
 * shows a key that came twice. Throws when the text nests too deep.
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
    if (depth > BODY_DEPTH_MAX) throw invalid('too_deep', undefined, 'the body nests too deep');
  }
  return colons;
}

/**
 * How many keys a value has, all levels together. Throws 422 for a key through which a careless
 * reader of the value would change the prototype of all objects: schemas do not see `__proto__`,
 * and in a context it would be kept and handed on.
 */
function keysOf(value: unknown, within = ''): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + keysOf(item), 0);
  let sum = 0;
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || (key === 'prototype' && within === 'constructor')) {
      throw invalid('unknown_field', key, `${key}: no such field`);
    }
    sum += 1 + keysOf(item, key);
  }
  return sum;
}
