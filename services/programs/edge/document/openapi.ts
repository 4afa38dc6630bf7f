import { STATUS_CODES } from 'node:http';
import {
  bareHeadersOf,
  headerParametersOf,
  PARAMETERS,
  RESPONSE_HEADERS,
  refusalHeadersOf,
  successHeadersOf,
} from '#edge/document/headers';
import { introduction, QUERY_TEXTS, STATUS_TEXTS, TAGS } from '#edge/document/introduction';
import { queryFieldsOf, type RefusalsOfStatus, refusalsOf } from '#edge/document/refusals';
import { type Json, SchemaBook } from '#edge/document/schemas';
import { ENDPOINTS } from '#edge/endpoints/all';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { API_PREFIX, REQUEST_ID } from '#edge/http';
import { ErrorBody } from '#edge/schemas/instance';
import type { FaultCode } from '#errors/error-codes';
import type { FaultReason } from '#errors/error-reasons';
import { FILTER_TAGS_MAX } from '#grpc/list-cursor';
import { MODE_KEYS } from '#identity/modes';

/** Statuses whose refusals are equal for all endpoints, so that the document defines them once. */
const SHARED_STATUSES = new Set([401, 408, 414, 417, 431, 500, 505]);

/** Error codes whose details may name the invalid field, parameter or header. */
const FIELD_CODES: ReadonlySet<FaultCode> = new Set(['invalid_request', 'conflict']);

/** API version. Source: interface 9. */
const VERSION = '1.0.0';

/** A real answer from the service, shown as an example in the document. */
export type ExampleAnswer = {
  /** The answering endpoint's name. */
  readonly endpoint: string;
  readonly status: number;
  readonly summary: string;
  readonly body: unknown;
};

/**
 * This release's API as an OpenAPI 3.1 document, generated from the endpoints' schemas.
 *
 * Answer schemas are closed; `openedDocument` makes the published form. `answers` are the examples.
 * Every endpoint needs an example for each status with a body.
 */
export function openApiDocument(answers: readonly ExampleAnswer[]): Json {
  const book = new SchemaBook();
  book.ofOutput(ErrorBody);
  const shared = new Map<string, Json>();
  const paths: Record<string, Record<string, Json>> = {};
  for (const endpoint of ENDPOINTS) {
    const path = endpoint.path.replace(':id', '{id}');
    const own = answers.filter((answer) => answer.endpoint === endpoint.name);
    paths[path] ??= {};
    paths[path][endpoint.method.toLowerCase()] = describe(endpoint, own, book, shared);
  }
  const info = {
    title: 'Identity Engine Service',
    version: VERSION,
    description: introduction(),
    license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
  };
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: API_PREFIX, description: 'The server of this document.' }],
    security: [{ bearer: [] }],
    tags: TAGS,
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `svc_sk_…`.' },
      },
      parameters: PARAMETERS,
      headers: RESPONSE_HEADERS,
      responses: Object.fromEntries([...shared].sort(([a], [b]) => (a < b ? -1 : 1))),
      schemas: book.components,
    },
  };
}

function describe(
  endpoint: Endpoint,
  answers: readonly ExampleAnswer[],
  book: SchemaBook,
  shared: Map<string, Json>,
): Json {
  const { name, summary, description, tag } = endpoint;
  const body = endpoint.body === undefined ? {} : { requestBody: requestBodyOf(endpoint, book) };
  const responses: Record<string, Json> = { ...successesOf(endpoint, answers, book) };
  for (const refusals of refusalsOf(endpoint)) {
    const { status } = refusals;
    const response = refusalResponse(endpoint, refusals, answers);
    const title = (STATUS_CODES[status] ?? '').replaceAll(/\W/g, '');
    if (SHARED_STATUSES.has(status) && refusals.codes.length === 1) {
      if (!shared.has(title)) shared.set(title, response);
      responses[status] = { $ref: `#/components/responses/${title}` };
    } else {
      responses[status] = response;
    }
  }
  return {
    operationId: name,
    tags: [tag],
    summary,
    description,
    ...(endpoint.scope === 'none' ? { security: [] } : {}),
    parameters: parametersOf(endpoint, book),
    ...body,
    responses,
  };
}

const FREE_FORM = { style: 'form', explode: true };

/** Parameters that want a tag, such as `tag.team`. */
const TAG_PARAMETERS = {
  type: 'object',
  propertyNames: { pattern: '^tag\\..' },
  additionalProperties: { type: 'string' },
  maxProperties: FILTER_TAGS_MAX,
  examples: [{ 'tag.team': 'docs' }],
};

function parametersOf(endpoint: Endpoint, book: SchemaBook): Json[] {
  const { properties = {} } = book.ofInput(endpoint.query) as { properties?: Json };
  const query = Object.keys(queryFieldsOf(endpoint)).map((name) => {
    const query = { name, in: 'query', description: QUERY_TEXTS[name], schema: properties[name] };
    // Free-form parameters: the names of the object's fields are the names of the parameters.
    return name === 'tag' ? { ...query, ...FREE_FORM, schema: TAG_PARAMETERS } : query;
  });
  const headers = headerParametersOf(endpoint).map((name) => {
    return { $ref: `#/components/parameters/${name}` };
  });
  return [...pathParametersOf(endpoint), ...query, ...headers];
}

