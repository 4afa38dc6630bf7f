import type { Operation } from '#edge/operation';

/** A real answer of the service, shown in the document. */
export type ExampleAnswer = {
  /** Name of the operation that gave it. */
  readonly operation: string;
  readonly status: number;
  readonly summary: string;
  readonly body: unknown;
};

/** The bodies that an operation's schema shows as examples, the usual one first. */
export function exampleBodiesOf({ body }: Operation): readonly unknown[] {
  const examples = body?.meta()?.['examples'];
  return Array.isArray(examples) ? examples : [];
}
