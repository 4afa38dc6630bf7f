import { z } from 'zod';
import type { EngineAnswer, EngineCommand } from '#wire/engine-messages';

/** A request after parsing, as an operation's own code sees it. */
export type Parsed<Body, Query> = {
  /** The path's `id`, not checked for form: an id of the wrong form is unknown (decision 3). */
  readonly id: string;
  readonly body: Body;
  readonly query: Query;
  /** Which query parameters the caller named. */
  readonly named: ReadonlySet<string>;
  /** Wall-clock time in Unix milliseconds. */
  readonly nowMs: number;
};

/** What an operation does once it is admitted. */
export type Task =
  | {
      /** Asks the engine that owns the instance (or the directory, for a list). */
      readonly kind: 'engine';
      readonly operation: EngineCommand;
      /** Cycles it may advance: what is reserved before. */
      readonly cycles: number;
    }
  /** Answered by the edge itself: reference data and stateless computation. */
  | { readonly kind: 'local'; readonly answer: () => EngineAnswer };

/** One of the 16 endpoints as data: routing, checking, documentation and meaning in one place. */
export type Operation = {
  /** Name in the API document, and of the test file. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path under `/v1` in Fastify's spelling, which is also the metric's route. */
  readonly path: string;
  readonly summary: string;
  readonly tag: 'Instances' | 'Engine' | 'Test' | 'Personas';
  /** The scope that a key needs. Source: decisions 20 and 41. */
  readonly scope: 'read' | 'full';
  readonly success: 200 | 201;
  readonly query: z.ZodType;
  readonly body: z.ZodType | undefined;
  /** The same as `body`, compiled: what requests are checked with. */
  readonly compiledBody: z.ZodType | undefined;
  /** The body of a success, for the API document and for tests; never run on a live answer. */
  readonly response: z.ZodType;
  /** Whether `Idempotency-Key` is honoured. Source: decision 22. */
  readonly isKeyed: boolean;
  /** Whether `If-Match` is honoured. Source: decision 21. */
  readonly isGuarded: boolean;
  /** Whether the answer carries an ETag. Source: decision 21. */
  readonly isTagged: boolean;
  /** Turns a checked request into a task. Throws `invalid_request` for what a schema cannot say. */
  readonly plan: (request: Parsed<unknown, unknown>) => Task;
};

type Options<Body extends z.ZodType, Query extends z.ZodType> = Omit<
  Operation,
  'query' | 'body' | 'compiledBody' | 'plan' | 'isKeyed' | 'isGuarded' | 'isTagged' | 'success'
> & {
  readonly success?: 201;
  readonly query: Query;
  readonly body?: Body;
  readonly isKeyed?: true;
  readonly isGuarded?: true;
  readonly isTagged?: true;
  readonly plan: (request: Parsed<z.output<Body>, z.output<Query>>) => Task;
};

/** Declares an operation; its plan sees body and query as their schemas give them. */
export function operation<Body extends z.ZodType, Query extends z.ZodType>(
  options: Options<Body, Query>,
): Operation {
  const { plan } = options;
  return {
    ...options,
    success: options.success ?? 200,
    body: options.body,
    compiledBody: options.body === undefined ? undefined : z.compile(options.body),
    isKeyed: options.isKeyed ?? false,
    isGuarded: options.isGuarded ?? false,
    isTagged: options.isTagged ?? false,
    // The pipeline runs exactly these two schemas before it calls `plan`.
    plan: (request) => plan(request as Parsed<z.output<Body>, z.output<Query>>),
  };
}
