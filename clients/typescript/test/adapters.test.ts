import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  Agent,
  type AgentTurn,
  type Contract,
  type ToolMode,
  ToolPolicy,
  toPrompt,
  wordingWith,
} from '../src/identity-engine.ts';
import {
  ACTIONS_OF_TOOLS,
  agentOn,
  CONTRACT,
  observed,
  serviceWith,
  TOOLS,
} from './support/agent-scene.ts';
import { clientOf } from './support/clients.ts';
import { closedAddress, type FakeServer } from './support/fake-server.ts';
import { aiSdk } from './support/frameworks/ai-sdk.ts';
import {
  INSTRUCTIONS,
  type Reply,
  type Script,
  type Seen,
} from './support/frameworks/framework.ts';
import { langchain } from './support/frameworks/langchain.ts';
import { openaiAgents } from './support/frameworks/openai-agents.ts';

/*
 * Behavior that all adapters have in common. One table of tests runs with each framework: a scripted
 * model calls tools, and a fake service records observations.
 */

/** Deadline for a busy machine, in milliseconds. */
const SLOW_MS = 60_000;

const REFUSED = /send_email was not run, because this is not the time to carry out changes/;

/** A script that replies with these replies in turn, with spies as tools. */
function scripted(...replies: (Reply | (() => Reply | Promise<Reply>))[]) {
  const seen: Seen[] = [];
  const ran: string[] = [];
  const tools = Object.fromEntries(
    Object.keys(ACTIONS_OF_TOOLS).map((name) => [name, () => void ran.push(name)]),
  );
  const reply: Script['reply'] = (request) => {
    seen.push(request);
    const next = replies[request.step] ?? 'unexpected call';
    return typeof next === 'function' ? next() : next;
  };
  return { seen, ran, script: { reply, tools } };
}

const modeOf = (mode: ToolMode) => ({ tools: new ToolPolicy(ACTIONS_OF_TOOLS, { mode }) });

/** Modes and keys of the observations that a service received. */
const sentTo = (server: FakeServer) =>
  observed(server).map(({ headers, body }) => [
    headers['idempotency-key'],
    (body as { mode_target: string }).mode_target,
  ]);

