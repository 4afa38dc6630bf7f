import { IdentityEngineError } from './errors.ts';
import { LONE_SURROGATE } from './lone-surrogate.ts';

/**
 * Parsing of integers beyond ±(2^53 − 1): `exact` returns `bigint`, `number` rounds as `JSON.parse`
 * does.
 */
export type Integers = 'exact' | 'number';

/** Maximum nesting that `toJson` writes: far above the service's limit (interface 8.4). */
const LEVELS_MAX = 1_000;

/**
 * Number from which `JSON.stringify` writes an exponent. Parsers do not read such a number as an
 * integer.
 */
const EXPONENT_FROM = 1e21;

/**
 * Returns the JSON text of a value as `JSON.stringify` does, but writes a `bigint` as an integer.
 * Throws an `IdentityEngineError` with the path of a value that JSON would drop or change: NaN and
 * infinities, integers rounded by `number`, lone surrogates, functions, symbols, maps, sets, holes
 * in arrays, invalid dates and cycles.
 */
export function toJson(value: unknown, path = ''): string {
  return isPlain(value, 0) ? JSON.stringify(value) : textOf(value, path, 0);
}

/** Whether `JSON.stringify` writes the value unchanged and can replace the slower `textOf`. */
function isPlain(value: unknown, level: number): boolean {
  switch (typeof value) {
    case 'string':
      return !LONE_SURROGATE.test(value);
    case 'number':
      return Number.isSafeInteger(value) || isFraction(value);
    case 'boolean':
      return true;
    case 'object':
      return value === null || isPlainObject(value, level + 1);
    default:
      return false;
  }
}

function isPlainObject(value: object, level: number): boolean {
  if (level > LEVELS_PLAIN_MAX) return false;
  if (Array.isArray(value)) {
    // Unlike `every`, this loop visits holes.
    for (const item of value) if (!isPlain(item, level)) return false;
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false;
  return Object.entries(value).every(
    ([name, field]) => !LONE_SURROGATE.test(name) && (field === undefined || isPlain(field, level)),
  );
}

function isFraction(value: number): boolean {
  return Number.isFinite(value) && !Number.isInteger(value);
}

/** Nesting accepted by the service, plus the levels of a batch. */
const LEVELS_PLAIN_MAX = 32;

/** Parses a JSON text. Throws a SyntaxError if invalid. */
export function fromJson(text: string, integers: Integers = 'exact'): unknown {
  if (integers === 'number' || !LONG_DIGITS.test(text)) return JSON.parse(text);
  const marked = text.replace(STRING_OR_NUMBER, (token) => {
    const isUnsafe = INTEGER.test(token) && !Number.isSafeInteger(Number(token));
    return isUnsafe ? `"${MARK}${token}"` : token;
  });
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}

/** Matches 16 digits. Integers with fewer digits are always within ±(2^53 − 1). */
const LONG_DIGITS = /\d{16}/;
const INTEGER = /^-?\d+$/;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Random prefix for strings that replace integers during parsing. */
const MARK = `${crypto.randomUUID()}:`;

function textOf(value: unknown, path: string, level: number): string {
  switch (typeof value) {
    case 'string':
      return stringText(value, path);
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      return numberText(value, path);
    case 'bigint':
      return String(value);
    case 'object':
      return value === null ? 'null' : objectText(value, path, level + 1);
    default:
      throw unsendable(path, `is ${value === undefined ? 'undefined' : `a ${typeof value}`}`);
  }
}

function stringText(value: string, path: string): string {
  if (LONE_SURROGATE.test(value)) throw unsendable(path, 'has a lone surrogate');
  return JSON.stringify(value);
}

function numberText(value: number, path: string): string {
  if (!Number.isFinite(value)) throw unsendable(path, `is ${value}, which JSON cannot represent`);
  const isRounded = Number.isInteger(value) && !Number.isSafeInteger(value);
  if (isRounded && Math.abs(value) < EXPONENT_FROM) {
    throw unsendable(path, `is ${value}, which may have been rounded; pass a bigint`);
  }
  return JSON.stringify(value);
}

function objectText(value: object, path: string, level: number): string {
  if (level > LEVELS_MAX) throw unsendable(path, 'is cyclic or nested too deeply');
  if (value instanceof Date && Number.isNaN(value.getTime())) {
    throw unsendable(path, 'is an invalid date');
  }
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return textOf(toJSON.call(value, ''), path, level);
  if (value instanceof Map || value instanceof Set) {
    throw unsendable(path, `is a ${value.constructor.name}, whose entries JSON omits`);
  }
  if (Array.isArray(value)) {
    const items = Array.from(value, (item, at) => textOf(item, `${path}[${at}]`, level));
    return `[${items.join(',')}]`;
  }
  const fields: string[] = [];
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined) continue;
    const below = path === '' ? name : `${path}.${name}`;
    fields.push(`${stringText(name, path)}:${textOf(field, below, level)}`);
  }
  return `{${fields.join(',')}}`;
}

/** Maximum length of a path in an error, in UTF-16 units: paths of cycles are long. */
const PATH_CHARACTERS_MAX = 100;

function unsendable(path: string, what: string): IdentityEngineError {
  const isLong = path.length > PATH_CHARACTERS_MAX;
  const shown = isLong ? `${path.slice(0, PATH_CHARACTERS_MAX)}…` : path;
  return new IdentityEngineError(`${shown === '' ? 'the body' : shown} ${what}`);
}

/**
 * Maximum processed levels: above the service's limit (interface 8.4). The bound also stops at
 * cyclic values.
 */
const SORTED_LEVELS_MAX = 32;

/**
 * Sorts the keys of all plain objects in a JSON value, so that equal values always give the same
 * text. The service compares the bodies sent under one idempotency key as text. Stores such as
 * `jsonb` change the key order, and so do callers.
 */
export function canonical<T>(value: T, level = 0): T {
  if (typeof value !== 'object' || value === null || level > SORTED_LEVELS_MAX) return value;
  if (Array.isArray(value)) return value.map((item) => canonical(item, level + 1)) as T;
  // Other objects, such as dates, have their own JSON form.
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, canonical(inner, level + 1)]);
  // Define keys instead of assigning them, because of `__proto__`.
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
