import { type DurableService, startDurable } from '#bench/durable/service';
import { Inspector } from '#bench/measures/inspector';
import { temporaryFolder } from '#bench/processes/temporary-folder';
import { highestBytes, type MemoryStage, memoryStages } from '#bench/scale/memory-stage';

/** A durable service with an engine whose memory can be read. */
export type InspectedEngine = AsyncDisposable & {
  readonly service: DurableService;
  readonly inspector: Inspector;
  /** Records and prints a memory stage of the engine. */
  readonly stage: (title: string) => Promise<MemoryStage>;
  /** Peak resident size of the engine, in bytes. */
  readonly highestBytes: () => Promise<number>;
};

/** Starts a durable service with an inspectable engine. */
export async function startInspectedEngine(
  print: (line: string) => void,
): Promise<InspectedEngine> {
  await using opening = new AsyncDisposableStack();
  const nodeArgs = ['--inspect=127.0.0.1:0'];
  const options = { engines: 1, folder: temporaryFolder(), nodeArgs, print };
  const service = opening.use(await startDurable(options));
  const [engine] = service.engines;
  if (engine === undefined) throw new Error('the service started no engine');
  const inspector = opening.use(await Inspector.connect(engine));
  const opened = opening.move();
  return {
    service,
    inspector,
    stage: memoryStages(inspector, print),
    highestBytes: () => highestBytes(engine.pid),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