function pathParametersOf({ pathId }: Endpoint): Json[] {
  if (pathId === undefined) return [];
  const { description, schema } = pathId;
  return [{ name: 'id', in: 'path', required: true, description, schema }];
}

function requestBodyOf(endpoint: Endpoint, book: SchemaBook): Json {
  const { body } = endpoint;
  if (body === undefined) return {};
  const examples = exampleBodiesOf(endpoint).map((value, index) => [
    `example${index + 1}`,
    { value },
  ]);
  const schema = book.ofInput(body);
  return {
    required: true,
    content: { 'application/json': { schema, examples: Object.fromEntries(examples) } },
  };
}

/** Example bodies of an endpoint's schema, the typical example first. */
export function exampleBodiesOf({ body }: Endpoint): readonly unknown[] {
  const examples = body?.meta()?.['examples'];
  return Array.isArray(examples) ? examples : [];
}

function successesOf(
  endpoint: Endpoint,
  answers: readonly ExampleAnswer[],
  book: SchemaBook,
): Record<string, Json> {
  const { success, method, isTagged } = endpoint;
  const schema = book.ofOutput(endpoint.response);
  const content = {
    [mediaTypeOf(endpoint)]: { schema, examples: examplesOf(answers, success) },
    ...(endpoint.handler.kind === 'feed' ? { [EVENT_STREAM]: { schema: { type: 'string' } } } : {}),
  };
  const headers = successHeadersOf(endpoint);
  const responses: Record<string, Json> = {
    [success]: { description: 'Done.', headers, content },
  };
  const bare = { headers: bareHeadersOf(endpoint) };
  if (method === 'GET' && isTagged) {
    responses[304] = { description: 'The version is unchanged.', ...bare };
  }
  if (method === 'DELETE') responses[204] = { description: 'Done. No body.', ...bare };
  return responses;
}

const EVENT_STREAM = 'text/event-stream';

/** Media type for a success body. A feed answers with an event stream too. */
function mediaTypeOf({ handler }: Endpoint): string {
  return handler.kind === 'stream' ? EVENT_STREAM : 'application/json';
}

/** The envelope from interface 7, limited to this endpoint's codes and reasons. */
function refusalResponse(
  endpoint: Endpoint,
  { status, codes, reasons }: RefusalsOfStatus,
  answers: readonly ExampleAnswer[],
): Json {
  const narrowed = {
    type: 'object',
    properties: { error: { enum: codes }, ...detailsOf({ status, codes, reasons }) },
  };
  const schema = { allOf: [{ $ref: '#/components/schemas/Error' }, narrowed] };
  const listed = reasons.map((token) => `\`${token}\``).join(', ');
  const named = reasons.length > 0 ? ` Reasons: ${listed}.` : '';
  const what = codes.map((code) => `\`${code}\``).join(', ');
  return {
    description: `${what}: ${STATUS_TEXTS[status] ?? ''}${named}`,
    headers: refusalHeadersOf(endpoint, status),
    content: { 'application/json': { schema, examples: examplesOf(answers, status) } },
  };
}

/** Reasons whose details may name the first available cycle. */
const PAST_REASONS: ReadonlySet<FaultReason> = new Set(['cycle_trimmed', 'state_not_stored']);

const FIRST_CYCLE = { type: 'integer', minimum: 0 };

/** Schema for the details that `edge/serve/reply` sends with these refusals. */
function detailsOf({ status, codes, reasons }: RefusalsOfStatus): Json {
  const isServerError = status >= 500;
  const isField = !isServerError && codes.some((code) => FIELD_CODES.has(code));
  const properties = {
    ...(reasons.length > 0 ? { reason: { enum: reasons } } : {}),
    ...(isField ? { field: { type: 'string' } } : {}),
    ...(reasons.includes('too_few_answers') ? { mode: { enum: MODE_KEYS } } : {}),
    ...(reasons.some((reason) => PAST_REASONS.has(reason)) ? { first_cycle: FIRST_CYCLE } : {}),
    ...(codes.includes('rate_limited') ? { alias: { const: 'rate_limit_exceeded' } } : {}),
    ...(isServerError ? { request_id: { type: 'string', pattern: REQUEST_ID.source } } : {}),
  };
  if (Object.keys(properties).length === 0) return {};
  const required = isServerError ? { required: ['request_id'] } : {};
  return { details: { type: 'object', properties, ...required, additionalProperties: false } };
}

function examplesOf(answers: readonly ExampleAnswer[], status: number): Json {
  const own = answers.filter((answer) => answer.status === status);
  const named = own.map(({ summary, body }, index) => [
    `example${index + 1}`,
    { summary, value: body },
  ]);
  return Object.fromEntries(named);
}
