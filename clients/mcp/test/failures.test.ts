import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newKey } from '../../../test/support/calls/caller.ts';
import {
  answer,
  closedAddress,
  FakeServer,
  proxyPage,
  refusal as refused,
} from '../../typescript/test/support/fake-server.ts';
import {
  call,
  connect,
  connectStdio,
  newScene,
  observationAt,
  refusal,
  variablesOf,
  WAYS,
} from './support/mcp.ts';

const KEY = 'svc_sk_of_the_tests';
const ID = 'inst_0123456789abcdef';

/** Texts that no client may receive: the key, the address, and lines of a stack. */
const SECRETS = /svc_sk_|127\.0\.0\.1|localhost|\bat .*\.ts|node:|fetch failed|ECONN/;

for (const way of WAYS) {
  const failing = suite(`over ${way.transport}, a ${way.era} client`);

  failing('gets the reason and request id of a refusal', async () => {
    const { service, id } = await newScene();
    const variables = variablesOf(service.api, `${KEY}_unknown`, id);
    await using connection = await connect(way, variables);
    const text = await refusal(connection, 'status');
    assert.match(text, /401 unauthorized: .*request req_\w+/);
    assert.not.match(text, SECRETS);
  });

  failing('gets a text without secrets if the service is away', async () => {
    await using connection = await connect(way, variablesOf(await closedAddress(), KEY, ID));
    const { client } = connection;
    const uri = `identity://instances/${ID}/contract`;
    const texts = await Promise.all([
      refusal(connection, 'contract'),
      refusal(connection, 'observe', observationAt(0)),
      client.readResource({ uri }).then(String, (error: Error) => error.message),
      client.getPrompt({ name: 'identity' }).then(String, (error: Error) => error.message),
    ]);
    for (const text of texts) {
      assert.match(text, 'The service does not answer.');
      assert.not.match(text, SECRETS);
    }
  });

  failing.run();
}

const failing = suite('a failed call');

failing('does not show the page of a proxy', async () => {
  await using service = await FakeServer.start(proxyPage(502));
  await using connection = await connectStdio('modern', variablesOf(service.baseUrl, KEY, ID));
  const text = await refusal(connection, 'contract');
  assert.match(text, 'No answer of the service');
  assert.not.match(text, /<html|nginx/i);
  assert.not.match(text, SECRETS);
});

failing('shows the scope that is missing', async () => {
  const { service, caller, id } = await newScene();
  const key = await newKey(service, caller.accountId, 'read');
  await using connection = await connectStdio('legacy', variablesOf(service.api, key, id));
  assert.is((await call(connection, 'status')).cycle, 0);
  assert.match(await refusal(connection, 'observe', observationAt(0)), 'read_only_key');
});

failing('shows the field and reason of an invalid observation', async () => {
  const { variables } = await newScene();
  await using connection = await connectStdio('modern', variables);
  const timestamp = new Date(Date.now() + 3_600_000).toISOString();
  const text = await refusal(connection, 'observe', { ...observationAt(0), timestamp });
  assert.match(text, /field timestamp, reason timestamp_in_future, request req_/);
});

failing('with an unknown outcome names the key with which a repetition counts once', async () => {
  await using service = await FakeServer.start((response) => void response.destroy());
  await using connection = await connectStdio('modern', variablesOf(service.baseUrl, KEY, ID));
  const text = await refusal(connection, 'observe', observationAt(0));
  const key = /repeat the same call with idempotency_key "([\w-]+)"/.exec(text)?.[1];
  assert.is(service.received[0]?.headers['idempotency-key'], key);
  const given = { ...observationAt(0), idempotency_key: 'turn 7' };
  assert.match(await refusal(connection, 'observe', given), 'idempotency_key "turn 7"');
});

failing('that certainly changed nothing does not ask for a repetition', async () => {
  await using service = await FakeServer.start(refused(429, 'quota_exceeded'));
  await using connection = await connectStdio('modern', variablesOf(service.baseUrl, KEY, ID));
  const text = await refusal(connection, 'observe', observationAt(0));
  assert.match(text, 'quota_exceeded');
  assert.not.match(text, 'idempotency_key');
});

failing('with an answer of another form is an internal error without details', async () => {
  await using service = await FakeServer.start(answer(200, { data: { secret: KEY } }));
  await using connection = await connectStdio('modern', variablesOf(service.baseUrl, KEY, ID));
  for (const name of ['contract', 'status']) {
    const text = await refusal(connection, name);
    assert.not.match(text, SECRETS);
  }
});

failing.run();
