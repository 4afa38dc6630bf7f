import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  outcomeOf,
  ServiceUnavailableError,
  ToolPolicy,
  toPrompt,
  WORDING,
} from '../src/identity-engine.ts';
import { agentOn, CONTRACT, observed, serviceWith, TOOLS } from './support/agent-scene.ts';
import { rejection } from './support/clients.ts';
import { closedAddress, data, FakeServer, refusal, silence } from './support/fake-server.ts';

const weak = { signal_strength: 0.5, confidence: 0.3 };
const order = { mode_target: 'ORDER', ...weak };

const turns = suite('a turn of an agent');

turns(
  'has the prompt of the contract, and sends one observation on the way to the rule',
  async () => {
    await using server = await serviceWith();
    const { agent, errors } = agentOn(server);
    const turn = await agent.begin({ runId: 'run-1', turn: 3, input: 'secret question' });
    assert.is(turn.prompt, toPrompt(CONTRACT));
    assert.is(turn.refusalOf('look_up'), undefined);
    turn.used('look_up', 'ok');
    await Promise.all([turn.end({ output: 'secret answer' }), turn.end({ outcome: 'failed' })]);
    assert.equal(errors, []);
    const [sent, ...more] = observed(server);
    assert.equal(more, []);
    assert.is(sent?.headers['idempotency-key'], 'turn:run-1:3');
    assert.ok(sent);
    const { timestamp, ...seen } = sent.body as Record<string, unknown>;
    assert.equal(seen, { mode_target: 'PERCEPTION', signal_strength: 0.48, confidence: 0.25 });
    assert.not.match(JSON.stringify(server.received), /secret/);
  },
);

turns('costs one request if the contract of the last answer is fresh', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  for (const runId of ['a', 'b', 'c']) {
    const turn = await agent.begin({ runId });
    turn.used('look_up', 'ok');
    await turn.end();
  }
  const ends = server.received.map(({ path }) => path.split('/').at(-1));
  assert.equal(ends, ['contract', 'snapshot', 'process', 'process', 'process']);
});

turns('counts when the next turn follows at once, because timestamps are spaced', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const begun = await Promise.all(['a', 'b', 'c'].map((runId) => agent.begin({ runId })));
  await Promise.all(
    begun.map((turn) => {
      turn.used('look_up', 'ok');
      return turn.end();
    }),
  );
  const keys = observed(server).map(({ headers }) => headers['idempotency-key']);
  assert.equal(keys, ['turn:a', 'turn:b', 'turn:c']);
  const times = observed(server).map(({ body }) =>
    Date.parse((body as { timestamp: string }).timestamp),
  );
  const [first = 0, second = 0, third = 0] = times;
  assert.ok(second - first >= 1_000 && third - second >= 1_000, `${times}`);
});

turns('is sent later if another process observed the instance less than a second ago', async () => {
  const throttled = { 'x-throttled': 'true', 'retry-after': '2' };
  let calls = 0;
  await using server = await serviceWith((response, request) => {
    calls += 1;
    const headers: Record<string, string> = calls === 1 ? throttled : {};
    return data({ contract: CONTRACT }, headers)(response, request);
  });
  const { agent, errors } = agentOn(server);
  const turn = await agent.begin({ runId: 'a' });
  turn.used('look_up', 'ok');
  await turn.end();
  assert.equal(errors, []);
  const [early, late] = observed(server).map(({ body }) =>
    Date.parse((body as { timestamp: string }).timestamp),
  );
  assert.is((late ?? 0) - (early ?? 0), 2_000);
});

turns(
  'gives no observation after an abort, a refused tool or an unavailable provider',
  async () => {
    await using server = await serviceWith();
    const { agent, errors } = agentOn(server);
    for (const [runId, outcome] of [
      ['a', 'aborted'],
      ['b', 'unavailable'],
    ] as const) {
      const turn = await agent.begin({ runId });
      turn.used('look_up', 'ok');
      await turn.end({ outcome });
    }
    const refused = await agent.begin({ runId: 'c' });
    assert.match(refused.refusalOf('send_email') ?? '', /send_email was not run/);
    await refused.end();
    assert.equal([observed(server), errors], [[], []]);
  },
);

turns('counts once if an earlier attempt of the same turn was counted', async () => {
  await using server = await serviceWith(refusal(422, 'invalid_request', 'idempotency_key_reused'));
  const { agent, errors } = agentOn(server);
  const turn = await agent.begin({ runId: 'a' });
  turn.used('look_up', 'ok');
  await turn.end();
  assert.equal([observed(server).length, errors], [1, []]);
});

