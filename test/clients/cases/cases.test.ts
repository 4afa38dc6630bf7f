import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { EVENT_DATA } from '#clients/models/event-models';
import type { ApiDocument } from '#clients/models/model-document';
import { ANSWER_NAMES } from '#clients/models/model-names';
import { openApiDocument } from '#edge/document/openapi';
import { CASE_SCHEMA, caseFiles } from '#test/clients/cases/files';
import { recordedCases } from '#test/clients/cases/recorded';
import { caseText } from '#test/clients/cases/text';
import { type Exchange, endpointOf, type WireAnswer } from '#test/clients/cases/wire-case';
import { assertDocumented, templateOf } from '#test/support/calls/api-document';

/** Data models of answers by endpoint name. For a list, the model of an item. */
function answerModels(): Map<string, string> {
  const api = openApiDocument([]) as ApiDocument;
  const models = new Map<string, string>();
  for (const { operationId, responses } of Object.values(api.paths).flatMap(Object.values)) {
    const success = responses['200'] ?? responses['201'];
    const { data } = success?.content?.['application/json']?.schema.properties ?? {};
    const reference = (data?.items ?? data)?.$ref?.split('/').at(-1);
    const name = reference ?? ANSWER_NAMES[operationId];
    if (name !== undefined) models.set(operationId, name);
  }
  return models;
}

const files = caseFiles();
const cases = [...files.values()].flatMap((file) => file.cases);
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema(JSON.parse(readFileSync('clients/models/models.json', 'utf8')), 'models');

type Sent = Exclude<WireAnswer, string>;
const isSent = (answer: WireAnswer): answer is Sent => typeof answer !== 'string';

const form = suite('the wire cases');

form('match their schema and have unique names', () => {
  const validate = ajv.compile(JSON.parse(readFileSync(CASE_SCHEMA, 'utf8')));
  for (const [file, { text }] of files) {
    assert.ok(validate(JSON.parse(text)), `${file}: ${ajv.errorsText(validate.errors)}`);
  }
  assert.ok(cases.length > 150, 'too few cases');
  const names = cases.map(({ name }) => name);
  assert.equal(names.length, new Set(names).size);
});

form('equal a new recording from the service', async () => {
  const recorded = await recordedCases();
  assert.equal([...recorded.keys()].sort(), [...files.keys()].sort());
  for (const [file, made] of recorded) {
    assert.is(files.get(file)?.text, caseText(made), `${file}: npm run generate`);
  }
});

form('state the outcome of each call', () => {
  for (const { name, expect, exchanges } of cases) {
    const ends = ['data_of', 'data', 'items_of', 'events', 'error'].filter((key) => key in expect);
    assert.ok(ends.length > 0, name);
    for (const index of [expect['data_of'] ?? 0, ...(expect['items_of'] ?? [])]) {
      assert.ok(index < exchanges.length, name);
    }
  }
});

form('contain no API key or authorization header in their requests', () => {
  for (const { name, exchanges } of cases) {
    const said = JSON.stringify(exchanges.map(({ request }) => request));
    assert.not.match(said, /svc_sk_|authorization/i, name);
  }
});

const answers = suite('the answers of wire cases');

answers('match the API document if recorded from the service', () => {
  let looked = 0;
  for (const [file, { cases: ofFile }] of files) {
    for (const { origin, exchanges } of ofFile) {
      if (origin === 'composed' && file !== 'failing-parts') continue;
      looked += exchanges.filter(isDocumented).length;
    }
  }
  assert.ok(looked > 100, `${looked} answers`);
});

/** Asserts that an answer is documented. Returns false if the answer is not JSON. */
function isDocumented({ request, answer }: Exchange): boolean {
  if (!isSent(answer) || answer.chunks !== undefined) return false;
  const path = request.path.replace('/v1', '');
  const template = templateOf(request.method, path);
  assert.ok(template, path);
  const { status, body } = answer;
  const headers = new Headers(answer.headers);
  const text = body === undefined ? '' : JSON.stringify(body);
  assertDocumented(request.method, template, { status, headers, text, body });
  return true;
}

answers('fit the client models, even from later services', () => {
  const models = answerModels();
  const modelled = cases.filter(({ call }) => endpointOf(call) !== undefined);
  for (const { name, call, exchanges } of modelled) {
    for (const { answer } of exchanges) {
      if (!isSent(answer) || answer.status >= 300 || answer.body === undefined) continue;
      const { data } = answer.body;
      const model = models.get(endpointOf(call) ?? '');
      for (const item of Array.isArray(data) ? data : [data]) assertModel(model, item, name);
    }
  }
});

answers('fit the error model if they are refusals, even from later services', () => {
  for (const { name, exchanges } of cases) {
    for (const { answer } of exchanges) {
      const isRefusal = isSent(answer) && answer.status >= 400 && answer.text === undefined;
      if (isRefusal) assertModel('Error', answer.body, name);
    }
  }
});

answers('fit the event models in streams', () => {
  const seen = new Set<string>();
  for (const { name, call, expect } of cases) {
    const isOfInstance = call.method === 'instance.events';
    for (const { event, data } of expect['events'] ?? []) {
      const model = isOfInstance ? EVENT_DATA[event]?.name : 'AccountEvent';
      if (model === undefined || data === undefined) continue;
      assertModel(model, data, name);
      if (isOfInstance) seen.add(event);
    }
  }
  assert.equal([...seen].sort(), Object.keys(EVENT_DATA).sort());
});

function assertModel(model: string | undefined, value: unknown, name: string): void {
  assert.ok(model, name);
  const validate = ajv.getSchema(`models#/$defs/${model}`);
  assert.ok(validate, `${name}: no model ${model}`);
  assert.ok(validate(value), `${name}: ${model}: ${ajv.errorsText(validate.errors)}`);
}

form.run();
answers.run();
