import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { comparePairs, type PairSizes } from '#bench/load/pairs';
import { ratioFigure } from '#bench/page/comparison';
import { figure, type Part } from '#bench/page/part';
import { findWrk } from '#bench/processes/tool-path';

/** Share of traced requests. Source: the project's target. */
const TRACE_RATIO = '0.01';

/** Minimum median of requests per second, relative to a service without traces. */
const RATIO_MIN = 0.95;

const FULL: PairSizes = { starts: 3, pairs: 5, seconds: 1, warmUpS: 4 };
const QUICK: PairSizes = { starts: 1, pairs: 1, seconds: 1, warmUpS: 1 };

/** Cost of tracing 1 % of the requests. */
export const traces: Part = {
  name: 'traces',
  group: 'memory',
  isLong: true,
  title: 'Tracing 1 % of the requests',
  about:
    'Two services take turns. One traces 1 % of its requests and sends the spans to a collector, ' +
    'the other has no collector and does not trace. A cell has the quartiles of the pairs.',
  missed: 'Spans, request ids and trace context cost CPU.',
  needs: ['wrk'],
  async measure({ isQuick, print }) {
    await using collector = await openCollector();
    const variables = {
      SERVICE_OTLP_ENDPOINT: collector.endpoint,
      SERVICE_TRACE_RATIO: TRACE_RATIO,
    };
    const sizes = isQuick ? QUICK : FULL;
    const found = await comparePairs(await findWrk(), [{ variables }, {}], sizes, print);
    const figures = found.flatMap(({ what, rates, costs }) => [
      ratioFigure(`with / without traces, ${what}: requests/s`, rates, { least: RATIO_MIN }),
      ratioFigure(`with / without traces, ${what}: CPU per request`, costs, {}),
    ]);
    const received = figure('bytes of traces', collector.bytes().toLocaleString('en'));
    return { figures: [...figures, received] };
  },
};

/** Trace collector that discards everything it receives. */
type Collector = AsyncDisposable & {
  readonly endpoint: string;
  /** Bytes received so far. */
  readonly bytes: () => number;
};

/** Starts the collector in this process, because the CPU time of this process is not measured. */
async function openCollector(): Promise<Collector> {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bytes: () => bytes,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
