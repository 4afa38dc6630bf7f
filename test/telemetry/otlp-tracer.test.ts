import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '#stdlib/clock';
import { openOtlpTracer, type Sampling } from '#telemetry/otlp-tracer';
import { SPANS_HELD_MAX, SpanDelivery } from '#telemetry/span-delivery';
import { isSampled, traceIdOf } from '#telemetry/tracer';
import { keptEnvironment } from '#test/support/kept-environment';
import { ManualClock } from '#test/support/manual-clock';
import { recordedSpan } from '#test/support/recorded-spans';

/** Headers required by the collector. */
const HEADERS = { authorization: 'Bearer of=the test' };

/** A test collector. Without `listener`, an address without a listener. */
async function openCollector(listener: RequestListener | undefined) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  if (listener === undefined) await close();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => (listener === undefined ? undefined : close()),
  };
}

/** Whether trace ids that begin with eight 1, 3, 5, 9 or f are within a share of a quarter. */
const BY_ID = [true, true, false, false, false];

/** Sampling that follows callers, and records a share of the other traces. */
const following = (ratio: number): Sampling => ({
  ratio,
  followsCallers: true,
  hasRareWork: true,
});

/**
 * A tracer with a test collector. `lines` has the log lines of the tracer, and `lost` counts lost
 * spans.
 */
