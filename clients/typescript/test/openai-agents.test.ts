import {
  Agent,
  type MCPServer,
  Runner,
  type ToolInputGuardrailData,
  tool,
  webSearchTool,
} from '@openai/agents';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { eventsOf, runOptions, withIdentity } from '../src/adapters/openai-agents.ts';
import { type AgentTurn, ToolPolicy, toPrompt } from '../src/identity-engine.ts';
import {
  ACTIONS_OF_TOOLS,
  agentOn,
  CONTRACT,
  observed,
  serviceWith,
  TOOLS,
} from './support/agent-scene.ts';
import type { FakeServer } from './support/fake-server.ts';
import type { Reply, Seen } from './support/frameworks/framework.ts';
import { modelOf } from './support/frameworks/openai-agents.ts';

/* Hooks of the OpenAI Agents SDK that other frameworks lack. See also `adapters.test.ts`. */

const runner = new Runner({ tracingDisabled: true });

/** A model with these replies, and the requests that the model received. */
function modelWith(...replies: Reply[]) {
  const seen: Seen[] = [];
  const reply = (request: Seen) => {
    seen.push(request);
    return replies[request.step] ?? 'unexpected call';
  };
  return { seen, model: modelOf({ reply }) };
}

/** A tool without input, with further options. */
function toolOf(name: string, run: () => unknown, more: object = {}) {
  const parameters = z.object({});
  return tool({ name, description: name, parameters, execute: async () => await run(), ...more });
}

const sentTo = (server: FakeServer) =>
  observed(server).map(({ headers, body }) => [
    headers['idempotency-key'],
    (body as { mode_target: string }).mode_target,
  ]);

const HIDING = new ToolPolicy(ACTIONS_OF_TOOLS, { mode: 'hide' });

const agents = suite('an agent of OpenAI Agents with an identity');

agents('has instructions of a function that gets the run and the agent', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const { seen, model } = modelWith([{ id: 'a', tool: 'look_up' }], 'done');
  let calls = 0;
  type Context = { turn: AgentTurn; user: string };
  const framework: Agent<Context> = withIdentity(
    new Agent<Context>({
      ...{ name: 'ada', model, tools: [toolOf('look_up', () => 1)] },
      instructions: ({ context }, self) => {
        calls += 1;
        assert.is(self, framework);
        return `${self.name} helps ${context.user} (${calls}).`;
      },
    }),
  );
  await agent.turn({ runId: 'run' }, (turn) =>
    runner.run(framework, 'hello', runOptions({ turn, user: 'Eva' })),
  );
  assert.equal(
    seen.map(({ instructions }) => instructions),
    [1, 2].map((call) => `ada helps Eva (${call}).\n\n${toPrompt(CONTRACT)}`),
  );
});

agents('keeps listeners, guardrails and conditions of the user', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server, { tools: HIDING });
  const calls = ['look_up', 'send_email', 'ask_user'].map((name) => ({ id: name, tool: name }));
  const { seen, model } = modelWith(calls, 'done');
  const heard: unknown[] = [];
  const guardrail = {
    name: 'own',
    run: async ({ toolCall, agent: { name } }: ToolInputGuardrailData) => {
      heard.push([name, toolCall.name]);
      return toolCall.name === 'ask_user'
        ? { behavior: { type: 'rejectContent', message: 'ask later' } }
        : { behavior: { type: 'allow' } };
    },
  };
  const ran: string[] = [];
  const tools = ['look_up', 'send_email', 'ask_user', 'read_file'].map((name) =>
    toolOf(name, () => ran.push(name), {
      ...{ inputGuardrails: [guardrail], isEnabled: name !== 'read_file' },
      outputGuardrails: [{ name: 'own', run: guardrail.run }],
    }),
  );
  const original = new Agent({ name: 'ada', model, tools });
  original.on('agent_end', (_, output) => heard.push(output));
  const framework = withIdentity(original);
  await agent.turn({ runId: 'run' }, (turn) =>
    runner.run(framework, 'hello', runOptions({ turn })),
  );
  // The permitted tool has two guardrails; the guardrail of the user refuses the other call.
  assert.equal(heard, [['ada', 'look_up'], ['ada', 'ask_user'], ['ada', 'look_up'], 'done']);
  assert.equal([ran, seen[0]?.tools], [['look_up'], ['look_up', 'ask_user']]);
  assert.match(seen[1]?.results['ask_user']?.join() ?? '', /ask later/);
  assert.match(seen[1]?.results['send_email']?.join() ?? '', /send_email was not run/);
});

