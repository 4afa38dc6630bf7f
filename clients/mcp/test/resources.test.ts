import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { soon } from '../../../test/support/soon.ts';
import { answer, FakeServer } from '../../typescript/test/support/fake-server.ts';
import {
  type Connection,
  connect,
  connectStdio,
  newScene,
  observationAt,
  variablesOf,
  WAYS,
  type Way,
} from './support/mcp.ts';
import { StreamCounter } from './support/stream-counter.ts';

/** Streams that the service permits for each key. Source: interface 6.5. */
const STREAMS_MAX = 20;

const KEY = 'svc_sk_of_the_tests';
const ID = 'inst_0123456789abcdef';

const uriOf = (id: string) => `identity://instances/${id}/contract`;

/** Error of a rejected request, as JSON. */
async function errorOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
  } catch (error) {
    const { code, message, data } = error as { code: number; message: string; data: unknown };
    return JSON.stringify({ code, message, data });
  }
  throw new Error('the request did not fail');
}

/** Subscribes in the way of the client's era. Returns a function that unsubscribes. */
async function subscribe({ client }: Connection, { era }: Way, uri: string) {
  if (era === 'modern') {
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    return () => subscription.close();
  }
  await client.subscribeResource({ uri });
  return () => client.unsubscribeResource({ uri });
}

/** A scene whose servers reach the service through a proxy that counts event streams. */
async function countedScene() {
  const scene = await newScene();
  const streams = await StreamCounter.start(scene.service.api);
  const variables = variablesOf(streams.baseUrl, scene.caller.key, scene.id);
  return { ...scene, streams, variables };
}

for (const way of WAYS) {
  const reading = suite(`over ${way.transport}, a ${way.era} client that reads`);

  reading('gets the contract of the service', async () => {
    const { variables, caller, id } = await newScene();
    await using connection = await connect(way, variables);
    const { data } = (await caller.send('GET', `/instances/${id}/contract`)).body;
    const { contents } = await connection.client.readResource({ uri: uriOf(id) });
    const [content] = contents as readonly { uri: string; text: string }[];
    assert.equal([content?.uri, JSON.parse(content?.text ?? '')], [uriOf(id), data]);
  });

  reading('gets equal errors for foreign, missing and malformed ids', async () => {
    const { service, caller, id, newCaller } = await newScene();
    const foreign = await (await newCaller()).createInstance();
    const missing = 'inst_ffffffffffffffff';
    const variables = variablesOf(service.api, caller.key, `${id},${missing}`);
    await using connection = await connect(way, variables);
    const errors = new Set<string>();
    for (const asked of [foreign, missing, 'inst_1', 'inst_../../account', `%69${id.slice(1)}`]) {
      const uri = uriOf(asked);
      const error = await errorOf(connection.client.readResource({ uri }));
      errors.add(error.replaceAll(uri, 'URI'));
    }
    assert.is(errors.size, 1, [...errors].join('\n'));
    assert.match([...errors].join(), '"code":-32602');
  });

  reading.run();
}

const silent = suite('an id that is not configured');

silent('causes no request to the service', async () => {
  await using service = await FakeServer.start(answer(500, {}));
  await using connection = await connectStdio('modern', variablesOf(service.baseUrl, KEY, ID));
  for (const id of ['inst_ffffffffffffffff', 'inst_../../account', `${ID}/../${ID}0`]) {
    await errorOf(connection.client.readResource({ uri: uriOf(id) }));
    await errorOf(connection.client.listen({ resourceSubscriptions: [uriOf(id)] }));
  }
  assert.equal(service.received, []);
});

