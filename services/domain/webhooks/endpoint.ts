import { addressIn, isPublicAddress } from '#webhooks/public-address';

/** Maximum number of endpoints of an account. */
export const ENDPOINTS_MAX = 20;

/** Maximum number of changes in a message. */
export const ROWS_PER_MESSAGE_MAX = 100;

/** Maximum number of secrets of an endpoint that sign at the same time. */
export const SECRETS_MAX = 8;

/** Time for which a replaced secret still signs, in milliseconds: one day. */
export const OVERLAP_MS = 24 * 60 * 60 * 1_000;

/** Maximum number of characters of an address. */
export const URL_LENGTH_MAX = 2_048;

/** Why an endpoint gets no messages. `removed`: the endpoint answered with 410. */
export type PauseCause = 'person' | 'failing' | 'removed';

/** A secret as stored: sealed with the secret of the cluster, so that no store can sign. */
export type SealedSecret = {
  readonly sealed: string;
  /** End of its use in Unix milliseconds. Absent: it is the present secret. */
  readonly untilMs?: number;
};

/** Endpoint of an account, to which the service sends the account's events. */
export type Endpoint = {
  /** `whk_` and 16 hexadecimal characters. */
  readonly id: string;
  readonly url: string;
  readonly description: string;
  /** Wanted types, as bits of their positions in `TRANSITIONS`. */
  readonly types: number;
  /** Maximum number of changes in a message. */
  readonly rowsMax: number;
  /** The present secret first. */
  readonly secrets: readonly SealedSecret[];
  readonly createdAtMs: number;
  readonly paused: PauseCause | undefined;
};

/** A row of the feed that an endpoint wants. `events`: number of its events. */
export type WantedRow = {
  readonly seq: number;
  readonly instanceId: string;
  readonly events: number;
};

/** Rows that wait durably, because an attempt to deliver the first of them has failed. */
export type HeldRows = {
  readonly instanceId: string;
  /** Positions in the feed, ascending, and the number of events of each row. */
  readonly rows: readonly (readonly [seq: number, events: number])[];
  /** Number of the first rows that were attempted together, and are attempted again together. */
  readonly together: number;
  /** Failed attempts to deliver the first rows. */
  readonly attempts: number;
  /** Time of the next attempt, in Unix milliseconds. */
  readonly dueMs: number;
  /** Whether an earlier row of the instance was given up. */
  readonly followsGap: boolean;
  /** Whether a person asked for one more delivery of the only row. */
  readonly isAgain: boolean;
};

/** A row that was given up. */
export type FailedRow = Omit<WantedRow, 'events'> & {
  readonly atMs: number;
  readonly cause: string;
  /** Whether a later message about the instance has said that rows are missing. */
  readonly isReported: boolean;
};

/** Durable progress of an endpoint. */
export type Progress = {
  /** Position before which every row is delivered, held, given up or not wanted. */
  readonly cursor: number;
  readonly held: readonly HeldRows[];
  readonly failed: readonly FailedRow[];
  /** Time of the first failure since the last success, in Unix milliseconds. */
  readonly failingSinceMs: number | undefined;
  /** Whether rows were dropped from the feed before they were taken, and no message has said so. */
  readonly isMissing: boolean;
};

/** Progress of an endpoint that begins at a position. */
export function progressFrom(cursor: number): Progress {
  return { cursor, held: [], failed: [], failingSinceMs: undefined, isMissing: false };
}

/** Endpoint as stored, with its progress. */
export type KeptEndpoint = { readonly endpoint: Endpoint; readonly progress: Progress };

/** Endpoint and progress from JSON, which leaves out undefined fields. */
export function keptFromJson({ endpoint, progress }: KeptEndpoint): KeptEndpoint {
  return {
    endpoint: { ...endpoint, paused: endpoint.paused },
    progress: progressFromJson(progress),
  };
}

/** Progress from JSON, which leaves out undefined fields. */
export function progressFromJson(json: Progress): Progress {
  return { ...json, failingSinceMs: json.failingSinceMs };
}

/**
 * Why an address cannot be used; undefined if it can be used. The name is not looked up.
 * `isInternalAllowed`: whether the operator allows internal networks, with or without TLS.
 */
export function urlProblem(text: string, isInternalAllowed: boolean): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL';
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return 'must have no user name and password';
  if (url.hash !== '') return 'must have no fragment';
  if (isInternalAllowed) {
    return HTTP.has(url.protocol) ? undefined : 'must begin with https:// or http://';
  }
  if (url.protocol !== 'https:') return 'must begin with https://';
  if (url.port !== '') return 'must use port 443';
  return isPublicHost(url.hostname) ? undefined : 'must lead to the internet';
}

const HTTP: ReadonlySet<string> = new Set(['https:', 'http:']);

/** Whether a host may be on the internet: a public address, or a name with a dot. */
function isPublicHost(hostname: string): boolean {
  const address = addressIn(hostname);
  return address === undefined ? /[^.]\.[^.]/.test(hostname) : isPublicAddress(address);
}
