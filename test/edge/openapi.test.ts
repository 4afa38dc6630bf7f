import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { exampleAnswers } from '#deploy/apidoc/example-answers';
import { openApiDocument } from '#edge/document/openapi';
import { openedDocument } from '#edge/document/schemas';
import { ENDPOINTS } from '#edge/endpoints/all';
import { FAULTS } from '#errors/error-codes';
import { REASONS } from '#errors/error-reasons';

const text = readFileSync('docs/openapi.json', 'utf8');
const document = JSON.parse(text);

/** An endpoint in the document, with its method and path. */
type Row = { readonly method: string; readonly path: string; readonly described: Described };
type Described = typeof document.paths;

const rows: Row[] = Object.entries<Described>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Described>(methods).map(([method, described]) => ({ method, path, described })),
);

/** A `$ref` target, or the value itself. */
function resolved(part: Described): Described {
  if (part.$ref === undefined) return part;
  const [, ...names] = part.$ref.split('/');
  return names.reduce((place: Described, name: string) => place[name], document);
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(document, 'document');

/** Asserts that a media type has examples that match its schema. */
function assertExamples(content: Described, where: string): void {
  const { schema, examples } = content['application/json'] ?? content['text/event-stream'];
  const pointed = JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"document#');
  const validate = ajv.compile(JSON.parse(pointed));
  const shown = Object.values<Described>(examples);
  assert.ok(shown.length > 0, `${where}: no example`);
  for (const { summary, value } of shown) {
    assert.ok(validate(value), `${where}, ${summary}: ${ajv.errorsText(validate.errors)}`);
  }
}

const committed = suite('the committed API document');

committed('equals the generated document, which is identical every time', async () => {
  const [first, second] = [await exampleAnswers(), await exampleAnswers()];
  assert.equal(first, second);
  const made = openedDocument(openApiDocument(first));
  assert.ok(`${JSON.stringify(made, null, 2)}\n` === text, 'npm run generate');
});

committed('is valid OpenAPI 3.1 by the official schema', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document));
  assert.ok(valid, JSON.stringify(errors));
  assert.is(validator.version, '3.1');
});

committed('has exactly the endpoints of the service', () => {
  const declared = ENDPOINTS.map(({ method, path }) => `${method} ${path.replace(':id', '{id}')}`);
  const found = rows.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  assert.equal(found.toSorted(), declared.toSorted());
  assert.is(found.length, 37);
});

committed('describes every endpoint, and requires a key except for notifications', () => {
  assert.equal(document.security, [{ bearer: [] }]);
  for (const { described } of rows) {
    const { operationId, description, summary, tags, security } = described;
    assert.ok(description.length > 0 && summary.length > 0, `${operationId} has a summary`);
    assert.ok(document.tags.some(({ name }: Described) => name === tags[0]));
    const exception = operationId === 'notifyBilling' ? [] : undefined;
    assert.equal(security, exception, `${operationId}: only notifications need no key`);
  }
});

committed('describes the purpose of every parameter and header', () => {
  for (const { described } of rows) {
    const { operationId, parameters, responses } = described;
    for (const parameter of parameters.map(resolved)) {
      assert.ok(parameter.description, `${operationId}: ${parameter.name}`);
      assert.ok(parameter.schema.type, `${operationId}: ${parameter.name} has a type`);
    }
    for (const response of Object.values<Described>(responses).map(resolved)) {
      for (const header of Object.values<Described>(response.headers).map(resolved)) {
        assert.ok(header.description);
      }
    }
  }
});

