import type { Endpoint } from '#edge/endpoint';

/** A real answer of the service, shown in the document. */
export type ExampleAnswer = {
  /** Name of the endpoint that gave it. */
  readonly endpoint: string;
  readonly status: number;
  readonly summary: string;
  readonly body: unknown;
};

/** The bodies that an endpoint's schema shows as examples, the usual one first. */
export function exampleBodiesOf({ body }: Endpoint): readonly unknown[] {
  const examples = body?.meta()?.['examples'];
  return Array.isArray(examples) ? examples : [];
}
