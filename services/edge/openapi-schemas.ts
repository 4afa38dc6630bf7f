import assert from 'node:assert/strict';
import { z } from 'zod';

/** A piece of the API document. */
export type Json = Readonly<Record<string, unknown>>;

/** How the document points at a schema that has a name of its own. */
const COMPONENTS = '#/components/schemas/';

/**
 * Collects the schemas of the document: those that carry an `id` in their metadata become
 * components, everything else stays where it is used.
 */
export class SchemaBook {
  readonly #components = new Map<string, Json>();

  /** The JSON Schema of what a caller sends. */
  ofInput(schema: z.ZodType): Json {
    return this.#add(schema, 'input');
  }

  /** The JSON Schema of what the service answers. */
  ofOutput(schema: z.ZodType): Json {
    return this.#add(schema, 'output');
  }

  /** All named schemas seen so far, by name. */
  get components(): Json {
    const byName = [...this.#components].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(byName);
  }

  #add(schema: z.ZodType, io: 'input' | 'output'): Json {
    const override = io === 'input' ? restore : tidy;
    // A context is a custom type: its metadata says in JSON Schema what its code checks.
    const made = z.toJSONSchema(schema, { io, override, unrepresentable: 'any' });
    const { $schema: _, $defs = {}, ...rest } = relocated(made);
    for (const [name, definition] of Object.entries($defs as Record<string, Json>)) {
      const known = this.#components.get(name);
      // One name, one schema: a request and an answer of the same name must not differ.
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

/** Zod drops default and examples of whatever is transformed on its way in; callers need both. */
function restore({ zodSchema, jsonSchema }: Overridden): void {
  const meta = z.globalRegistry.get(zodSchema);
  if (meta?.['default'] !== undefined) Object.assign(jsonSchema, { default: meta['default'] });
  if (meta?.['examples'] !== undefined) Object.assign(jsonSchema, { examples: meta['examples'] });
  // An integer of a query is text to us and a number to its reader: its bounds say it all.
  if (jsonSchema.type === 'integer') delete jsonSchema.pattern;
}

/** That an integer is a safe one goes without saying. */
function tidy({ jsonSchema }: Overridden): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** The same schema with its references pointing at the components. */
function relocated(schema: object): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${COMPONENTS}`));
}
