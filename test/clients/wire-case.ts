import type { ENDPOINTS } from '#edge/endpoints/all';

/** Any JSON, of which a case knows what it looks for. */
export type Json = ReturnType<typeof JSON.parse>;

/** Where the answers of an exchange come from; clients/cases/README.md says what each means. */
export type Origin = 'recorded' | 'provoked' | 'composed';

/** A call of a client, in the spelling of the Python client. */
export type Call = {
  readonly method: keyof typeof METHODS;
  /** The instance of `instance.…`. */
  readonly instance?: string;
  readonly arguments?: Readonly<Record<string, Json>>;
  readonly options?: Readonly<Record<string, Json>>;
};

/** A request, as a client must send it. */
export type WireRequest = {
  readonly method: string;
  /** Without query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** In lower case; null: must not be there. */
  readonly headers: Readonly<Record<string, string | null>>;
  readonly body?: Json;
};

/** An answer, or what happens instead of one. */
export type WireAnswer =
  | 'close'
  | 'silence'
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** JSON. */
      readonly body?: Json;
      readonly text?: string;
      /** Pieces of a stream, a write each. */
      readonly chunks?: readonly string[];
      /** What follows the last of them. */
      readonly after?: 'end' | 'cut' | 'open';
    };

/** One request with its answer. */
export type Exchange = { readonly request: WireRequest; readonly answer: WireAnswer };

/** One case. */
export type WireCase = {
  readonly name: string;
  readonly origin: Origin;
  /** The API key of the client. */
  readonly key: string;
  /** Options of the client beside its key and base address. */
  readonly client?: Readonly<Record<string, Json>>;
  readonly call: Call;
  readonly exchanges: readonly Exchange[];
  readonly expect: Readonly<Record<string, Json>>;
};

/** Name of an endpoint in the API document. */
type EndpointName = (typeof ENDPOINTS)[number]['name'];

/** The methods of the clients and the endpoints that they call. */
export const METHODS = {
  'instances.create': 'createInstance',
  'instances.list': 'listInstances',
  'instances.iterate': 'listInstances',
  'instances.get': 'getInstance',
  'instances.update': 'updateInstance',
  'instances.delete': 'deleteInstance',
  'instance.process': 'processObservation',
  'instance.process_batch': 'processBatch',
  'instance.snapshot': 'getSnapshot',
  'instance.contract': 'getContract',
  'instance.reset': 'resetInstance',
  'instance.history': 'getHistory',
  'instance.iterate_history': 'getHistory',
  'instance.drift': 'getDrift',
  'instance.iterate_drift': 'getDrift',
  'instance.simulate': 'simulateObservations',
  'instance.events': 'streamEvents',
  'tests.questions': 'getQuestions',
  'tests.submit': 'submitTest',
  'personas.list': 'listPersonas',
  'personas.get': 'getPersona',
  'account.get': 'getAccount',
  'audit.list': 'getAudit',
  'audit.iterate': 'getAudit',
  'billing.checkout': 'createCheckout',
  'billing.portal': 'openPortal',
} as const satisfies Readonly<Record<string, EndpointName>>;