agents('refuses instead of hides if the run would not survive the call', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server, { tools: HIDING });
  const { seen, model } = modelWith([{ id: 'a', tool: 'send_email' }], 'done');
  const tools = [toolOf('send_email', () => assert.unreachable())];
  const framework = withIdentity(new Agent({ name: 'ada', model, tools }));
  await agent.turn({ runId: 'run' }, (turn) =>
    runner.run(framework, 'hello', { context: { turn } }),
  );
  assert.equal(seen[0]?.tools, ['send_email']);
  assert.match(seen[1]?.results['a']?.join() ?? '', /send_email was not run/);
});

agents('keeps the identity in a clone', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const { seen, model } = modelWith([{ id: 'a', tool: 'send_email' }], 'done');
  const tools = [toolOf('send_email', () => assert.unreachable())];
  const framework = withIdentity(new Agent({ name: 'ada', tools })).clone({ model });
  await agent.turn({ runId: 'run' }, (turn) =>
    runner.run(framework, 'hello', runOptions({ turn })),
  );
  assert.is(seen[1]?.instructions, toPrompt(CONTRACT));
  assert.match(seen[1]?.results['a']?.join() ?? '', /send_email was not run/);
});

agents('works without a turn if the option says pass', async () => {
  const { seen, model } = modelWith([{ id: 'a', tool: 'send_email' }], 'done');
  const tools = [toolOf('send_email', () => 'sent'), webSearchTool()];
  const original = new Agent({ name: 'ada', model, tools, instructions: 'Base.' });
  await runner.run(withIdentity(original, { withoutTurn: 'pass' }), 'hello');
  assert.equal([seen[1]?.instructions, seen[1]?.tools.length], ['Base.', 2]);
  assert.match(seen[1]?.results['a']?.join() ?? '', /sent/);
});

agents('gives events of a stream, and the error of a run that fails later', async () => {
  const failure = new Error('not saved');
  async function* events() {
    yield 'event';
  }
  const result = { [Symbol.asyncIterator]: events, cancelled: false };
  const seen: string[] = [];
  const reading = (async () => {
    for await (const event of eventsOf({ ...result, completed: Promise.reject(failure) })) {
      seen.push(event);
    }
  })();
  assert.is(await reading.catch((error: unknown) => error), failure);
  assert.equal(seen, ['event']);
});

const tools = suite('tools of OpenAI Agents');

tools('of MCP servers are refused and noted too', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const calls = ['look_up', 'send_email'].map((name) => ({ id: name, tool: name }));
  const { seen, model } = modelWith(calls, 'done');
  const called: string[] = [];
  const inputSchema = { type: 'object', properties: {}, required: [], additionalProperties: false };
  const mcp = {
    ...{ name: 'files', cacheToolsList: false, connect: async () => undefined },
    ...{ close: async () => undefined, invalidateToolsCache: async () => undefined },
    listTools: async () => calls.map((each) => ({ name: each.tool, inputSchema })),
    callTool: async (name: string) => {
      called.push(name);
      return [{ type: 'text', text: 'found' }];
    },
  } as unknown as MCPServer;
  const framework = withIdentity(new Agent({ name: 'ada', model, mcpServers: [mcp] }));
  await agent.turn({ runId: 'run' }, (turn) =>
    runner.run(framework, 'hello', runOptions({ turn })),
  );
  assert.equal([called, sentTo(server)], [['look_up'], [['turn:run', 'PERCEPTION']]]);
  assert.match(seen[1]?.results['send_email']?.join() ?? '', /send_email was not run/);
});

