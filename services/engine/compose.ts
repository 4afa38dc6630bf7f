import { DirectoryKind } from '#engine/directory-kind';
import { engineMetrics } from '#engine/engine-metrics';
import { InstanceKind } from '#engine/instance-kind';
import { listingAnswer, type ModelOf, storedDirectory } from '#engine/listing';
import type { Clock } from '#platform/clock';
import type { Metrics } from '#platform/metrics';
import { ActorHost } from '#runtime/actor-host';
import { CommitLog } from '#runtime/commit-log';
import type { ActorHostConfig } from '#runtime/host-ports';
import { runtimeMetrics } from '#runtime/runtime-metrics';
import type { InstanceStore } from '#storage/instance-store';
import type { Journal } from '#storage/journal';
import type { ListingStore } from '#storage/listing-store';
import type { EngineCall, EngineClient } from '#wire/engine-messages';

/** What an engine needs of its process. */
export type EnginePorts = {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly journal: Journal;
  readonly instances: InstanceStore;
  readonly listings: ListingStore;
  readonly onBug: (error: unknown) => void;
};

/** An engine: instances and account directories on one journal. Opened top-down, closed bottom-up. */
export async function composeEngine(
  config: ActorHostConfig,
  ports: EnginePorts,
): Promise<EngineClient & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const { clock, onBug } = ports;
  const log = new CommitLog(ports.journal);
  const portsOf = (actor: 'instance' | 'directory') => {
    return { clock, log, onBug, metrics: runtimeMetrics(ports.metrics, 'engine', actor) };
  };
  const directories = opening.use(
    new ActorHost(new DirectoryKind(ports.listings), config, portsOf('directory')),
  );
  const directory = storedDirectory(
    ports.listings,
    (accountId, call) => directories.ask(accountId, call),
    () => clock.wallMs(),
  );
  const kind = new InstanceKind({
    store: ports.instances,
    directory,
    metrics: engineMetrics(ports.metrics, clock),
  });
  const instances = opening.use(new ActorHost(kind, config, portsOf('instance')));
  const modelOf: ModelOf = async (id) =>
    instances.peek(id, ({ head }) => head?.model) ?? (await ports.instances.readHead(id))?.model;
  const opened = opening.move();
  return {
    ask: (call) =>
      call.operation.kind === 'list'
        ? list(call, call.operation)
        : instances.ask(call.instanceId, call),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };

  async function list(call: EngineCall, page: Extract<EngineCall['operation'], { kind: 'list' }>) {
    const { callId, deadlineAtMs } = call;
    const question = { kind: 'page', page, callId, deadlineAtMs } as const;
    return listingAnswer(await directories.ask(call.accountId, question), page, modelOf);
  }
}
