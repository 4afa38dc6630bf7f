import assert from 'node:assert/strict';
import { ENUMERATION_NAMES, NESTED_NAMES } from '#clients/models/model-names';

type Rules = Readonly<Record<string, unknown>>;

/** Rules of a schema beyond its type, as text. Undefined without rules. */
function rulesOf(schema: Rules): string | undefined {
  const rules = [
    boundsOf(schema, 'minimum', 'maximum', ''),
    boundsOf(schema, 'minLength', 'maxLength', ' characters'),
    boundsOf(schema, 'minItems', 'maxItems', ' items'),
    formatOf(schema),
    schema['default'] === undefined ? undefined : `default ${JSON.stringify(schema['default'])}`,
    schema['const'] === undefined ? undefined : `always ${JSON.stringify(schema['const'])}`,
  ].filter((rule) => rule !== undefined);
  return rules.length === 0 ? undefined : sentenceOf(rules.join('; '));
}

function boundsOf(schema: Rules, least: string, most: string, unit: string): string | undefined {
  const [min, max] = [plausible(schema[least]), plausible(schema[most])];
  if (min !== undefined && max !== undefined) {
    return min === max ? `${min}${unit}` : `${min} to ${max}${unit}`;
  }
  if (min !== undefined) return `at least ${min}${unit}`;
  return max === undefined ? undefined : `at most ${max}${unit}`;
}

/** The bound, or undefined for the bound of safe integers, which is no rule. */
function plausible(bound: unknown): number | undefined {
  const isBound = typeof bound === 'number' && Math.abs(bound) !== Number.MAX_SAFE_INTEGER;
  return isBound ? bound : undefined;
}

function formatOf({ format, pattern }: Rules): string | undefined {
  if (format === 'date-time') return 'RFC 3339';
  return typeof pattern === 'string' ? `pattern ${pattern}` : undefined;
}

function sentenceOf(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** A JSON Schema. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly [rule: string]: unknown;
};

/** Author of a value: the caller (request) or the service (answer). */
export type Side = 'request' | 'answer';

/**
 * Collects the client models of schemas in the API document. Answer models are open: a later
 * release may add fields and enumeration values (decision 269). Bounds and patterns move into
 * descriptions, because only the service checks them.
 */
export class ModelBook {
  readonly #models = new Map<string, Schema>();

  /** All models, by name. */
  get models(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#models].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Adds a model. Throws if the name already stands for a different schema. */
  add(name: string, schema: Schema, side: Side): void {
    this.#keep(name, this.#held(schema, name, side));
  }

  /** Adds a schema that already has the form of a client model. */
  addAsIs(name: string, schema: Schema): void {
    this.#keep(name, schema);
  }

  #keep(name: string, model: Schema): void {
    const known = this.#models.get(name);
    if (known !== undefined) assert.deepEqual(model, known, `two models named ${name}`);
    this.#models.set(name, model);
  }

  /** Converts a schema into a client model; `place` names the model if needed. */
  #held(schema: Schema, place: string, side: Side): Schema {
    const { $ref, enum: values, anyOf, properties, items } = schema;
    if ($ref !== undefined) return { $ref: localName($ref) };
    if (values !== undefined) return this.#enumeration(values, side);
    if (anyOf !== undefined) {
      const kinds = anyOf.map((kind, index) => this.#inner(kind, `${place}|${index}`, side));
      return { ...wordsOf(schema), anyOf: kinds };
    }
    if (properties !== undefined) return this.#object(schema, place, side);
    if (items !== undefined) {
      const item = this.#inner(items, `${place}[]`, side);
      return { ...wordsOf(schema), type: 'array', items: item };
    }
    if (schema.additionalProperties !== undefined) {
      const values = this.#valuesOf(schema.additionalProperties, place, side);
      return { ...wordsOf(schema), type: 'object', additionalProperties: values };
    }
    const { type } = schema;
    return { ...wordsOf(schema), ...(type === undefined ? {} : { type }) };
  }

  #object(schema: Schema, place: string, side: Side): Schema {
    const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [
      name,
      this.#inner(field, `${place}.${name}`, side),
    ]);
    return {
      ...wordsOf(schema),
      type: 'object',
      properties: Object.fromEntries(fields),
      ...(schema.required === undefined ? {} : { required: schema.required }),
      additionalProperties: side === 'answer',
    };
  }

  /** Converts a nested schema; an object with fields becomes its own model. */
  #inner(schema: Schema, place: string, side: Side): Schema {
    if (schema.properties === undefined) return this.#held(schema, place, side);
    const name = NESTED_NAMES[place];
    assert.ok(name, `${place} is an object without a name: give it one in model-names.ts`);
    this.#keep(name, this.#object(schema, place, side));
    return { $ref: `#/$defs/${name}` };
  }

  #valuesOf(values: boolean | Schema, place: string, side: Side): boolean | Schema {
    const isAny = typeof values === 'boolean' || Object.keys(values).length === 0;
    return isAny ? true : this.#inner(values, `${place}{}`, side);
  }

  /**
   * An enumeration: closed in requests, open in answers. If both use the enumeration, the open
   * variant has the prefix `Open`.
   */
  #enumeration(values: readonly string[], side: Side): Schema {
    const [first = ''] = values;
    const name = ENUMERATION_NAMES[`${first}…${values.at(-1)}`] ?? ENUMERATION_NAMES[first];
    assert.ok(name, `an enumeration without a name begins with ${values[0]}`);
    if (side === 'request') {
      this.#keep(name, { type: 'string', enum: values });
      return { $ref: `#/$defs/${name}` };
    }
    const isBoth = WRITTEN_BY_CALLERS.has(name);
    const shown = isBoth ? `Open${name}` : name;
    const literals = values.map((value) => JSON.stringify(value)).join(' | ');
    this.#keep(shown, {
      description: 'A later release may return other values.',
      anyOf: [{ type: 'string', enum: values }, { type: 'string' }],
      tsType: `${literals} | (string & {})`,
    });
    return { $ref: `#/$defs/${shown}` };
  }
}

/** Enumerations that appear in requests and in answers. */
const WRITTEN_BY_CALLERS: ReadonlySet<string> = new Set([
  ...['EventType', 'ModeTarget', 'QuestionId', 'ResetMode'],
]);

function localName(reference: string): string {
  return reference.replace('#/components/schemas/', '#/$defs/');
}

/** Appends the service's rules to the description as text. */
function wordsOf(schema: Schema): Schema {
  const words = [schema.description, rulesOf(schema)].filter((text) => text !== undefined);
  return words.length === 0 ? {} : { description: words.join(' ') };
}