turns('ends without an observation, and one report, if the key may only read', async () => {
  await using server = await serviceWith(refusal(403, 'forbidden', 'missing_scope'));
  const { agent, errors } = agentOn(server);
  for (const runId of ['a', 'b', 'c']) {
    const turn = await agent.begin({ runId });
    turn.used('look_up', 'ok');
    await turn.end();
  }
  assert.is(errors.length, 1);
  assert.match(String(errors[0]), /403 forbidden/);
});

for (const [what, appraiser] of [
  ['throws', () => Promise.reject(new Error('no model'))],
  ['returns a mode that does not exist', () => ({ mode_target: 'FOO', ...weak })],
  ['returns a strength that is not a number', () => ({ ...order, signal_strength: Number.NaN })],
  ['never answers', () => new Promise(() => undefined)],
] as const) {
  turns(`follows the rules, with one report, if the appraiser ${what}`, async () => {
    await using server = await serviceWith();
    const options = { appraiser: appraiser as never, appraiserTimeoutMs: 20 };
    const { agent, errors } = agentOn(server, options);
    const turn = await agent.begin({ runId: 'a' });
    turn.used('look_up', 'ok');
    await turn.end();
    assert.is(errors.length, 1);
    const [sent] = observed(server);
    assert.match(JSON.stringify(sent?.body), /"mode_target":"PERCEPTION"/);
  });
}

const run = suite('a turn around a function');

run('gives the result, and sends the observation before it resolves', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const answer = await agent.turn({ runId: 'run' }, (turn) => {
    turn.used('look_up', 'ok');
    return 'done';
  });
  assert.is(answer, 'done');
  assert.is(observed(server).length, 1);
});

run('throws the error of the function unchanged, and observes the failure once', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const error = new Error('no idea');
  const failing = agent.turn({ runId: 'run' }, async (turn) => {
    await turn.end({ outcome: 'failed', output: 'half' });
    throw error;
  });
  assert.is(await failing.catch((thrown) => thrown), error);
  const modes = observed(server).map(
    ({ body }) => (body as Record<string, unknown>)['mode_target'],
  );
  assert.equal(modes, ['STRESS_RESPONSE']);
});

run('resolves in time although the appraiser hangs, and flush waits for the rest', async () => {
  await using server = await serviceWith();
  let resolve = (): void => undefined;
  const appraised = new Promise<undefined>((settle) => {
    resolve = () => settle(undefined);
  });
  const { agent } = agentOn(server, { appraiser: () => appraised, timeoutMs: 20 });
  assert.is(await agent.turn({ runId: 'run' }, () => 'done'), 'done');
  const flushed = agent.flush().then(() => 'flushed');
  assert.is(await Promise.race([flushed, Promise.resolve('waiting')]), 'waiting');
  resolve();
  assert.is(await flushed, 'flushed');
});

run('begins with the contract after the observation of the turn before', async () => {
  const strained = { ...CONTRACT, stress_state: 'HIGH' };
  await using server = await serviceWith(data({ contract: strained }));
  const { agent } = agentOn(server);
  const first = await agent.begin({ runId: 'run', turn: 1 });
  first.used('look_up', 'ok');
  const ended = first.end();
  const second = await agent.begin({ runId: 'run', turn: 2 });
  assert.is(second.contract?.stress_state, 'HIGH');
  await ended;
});

run('that a signal stopped is no failure of the agent', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const stopping = new AbortController();
  const stopped = agent.turn({ runId: 'run', signal: stopping.signal }, () => {
    stopping.abort(new Error('the user pressed stop'));
    stopping.signal.throwIfAborted();
  });
  assert.match(`${await stopped.catch((error) => error)}`, /the user pressed stop/);
  assert.is(observed(server).length, 0);
});

run('sends more quick turns than fit before the clock, and loses none', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const now = Date.now;
  try {
    // The clock runs 100 times as fast, so that the agent waits milliseconds instead of seconds.
    const startMs = now();
    Date.now = () => startMs + (now() - startMs) * 100;
    for (let number = 1; number <= 260; number += 1) {
      const turn = await agent.begin({ runId: 'run', turn: number });
      turn.used('look_up', 'ok');
      void turn.end();
    }
    await agent.flush();
  } finally {
    Date.now = now;
  }
  const times = observed(server).map(({ body }) =>
    Date.parse(`${(body as Record<string, unknown>)['timestamp']}`),
  );
  assert.is(times.length, 260);
  for (const [index, atMs] of times.slice(1).entries()) {
    assert.ok(atMs - (times[index] ?? 0) >= 1_000, `${index}`);
  }
});