for (const framework of [aiSdk, langchain, openaiAgents]) {
  const tools = suite(`tools of ${framework.name}`);

  for (const mode of ['refuse', 'hide'] as const) {
    tools(`in mode ${mode}, a forbidden call is answered and the tool never runs`, async () => {
      await using server = await serviceWith();
      const { agent, errors } = agentOn(server, modeOf(mode));
      const { seen, ran, script } = scripted([{ id: 'a', tool: 'send_email' }], 'done');
      const runner = framework.agentOf(script);
      const answer = await agent.turn({ runId: 'run' }, (turn) => runner.run(turn, 'hello'));
      assert.is(answer, 'done');
      assert.equal([ran, errors, sentTo(server)], [[], [], []]);
      assert.is(seen.length, 2);
      for (const { tools } of seen) assert.is(tools.includes('send_email'), mode === 'refuse');
      assert.equal(Object.keys(seen[1]?.results ?? {}), ['a']);
      assert.is(seen[1]?.results['a']?.length, 1);
      assert.match(seen[1]?.results['a']?.[0] ?? '', REFUSED);
    });
  }

  tools('in mode observe, every call runs', async () => {
    await using server = await serviceWith();
    const { agent } = agentOn(server, modeOf('observe'));
    const { ran, script } = scripted([{ id: 'a', tool: 'send_email' }], 'done');
    const runner = framework.agentOf(script);
    await agent.turn({ runId: 'run' }, (turn) => runner.run(turn, 'hello'));
    assert.equal([ran, sentTo(server)], [['send_email'], [['turn:run', 'ORDER']]]);
  });

  for (const mode of ['refuse', 'hide'] as const) {
    tools(`in mode ${mode}, run beside a forbidden call, and both calls are answered`, async () => {
      await using server = await serviceWith();
      const { agent } = agentOn(server, modeOf(mode));
      const calls = [
        { id: 'a', tool: 'send_email' },
        { id: 'b', tool: 'look_up' },
      ];
      const { seen, ran, script } = scripted(calls, 'done');
      const runner = framework.agentOf(script);
      await agent.turn({ runId: 'run' }, (turn) => runner.run(turn, 'hello'));
      assert.equal(ran, ['look_up']);
      const { a, b } = seen[1]?.results ?? {};
      assert.equal([a?.length, b?.length], [1, 1]);
      assert.match(a?.[0] ?? '', REFUSED);
      assert.not.match(b?.[0] ?? '', /not run/);
    });
  }

  for (const mode of ['refuse', 'hide'] as const) {
    tools(`in mode ${mode}, may all be forbidden although a call is demanded`, async () => {
      const forbidden = ['execute', 'question', 'clarify', 'suggest'];
      const contract = { ...CONTRACT, allowed_actions: [], forbidden_actions: forbidden };
      await using server = await serviceWith(undefined, () => contract);
      const { agent } = agentOn(server, {
        tools: new ToolPolicy({ ...ACTIONS_OF_TOOLS, read_file: 'suggest' }, { mode }),
      });
      const { seen, script } = scripted('done');
      const runner = framework.agentOf({ ...script, isForced: true });
      assert.is(await agent.turn({ runId: 'run' }, (turn) => runner.run(turn, 'hi')), 'done');
      assert.ok(!seen[0]?.isForced || seen[0].tools.length > 0, 'a provider rejects this request');
    });
  }

  tools('that fail are observed as stress, and the model gets the error', async () => {
    await using server = await serviceWith();
    const { agent } = agentOn(server);
    const { seen, script } = scripted([{ id: 'a', tool: 'look_up' }], 'done');
    const look_up = () => Promise.reject(new Error('no network'));
    const runner = framework.agentOf({ ...script, tools: { ...script.tools, look_up } });
    const answer = await agent.turn({ runId: 'run' }, (turn) => runner.run(turn, 'hello'));
    assert.equal([answer, seen.length, seen[1]?.results['a']?.length], ['done', 2, 1]);
    assert.equal(sentTo(server), [['turn:run', 'STRESS_RESPONSE']]);
    assert.match(JSON.stringify(observed(server)[0]?.body), /"signal_strength":0\.5/);
  });

  const prompt = suite(`the prompt of ${framework.name}`);

  prompt('follows the contract between two calls of the model, once in each call', async () => {
    const later: Contract = {
      ...CONTRACT,
      ...{ stress_state: 'OVER', allowed_actions: ['execute'], forbidden_actions: ['clarify'] },
    };
    let contract = CONTRACT;
    await using server = await serviceWith(undefined, () => contract);
    const { agent } = agentOn(server, modeOf('hide'));
    const look = [{ id: 'a', tool: 'look_up' }];
    const { seen, script } = scripted(look, [{ id: 'b', tool: 'read_file' }], 'done');
    const look_up = async () => {
      contract = later;
      await agent.instance.contract();
    };
    const runner = framework.agentOf({ ...script, tools: { ...script.tools, look_up } });
    await agent.turn({ runId: 'run' }, (turn) => runner.run(turn, 'hello'));
    assert.equal(
      seen.map(({ instructions }) => instructions),
      [CONTRACT, later, later].map((each) => `${INSTRUCTIONS}\n\n${toPrompt(each)}`),
    );
    assert.equal(
      seen.map((request) => request.tools.filter((name) => name !== 'read_file')),
      [
        ['ask_user', 'look_up'],
        ['send_email', 'ask_user'],
        ['send_email', 'ask_user'],
      ],
    );
  });

  prompt('is missing while the service is away, and every tool runs', async () => {
    const { agent, errors } = agentOn({ baseUrl: await closedAddress() });
    const { seen, ran, script } = scripted([{ id: 'a', tool: 'send_email' }], 'done');
    const runner = framework.agentOf(script);
    const answer = await agent.turn({ runId: 'run' }, (turn) => runner.run(turn, 'hello'));
    assert.equal([answer, ran, seen[0]?.instructions], ['done', ['send_email'], INSTRUCTIONS]);
    assert.ok(errors.length > 0);
  });

  prompt('needs a turn, and the model is not called without', async () => {
    const { seen, script } = scripted('done');
    const none = undefined as unknown as AgentTurn;
    const failing = framework.agentOf(script).run(none, 'hello');
    const error = await failing.catch((thrown: Error) => thrown);
    assert.match(String((error as Error).message), /the run has no turn of an agent; .*turn/);
    assert.is(seen.length, 0);
  });

  const turns = suite(`a turn of ${framework.name}`);

  turns('with several steps and parallel tools sends one observation, without texts', async () => {
    await using server = await serviceWith();
    const { agent, errors } = agentOn(server);
    const pair = (one: string, other: string) => [
      { id: one, tool: 'look_up' },
      { id: other, tool: 'read_file' },
    ];
    const { ran, script } = scripted(pair('a', 'b'), pair('c', 'd'), pair('e', 'f'), 'secret');
    const runner = framework.agentOf(script);
    await agent.turn({ runId: 'run', turn: 1 }, (turn) => runner.run(turn, 'secret question'));
    assert.equal([ran.length, errors], [6, []]);
    assert.equal(sentTo(server), [['turn:run:1', 'PERCEPTION']]);
    assert.not.match(JSON.stringify(server.received), /secret|look_up/);
  });

  turns('that streams sends one observation if the stream is read', async () => {
    await using server = await serviceWith();
    const { agent } = agentOn(server);
    const { ran, script } = scripted([{ id: 'a', tool: 'look_up' }], 'done');
    const runner = framework.agentOf(script);
    await agent.turn({ runId: 'run' }, (turn) => runner.stream(turn, 'hello'));
    assert.equal([ran, sentTo(server)], [['look_up'], [['turn:run', 'PERCEPTION']]]);
  });

  turns('that streams sends at most one observation if the reader leaves', async () => {
    await using server = await serviceWith();
    const { agent, errors } = agentOn(server);
    const { script } = scripted([{ id: 'a', tool: 'look_up' }], 'done');
    const runner = framework.agentOf(script);
    await agent.turn({ runId: 'run' }, (turn) => runner.stream(turn, 'hi', { isBroken: true }));
    await agent.flush();
    assert.ok(sentTo(server).length <= 1);
    assert.equal(errors, []);
  });

  for (const way of ['run', 'stream'] as const) {
    turns(
      `whose model fails at the second call of a ${way} is observed once as failed`,
      async () => {
        await using server = await serviceWith();
        const { agent } = agentOn(server);
        const failure = new Error('the model talks nonsense');
        const { script } = scripted([{ id: 'a', tool: 'look_up' }], () => Promise.reject(failure));
        const runner = framework.agentOf(script);
        const failing = agent.turn({ runId: 'run' }, async (turn) => {
          await runner[way](turn, 'hello');
        });
        const error = await failing.catch((thrown: unknown) => thrown);
        assert.is(framework.causeOf(error), failure);
        assert.equal(sentTo(server), [['turn:run', 'STRESS_RESPONSE']]);
      },
    );

    turns(`whose ${way} is aborted after a tool sends no observation`, async () => {
      await using server = await serviceWith();
      const { agent } = agentOn(server);
      const controller = new AbortController();
      const { ran, script } = scripted([{ id: 'a', tool: 'look_up' }], () => {
        controller.abort();
        return Promise.reject(controller.signal.reason);
      });
      const { signal } = controller;
      const runner = framework.agentOf(script);
      const failing = agent.turn({ runId: 'run' }, async (turn) => {
        if (way === 'run') await runner.run(turn, 'hi', signal);
        else await runner.stream(turn, 'hi', { signal });
      });
      const error = await failing.catch((thrown: unknown) => thrown);
      assert.is((error as Error).name, 'AbortError');
      assert.equal([ran, sentTo(server)], [['look_up'], []]);
    });
  }

  turns('whose provider is unavailable sends no observation', async () => {
    await using server = await serviceWith();
    const { agent } = agentOn(server);
    const failure = Object.assign(new Error('slow down'), { statusCode: 429 });
    const { script } = scripted([{ id: 'a', tool: 'look_up' }], () => Promise.reject(failure));
    const runner = framework.agentOf(script);
    const failing = agent.turn({ runId: 'run' }, (turn) => runner.run(turn, 'hello'));
    assert.ok(await failing.catch((thrown: unknown) => thrown));
    assert.equal(sentTo(server), []);
  });

  turns('never mixes with 199 concurrent turns of other instances', async () => {
    await using server = await serviceWith();
    const client = clientOf(server);
    const mixed: string[] = [];
    const calls = [
      { id: 'a', tool: 'look_up' },
      { id: 'b', tool: 'send_email' },
    ];
    const runner = framework.agentOf({
      tools: scripted().script.tools,
      reply: async ({ step, input, instructions }) => {
        if (!instructions.includes(`This is ${input}.`)) mixed.push(`${input}: ${instructions}`);
        await rounds(Math.random() * 20);
        return step === 0 ? calls : `answer to ${input}`;
      },
    });
    const ids = Array.from({ length: 200 }, (_, number) => `inst_${number}`);
    await Promise.all(
      ids.map(async (id, number) => {
        const wording = wordingWith({ opening: `This is ${id}.` });
        const options = { tools: TOOLS, wording, timeoutMs: SLOW_MS };
        const agent = new Agent(client.instance(id), options);
        await agent.turn({ runId: id }, async (turn) => {
          if (number % 2 === 0) return await runner.stream(turn, id);
          const answer = await runner.run(turn, id);
          if (answer !== `answer to ${id}`) mixed.push(`${id}: ${answer}`);
        });
      }),
    );
    const sent = observed(server).map(({ path, headers }) => [path, headers['idempotency-key']]);
    const expected = ids.map((id) => [`/v1/instances/${id}/process`, `turn:${id}`]);
    assert.equal([mixed, sent.sort()], [[], expected.sort()]);
  });

  for (const group of [tools, prompt, turns]) group.run();
}

/** Waits for a number of rounds of the event loop. */
async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) await new Promise(setImmediate);
}
