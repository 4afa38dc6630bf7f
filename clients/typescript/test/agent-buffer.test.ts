import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FileSpool } from '../src/file-spool.ts';
import { BufferClosedError, ObservationBuffer } from '../src/identity-engine.ts';
import { agentOn, CONTRACT, serviceWith } from './support/agent-scene.ts';
import { clientOf } from './support/clients.ts';
import { data, type FakeServer, silence } from './support/fake-server.ts';

const ONE_TURN = fileURLToPath(new URL('support/one-turn.ts', import.meta.url));

const applied = data({
  contract: { ...CONTRACT, forbidden_actions: ['clarify'] },
  processed_count: 1,
  results: [{ index: 0, status: 'applied', cycle: 1 }],
});

type Batch = { readonly observations: readonly { readonly idempotency_key: string }[] };

const batches = ({ received }: FakeServer) =>
  received.filter(({ path }) => path.endsWith('/process/batch')).map(({ body }) => body as Batch);

const keysOf = (server: FakeServer) =>
  batches(server).map(({ observations }) => observations.map((each) => each.idempotency_key));

const buffered = suite('an agent with a buffer');

// The observation was only in memory between the end of a turn and the answer of the service.
buffered('loses no ended turn if the process is killed, and counts it once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'identity-engine-agent-'));
  try {
    const spool = join(folder, 'observations.spool');
    await using silent = await serviceWith(silence);
    const child = spawn(process.execPath, [ONE_TURN, silent.baseUrl, spool]);
    const [text] = await once(child.stdout, 'data');
    assert.is(String(text), 'ended\n');
    child.kill('SIGKILL');
    await once(child, 'close');
    await using server = await serviceWith(applied);
    const buffer = new ObservationBuffer(clientOf(server), { spool: new FileSpool(spool) });
    const { acknowledged } = await buffer.close();
    assert.is(acknowledged, 1);
    assert.equal(keysOf(server), [['turn:run-1']]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

buffered('begins the next turn with the contract of the batch, without a request', async () => {
  await using server = await serviceWith(applied);
  const buffer = new ObservationBuffer(clientOf(server), { delayMaxMs: 0 });
  const { agent, errors } = agentOn(server, { buffer });
  await agent.turn({ runId: 'a' }, (turn) => turn.used('look_up', 'ok'));
  await buffer.flush();
  const { contract } = await agent.begin({ runId: 'b' });
  assert.equal(contract?.forbidden_actions, ['clarify']);
  assert.is(server.received.filter(({ path }) => path.endsWith('/contract')).length, 1);
  assert.equal(errors, []);
  await buffer.close();
});

buffered('reports each turn that the buffer refuses, and is not away', async () => {
  await using server = await serviceWith(applied);
  const buffer = new ObservationBuffer(clientOf(server));
  await buffer.close();
  const { agent, errors } = agentOn(server, { buffer });
  for (const runId of ['a', 'b']) {
    await agent.turn({ runId }, (turn) => turn.used('look_up', 'ok'));
  }
  assert.is(errors.length, 2);
  assert.ok(errors.every((error) => error instanceof BufferClosedError));
  assert.equal(keysOf(server), []);
});

buffered.run();