async function openScene(
  listener?: RequestListener,
  sampling = following(1),
  hasPropagators = false,
) {
  await using opening = new AsyncDisposableStack();
  const { endpoint } = opening.use(await openCollector(listener));
  const lines: string[] = [];
  const reported = Promise.withResolvers<void>();
  let lost = 0;
  const write = (_fields: object | string, text?: string) => {
    lines.push(text ?? '');
    reported.resolve();
  };
  const logger = { info: write, warn: write };
  const onLost = (spans: number) => {
    lost += spans;
  };
  const delivery = new SpanDelivery({ clock: systemClock, logger, endpoint, onLost });
  const resource = { 'service.name': 'test' };
  const tracer = opening.use(
    openOtlpTracer({
      url: `${endpoint}/v1/traces`,
      headers: HEADERS,
      ...{ sampling, hasPropagators, resource, clock: systemClock, delivery },
    }),
  );
  const opened = opening.move();
  return {
    tracer,
    lines,
    reported: reported.promise,
    lost: () => lost,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const sampling = suite('the tracer');

sampling(
  'records the configured share of requests, and gives every request its own ids',
  async () => {
    await using scene = await openScene((_, response) => void response.end(), following(0.25));
    const traces = Array.from({ length: 4_000 }, () => scene.tracer.request({}));
    const recorded = traces.filter(({ span }) => span !== undefined);
    // Six standard deviations.
    assert.ok(Math.abs(recorded.length - 1_000) < 165, `${recorded.length}`);
    for (const { traceparent, span } of traces) {
      assert.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
      assert.is(isSampled(traceparent), span !== undefined);
    }
    assert.is(new Set(traces.map(({ traceparent }) => traceIdOf(traceparent))).size, 4_000);
  },
);

sampling('records requests that callers have marked, up to a bound per second', async () => {
  await using scene = await openScene((_, response) => void response.end(), following(0));
  const asking = recordedSpan(7);
  const answered = Array.from({ length: 1_000 }, () =>
    scene.tracer.request({ traceparent: asking }),
  );
  for (const { traceparent } of answered) assert.is(traceIdOf(traceparent), traceIdOf(asking));
  const count = answered.filter(({ span }) => span !== undefined).length;
  // Two bounds if a second ends during the loop.
  assert.ok(count === 100 || count === 200, `${count}`);
});

sampling(
  'records no refused requests, which do not use up the bound for other callers',
  async () => {
    await using scene = await openScene((_, response) => void response.end(), following(0));
    const asking = recordedSpan(7);
    for (let n = 0; n < 1_000; n += 1)
      assert.is(scene.tracer.request({ traceparent: asking }, true).span, undefined);
    const known = Array.from({ length: 50 }, () =>
      scene.tracer.request({ traceparent: asking }, false),
    );
    assert.is(known.filter(({ span }) => span !== undefined).length, 50);
  },
);

sampling(
  'records no requests that callers have marked as unrecorded, whatever the share',
  async () => {
    await using scene = await openScene((_, response) => void response.end(), following(1));
    const refusing = recordedSpan(7).replace(/01$/, '00');
    assert.is(scene.tracer.request({ traceparent: refusing }).span, undefined);
    assert.is(scene.tracer.child(refusing, { name: 'part', kind: 'client' }), undefined);
  },
);

sampling('records requests with trace ids within the share, if callers do not decide', async () => {
  const byId = { ratio: 0.25, followsCallers: false, hasRareWork: true };
  await using scene = await openScene((_, response) => void response.end(), byId);
  const shareOf = (digit: string, flags: string) => {
    const traceparent = `00-${digit.repeat(8)}${'0'.repeat(24)}-${'1'.repeat(16)}-${flags}`;
    return scene.tracer.request({ traceparent }).span !== undefined;
  };
  for (const flags of ['00', '01']) {
    assert.equal(
      ['1', '3', '5', '9', 'f'].map((digit) => shareOf(digit, flags)),
      BY_ID,
    );
  }
});

sampling('records nothing if it is disabled, not even rare work', async () => {
  const none = { ratio: 0, followsCallers: false, hasRareWork: false };
  await using scene = await openScene((_, response) => void response.end(), none);
  const rare = { name: 'takeover', kind: 'internal' } as const;
  assert.is(scene.tracer.request({ traceparent: recordedSpan(7) }).span, undefined);
  assert.is(scene.tracer.rare(rare), undefined);
});

const headers = suite('the trace headers of callers');

for (const [names, traceIds] of [
  [undefined, ['w3c', undefined]],
  ['tracecontext,baggage', ['w3c', undefined]],
  ['b3', [undefined, 'b3']],
  ['b3multi,tracecontext', ['w3c', 'b3']],
  ['none', [undefined, undefined]],
] as const) {
  headers(`are read in the formats of OTEL_PROPAGATORS=${names ?? '(not set)'}`, async () => {
    using _ = keptEnvironment();
    if (names !== undefined) process.env['OTEL_PROPAGATORS'] = names;
    const always = following(1);
    await using scene = await openScene(
      (_, response) => void response.end(),
      always,
      names !== undefined,
    );
    const ids = { w3c: 'a'.repeat(32), b3: 'b'.repeat(32) };
    const w3c = { traceparent: `00-${ids.w3c}-${'1'.repeat(16)}-01` };
    const b3 = { 'x-b3-traceid': ids.b3, 'x-b3-spanid': '2'.repeat(16), 'x-b3-sampled': '1' };
    const single = { b3: `${ids.b3}-${'2'.repeat(16)}-1` };
    const found = [w3c, names === 'b3' ? single : b3].map((sent) => {
      const traceId = traceIdOf(scene.tracer.request(sent).traceparent);
      return Object.entries(ids).find(([, id]) => id === traceId)?.[0];
    });
    assert.equal(found, traceIds);
  });
}

const collector = suite('a tracer');

collector('sends its spans when it is closed', async () => {
  const bodies: number[] = [];
  {
    await using scene = await openScene((request, response) => {
      request.on('data', (chunk: Buffer) => bodies.push(chunk.length));
      request.on('end', () => response.end());
    });
    scene.tracer.request({}).span?.end({ name: 'GET /' });
  }
  assert.ok(bodies.length > 0);
});

collector('identifies itself to the collector with the configured headers', async () => {
  const names: (string | undefined)[] = [];
  {
    await using scene = await openScene((request, response) => {
      names.push(request.headers.authorization);
      response.end();
    });
    scene.tracer.request({}).span?.end();
  }
  assert.equal(names, [HEADERS.authorization]);
});

collector('reports an absent collector once, and drops spans beyond its buffer', async () => {
  await using scene = await openScene();
  for (let n = 0; n < SPANS_HELD_MAX + 100; n += 1) {
    scene.tracer.request({}).span?.end();
  }
  assert.is(scene.lost(), 100);
  await scene.reported;
  assert.equal(scene.lines, ['spans are lost: the collector does not accept them']);
  assert.ok(scene.lost() > 100);
});

collector('closes in time although its collector never answers', async () => {
  const scene = await openScene(() => undefined);
  scene.tracer.request({}).span?.end();
  const startedMs = performance.now();
  await scene[Symbol.asyncDispose]();
  assert.ok(performance.now() - startedMs < 4_000);
});

/** A collector's OTLP answer that rejects 3 spans of a message, with the reason. */
const REFUSED_IN_PART = Buffer.concat([
  Buffer.from([0x0a, 10, 0x08, 3, 0x12, 6]),
  Buffer.from('no key'),
]);

collector(
  'counts the spans that its collector rejects from a message, and reports this only once',
  async () => {
    const scene = await openScene((request, response) => {
      request.resume().on('end', () => {
        response.setHeader('content-type', 'application/x-protobuf').end(REFUSED_IN_PART);
      });
    });
    const spans = 600;
    for (let n = 0; n < spans; n += 1) scene.tracer.request({}).span?.end();
    await scene[Symbol.asyncDispose]();
    assert.is(scene.lost(), 9, 'of three messages');
    assert.equal(scene.lines, ['the collector refuses spans']);
  },
);

const delivery = suite('a delivery of spans');

delivery('reports rejected spans once a minute', () => {
  const lines: unknown[] = [];
  const clock = new ManualClock();
  const write = (fields: object | string) => void lines.push(fields);
  const lost: number[] = [];
  const onLost = (spans: number) => void lost.push(spans);
  const endpoint = 'http://collector';
  const account = new SpanDelivery({
    clock,
    logger: { info: write, warn: write },
    endpoint,
    onLost,
  });
  for (let second = 0; second <= 60; second += 30) {
    account.refused(2, 'x'.repeat(1_000));
    clock.advance(30_000);
  }
  assert.equal(lost, [2, 2, 2]);
  const line = { endpoint, refused: 2, why: 'x'.repeat(200) };
  assert.equal(lines, [
    { ...line, suppressed: 0 },
    { ...line, suppressed: 1 },
  ]);
});

delivery('reports when it begins to fail and when it works again', () => {
  const lines: [object | string, string | undefined][] = [];
  const write = (fields: object | string, text?: string) => void lines.push([fields, text]);
  let lost = 0;
  const onLost = (spans: number) => {
    lost += spans;
  };
  const endpoint = 'http://collector';
  const logger = { info: write, warn: write };
  const account = new SpanDelivery({ clock: systemClock, logger, endpoint, onLost });
  for (let n = 0; n < 30; n += 1) {
    account.begin();
    assert.ok(account.end());
  }
  const err = new Error('no route');
  account.failed(10, err);
  account.failed(10, err);
  account.delivered(10);
  assert.is(lost, 20);
  assert.equal(lines, [
    [{ endpoint, err }, 'spans are lost: the collector does not accept them'],
    [{ endpoint, lost: 20 }, 'the collector accepts spans again'],
  ]);
});

for (const group of [sampling, headers, collector, delivery]) group.run();