tools(
  'that the SDK cannot refuse are left out while the contract forbids these tools',
  async () => {
    await using server = await serviceWith();
    const actions = { web_search: 'explore', send_email: 'execute', look_up: 'clarify' } as const;
    const { agent } = agentOn(server, { tools: new ToolPolicy(actions) });
    const { seen, model } = modelWith('done');
    const outputSchema = z.object({});
    const framework = withIdentity(
      new Agent({
        ...{ name: 'ada', model },
        tools: [
          webSearchTool(),
          toolOf('send_email', () => ({}), { outputSchema }),
          toolOf('look_up', () => ({}), { outputSchema }),
        ],
      }),
    );
    await agent.turn({ runId: 'run' }, (turn) =>
      runner.run(framework, 'hello', runOptions({ turn })),
    );
    assert.equal(seen[0]?.tools, ['look_up']);
  },
);

tools('with their own text for errors are noted by the function of the user', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const { model } = modelWith([{ id: 'a', tool: 'look_up' }], 'done');
  const fail = () => Promise.reject(new Error('no network'));
  const errorFunction = () => 'Sorry.';
  const framework = withIdentity(
    new Agent({ name: 'ada', model, tools: [toolOf('look_up', fail, { errorFunction })] }),
    { isError: (output, name) => name === 'look_up' && output === 'Sorry.' },
  );
  await agent.turn({ runId: 'run' }, (turn) =>
    runner.run(framework, 'hello', runOptions({ turn })),
  );
  assert.equal(sentTo(server), [['turn:run', 'STRESS_RESPONSE']]);
});

const handoffs = suite('agents of OpenAI Agents that work together');

type Turns = { readonly turns: Readonly<Record<string, AgentTurn>> };

/** Runs an agent with a turn for each of two instances. */
async function inTwoTurns(server: FakeServer, framework: Agent<Turns>) {
  const { agent: ada } = agentOn(server);
  const { agent: eva } = agentOn(server, { tools: TOOLS });
  await ada.turn({ runId: 'ada' }, (a) =>
    eva.turn({ runId: 'eva' }, (b) =>
      runner.run(framework, 'hello', runOptions({ turns: { ada: a, eva: b } })),
    ),
  );
}

const identityOf = (name: string) => ({ turnOf: ({ turns }: Turns) => turns[name] });

handoffs('have a turn each, and an agent without identity observes nothing', async () => {
  for (const isWrapped of [true, false]) {
    await using server = await serviceWith();
    const second = modelWith('', [{ id: 'b', tool: 'ask_user' }], 'done');
    const plain = new Agent<Turns>({
      ...{ name: 'eva', model: second.model, instructions: 'Eva.' },
      tools: [toolOf('ask_user', () => 1)],
    });
    const eva = isWrapped ? withIdentity(plain, identityOf('eva')) : plain;
    const first = modelWith([{ id: 'h', tool: 'transfer_to_eva' }]);
    const ada = withIdentity(
      new Agent<Turns>({
        ...{ name: 'ada', model: first.model, instructions: 'Ada.', handoffs: [eva] },
      }),
      identityOf('ada'),
    );
    await inTwoTurns(server, ada);
    const prompt = isWrapped ? `\n\n${toPrompt(CONTRACT)}` : '';
    assert.is(first.seen[0]?.instructions, `Ada.\n\n${toPrompt(CONTRACT)}`);
    assert.is(second.seen[0]?.instructions, `Eva.${prompt}`);
    assert.equal(sentTo(server), isWrapped ? [['turn:eva', 'PERCEPTION']] : []);
  }
});

handoffs('as tools have a turn each', async () => {
  await using server = await serviceWith();
  const expert = modelWith([{ id: 'b', tool: 'ask_user' }], 'asked');
  const eva = withIdentity(
    new Agent<Turns>({
      ...{ name: 'eva', model: expert.model, tools: [toolOf('ask_user', () => 1)] },
    }),
    identityOf('eva'),
  );
  const main = modelWith([{ id: 'a', tool: 'look_up', args: { input: 'hi' } }], 'done');
  const ada = withIdentity(
    new Agent<Turns>({
      ...{ name: 'ada', model: main.model },
      tools: [eva.asTool({ toolName: 'look_up', toolDescription: 'asks Eva' })],
    }),
    identityOf('ada'),
  );
  await inTwoTurns(server, ada);
  assert.match(main.seen[1]?.results['a']?.join() ?? '', /asked/);
  assert.equal(sentTo(server), [
    ['turn:eva', 'PERCEPTION'],
    ['turn:ada', 'PERCEPTION'],
  ]);
});

for (const group of [agents, tools, handoffs]) group.run();
