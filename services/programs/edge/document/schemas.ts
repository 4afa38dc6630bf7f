import assert from 'node:assert/strict';
import { z } from 'zod';

/** A part of the API document. */
export type Json = Readonly<Record<string, unknown>>;

/** Prefix for references to named schemas. */
const COMPONENTS = '#/components/schemas/';

/**
 * Collects the document's schemas. A schema with an `id` in its metadata becomes a component. All
 * other schemas are inlined.
 */
export class SchemaBook {
  readonly #components = new Map<string, Json>();

  /** JSON Schema for a request part, before zod transforms. */
  ofInput(schema: z.ZodType): Json {
    return this.#add(schema, 'input');
  }

  /** JSON Schema for an answer. */
  ofOutput(schema: z.ZodType): Json {
    return this.#add(schema, 'output');
  }

  /** All named schemas collected so far, by name. */
  get components(): Json {
    const byName = [...this.#components].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(byName);
  }

  #add(schema: z.ZodType, io: 'input' | 'output'): Json {
    const override = io === 'input' ? restore : tidy;
    // A context is a custom type. Its metadata describes in JSON Schema what its code checks.
    const made = z.toJSONSchema(schema, { io, override, unrepresentable: 'any' });
    const { $schema: _, $defs = {}, ...rest } = relocated(made);
    for (const [name, definition] of Object.entries($defs as Record<string, Json>)) {
      const known = this.#components.get(name);
      // A request and an answer with the same schema name must not differ.
      if (known !== undefined) assert.deepEqual(definition, known, `two schemas named ${name}`);
      this.#components.set(name, definition);
    }
    return rest;
  }
}

type Overridden = {
  readonly zodSchema: z.core.$ZodTypes;
  jsonSchema: z.core.JSONSchema.BaseSchema;
};

/**
 * Restores defaults and examples. Zod drops both from a transform's input schema, but callers need
 * both.
 */
function restore({ zodSchema, jsonSchema }: Overridden): void {
  const meta = z.globalRegistry.get(zodSchema);
  if (meta?.['default'] !== undefined) Object.assign(jsonSchema, { default: meta['default'] });
  if (meta?.['examples'] !== undefined) Object.assign(jsonSchema, { examples: meta['examples'] });
  // Query integers are text in zod but numbers in the document. The bounds replace the pattern.
  if (jsonSchema.type === 'integer') delete jsonSchema.pattern;
}

/** Drops the redundant bound for safe integers. */
function tidy({ jsonSchema }: Overridden): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** The same schema with references to the document's components. */
function relocated(schema: object): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${COMPONENTS}`));
}

/*
 * The published API document. A later release may add fields and values to answers (interface 9.4),
 * so generated clients must accept them.
 */

const COMPONENT = /"#\/components\/schemas\/([^"]+)"/g;

/**
 * Opens the answer schemas: objects accept more fields, and enumerations accept more values.
 *
 * In request schemas, defaults move to the descriptions. Client generators would make a field with
 * a `default` required.
 */
export function openedDocument(document: Json): Json {
  const components = document['components'] as Readonly<Record<string, Json>>;
  const schemas = components['schemas'] as Readonly<Record<string, Json>>;
  const answers: unknown[] = [components['responses']];
  const paths = mapped(document['paths'] as Json, (methods) =>
    mapped(methods as Json, (operation) => {
      const { requestBody, responses, ...rest } = operation as Record<string, Json>;
      answers.push(responses);
      return {
        ...rest,
        ...(requestBody !== undefined && { requestBody: withSchemas(requestBody, described) }),
        responses: withSchemas(responses ?? {}, opened),
      };
    }),
  );
  const answered = reachedFrom(answers, schemas);
  return {
    ...document,
    paths,
    components: {
      ...components,
      responses: withSchemas(components['responses'] ?? {}, opened),
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [
          name,
          answered.has(name) ? opened(schema) : described(schema),
        ]),
      ),
    },
  };
}

/** Names of the schemas that document parts reference, directly or indirectly. */
function reachedFrom(
  pieces: readonly unknown[],
  schemas: Readonly<Record<string, Json>>,
): ReadonlySet<string> {
  const reached = new Set<string>();
  const follow = (piece: unknown): void => {
    for (const [, name = ''] of JSON.stringify(piece ?? {}).matchAll(COMPONENT)) {
      if (reached.has(name)) continue;
      reached.add(name);
      follow(schemas[name]);
    }
  };
  for (const piece of pieces) follow(piece);
  return reached;
}

/** The same part with `change` applied to every body schema. Examples and headers stay. */
function withSchemas(piece: Json, change: (schema: Json) => Json): Json {
  return mapped(piece, (value, key) => {
    if (key === 'headers' || key === 'examples' || !isJson(value)) return value;
    return key === 'schema' ? change(value) : withSchemas(value, change);
  });
}

/** An answer schema that accepts future fields and values. */
function opened(schema: Json): Json {
  const { additionalProperties, enum: values, type, const: constant, ...rest } = schema;
  // A refusal limits the envelope to known codes and reasons. Its description lists them.
  if (Array.isArray(rest['allOf'])) return rest['allOf'][0];
  const known = values ?? (typeof constant === 'string' ? [constant] : undefined);
  if (Array.isArray(known) && known.every((value) => typeof value === 'string')) {
    return { ...rest, anyOf: [{ type: 'string', enum: known }, { type: 'string' }] };
  }
  return {
    ...(type !== undefined && { type }),
    ...withInner(rest, opened),
    ...(values !== undefined && { enum: values }),
    ...(constant !== undefined && { const: constant }),
    ...(isJson(additionalProperties)
      ? { additionalProperties: opened(additionalProperties) }
      : additionalProperties === true && { additionalProperties }),
  };
}

/** A request schema with defaults moved into the descriptions. */
function described(schema: Json): Json {
  const { default: fallback, description, ...rest } = schema;
  const words = [
    ...(typeof description === 'string' ? [description] : []),
    ...(fallback === undefined ? [] : [`Default: \`${JSON.stringify(fallback)}\`.`]),
  ];
  return {
    ...(words.length > 0 && { description: words.join(' ') }),
    ...withInner(rest, described),
  };
}

/** The schema with `change` applied to all inner schemas. */
function withInner(schema: Json, change: (schema: Json) => Json): Json {
  return mapped(schema, (value, key) => {
    switch (key) {
      case 'properties':
        return mapped(value as Json, (field) => change(field as Json));
      case 'anyOf':
      case 'oneOf':
        return (value as Json[]).map(change);
      case 'items':
      case 'additionalProperties':
        return isJson(value) ? change(value) : value;
      default:
        return value;
    }
  });
}

function mapped(piece: Json, change: (value: unknown, key: string) => unknown): Json {
  return Object.fromEntries(Object.entries(piece).map(([key, value]) => [key, change(value, key)]));
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
