import { globSync, readFileSync } from 'node:fs';

/** A wire case, as described in `clients/cases/README.md`. */
export type WireCase = {
  readonly name: string;
  readonly key: string;
  readonly client?: {
    readonly timeout_s?: number;
    readonly attempt_timeout_s?: number;
    readonly attempts_max?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly application?: string;
  };
  readonly call: WireCall;
  readonly exchanges: readonly Exchange[];
  readonly expect: Expected;
};

/** Call of a case, in the naming of the Python client. */
export type WireCall = {
  readonly method: string;
  readonly instance?: string;
  readonly arguments?: Readonly<Record<string, ReturnType<typeof JSON.parse>>>;
  readonly options?: Readonly<Record<string, ReturnType<typeof JSON.parse>>>;
};

/** A request and the server's reaction. */
export type Exchange = {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly query: Readonly<Record<string, string>>;
    readonly headers: Readonly<Record<string, string | null>>;
    readonly body?: unknown;
  };
  readonly answer:
    | 'close'
    | 'silence'
    | {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly body?: unknown;
        readonly text?: string;
        readonly chunks?: readonly string[];
        readonly after?: 'end' | 'cut' | 'open';
      };
};

/** Expected outcome of a call. Missing fields are not checked. */
export type Expected = {
  readonly data_of?: number;
  readonly data?: unknown;
  readonly items_of?: readonly number[];
  readonly pages?: number;
  readonly events?: readonly {
    readonly event: string;
    readonly id?: string;
    readonly data?: unknown;
  }[];
  readonly ends?: boolean;
  readonly last_event_id?: string;
  readonly takes_at_least_s?: number;
  readonly error?: Readonly<Record<string, unknown>>;
  readonly [fact: string]: unknown;
};

/** All recorded cases with their file names. */
export function wireCases(): (WireCase & { readonly file: string })[] {
  const folder = new URL('../../../cases/', import.meta.url).pathname;
  return globSync('*.json', { cwd: folder })
    .filter((file) => file !== 'case.schema.json')
    .sort()
    .flatMap((file) => {
      const { cases } = JSON.parse(readFileSync(folder + file, 'utf8')) as { cases: WireCase[] };
      return cases.map((each) => ({ ...each, file }));
    });
}