run('of a run without turns that occurs twice is reported, because it counts once', async () => {
  await using server = await serviceWith();
  const { agent, errors } = agentOn(server);
  for (const turn of [1, 2, undefined]) await agent.turn({ runId: 'run', turn }, () => undefined);
  assert.equal(errors, []);
  await agent.turn({ runId: 'run' }, () => undefined);
  assert.match(`${errors[0]}`, /pass turn too/);
});

run('has a key of its own, also if runId contains a colon', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  for (const start of [{ runId: 'a:1' }, { runId: 'a', turn: 1 }, { runId: 'a%3A1' }]) {
    await agent.turn(start, (turn) => turn.used('look_up', 'ok'));
  }
  const keys = observed(server).map(({ headers }) => headers['idempotency-key']);
  assert.equal(keys, ['turn:a%3A1', 'turn:a:1', 'turn:a%253A1']);
});

const outcomes = suite('the outcome of an error');

for (const [outcome, errors] of Object.entries({
  aborted: [
    new DOMException('stopped', 'AbortError'),
    new (class APIUserAbortError extends Error {})('stopped'),
    new Error('the run ended', { cause: new DOMException('stopped', 'AbortError') }),
  ],
  unavailable: [
    Object.assign(new Error('slow down'), { status: 429 }),
    Object.assign(new Error('no answer'), { statusCode: 503 }),
    Object.assign(new Error('gave up'), { lastError: { statusCode: 500 } }),
    new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }),
    new (class APIConnectionError extends Error {})('no route'),
    Object.assign(new Error('quota'), { code: 429 }),
    Object.assign(new Error('throttled'), { $metadata: { httpStatusCode: 503 } }),
    new AggregateError([new Error('first'), Object.assign(new Error(), { status: 500 })], 'all'),
  ],
  failed: [
    new Error('the model called no tool'),
    Object.assign(new Error('too long'), { status: 400 }),
    new (class OrderCancelledError extends Error {})('the order is cancelled'),
    new (class MeetingTimeoutError extends Error {})('nobody came'),
    'a text',
    undefined,
  ],
})) {
  for (const error of errors) {
    outcomes(`${String(error)} is ${outcome}`, () => {
      assert.is(outcomeOf(error), outcome);
    });
  }
}

outcomes('of an error that causes itself is failed', () => {
  const error = new Error('circular');
  error.cause = error;
  assert.is(outcomeOf(error), 'failed');
});

const away = suite('an agent whose service is away');

away('works without a prompt and permits every tool, with one report a turn', async () => {
  const { agent, errors } = agentOn({ baseUrl: await closedAddress() });
  const turn = await agent.begin({ runId: 'a' });
  assert.equal([turn.prompt, turn.contract], ['', undefined]);
  assert.is(turn.refusalOf('send_email'), undefined);
  assert.is(errors.length, 1);
  await turn.end();
});

away('refuses mapped tools if the policy is closed', async () => {
  const { agent } = agentOn({ baseUrl: await closedAddress() }, { unavailable: 'closed' });
  const turn = await agent.begin({ runId: 'a' });
  assert.is(turn.refusalOf('send_email'), WORDING.unknown.replace('{tool}', 'send_email'));
  assert.is(turn.refusalOf('read_file'), undefined);
});

away('hides mapped tools if the policy is closed, and notes nothing by that', async () => {
  const noted: unknown[] = [];
  const { agent } = agentOn(
    { baseUrl: await closedAddress() },
    {
      ...{ unavailable: 'closed', tools: new ToolPolicy({ deploy: 'execute' }, { mode: 'hide' }) },
      appraiser: ({ tools }) => void noted.push(...tools),
    },
  );
  const turn = await agent.begin({ runId: 'a' });
  assert.equal(turn.offered(['deploy', 'look']), ['look']);
  assert.equal([turn.permits('deploy'), turn.permits('look')], [false, true]);
  await turn.end();
  assert.equal(noted, []);
});

