/** A JSON object with unknown fields. */
export type JsonObject = { readonly [name: string]: unknown };

/** Answer body of a process call; the Fastify reference sends the same body. */
export type ProcessAnswer = {
  readonly data: {
    readonly snapshot: JsonObject & { readonly mode_strengths: JsonObject };
    readonly contract: JsonObject & {
      readonly decision_style: JsonObject;
      readonly recovery_profile: JsonObject;
    };
    readonly drift: JsonObject & {
      readonly deviation: JsonObject & {
        readonly sustained: JsonObject;
        readonly modes: readonly JsonObject[];
      };
    };
  };
};

/** Paths in the answer that must contain an object. */
const OBJECTS = [
  ['data', 'snapshot', 'mode_strengths'],
  ['data', 'contract', 'decision_style'],
  ['data', 'contract', 'recovery_profile'],
  ['data', 'drift', 'deviation', 'sustained'],
] as const;

/** Whether `value` is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at `path` inside `value`, or undefined. */
export function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (within, name) => (isObject(within) ? within[name] : undefined),
    value,
  );
}

/** Checks that a process answer has the objects of `OBJECTS` and 7 modes; throws otherwise. */
export function readProcessAnswer(body: unknown): ProcessAnswer {
  for (const path of OBJECTS) {
    if (!isObject(at(body, path))) throw new Error(`the process answer has no ${path.join('.')}`);
  }
  const modes = at(body, ['data', 'drift', 'deviation', 'modes']);
  if (!Array.isArray(modes) || modes.length !== 7) throw new Error('the answer lacks its 7 modes');
  return body as ProcessAnswer;
}
