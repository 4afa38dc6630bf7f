import { type AppConfig, buildApp, type EdgePorts } from '#edge/app';
import { documentRoutes } from '#edge/document-routes';
import type { Running } from '#platform/run';

/** What an operator decides about an edge. */
export type EdgeConfig = AppConfig & {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly isDocumented: boolean;
};

/** A listening edge. Its address has no path; the API is under `/v1`. */
export async function composeEdge(config: EdgeConfig, ports: EdgePorts): Promise<Running> {
  await using opening = new AsyncDisposableStack();
  const app = opening.adopt(buildApp(config, ports), (open) => open.close());
  if (config.isDocumented) await app.register(documentRoutes);
  const address = await app.listen({ host: config.host, port: config.port });
  const opened = opening.move();
  return { address, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
