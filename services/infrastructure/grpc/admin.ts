import type { Socket } from 'node:net';
import type * as grpc from '@grpc/grpc-js';
import {
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { Fault, faultFor } from '#errors/fault';
import { HELD_KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS } from '#grpc/call-bounds';
import { type OwnChannel, ownChannel } from '#grpc/channel';
import { faultOfStatus, losesItsCause, statusOfError, trustText } from '#grpc/frame';
import {
  type AdminServer,
  AdminService,
  type ReadInstanceReply,
  type UsageReply,
} from '#grpc/gen/identity_engine/v1/admin';
import type { WireService } from '#grpc/grpc-server';
import { clientCredentials, type WireRole, type WireTls } from '#grpc/tls';
import type { Clock } from '#stdlib/clock';
import type { Reloadable } from '#stdlib/files';

/**
 * Identity of a node without a current incarnation: before its first incarnation, and between two
 * incarnations.
 */
export const NO_INCARNATION = 'none';

/** Progress of a node in handing off its shards. */
export type DrainProgress = { readonly incarnation: string; readonly openShards: number };

/** Administration of any node, for operators and other nodes. */
export interface NodeAdmin {
  /** Current incarnation of the node, or `NO_INCARNATION`. */
  identity(): string;
  /**
   * Starts handing off all shards; the node takes none until the process ends. Answers immediately
   * and may be called repeatedly. Rejects with `conflict` if no other node could take the shards.
   */
  drain(): Promise<DrainProgress>;
}

/** Observation without a stored checkpoint. */
export type UnstoredCycle = {
  readonly generation: number;
  readonly cycle: number;
  /** Index of the mode in the model's fixed order. */
  readonly mode: number;
  readonly signal: number;
  readonly confidence: number;
  /** The observation's time in Unix milliseconds. */
  readonly timestampMs: number;
};

/** State of an instance in an engine's memory. */
export type ActiveInstance = {
  readonly version: number;
  readonly generation: number;
  readonly cycle: number;
  /** The last unstored observations, newest first. */
  readonly unstoredCycles: readonly UnstoredCycle[];
};

/** Report of an engine on an instance. Another engine may own the instance. */
export type InstanceReport = {
  /** Current incarnation of the engine. */
  readonly incarnation: string;
  /** Whether this engine answers calls for the instance. */
  readonly isServed: boolean;
  /** State of the instance in memory. Undefined if the instance is not in memory. */
  readonly active: ActiveInstance | undefined;
};

/** Additional administration of an engine. */
export interface InstanceAdmin {
  /**
   * Reports on an instance without activating it. Rejects with `service_unavailable` without a
   * current incarnation.
   */
  readInstance(instanceId: string): Promise<InstanceReport>;
}

/** Usage of one API key in a month: its prefix (`KeyCycles`), and its cycles per day. */
export type KeyUsage = { readonly prefix: string; readonly cyclesByDay: readonly number[] };

/** Usage of an account in a month. */
export type MonthUsage = {
  readonly endsAtMs: number;
  /** Cycles per UTC day from the first day on. Their sum is the month's usage. */
  readonly cyclesByDay: readonly number[];
  /** Usage per key. Cycles without a known key are missing here. */
  readonly keys: readonly KeyUsage[];
};

/** Usage of an account in the current month and window, for operators and its owner. */
export type MeterUsage = {
  readonly limits: { readonly requestsPerMinute: number; readonly cyclesPerMonth: number };
  readonly requestsInWindow: number;
  /** Unix second at which the window ends. Undefined between two windows. */
  readonly windowResetAtS: number | undefined;
  readonly cyclesUsed: number;
  readonly cyclesReserved: number;
  readonly monthResetAtS: number;
  /** Cycles of the month that can be granted without another journal append. */
  readonly monthWatermark: number;
  /** Requests of the window that can be granted without another journal append. */
  readonly windowWatermark: number;
  /** Part of the used cycles that was reserved and never settled. */
  readonly cyclesExpired: number;
  /** Part of the used cycles that crashes may have lost. */
  readonly cyclesLost: number;
  /**
   * Cycles per UTC day of the month up to today. Their sum is `cyclesUsed`. Empty without usage.
   */
  readonly cyclesByDay: readonly number[];
  /** Usage per key. Cycles without a known key are missing here. */
  readonly keys: readonly KeyUsage[];
  /** Finished months that may not have been stored separately yet, oldest first. */
  readonly finishedMonths: readonly MonthUsage[];
};

/** Additional administration of a limiter. */
export interface UsageAdmin {
  /**
   * Usage of an account, as counted by the meter's owner. Undefined if the account does not exist.
   * Rejects with `service_unavailable` (`not_owner`) if another limiter owns the meter.
   */
  readUsage(accountId: string): Promise<MeterUsage | undefined>;
  /**
   * Moves the account's meter to the current month if the meter is in another month. Answers like
   * `readUsage`.
   */
  resetUsage(accountId: string): Promise<MeterUsage | undefined>;
}

/** Load of a node: actors in memory, unstored records, and calls. */
export type NodeLoad = {
  /** Incarnation of the node. */
  readonly incarnation: string;
  /** Number of actors: instances and directories in an engine, or meters in a limiter. */
  readonly actors: number;
  /** Approximate size of these actors, in bytes. */
  readonly actorBytes: number;
  /** Committed records without a stored checkpoint. */
  readonly unstoredRecords: number;
  /** Age of the oldest unstored record, in milliseconds. Undefined without such records. */
  readonly oldestUnstoredMs: number | undefined;
  /** Number of calls since this incarnation began. */
  readonly calls: number;
};

/** Call that reads the load of a node. */
interface LoadAdmin {
  /** Current load. Rejects with `service_unavailable` without a current incarnation. */
  readLoad(): Promise<NodeLoad>;
}

/** Messages that a node published on the bus, and the position of the newest message. */
export type PublishedMessages = {
  readonly messages: readonly { readonly subject: string; readonly message: Uint8Array }[];
  readonly last: number;
};

/** Administration methods of one node: common methods, and methods for an engine or a limiter. */
export type AdminTarget = NodeAdmin &
  Partial<LoadAdmin> &
  Partial<InstanceAdmin> &
  Partial<UsageAdmin>;

/** Maximum length of an incarnation id, in UTF-16 units. */
const INCARNATION_LENGTH_MAX = 255;

/**
 * Roles that may answer a call, by kind of callee. With TLS the client accepts only these roles.
 */
const ROLES = {
  node: ['engine', 'limiter'],
  engine: ['engine'],
  limiter: ['limiter'],
} as const satisfies Record<string, readonly WireRole[]>;

/** Client for the administration of the node at one address. */
export interface AdminClient extends LoadAdmin, InstanceAdmin, UsageAdmin {
  /** Messages that a node of the service published on the bus after a position. */
  pull(service: 'engine' | 'limiter', after: number): Promise<PublishedMessages>;
  /** As `NodeAdmin.drain`. `requestedBy` is the user's name for the node's log. */
  drain(requestedBy?: string): Promise<DrainProgress>;
}

/**
 * Creates a client for the node at `address` (`host:port`). Each call uses its own connection.
 * Calls reject with the node's own fault, or with `service_unavailable` if no node of the kind
 * answers in time.
 */
export function adminClient(address: string, options: UnaryCallOptions): AdminClient {
  async function ask<Request, Reply>(
    kind: keyof typeof ROLES,
    method: MethodDefinition<Request, Reply>,
    request: Request,
  ): Promise<Reply> {
    const callee = { address, roles: ROLES[kind] };
    const reply = await unaryCall(callee, method, request, options).catch((error: ServiceError) => {
      throw faultOfStatus(error) ?? noneAt(address, kind, error);
    });
    if (reply === undefined) throw noneAt(address, kind, undefined);
    return reply;
  }

  return {
    async pull(service, after) {
      const { messages, last } = await ask(service, AdminService.pull, { after });
      const published = messages.map(({ subject, content: message }) => ({ subject, message }));
      return { messages: published, last };
    },
    drain: (requestedBy = '') => ask('node', AdminService.drain, { requestedBy }),
    async readLoad() {
      const { oldestUnstoredMs, ...load } = await ask('node', AdminService.readLoad, {});
      return { ...load, oldestUnstoredMs };
    },
    async readInstance(instanceId) {
      const reply = await ask('engine', AdminService.readInstance, { instanceId });
      const { incarnation, served, active } = reply;
      return { incarnation, isServed: served, active };
    },
    readUsage: async (accountId) =>
      usageOf(await ask('limiter', AdminService.readUsage, { accountId })),
    resetUsage: async (accountId) =>
      usageOf(await ask('limiter', AdminService.resetUsage, { accountId })),
  };
}

function noneAt(address: string, kind: keyof typeof ROLES, cause: ServiceError | undefined): Fault {
  const text = `no ${kind} of a cluster answers at ${address}${whyOf(cause)}`;
  if (kind === 'node') return new Fault('service_unavailable', text, { cause });
  return faultFor(`${kind}_unavailable`, text, { cause });
}

/**
 * Reason why the call failed, so that the operator knows the next step: the other process is slow,
 * unreachable, or another kind of process.
 */
function whyOf(cause: ServiceError | undefined): string {
  switch (cause?.code) {
    case undefined:
    case status.UNIMPLEMENTED:
      return '';
    // The client's deadline is the only source of cancellation.
    case status.CANCELLED:
      return ' in time';
    default:
      return `: ${cause?.details}`;
  }
}

function usageOf({ usage }: UsageReply): MeterUsage | undefined {
  if (usage === undefined) return undefined;
  const { requestsPerMinute, cyclesPerMonth, windowResetAtS, monthMark, windowMark, ...counts } =
    usage;
  return {
    ...counts,
    windowResetAtS,
    monthWatermark: monthMark,
    windowWatermark: windowMark,
    limits: { requestsPerMinute, cyclesPerMonth },
  };
}

/**
 * gRPC service for `adminClient`, served next to an engine or a limiter. A method that `target`
 * lacks is refused as UNIMPLEMENTED. The service also answers while the process stops, because a
 * leaving node is not dead (architecture 3.3) and operators watch it. `onDrain` receives the name
 * of the user who requested a drain. `publishedAfter` returns messages of this process on the bus.
 */
export function adminService(
  target: AdminTarget,
  reportBug: (error: unknown) => void = () => undefined,
  onDrain: (requestedBy: string) => void = () => undefined,
  publishedAfter?: (position: number) => PublishedMessages,
): WireService {
  const readLoad = target.readLoad?.bind(target);
  const readInstance = target.readInstance?.bind(target);
  const readUsage = target.readUsage?.bind(target);
  const resetUsage = target.resetUsage?.bind(target);
  const implementation: Partial<AdminServer> = {
    identify: unaryHandler(async (_, caller) => {
      return { incarnation: target.identity(), caller: caller.getPeer() };
    }, reportBug),
    drain: unaryHandler(async ({ requestedBy }) => {
      const progress = await target.drain();
      onDrain(userNameOf(requestedBy));
      return progress;
    }, reportBug),
  };
  if (publishedAfter !== undefined) {
    implementation.pull = unaryHandler(async ({ after }) => {
      const { messages, last } = publishedAfter(after);
      const sent = messages.map(({ subject, message }) => ({ subject, content: message }));
      return { messages: sent, last };
    }, reportBug);
  }
  if (readLoad !== undefined) {
    implementation.readLoad = unaryHandler(async () => await readLoad(), reportBug);
  }
  if (readInstance !== undefined) {
    implementation.readInstance = unaryHandler(
      async ({ instanceId }) => reportToWire(await readInstance(instanceId)),
      reportBug,
    );
  }
  if (readUsage !== undefined) {
    implementation.readUsage = unaryHandler(
      async ({ accountId }) => usageToWire(await readUsage(accountId)),
      reportBug,
    );
  }
  if (resetUsage !== undefined) {
    implementation.resetUsage = unaryHandler(
      async ({ accountId }) => usageToWire(await resetUsage(accountId)),
      reportBug,
    );
  }
  const methods: ServiceDefinition = AdminService;
  const served = Object.entries(methods).filter(([name]) => name in implementation);
  return {
    name: 'identity_engine.v1.Admin',
    definition: Object.fromEntries(served),
    implementation: implementation as WireService['implementation'],
    drain: () => undefined,
  };
}

/**
 * Sanitizes a claimed user name for logs and probes: letters, digits and `.@+-`, at most 64
 * characters.
 */
function userNameOf(claimed: string): string {
  return claimed.slice(0, 64).replaceAll(/[^\w.@+\\-]/g, '?') || 'unknown';
}

function reportToWire({ incarnation, isServed, active }: InstanceReport): ReadInstanceReply {
  const reply = active && { ...active, unstoredCycles: [...active.unstoredCycles] };
  return { incarnation, served: isServed, active: reply };
}

function usageToWire(usage: MeterUsage | undefined): UsageReply {
  if (usage === undefined) return { usage };
  const { limits, monthWatermark, windowWatermark, ...counts } = usage;
  const watermarks = { monthMark: monthWatermark, windowMark: windowWatermark };
  const month = {
    cyclesByDay: [...usage.cyclesByDay],
    keys: usage.keys.map(keyToWire),
    finishedMonths: usage.finishedMonths.map(({ endsAtMs, cyclesByDay, keys }) => ({
      endsAtMs,
      cyclesByDay: [...cyclesByDay],
      keys: keys.map(keyToWire),
    })),
  };
  return { usage: { ...counts, ...watermarks, ...limits, ...month } };
}

function keyToWire({ prefix, cyclesByDay }: KeyUsage): { prefix: string; cyclesByDay: number[] } {
  return { prefix, cyclesByDay: [...cyclesByDay] };
}

/** Options of a unary call. */
type UnaryCallOptions = {
  /** Timeout including the connect, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Plain text if undefined. */
  readonly tls?: Reloadable<WireTls> | undefined;
};

/** Process to call. */
type Callee = {
  /** `host:port`. */
  readonly address: string;
  /** Accepted roles of the callee, with TLS. One matching role is sufficient. */
  readonly roles: readonly WireRole[];
};

/**
 * Makes one call over a fresh connection. Rejects with gRPC's own `ServiceError`, which the caller
 * translates; after `timeoutMs` its code is CANCELLED. Always closes the connection, even if the
 * peer hangs.
 */
export async function unaryCall<Request, Reply>(
  { address, roles }: Callee,
  method: grpc.MethodDefinition<Request, Reply>,
  request: Request,
  { timeoutMs, clock, tls }: UnaryCallOptions,
): Promise<Reply | undefined> {
  // A fresh connection, because a reused connection could lead to a process that has ended.
  const channel = ownChannel(address, clientCredentials(tls, roles));
  try {
    return await callOn(channel, method, request, { timeoutMs, clock });
  } finally {
    closeChannel(channel);
  }
}

async function callOn<Request, Reply>(
  { client }: OwnChannel,
  method: grpc.MethodDefinition<Request, Reply>,
  request: Request,
  { timeoutMs, clock }: Omit<UnaryCallOptions, 'tls'>,
): Promise<Reply | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply | undefined>();
  const { path, requestSerialize, responseDeserialize } = method;
  const call = client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    (error, reply) => (error === null ? resolve(reply) : reject(error)),
  );
  using _ = clock.after(timeoutMs, () => call.cancel());
  return await promise;
}

