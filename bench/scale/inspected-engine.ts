import { type DurableService, startDurable } from '#bench/durable-service';
import { Inspector } from '#bench/inspector';
import { highestBytes, type MemoryStage, memoryStages } from '#bench/scale/memory-stage';
import { temporaryFolder } from '#bench/temporary-folder';

/** A durable service of one engine, whose memory is looked at. */
export type InspectedEngine = AsyncDisposable & {
  readonly service: DurableService;
  readonly inspector: Inspector;
  /** Takes a stage of the engine's memory, and prints it. */
  readonly stage: (title: string) => Promise<MemoryStage>;
  /** The highest resident size that the engine ever had, in bytes. */
  readonly highestBytes: () => Promise<number>;
};

/** Starts one. */
export async function startInspectedEngine(
  print: (line: string) => void,
): Promise<InspectedEngine> {
  await using opening = new AsyncDisposableStack();
  const nodeArgs = ['--inspect=127.0.0.1:0'];
  const options = { engines: 1, folder: temporaryFolder(), nodeArgs, print };
  const service = opening.use(await startDurable(options));
  const [engine] = service.engines;
  if (engine === undefined) throw new Error('there is no engine');
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