for (const way of WAYS.filter(({ transport, era }) => transport === 'stdio' || era === 'modern')) {
  const watching = suite(`over ${way.transport}, a ${way.era} client that subscribes`);

  watching('gets one notification for each change, until it unsubscribes', async () => {
    const { variables, caller, id, ...scene } = await countedScene();
    await using streams = scene.streams;
    await using connection = await connect(way, variables);
    const unsubscribe = await subscribe(connection, way, uriOf(id));
    const { updates } = connection;
    await caller.process(id, observationAt(0));
    await soon('a notification', () => updates.length > 0, { withinMs: 2_000, everyMs: 10 });
    // A new name changes the state, but not the contract. The next notification follows.
    await caller.send('PATCH', `/instances/${id}`, { json: { name: 'Eva' } });
    await caller.process(id, observationAt(1));
    await soon('the next notification', () => updates.length > 1, { everyMs: 10 });
    await unsubscribe();
    await streams.reaches(0);
    await caller.process(id, observationAt(2));
    await subscribe(connection, way, uriOf(id));
    await caller.process(id, observationAt(3));
    await soon('a notification', () => updates.length > 2, { everyMs: 10 });
    assert.equal(updates, [uriOf(id), uriOf(id), uriOf(id)]);
  });

  watching('shares one stream of the service with other subscribers', async () => {
    const { variables, caller, id, ...scene } = await countedScene();
    await using streams = scene.streams;
    await using connection = await connect(way, variables);
    const first = await subscribe(connection, way, uriOf(id));
    const second = await subscribe(connection, way, uriOf(id));
    await streams.reaches(1);
    if (way.era === 'modern') await first();
    await caller.process(id, observationAt(0));
    await soon('a notification', () => connection.updates.length > 0, { everyMs: 10 });
    assert.equal([connection.updates.length, streams.openMax], [1, 1]);
    await second();
    await streams.reaches(0);
  });

  watching('closes the stream when its connection breaks', async () => {
    const { variables, id, ...scene } = await countedScene();
    await using streams = scene.streams;
    const connection = await connect(way, variables);
    await subscribe(connection, way, uriOf(id));
    await streams.reaches(1);
    await connection[Symbol.asyncDispose]();
    await streams.reaches(0);
  });

  watching('is notified once more when the instance is deleted', async () => {
    const { variables, caller, id } = await newScene();
    await using connection = await connect(way, variables);
    await subscribe(connection, way, uriOf(id));
    await caller.send('DELETE', `/instances/${id}`);
    await soon('a notification', () => connection.updates.length > 0);
    assert.equal(connection.updates, [uriOf(id)]);
    const error = await errorOf(connection.client.readResource({ uri: uriOf(id) }));
    assert.match(error, 'Resource not found');
    const missing = await errorOf(subscribe(connection, way, uriOf(id)));
    assert.is(missing, error);
  });

  watching('gets the error of a read for an id that is not configured', async () => {
    const { variables } = await newScene();
    await using connection = await connect(way, variables);
    for (const id of [ID, 'inst_../../account']) {
      const error = await errorOf(connection.client.readResource({ uri: uriOf(id) }));
      assert.is(await errorOf(subscribe(connection, way, uriOf(id))), error);
    }
  });

  watching('gets the reason if the service refuses the stream', async () => {
    const { service, id } = await newScene();
    await using connection = await connect(way, variablesOf(service.api, KEY, id));
    const error = await errorOf(subscribe(connection, way, uriOf(id)));
    assert.match(error, /"code":-32603.*401 unauthorized/);
  });

  watching.run();
}

const legacy = suite('over http, a legacy client');

legacy('learns that the server has no subscriptions', async () => {
  const { variables, id } = await newScene();
  await using connection = await connect({ transport: 'http', era: 'legacy' }, variables);
  assert.is(connection.client.getServerCapabilities()?.resources?.subscribe, false);
  const error = await errorOf(connection.client.subscribeResource({ uri: uriOf(id) }));
  assert.match(error, /does not support|-32601/);
});

const many = suite('with more instances than the service has streams for a key');

many('only the subscription above the limit fails, with the reason', async () => {
  const { service, caller, id } = await newScene();
  const ids = [id];
  while (ids.length <= STREAMS_MAX) ids.push(await caller.createInstance());
  const [last = '', ...others] = ids.reverse();
  await using connection = await connectStdio(
    'modern',
    variablesOf(service.api, caller.key, ids.join()),
  );
  const { client, updates } = connection;
  await client.listen({ resourceSubscriptions: others.map(uriOf) });
  // The service closes the streams of a new account once, and they open again.
  await soon('the reason', async () => {
    const listening = client.listen({ resourceSubscriptions: [uriOf(last)] });
    const error = await errorOf(listening).catch(() => '');
    if (error === '') await (await listening).close();
    return error.includes('too_many_streams');
  });
  for (const other of others) await caller.process(other, observationAt(0));
  await soon('all notifications', () => updates.length >= others.length);
  assert.equal(updates.toSorted(), others.map(uriOf).toSorted());
});

many('a connection on stdio, or a key on HTTP, has a maximum of subscriptions', async () => {
  const { variables, id } = await newScene();
  for (const way of WAYS.filter(({ era }) => era === 'modern')) {
    await using connection = await connect(way, variables);
    const filter = { resourceSubscriptions: [uriOf(id)] };
    const length = way.transport === 'stdio' ? 100 : 50;
    const opened = Array.from({ length }, () => connection.client.listen(filter));
    await Promise.all(opened);
    assert.match(await errorOf(connection.client.listen(filter)), 'too many subscriptions');
    await (await opened[0])?.close();
    await soon('another subscription', async () =>
      connection.client.listen(filter).then(
        () => true,
        () => false,
      ),
    );
  }
});

silent.run();
legacy.run();
many.run();
