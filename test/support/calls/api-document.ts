import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as assert from 'uvu/assert';
import { openApiDocument } from '#edge/document/openapi';
import { ENDPOINTS } from '#edge/endpoints/all';
import type { Answer, Caller } from '#test/support/calls/caller';

/**
 * This release's API document, without tolerance for later releases: undocumented fields fail.
 * Tests check every answer against this document.
 */
const document = JSON.parse(JSON.stringify(openApiDocument([])));

/** Standard HTTP headers; all others must be documented. */
const PLAIN_HEADERS = new Set([
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'x-content-type-options',
]);

const WHOLE = /^\d+$/;

const ajv = new Ajv2020({ strict: false, allErrors: true, coerceTypes: false });
addFormats.default(ajv);
ajv.addSchema(document, 'document');

const patterns = ENDPOINTS.map(({ method, path }) => ({
  method,
  template: path.replace(':id', '{id}'),
  pattern: new RegExp(`^${path.replace(':id', '[^/?]+')}(?:\\?|$)`),
}));

const compiled = new Map<string, ValidateFunction>();

/**
 * Asserts that an answer matches the API document for this method, path and status: body and
 * headers match their schemas, no header is undocumented, and the common `/v1` headers are present.
 */
export function assertDocumented(method: string, template: string, answer: Answer): void {
  assertCommon(answer);
  const where = `${method} ${template} ${answer.status}`;
  const place = ['paths', template, method.toLowerCase(), 'responses', String(answer.status)];
  const [at, response] = resolved(pointer(place));
  assert.ok(response, `${where} is not in the API document`);
  assertHeaders(where, answer, at, response);
  if (response.content === undefined) {
    assert.is(answer.text, '', where);
    return;
  }
  const validate = compile(`${at}/content/application~1json/schema`);
  assert.ok(validate(answer.body), `${where}: ${ajv.errorsText(validate.errors)}\n${answer.text}`);
}

/** Path template in the API document for a path under `/v1`; undefined if no template matches. */
export function templateOf(method: string, path: string): string | undefined {
  return patterns.find((row) => row.method === method && row.pattern.test(path))?.template;
}

/** Wraps a caller so that every answer is checked against the API document. */
export function documented(caller: Caller): Caller {
  return {
    ...caller,
    async send(method, path, sent) {
      const answer = await caller.send(method, path, sent);
      const template = templateOf(method, path);
      if (template !== undefined) assertDocumented(method, template, answer);
      else assertRefusalShape(answer);
      return answer;
    },
  };
}

/** Asserts that an answer is a refusal in the envelope. */
export function assertRefusalShape(answer: Answer): void {
  assertCommon(answer);
  assert.ok(answer.status >= 400);
  const validate = compile('#/components/schemas/Error');
  assert.ok(validate(answer.body), `${ajv.errorsText(validate.errors)}\n${answer.text}`);
}

/**
 * Asserts the headers that every answer under `/v1` must have. Source: limiter-headers, attacks
 * (ASVS 4.1.1).
 */
function assertCommon({ headers, status, text, body }: Answer): void {
  for (const name of ['limit', 'remaining', 'reset'].map((part) => `x-ratelimit-${part}`)) {
    assert.match(headers.get(name) ?? 'missing', WHOLE, name);
  }
  assert.match(headers.get('x-monthly-remaining') ?? 'missing', WHOLE);
  assert.match(headers.get('x-request-id') ?? 'missing', /^[A-Za-z0-9._-]{8,64}$/);
  if (text !== '') assert.is(headers.get('content-type'), 'application/json; charset=utf-8');
  if (status >= 500) assert.is(body.details.request_id, headers.get('x-request-id'));
}

function assertHeaders(
  where: string,
  { headers }: Answer,
  at: string,
  response: { headers?: Record<string, unknown> },
): void {
  const names = Object.keys(response.headers ?? {});
  const byLowerName = new Map(names.map((name) => [name.toLowerCase(), name]));
  for (const [name, value] of headers) {
    if (PLAIN_HEADERS.has(name)) continue;
    const known = byLowerName.get(name);
    assert.ok(known, `${where}: the header ${name} is not in the API document`);
    const [place] = resolved(`${at}/headers/${known}`);
    const validate = compile(`${place}/schema`);
    const isValid = validate(value) || (WHOLE.test(value) && validate(Number(value)));
    assert.ok(isValid, `${where}: ${name}: ${value}: ${ajv.errorsText(validate.errors)}`);
  }
}

function pointer(parts: readonly string[]): string {
  return `#/${parts.map((part) => encodeURIComponent(part.replaceAll('/', '~1'))).join('/')}`;
}

/** Resolves references at a JSON pointer; returns the final pointer and value. */
function resolved(place: string): [string, ReturnType<typeof JSON.parse>] {
  const parts = place.slice(2).split('/');
  const keys = parts.map((part) => decodeURIComponent(part).replaceAll('~1', '/'));
  const found = keys.reduce((value, key) => value?.[key], document);
  return found?.$ref === undefined ? [place, found] : resolved(found.$ref);
}

function compile(place: string): ValidateFunction {
  const known = compiled.get(place);
  if (known !== undefined) return known;
  const made = ajv.compile({ $ref: `document${place}` });
  compiled.set(place, made);
  return made;
}
