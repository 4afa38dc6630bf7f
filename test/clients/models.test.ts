import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ApiDocument, modelDocument } from '#clients/models/model-document';
import type { Schema } from '#clients/models/open-schema';
import { openApiDocument } from '#edge/document/openapi';

const api = openApiDocument([]) as ApiDocument;
const models = modelDocument(api)['$defs'] as Readonly<Record<string, Schema>>;

const document = suite('the models of client libraries');

document('contain every referenced model', () => {
  const references = [...JSON.stringify(models).matchAll(/"#\/\$defs\/(\w+)"/g)];
  assert.ok(references.length > 100, 'too few references');
  for (const [, name = ''] of references) assert.ok(models[name], name);
  assert.not.match(JSON.stringify(models), /#\/components|__schema/);
});

document("do not repeat the service's validation", () => {
  const rule = /"(minimum|maximum|minLength|maxLength|minItems|maxItems|pattern|format|const)":/;
  assert.not.match(JSON.stringify(models), rule);
  const strength = models['Observation']?.properties?.['signal_strength'];
  assert.match(strength?.description ?? '', '0 to 1', 'the description states the bounds');
});

// Report 21: the schema for any JSON value had a generated name, and referred to itself.
document('include a named model for any JSON value', () => {
  assert.is(models['JsonValue']?.['tsType'], 'unknown', 'not an object');
  const { before } = models['AuditLine']?.properties ?? {};
  assert.equal(before?.additionalProperties, { $ref: '#/$defs/JsonValue' });
});

document('are closed for requests and open for answers', () => {
  assert.is(models['Observation']?.additionalProperties, false);
  assert.is(models['AuditQuery']?.additionalProperties, false);
  assert.is(models['Contract']?.additionalProperties, true);
  assert.is(models['StateEventData']?.additionalProperties, true);
  assert.equal(models['ResetMode'], { type: 'string', enum: ['initial', 'default'] });
  assert.equal(models['OpenResetMode']?.anyOf?.[1], { type: 'string' });
});

const later = suite('an API document of a later release');

later('stops the generation if a new model has no name', () => {
  const { schemas } = api.components;
  const withField = (field: Schema): ApiDocument => {
    const { Drift: drift } = schemas;
    const properties = { ...drift?.properties, later: field };
    return { ...api, components: { schemas: { ...schemas, Drift: { ...drift, properties } } } };
  };
  const object = withField({ type: 'object', properties: { depth: { type: 'number' } } });
  assert.throws(() => modelDocument(object), /Drift\.later is an object without a name/);
  const values = withField({ type: 'string', enum: ['fresh', 'stale'] });
  assert.throws(() => modelDocument(values), /without a name begins with fresh/);
});

document.run();
later.run();