/** Headers in every answer. Source: interface 8.2. */
const ALWAYS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].concat([
  'X-Monthly-Remaining',
  'X-Request-Id',
]);
/** Further headers in answers with a status. */
const WITH_STATUS: Record<string, readonly string[]> = {
  201: ['Location'],
  304: ['ETag'],
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

committed('has the limit headers on every answer, and other headers by status', () => {
  for (const { described } of rows) {
    for (const [status, response] of Object.entries<Described>(described.responses)) {
      const names = Object.keys(resolved(response).headers);
      for (const name of [...ALWAYS, ...(WITH_STATUS[status] ?? [])]) {
        assert.ok(names.includes(name), `${described.operationId} ${status}: ${name}`);
      }
    }
  }
});

committed('has an example of every body, and examples match their schemas', () => {
  for (const { described } of rows) {
    const { operationId, requestBody, responses } = described;
    if (requestBody !== undefined) assertExamples(requestBody.content, `${operationId}: request`);
    for (const [status, response] of Object.entries<Described>(responses)) {
      const { content } = resolved(response);
      if (status === '204' || status === '304') assert.is(content, undefined);
      else assertExamples(content, `${operationId} ${status}`);
    }
  }
});

committed('lists every code, status and reason of the catalog', () => {
  const { description } = document.info;
  for (const [code, { http }] of Object.entries(FAULTS)) {
    assert.match(description, new RegExp(`\\| \\d{3} \\| \`${code}\`: [A-Z]`), code);
    const own = Object.values(REASONS).filter((row) => row.code === code);
    const isPlain = own.length === 0 || own.some((row) => !('http' in row));
    if (isPlain) assert.match(description, new RegExp(`\\| ${http} \\| \`${code}\`: `), code);
  }
  for (const [reason, row] of Object.entries(REASONS)) {
    const status = 'http' in row ? row.http : FAULTS[row.code].http;
    const line = new RegExp(`\\| ${status} \\| \`${row.code}\`: .*\`${reason}\``);
    assert.match(description, line, reason);
  }
});

committed('names every code and reason in the answers of the endpoints', () => {
  const known = [...Object.keys(REASONS), ...Object.keys(FAULTS)];
  const named = new Set<string>();
  for (const { described } of rows) {
    for (const [status, response] of Object.entries<Described>(described.responses)) {
      if (Number(status) < 400) continue;
      const { content, description } = resolved(response);
      const { $ref } = content['application/json'].schema;
      assert.is($ref, '#/components/schemas/Error', 'all refusals share a schema');
      for (const [, word = ''] of description.matchAll(/`(\w+)`/g)) named.add(word);
    }
  }
  assert.equal(
    known.filter((word) => !named.has(word)),
    [],
  );
});

/**
 * Asserts that a schema accepts fields and values of later releases. An enumeration does so if it
 * is a union with arbitrary text.
 */
function assertItselfOpen(schema: Described, where: string): void {
  assert.is.not(schema.additionalProperties, false, where);
  assert.is.not(typeof schema.const, 'string', where);
  assert.is(schema.enum, undefined, where);
  const kinds: Described[] = schema.anyOf ?? [];
  const isEnumeration = kinds.some((kind) => kind.enum !== undefined);
  assert.ok(!isEnumeration || kinds.some((kind) => kind.type === 'string' && !kind.enum), where);
}

// Report 21: answers and enumerations were closed, and request fields with defaults were required.
committed(
  'accepts later fields and values in answers, and has no defaults in request bodies',
  () => {
    const seen = new Set<string>();
    const assertOpen = (schema: Described, where: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      assertItselfOpen(schema, where);
      if (schema.$ref !== undefined && !seen.has(schema.$ref)) {
        seen.add(schema.$ref);
        assertOpen(resolved(schema), schema.$ref);
      }
      for (const kind of schema.anyOf ?? []) if (kind.enum === undefined) assertOpen(kind, where);
      for (const [name, field] of Object.entries<Described>(schema.properties ?? {})) {
        assertOpen(field, `${where}.${name}`);
      }
      assertOpen(schema.items, `${where}[]`);
      assertOpen(schema.additionalProperties, `${where}{}`);
    };
    for (const { described } of rows) {
      for (const [status, response] of Object.entries<Described>(described.responses)) {
        for (const { schema } of Object.values<Described>(resolved(response).content ?? {})) {
          assertOpen(schema, `${described.operationId} ${status}`);
        }
      }
    }
    const { Observation, Batch, CreateInstance } = document.components.schemas;
    for (const schema of [Observation, Batch, CreateInstance]) {
      assert.not.match(JSON.stringify(schema), '"default":');
      assert.is(schema.additionalProperties, false, 'a misspelt field stays an error');
    }
    assert.not.match(text, /schemas\/__/, 'no schema has a generated name');
  },
);

committed('has the patterns of the code for headers, ids, times and questions', () => {
  const { parameters, schemas } = document.components;
  const patternOf = (schema: Described) => new RegExp(schema.pattern, 'u');
  for (const [name, good, bad, lengthMax] of [
    ['IdempotencyKey', ['x', 'a b', '~'.repeat(255)], ['', ' ', 'a ', 'ü', 'a\nb'], 255],
    ['IfMatch', ['*', '"a"', 'W/"a", "b"'], ['', 'a', '"a', '"a b"', '*,*'], 1_024],
  ] as const) {
    const { schema } = parameters[name];
    for (const text of good) assert.match(text, patternOf(schema), name);
    for (const text of bad) assert.not.match(text, patternOf(schema), name);
    assert.equal([schema.minLength, schema.maxLength], [1, lengthMax]);
  }
  for (const name of ['PreferStrict', 'PreferMinimal']) {
    assert.is(parameters[name].schema.enum, undefined, 'unknown preferences are ignored');
  }
  const ids = rows.flatMap(({ described }) => described.parameters);
  for (const { schema } of ids.filter((row: Described) => row.in === 'path')) {
    assert.ok(schema.enum !== undefined || [20, 21].includes(schema.maxLength));
  }
  const time = schemas.Observation.properties.timestamp;
  assert.match('2026-01-15t12:00:00.123456789+01:30', patternOf(time));
  assert.not.match('1969-12-31T23:59:59Z', patternOf(time));
  const question = schemas.Submission.properties.answers.items.properties.question_id;
  assert.equal([question.enum.length, question.enum[34]], [35, 'q35']);
});

committed('names no other server', () => {
  assert.equal(
    document.servers.map(({ url }: Described) => url),
    ['/v1'],
  );
  // Provider pages and callers' own pages use reserved names (RFC 2606).
  for (const [, host] of text.matchAll(/https?:\/\/([^/"?]+)/g)) {
    assert.match(host ?? '', /\.(example|invalid)$/);
  }
});

committed.run();
