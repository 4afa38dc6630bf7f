import type { Bus } from '#bus/bus';
import { Membership } from '#cluster/membership';
import { ShardOwners, shardOf } from '#cluster/shard-owners';
import { Admission, LimitedKeys } from '#edge/callers/admission';
import { EventStreams } from '#edge/events/open-streams';
import type { Caller } from '#edge/http';
import { AccountAudit, AccountBilling } from '#edge/serve/account';
import { type EdgeAnswer, EngineCalls } from '#edge/serve/engine-calls';
import { edgeMetrics } from '#edge/serve/reply';
import { type ServePorts, serve } from '#edge/serve/serve';
import type { EngineClient } from '#grpc/engine-messages';
import type { LimiterClient } from '#grpc/limiter-messages';
import { RoutedEngine, RoutedLimiter } from '#routing/routed-service';
import { busAccountNews } from '#startup/cluster';
import { unchanging } from '#stdlib/files';
import type { ShardedService } from '#storage/ports/cluster';
import type { Ledger } from '#test/simulation/checks/ledger';
import type { SimulatedBus } from '#test/simulation/simulated/bus';
import { CLUSTER } from '#test/simulation/simulated/cluster-parts';
import { SimulatedConnection } from '#test/simulation/simulated/connection';
import { AwaitedReply, awaited, SimulatedCallIds } from '#test/simulation/simulated/http';
import type { SimulatedNetwork } from '#test/simulation/simulated/network';
import type { NodeProcess } from '#test/simulation/simulated/node';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import { ENGINE_CALLS, LIMITER_CALLS } from '#test/simulation/simulated/protocol';
import { pulledPortOf } from '#test/simulation/simulated/pulled-bus';
import {
  endpointOf,
  httpRequestOf,
  type SimulatedRequest,
} from '#test/simulation/simulated/requests';
import { silentMetrics } from '#test/simulation/simulated/silent-metrics';
import { webhooksOf } from '#test/support/webhooks-of';

/** Secret from which all edges derive the instance ids of keyed creates. */
const SECRET = 'simulated';

/** Dependencies of `SimulatedEdge`. */
export type EdgePorts = {
  readonly bus: SimulatedBus;
  readonly network: SimulatedNetwork;
  readonly shardCount: number;
  /** Records limiter calls. Undefined if every call is admitted without a limiter. */
  readonly ledger: Ledger | undefined;
};

/** One edge process: the real request handling, without the HTTP server. */
export class SimulatedEdge implements NodeProcess {
  readonly process: SimulatedProcess;
  /** Engine calls without admission by a limiter. */
  readonly calls: EngineCalls;
  /** Engine client for calls of an operator. */
  readonly engine: EngineClient;
  /** Limiter client. */
  readonly limiter: LimiterClient;
  readonly #ports: ServePorts;

  constructor(process: SimulatedProcess, ports: EdgePorts) {
    this.process = process;
    const { clock, name, randomness, world } = process;
    const { network, ledger } = ports;
    const bus = pulledPortOf(process, ports, ['engine', 'limiter']);
    const connectEngine = (address: string) =>
      new SimulatedConnection(network, process, address, ENGINE_CALLS);
    const connectLimiter = (address: string) =>
      new SimulatedConnection(network, process, address, LIMITER_CALLS);
    const engine = new RoutedEngine({
      ...this.#routing('engine', bus, ports),
      connect: connectEngine,
    });
    this.engine = engine;
    this.calls = new EngineCalls(engine, clock, randomness, unchanging([SECRET]));
    this.limiter =
      ledger === undefined
        ? UNLIMITED
        : new RoutedLimiter({ ...this.#routing('limiter', bus, ports), connect: connectLimiter });
    const metrics = edgeMetrics(silentMetrics);
    const recordedLimiter =
      ledger === undefined
        ? this.limiter
        : ledger.recording(this.limiter, (text) => world.note(`${name} ${text}`));
    const limited = new LimitedKeys(clock, busAccountNews({ ...CLUSTER, bus }));
    this.#ports = {
      prefix: '/v1',
      admission: new Admission(recordedLimiter, clock, metrics, limited),
      engine: this.calls,
      callIds: new SimulatedCallIds(process.random),
      clock,
      reply: new AwaitedReply(clock, metrics),
      streams: new EventStreams({
        clock,
        random: () => process.random.unit(),
        onEnd: () => undefined,
        accountNews: undefined,
      }),
      account: {
        clock,
        audit: new AccountAudit(LASTING_TRAIL),
        billing: new AccountBilling(LASTING_TRAIL),
        webhooks: webhooksOf(engine, clock),
      },
      inFlight: { calls: 0 },
    };
  }

  /** Answers a request like the real edge, from admission to settlement. Rejects with a `Fault`. */
  async answer(caller: Caller, request: SimulatedRequest): Promise<EdgeAnswer> {
    const exchange = { requestId: '', startedMs: 0, caller, isActive: false };
    const { reply, answer } = awaited();
    const endpoint = endpointOf(request);
    const served = serve(endpoint, httpRequestOf(request), reply, exchange, this.#ports);
    const [answered] = await Promise.all([answer, served]);
    return answered;
  }

  async leave(): Promise<void> {
    // The HTTP server drains requests in flight; this edge has no server.
  }

  #routing(service: ShardedService, bus: Bus, { shardCount }: EdgePorts) {
    const { clock, random } = this.process;
    const members = new Membership({
      bus,
      clock,
      ...CLUSTER,
      service,
      self: undefined,
      onForeignCluster: () => {
        throw new Error('a message came from a second cluster, but only one is simulated');
      },
    });
    return {
      routes: new ShardOwners({ members, shardCount, clock }),
      shardCount,
      shardOf: (id: string) => shardOf(id, shardCount),
      clock,
      random: () => random.unit(),
    };
  }
}

/** An audit trail that accepts every line, because its store is not simulated. */
const LASTING_TRAIL: LimiterClient = {
  ask: () => ({ verdict: 'answered', allowance: undefined, body: { place: '2026-01.1' } }),
};

/** Admits every call. For runs without limiters. */
const UNLIMITED: LimiterClient = {
  ask: ({ kind }) => ({
    verdict: kind === 'admit' ? 'admitted' : 'settled',
    allowance: {
      requestsPerMinute: 1,
      requestsRemaining: 1,
      windowResetAtS: 0,
      cyclesPerMonth: 1,
      cyclesRemaining: 1,
      monthResetAtS: 0,
      instances: 1_000,
    },
  }),
};
