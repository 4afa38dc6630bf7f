import type { ENDPOINTS } from '#edge/endpoints/all';

/** Any JSON, untyped. */
export type Json = ReturnType<typeof JSON.parse>;

/** Origin of an exchange's answers; clients/cases/README.md defines each. */
export type Origin = 'recorded' | 'provoked' | 'composed';

/** A client call, in the naming of the Python client. */
export type Call = {
  readonly method: keyof typeof METHODS | typeof RAW_METHOD;
  /** Instance id for `instance.…` methods. */
  readonly instance?: string;
  readonly arguments?: Readonly<Record<string, Json>>;
  readonly options?: Readonly<Record<string, Json>>;
};

/** A request that a client must send. */
export type WireRequest = {
  readonly method: string;
  /** Path without query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Headers by lower-case name; null for a header that must be absent. */
  readonly headers: Readonly<Record<string, string | null>>;
  readonly body?: Json;
};

/** An answer, or a fault instead of an answer: a closed connection, or silence. */
export type WireAnswer =
  | 'close'
  | 'silence'
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** JSON body. */
      readonly body?: Json;
      readonly text?: string;
      /** Parts of a stream, one write each. */
      readonly chunks?: readonly string[];
      /** Action after the last part: end the stream, cut the connection, or leave both open. */
      readonly after?: 'end' | 'cut' | 'open';
    };

/** A request and its answer. */
export type Exchange = { readonly request: WireRequest; readonly answer: WireAnswer };

/** A wire case. */
export type WireCase = {
  readonly name: string;
  readonly origin: Origin;
  /** API key of the client. */
  readonly key: string;
  /** Client options besides key and base URL. */
  readonly client?: Readonly<Record<string, Json>>;
  readonly call: Call;
  readonly exchanges: readonly Exchange[];
  readonly expect: Readonly<Record<string, Json>>;
};

/** Endpoint name in the API document. */
type EndpointName = (typeof ENDPOINTS)[number]['name'];

/** Client method for any path, with the arguments `method`, `path`, `query` and `body`. */
export const RAW_METHOD = 'client.request';

/** Endpoint of a call. Undefined if the call names a path instead. */
export function endpointOf({ method }: Call): EndpointName | undefined {
  return method === RAW_METHOD ? undefined : METHODS[method];
}

/** Endpoint of each client method. */
export const METHODS = {
  'instances.create': 'createInstance',
  'instances.list': 'listInstances',
  'instances.iterate': 'listInstances',
  'instances.fleet': 'getFleet',
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
  'instance.states': 'getStates',
  'instance.fork': 'forkInstance',
  'client.process': 'processFleet',
  'tests.questions': 'getQuestions',
  'tests.submit': 'submitTest',
  'personas.list': 'listPersonas',
  'personas.get': 'getPersona',
  'account.get': 'getAccount',
  'audit.list': 'getAudit',
  'audit.iterate': 'getAudit',
  'events.list': 'listEvents',
  'events.follow': 'listEvents',
  'webhooks.create': 'createWebhook',
  'webhooks.list': 'listWebhooks',
  'webhooks.get': 'getWebhook',
  'webhooks.update': 'updateWebhook',
  'webhooks.delete': 'deleteWebhook',
  'webhooks.rotate': 'rotateWebhook',
  'webhooks.test': 'testWebhook',
  'webhooks.deliveries': 'listDeliveries',
  'webhooks.redeliver': 'redeliverChanges',
  'billing.checkout': 'createCheckout',
  'billing.portal': 'openPortal',
} as const satisfies Readonly<Record<string, EndpointName>>;
