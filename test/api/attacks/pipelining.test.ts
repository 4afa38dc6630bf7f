import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { dial, requestText } from '#test/support/calls/raw-http';
import { openScene } from '#test/support/calls/scene';

const { service, caller, close } = await openScene();
const auth = `Authorization: Bearer ${caller.key}`;
const get = (target: string) => requestText('GET', target, [auth]);

const pipelines = suite('several requests in one write');

pipelines('are answered in order', async () => {
  const ids = [await caller.createInstance(), await caller.createInstance()];
  using connection = await dial(service);
  const targets = [
    `/v1/instances/${ids[0]}`,
    '/v1/none',
    `/v1/instances/${ids[1]}`,
    '/v1/personas',
  ];
  connection.write(targets.map((target) => get(target)).join(''));
  const answers = [];
  for (const _ of targets) answers.push(await connection.next());
  assert.equal(
    answers.map((answer) => answer?.status),
    [200, 404, 200, 200],
  );
  assert.is(answers[0]?.body.data.id, ids[0]);
  assert.is(answers[2]?.body.data.id, ids[1]);
});

pipelines('are answered in order although one has an invalid URL', async () => {
  using connection = await dial(service);
  connection.write(get('/v1/personas') + get('/v1/%zz') + get('/v1/personas'));
  const statuses = [];
  for (let i = 0; i < 3; i += 1) statuses.push((await connection.next())?.status);
  assert.equal(statuses, [200, 400, 200]);
});

pipelines('are answered up to an invalid request, whose answer is the last', async () => {
  using connection = await dial(service);
  connection.write(
    `${get('/v1/personas') + get('/v1/personas')}BROKEN\r\n\r\n${get('/v1/personas')}`,
  );
  const statuses = [];
  for (let i = 0; i < 3; i += 1) statuses.push((await connection.next())?.status);
  assert.equal(statuses, [200, 200, 400]);
  await connection.ended();
  assert.is(await connection.next(), undefined);
});

pipelines('are answered up to the 10,000th, after which the connection is closed', async () => {
  using connection = await dial(service);
  connection.write(requestText('GET', '/v1/none').repeat(10_020));
  const statuses = new Map<number, number>();
  let last: Awaited<ReturnType<typeof connection.next>>;
  for (let next = await connection.next(); next !== undefined; next = await connection.next()) {
    last = next;
    statuses.set(next.status, (statuses.get(next.status) ?? 0) + 1);
  }
  assert.equal([...statuses], [[401, 10_000]]);
  assert.is(last?.headers.get('connection'), 'close');
});

pipelines.after(close);

pipelines.run();
