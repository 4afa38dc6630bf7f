import type * as grpc from '@grpc/grpc-js';
import {
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { Fault, faultFor } from '#fault/fault';
import type { Clock } from '#platform/clock';
import type { Reloadable } from '#platform/files';
import { ownChannel } from '#wire/channel';
import { faultOfStatus, losesItsCause, statusOfError } from '#wire/fault-codec';
import {
  type AdminServer,
  AdminService,
  type ReadInstanceReply,
  type UsageReply,
} from '#wire/gen/identity_engine/v1/admin';
import type { WireService } from '#wire/grpc-server';
import { clientCredentials, trustText, type WireRole, type WireTls } from '#wire/tls';

/** Who a node says it is between two incarnations, and before its first: the last one is over. */
export const NO_INCARNATION = 'none';

/** How far a node is with giving its shards up. */
export type DrainProgress = { readonly incarnation: string; readonly openShards: number };

/** What any node of a cluster offers to operators and to other nodes. */
export interface NodeAdmin {
  /** The present incarnation of the node, or `NO_INCARNATION`. */
  identity(): string;
  /**
   * Gives every shard up and takes none until the process ends; answers at once, and may be
   * repeated. Rejects with `conflict` when no other node could take them.
   */
  drain(): Promise<DrainProgress>;
}

/** An observation that no checkpoint has stored yet. */
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

/** What an engine has in memory of an instance. */
export type ActiveInstance = {
  readonly version: number;
  readonly generation: number;
  readonly cycle: number;
  /** The last few that are not stored, newest first. */
  readonly unstoredCycles: readonly UnstoredCycle[];
};

/** What an engine reports of an instance, which may be another engine's. */
export type InstanceReport = {
  /** The present incarnation of the engine. */
  readonly incarnation: string;
  /** Whether calls for the instance are answered there. */
  readonly isServed: boolean;
  /** Undefined: it is not in memory. */
  readonly active: ActiveInstance | undefined;
};

/** What an engine of a cluster offers besides. */
export interface InstanceAdmin {
  /** Reports of an instance and activates nothing. Rejects with `service_unavailable`. */
  readInstance(instanceId: string): Promise<InstanceReport>;
}

/** What one key has used of a month: its prefix (`KeyCycles`), and the cycles of each of its days. */
export type KeyUsage = { readonly prefix: string; readonly cyclesByDay: readonly number[] };

/** What an account has used in a month. */
export type MonthUsage = {
  readonly endsAtMs: number;
  /** Those of each UTC day from the first on; they add up to the month. */
  readonly cyclesByDay: readonly number[];
  /** Of them; what is missing in their sum is of no key that is known. */
  readonly keys: readonly KeyUsage[];
};

/** What an account has used, for its owner's eyes. */
export type MeterUsage = {
  readonly limits: { readonly requestsPerMinute: number; readonly cyclesPerMonth: number };
  readonly requestsInWindow: number;
  /** Unix second at which the window ends; undefined between two windows. */
  readonly windowResetAtS: number | undefined;
  readonly cyclesUsed: number;
  readonly cyclesReserved: number;
  readonly monthResetAtS: number;
  /** Cycles of the month that may be granted without asking the journal again. */
  readonly monthWatermark: number;
  /** Requests of the window that may be granted without asking the journal again. */
  readonly windowWatermark: number;
  /** Of the used cycles: reserved and never settled. */
  readonly cyclesExpired: number;
  /** Of the used cycles: may have been lost in crashes. */
  readonly cyclesLost: number;
  /** Those of each UTC day of the month up to today; they add up to the used ones. Empty: none. */
  readonly cyclesByDay: readonly number[];
  /** Of them, those of each key; what is missing in their sum is of no key that is known. */
  readonly keys: readonly KeyUsage[];
  /** Months that are over and may not be stored by themselves yet, oldest first. */
  readonly finishedMonths: readonly MonthUsage[];
};

/** What a limiter of a cluster offers besides. */
export interface UsageAdmin {
  /**
   * What the account has used, as its owner counts it; undefined when there is no such account.
   * Rejects with `service_unavailable` (`not_owner`) when another limiter owns it.
   */
  readUsage(accountId: string): Promise<MeterUsage | undefined>;
  /** Begins the present month where the account's meter is in another one; answers as `readUsage`. */
  resetUsage(accountId: string): Promise<MeterUsage | undefined>;
}

/** What a node holds in memory, and how often it was called. */
export type NodeLoad = {
  /** Whose load it is. */
  readonly incarnation: string;
  /** Instances and directories of an engine, meters of a limiter, and roughly the bytes they hold. */
  readonly actors: number;
  readonly actorBytes: number;
  /** Committed records that no checkpoint has stored. */
  readonly unstoredRecords: number;
  /** For how long the oldest of them waits, in milliseconds; undefined: there is none. */
  readonly oldestUnstoredMs: number | undefined;
  /** Calls of this incarnation since it began. */
  readonly calls: number;
};

/** What a node of a cluster offers to who looks after it. */
interface LoadAdmin {
  /** The load now. Rejects with `service_unavailable` between two incarnations. */
  readLoad(): Promise<NodeLoad>;
}

/** What one node offers: as any does, and as an engine or a limiter. */
export type AdminTarget = NodeAdmin &
  Partial<LoadAdmin> &
  Partial<InstanceAdmin> &
  Partial<UsageAdmin>;

/** Longest incarnation id, in UTF-16 units. */
const INCARNATION_LENGTH_MAX = 255;

/** What should answer, and which roles are that: with TLS no process of another one is asked. */
const ROLES = {
  node: ['engine', 'limiter'],
  engine: ['engine'],
  limiter: ['limiter'],
} as const satisfies Record<string, readonly WireRole[]>;

/** What operators and other nodes ask of the node at one address. */
export interface AdminClient extends LoadAdmin, InstanceAdmin, UsageAdmin {
  /** The present incarnation of the node, as `NodeAdmin.identity`. */
  identify(): Promise<string>;
  /** As `NodeAdmin.drain`; `requestedBy` names the user for the log of the node. */
  drain(requestedBy?: string): Promise<DrainProgress>;
}

/**
 * The node at `address` (`host:port`), each call over a connection of its own. Calls reject with
 * the node's own fault, or with `service_unavailable` when no node of that kind answers there in
 * time.
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
    async identify() {
      const { incarnation } = await ask('node', AdminService.identify, {});
      return trustText(incarnation, 1, INCARNATION_LENGTH_MAX, 'incarnation');
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

/** The operator looks at the other process next: is it slow, unreachable, or another? */
function whyOf(cause: ServiceError | undefined): string {
  switch (cause?.code) {
    case undefined:
    case status.UNIMPLEMENTED:
      return '';
    // Only the client's own deadline cancels.
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
 * What `adminClient` asks, served beside an engine or a limiter. A method that `target` does not
 * have is refused as UNIMPLEMENTED. The service answers also while the process stops: a node that
 * leaves is not dead yet (architecture 3.3), and operators look most closely then. `onDrain` receives
 * which user asked for a drain that has begun.
 */
export function adminService(
  target: AdminTarget,
  reportBug: (error: unknown) => void = () => undefined,
  onDrain: (requestedBy: string) => void = () => undefined,
): WireService {
  const readLoad = target.readLoad?.bind(target);
  const readInstance = target.readInstance?.bind(target);
  const readUsage = target.readUsage?.bind(target);
  const resetUsage = target.resetUsage?.bind(target);
  const implementation: Partial<AdminServer> = {
    identify: unaryHandler(async () => ({ incarnation: target.identity() }), reportBug),
    drain: unaryHandler(async ({ requestedBy }) => {
      const progress = await target.drain();
      onDrain(userNameOf(requestedBy));
      return progress;
    }, reportBug),
  };
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

/** A claimed name as it may stand in a log and a probe: letters, digits and `.@+-`, 64 at most. */
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

/** How long one call may take, and what it takes from outside. */
type UnaryCallOptions = {
  /** Connect included, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Absent: plain text. */
  readonly tls?: Reloadable<WireTls> | undefined;
};

/** Whom a call is for. */
type Callee = {
  /** `host:port`. */
  readonly address: string;
  /** With TLS, the process there must be of one of these. */
  readonly roles: readonly WireRole[];
};

/**
 * One call over a fresh connection. Rejects with gRPC's
 * own `ServiceError`, which the caller puts into words; after `timeoutMs` its code is CANCELLED.
 * Nothing of the connection is left in the end, whatever the peer does.
 */
export async function unaryCall<Request, Reply>(
  { address, roles }: Callee,
  method: grpc.MethodDefinition<Request, Reply>,
  request: Request,
  { timeoutMs, clock, tls }: UnaryCallOptions,
): Promise<Reply | undefined> {
  using opened = new DisposableStack();
  // A connection of its own: one that is reused could lead to a process that is no longer there.
  const { client, cut } = ownChannel(address, clientCredentials(tls, roles));
  opened.defer(cut);
  opened.defer(() => client.close());
  const { promise, resolve, reject } = Promise.withResolvers<Reply | undefined>();
  const { path, requestSerialize, responseDeserialize } = method;
  const call = client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    (error, reply) => (error === null ? resolve(reply) : reject(error)),
  );
  opened.use(clock.after(timeoutMs, () => call.cancel()));
  return await promise;
}

/** Who makes a unary call, and with which metadata. */
export type UnaryCaller = Pick<
  grpc.ServerUnaryCall<unknown, unknown>,
  'metadata' | 'getAuthContext'
>;

/**
 * The handler of a unary method that `answer` answers. A fault is a gRPC status; any other error is
 * reported and answered as `internal`.
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