function closeChannel({ client, cut }: OwnChannel): void {
  client.close();
  cut();
}

/** An open connection to a node that has named its incarnation. */
export type IdentifiedConnection = {
  readonly incarnation: string;
  /** This side's address as the node sees it; empty before release 1.1. */
  readonly caller: string;
  readonly socket: Socket;
  /** Whether neither side has announced the end of the connection. */
  readonly isOpen: () => boolean;
  readonly close: () => void;
};

/** Options of a connection that stays open without calls. */
const HELD_OPEN = {
  // The longest time of a timer, 24 days. By default, gRPC closes an idle connection after 30
  // minutes.
  'grpc.client_idle_timeout_ms': 2 ** 31 - 1,
  // Ends a connection to a machine that has vanished.
  'grpc.keepalive_time_ms': HELD_KEEPALIVE_MS,
  'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
  'grpc.keepalive_permit_without_calls': 1,
} satisfies grpc.ClientOptions;

/**
 * Connects to the node at `address` (`host:port`), asks for its incarnation, and keeps the
 * connection open. Rejects with `service_unavailable` if no node names its incarnation in time.
 */
export async function identify(
  address: string,
  { tls, ...options }: UnaryCallOptions,
): Promise<IdentifiedConnection> {
  const channel = ownChannel(address, clientCredentials(tls, ROLES.node), HELD_OPEN);
  const close = (): void => closeChannel(channel);
  try {
    const asked = callOn(channel, AdminService.identify, {}, options);
    const reply = await asked.catch((error: ServiceError) => {
      throw faultOfStatus(error) ?? noneAt(address, 'node', error);
    });
    const socket = channel.socket();
    if (reply === undefined || socket === undefined) throw noneAt(address, 'node', undefined);
    const incarnation = trustText(reply.incarnation, 1, INCARNATION_LENGTH_MAX, 'incarnation');
    return { incarnation, caller: reply.caller, socket, isOpen: channel.isOpen, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Caller of a unary call, with its metadata. */
export type UnaryCaller = Pick<
  grpc.ServerUnaryCall<unknown, unknown>,
  'metadata' | 'getAuthContext' | 'getPeer'
>;

/**
 * Handler of a unary method, which `answer` implements. A fault becomes a gRPC status. Any other
 * error is reported and answered as `internal`.
 */
export function unaryHandler<Request, Reply>(
  answer: (request: Request, from: UnaryCaller) => Promise<Reply>,
  reportBug: (error: unknown) => void,
): grpc.handleUnaryCall<Request, Reply> {
  return (call, respond) => {
    answer(call.request, call).then(
      (reply) => respond(null, reply),
      (error: unknown) => {
        if (losesItsCause(error)) reportBug(error);
        respond(statusOfError(error));
      },
    );
  };
}
