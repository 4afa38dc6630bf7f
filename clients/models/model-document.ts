import assert from 'node:assert/strict';
import { EVENT_DATA } from '#clients/models/event-models';
import { ANSWER_NAMES, BODY_NAMES, NOT_SHOWN, QUERY_NAMES } from '#clients/models/model-names';
import { ModelBook, type Schema } from '#clients/models/open-schema';

type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: Schema;
};
type Media = { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> };
type Operation = {
  readonly operationId: string;
  readonly parameters?: readonly Partial<Parameter>[];
  readonly requestBody?: Media;
  readonly responses: Readonly<Record<string, Media>>;
};

/** Parts of the API document that the generator reads. */
export type ApiDocument = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

/**
 * Models of the client libraries as one JSON Schema document, generated from the API document.
 * Request models are closed, answer models are open (decision 269). References point within the
 * document.
 */
export function modelDocument(api: ApiDocument): Schema {
  const book = new ModelBook();
  const operations = Object.values(api.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ operationId }) => !NOT_SHOWN.has(operationId));
  const sent = namesReachedFrom(
    operations.map(({ requestBody }) => requestBody),
    api,
  );
  const answered = namesReachedFrom(
    operations.map(({ responses }) => responses),
    api,
  );
  for (const name of sent) assert.ok(!answered.has(name), `${name} is sent and answered`);
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    if (name === 'JsonValue') book.addAsIs('JsonValue', JSON_VALUE);
    else book.add(name, schema, sent.has(name) ? 'request' : 'answer');
  }
  for (const operation of operations) addOperation(operation, book);
  for (const { name, schema } of Object.values(EVENT_DATA)) book.addAsIs(name, schema);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Models',
    description:
      'Models of the client libraries, generated from docs/openapi.json (see clients/README.md).',
    $defs: book.models,
  };
}

const JSON_VALUE: Schema = {
  description: 'Any JSON value.',
  tsType: 'unknown',
};

function addOperation(operation: Operation, book: ModelBook): void {
  const { operationId, parameters = [], requestBody, responses } = operation;
  const body = schemaOf(requestBody);
  if (body !== undefined && body.$ref === undefined) {
    book.add(named(BODY_NAMES, operationId), body, 'request');
  }
  const query = parameters.filter((parameter) => parameter.in === 'query') as Parameter[];
  if (query.length > 0) book.add(named(QUERY_NAMES, operationId), queryOf(query), 'request');
  addAnswer(operationId, schemaOf(responses[200] ?? responses[201]), book);
}

function addAnswer(operationId: string, answer: Schema | undefined, book: ModelBook): void {
  const { data, pagination } = answer?.properties ?? {};
  const one = data?.items ?? data;
  if (one !== undefined && one.$ref === undefined) {
    book.add(named(ANSWER_NAMES, operationId), one, 'answer');
  }
  for (const kind of pagination?.anyOf ?? (pagination === undefined ? [] : [pagination])) {
    if (kind.$ref !== undefined) continue;
    const name =
      kind.properties?.['next_cursor'] === undefined ? 'WholePagination' : 'CursorPagination';
    book.add(name, kind, 'answer');
  }
}

function queryOf(parameters: readonly Parameter[]): Schema {
  const fields = parameters.map(({ name, description, schema }) => {
    const text = description === undefined ? {} : { description };
    return [name, { ...schema, ...text }];
  });
  return { type: 'object', properties: Object.fromEntries(fields), additionalProperties: false };
}

function schemaOf(media: Media | undefined): Schema | undefined {
  return media?.content?.['application/json']?.schema;
}

/** Names of all components reachable from `pieces`. */
function namesReachedFrom(pieces: readonly unknown[], api: ApiDocument): ReadonlySet<string> {
  const reached = new Set<string>();
  const follow = (piece: unknown): void => {
    for (const [, name = ''] of JSON.stringify(piece ?? {}).matchAll(/schemas\/(\w+)"/g)) {
      if (reached.has(name)) continue;
      reached.add(name);
      follow(api.components.schemas[name]);
    }
  };
  for (const piece of pieces) follow(piece);
  return reached;
}

function named(names: Readonly<Record<string, string>>, operationId: string): string {
  const name = names[operationId];
  assert.ok(name, `${operationId} has a schema without a name: give it one in model-names.ts`);
  return name;
}