away('throws before the turn if the policy is raise', async () => {
  await using server = await FakeServer.start(refusal(503, 'service_unavailable'));
  const { agent, errors } = agentOn(server, { unavailable: 'raise' });
  for (const runId of ['a', 'b']) {
    await rejection(agent.begin({ runId }), ServiceUnavailableError);
  }
  assert.equal(errors, [], 'a thrown error is not reported too');
});

away('uses the last contract until the contract is too old', async () => {
  await using server = await FakeServer.start(data(CONTRACT), refusal(503, 'service_unavailable'));
  const { agent, errors } = agentOn(server, { freshMs: 0 });
  await agent.begin({ runId: 'a' });
  const turn = await agent.begin({ runId: 'b' });
  assert.ok(turn.refusalOf('send_email'));
  assert.is(errors.length, 1);
  const impatient = agentOn(server, { freshMs: 0, staleMs: 0 });
  assert.is((await impatient.agent.begin({ runId: 'c' })).contract, undefined);
});

away('that never answers costs one timeout, then nothing for a while, and one report', async () => {
  await using server = await FakeServer.start(silence);
  const { agent, errors } = agentOn(server, { timeoutMs: 100 });
  const costs: number[] = [];
  for (let number = 1; number <= 3; number += 1) {
    const startedMs = performance.now();
    await agent.turn({ runId: 'run', turn: number }, (turn) => turn.used('look_up', 'ok'));
    costs.push(performance.now() - startedMs);
  }
  const [first = 0, ...later] = costs;
  assert.ok(first >= 95, `${first}`);
  // On a busy machine one turn may take long, but not each turn.
  assert.ok(Math.min(...later) < 80, later.join());
  await agent.flush();
  assert.is(errors.length, 1);
});

away('throws at once for a wrong key', async () => {
  await using server = await FakeServer.start(refusal(401, 'unauthorized'));
  const { agent } = agentOn(server);
  await rejection(agent.begin({ runId: 'a' }), Error);
});

away('cannot be created with an invalid option', () => {
  for (const options of [{ unavailable: 'close' }, { tools: { deploy: 'execute' } }]) {
    assert.throws(() => agentOn({ baseUrl: 'http://127.0.0.1:9/v1' }, options as never), /must be/);
  }
});

const tools = suite('a tool policy');

tools('refuses forbidden tools, and hides these tools only in mode hide', () => {
  const names = ['send_email', 'ask_user', 'look_up', 'read_file'] as const;
  assert.equal(TOOLS.offered(names, CONTRACT), [...names]);
  const hiding = new ToolPolicy({ send_email: ['execute', 'question'] }, { mode: 'hide' });
  assert.equal(hiding.offered(names, CONTRACT), ['ask_user', 'look_up', 'read_file']);
  assert.is(
    hiding.refusalOf('send_email', CONTRACT),
    'The tool send_email was not run, because this is not the time to carry out changes. Do not call the tool again in this turn. Say so briefly, or offer an alternative.',
  );
  const watching = new ToolPolicy({ send_email: 'execute' }, { mode: 'observe' });
  assert.is(watching.refusalOf('send_email', CONTRACT), undefined);
});

tools('permits unmapped tools unless the user decides otherwise', () => {
  assert.is(TOOLS.refusalOf('other', CONTRACT), undefined);
  const strict = new ToolPolicy({ look_up: 'clarify' }, { unmapped: 'refuse' });
  assert.match(strict.refusalOf('other', CONTRACT) ?? '', /The tool other was not run/);
  assert.is(strict.refusalOf('look_up', CONTRACT), undefined);
});

tools('cannot be created with an unknown action or tool, and suggests the nearest name', () => {
  for (const [actions, options, expected] of [
    [{ a: 'exlpore' }, {}, 'unknown action "exlpore"; did you mean "explore"?'],
    [{ send_mail: 'execute' }, { tools: ['send_email'] }, 'did you mean "send_email"?'],
    [{ a: 'xyz' }, {}, 'unknown action "xyz"; known: explore, question'],
    [{ a: 7 }, {}, 'unknown action 7'],
    [{}, { mode: 'hidden' }, 'mode must be refuse, hide, observe, not "hidden"'],
  ] as const) {
    assert.throws(
      () => new ToolPolicy(actions as never, options as never),
      (error: Error) => error.name === 'ToolMapError' && error.message.includes(expected),
    );
  }
});

for (const group of [turns, run, outcomes, away, tools]) group.run();
