import { globSync, readFileSync } from 'node:fs';

/** A wire case as `clients/cases/README.md` describes it. */
export type WireCase = {
  readonly name: string;
  readonly key: string;
  readonly client?: {
    readonly timeout_s?: number;
    readonly attempt_timeout_s?: number;
    readonly attempts_max?: number;
  };
  readonly call: WireCall;
  readonly exchanges: readonly Exchange[];
  readonly expect: Expected;
};

/** The call of a case. Tests know what its arguments are. */
export type WireCall = {
  readonly method: string;
  readonly instance?: string;
  readonly arguments?: Readonly<Record<string, ReturnType<typeof JSON.parse>>>;
  readonly options?: Readonly<Record<string, ReturnType<typeof JSON.parse>>>;
};

/** A request and what the server does with it. */
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

/** What a call comes to; what is not named is not looked at. */
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

/** Every recorded case, with the file it stands in. */
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
