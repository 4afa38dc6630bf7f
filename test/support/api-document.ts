import { existsSync, readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { OPERATIONS } from '#edge/endpoints';
import { ErrorBody } from '#edge/schemas/answers';
import type { Answer, Caller } from '#test/support/caller';

/** The committed API document, against which every body that a test sees is checked. */
const DOCUMENT = 'docs/openapi.json';

const WHOLE = /^\d+$/;

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);

const patterns = OPERATIONS.map(({ method, path }) => ({
  method,
  template: path.replace(':id', '{id}'),
  pattern: new RegExp(`^${path.replace(':id', '[^/?]+')}(?:\\?|$)`),
}));

const compiled = new Map<string, ValidateFunction>();
const schemaOf = existsSync(DOCUMENT) ? schemaInDocument() : schemaInOperations;

/**
 * Asserts that an answer is what the API document promises for this method, path and status: its
 * body by the schema, and the headers that every answer under `/v1` carries.
 */
export function assertDocumented(method: string, template: string, answer: Answer): void {
  assertCommonHeaders(answer);
  if (answer.status === 204 || answer.status === 304) {
    assert.is(answer.text, '');
    return;
  }
  assert.is(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  const validate = schemaOf(method, template, answer.status);
  const isValid = validate(answer.body);
  const where = `${method} ${template} ${answer.status}`;
  assert.ok(isValid, `${where}: ${ajv.errorsText(validate.errors)}\n${answer.text}`);
}

/** The same caller, with every answer checked against the API document. */
export function documented(caller: Caller): Caller {
  return {
    ...caller,
    async send(method, path, sent) {
      const answer = await caller.send(method, path, sent);
      const known = patterns.find((row) => row.method === method && row.pattern.test(path));
      if (known !== undefined) assertDocumented(method, known.template, answer);
      else assertRefusalShape(answer);
      return answer;
    },
  };
}

/** Asserts that an answer is a refusal in the envelope, wherever it came from. */
export function assertRefusalShape(answer: Answer): void {
  assertCommonHeaders(answer);
  assert.is(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  const validate = compile('ErrorBody', () => z.toJSONSchema(ErrorBody));
  assert.ok(validate(answer.body), `${ajv.errorsText(validate.errors)}\n${answer.text}`);
}

/** What every answer under `/v1` carries: limiter-headers, decision 42, attacks (ASVS 4.1.1). */
function assertCommonHeaders({ headers }: Answer): void {
  for (const name of ['limit', 'remaining', 'reset'].map((part) => `x-ratelimit-${part}`)) {
    assert.match(headers.get(name) ?? 'missing', WHOLE, name);
  }
  assert.match(headers.get('x-monthly-remaining') ?? 'missing', WHOLE);
  assert.match(headers.get('x-request-id') ?? 'missing', /^[A-Za-z0-9._-]{8,64}$/);
}

function schemaInDocument() {
  const document = JSON.parse(readFileSync(DOCUMENT, 'utf8'));
  ajv.addSchema(document, 'document');
  return (method: string, template: string, status: number): ValidateFunction => {
    const operation = document.paths[template]?.[method.toLowerCase()];
    assert.ok(operation, `${method} ${template} is not in the API document`);
    const response = operation.responses[status];
    assert.ok(response, `${method} ${template}: ${status} is not in the API document`);
    const place = response.$ref ?? pointer('paths', template, method.toLowerCase(), status);
    return compile(place, () => ({
      $ref: `document${place}/content/application~1json/schema`,
    }));
  };
}

function pointer(paths: string, template: string, method: string, status: number): string {
  return `#/${paths}/${encodeURIComponent(template.replaceAll('/', '~1'))}/${method}/responses/${status}`;
}

function schemaInOperations(method: string, template: string, status: number): ValidateFunction {
  const path = template.replace('{id}', ':id');
  const operation = OPERATIONS.find((row) => row.method === method && row.path === path);
  if (operation === undefined) throw new Error(`${method} ${template} is no operation`);
  const schema = status === operation.success ? operation.response : ErrorBody;
  return compile(`${method} ${path} ${status}`, () => z.toJSONSchema(schema));
}

function compile(name: string, build: () => object): ValidateFunction {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const made = ajv.compile(build());
  compiled.set(name, made);
  return made;
}
