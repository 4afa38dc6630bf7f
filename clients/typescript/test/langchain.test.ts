import { Command, interrupt, MemorySaver } from '@langchain/langgraph';
import {
  type AgentMiddleware,
  createAgent,
  createMiddleware,
  SystemMessage,
  ToolMessage,
  tool,
  toolRetryMiddleware,
  toolStrategy,
} from 'langchain';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { identityMiddleware } from '../src/adapters/langchain.ts';
import { type AgentTurn, ToolPolicy, toPrompt } from '../src/identity-engine.ts';
import {
  ACTIONS_OF_TOOLS,
  agentOn,
  CONTRACT,
  observed,
  serviceWith,
} from './support/agent-scene.ts';
import type { FakeServer } from './support/fake-server.ts';
import type { Reply, Seen } from './support/frameworks/framework.ts';
import { ScriptedChatModel } from './support/frameworks/langchain.ts';

/* Hooks of LangChain that other frameworks lack. `adapters.test.ts` has the common tests. */

const INPUT = { messages: [{ role: 'user', content: 'hello' }] };

/** A model with these replies, and the requests that the model received. */
function modelWith(...replies: (Reply | ((request: Seen) => Reply))[]) {
  const seen: Seen[] = [];
  const reply = (request: Seen) => {
    seen.push(request);
    const next = replies[request.step] ?? 'unexpected call';
    return typeof next === 'function' ? next(request) : next;
  };
  return { seen, model: new ScriptedChatModel({ reply }) };
}

/** A tool without input. */
function toolOf(name: string, run: () => unknown) {
  return tool(async () => JSON.stringify(await run()), {
    ...{ name, description: name, schema: z.object({}) },
  });
}

const modesOf = (server: FakeServer) =>
  observed(server).map(({ body }) => (body as { mode_target: string }).mode_target);

const middleware = suite('middleware of LangChain');

middleware('before the identity changes the request, and the prompt still comes last', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server, { tools: new ToolPolicy(ACTIONS_OF_TOOLS, { mode: 'hide' }) });
  const { seen, model } = modelWith([{ id: 'a', tool: 'look_up' }], 'done');
  const called: string[] = [];
  const own = createMiddleware({
    name: 'own',
    wrapModelCall: (request, handler) =>
      handler({
        ...request,
        systemMessage: new SystemMessage('Changed.'),
        tools: request.tools.filter(({ name }) => name !== 'ask_user'),
      }),
    wrapToolCall: (request, handler) => {
      called.push(request.toolCall.name);
      return handler(request);
    },
  });
  const framework = createAgent({
    ...{ model, systemPrompt: 'Base.', middleware: [own, identityMiddleware()] },
    tools: ['look_up', 'ask_user', 'send_email'].map((name) => toolOf(name, () => 1)),
  });
  await agent.turn({ runId: 'run' }, (turn) => framework.invoke(INPUT, { context: { turn } }));
  assert.equal(called, ['look_up']);
  const expected = [`Changed.\n\n${toPrompt(CONTRACT)}`, ['look_up']];
  assert.equal(
    seen.map(({ instructions, tools }) => [instructions, tools]),
    [expected, expected],
  );
});

middleware('keeps cache breakpoints of the system message', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const block = { type: 'text', text: 'Base.', cache_control: { type: 'ephemeral' } };
  const contents: unknown[] = [];
  const spy = createMiddleware({
    name: 'spy',
    wrapModelCall: (request, handler) => {
      contents.push(request.systemMessage.content);
      return handler(request);
    },
  });
  const framework = createAgent({
    model: modelWith('done').model,
    systemPrompt: new SystemMessage({ content: [block] }),
    middleware: [identityMiddleware(), spy],
  });
  await agent.turn({ runId: 'run' }, (turn) => framework.invoke(INPUT, { context: { turn } }));
  assert.equal(contents, [[block, { type: 'text', text: `\n\n${toPrompt(CONTRACT)}` }]]);
});

middleware('that retries tools gets the error, and each attempt is noted', async () => {
  await using server = await serviceWith();
  const uses: unknown[] = [];
  const { agent } = agentOn(server, {
    appraiser: ({ tools }) => {
      uses.push(...tools.map(({ outcome }) => outcome));
      return undefined;
    },
  });
  let attempts = 0;
  const look_up = toolOf('look_up', () => {
    attempts += 1;
    if (attempts === 1) throw new Error('no network');
    return 'found';
  });
  const { seen, model } = modelWith([{ id: 'a', tool: 'look_up' }], 'done');
  // Its types do not allow `exactOptionalPropertyTypes`.
  const retry = toolRetryMiddleware({ initialDelayMs: 0, jitter: false }) as AgentMiddleware;
  const framework = createAgent({
    ...{ model, tools: [look_up] },
    middleware: [retry, identityMiddleware({ toolErrors: 'throw' })],
  });
  await agent.turn({ runId: 'run' }, (turn) => framework.invoke(INPUT, { context: { turn } }));
  assert.equal([uses, seen[1]?.results['a']], [['error', 'ok'], ['"found"']]);
});

middleware('of the caller can demand a tool, unless the contract forbids the tool', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const choices: unknown[] = [];
  const named = (name: string) => ({ type: 'function', function: { name } }) as const;
  for (const toolChoice of [named('look_up'), named('send_email')]) {
    const demanding = createMiddleware({
      name: 'demanding',
      wrapModelCall: (request, handler) => handler({ ...request, toolChoice }),
    });
    const spy = createMiddleware({
      name: 'spy',
      wrapModelCall: (request, handler) => {
        choices.push(request.toolChoice);
        return handler(request);
      },
    });
    const framework = createAgent({
      ...{ model: modelWith('done').model, tools: [toolOf('look_up', () => 1)] },
      middleware: [demanding, identityMiddleware(), spy],
    });
    await agent.turn({ runId: 'run' }, (turn) => framework.invoke(INPUT, { context: { turn } }));
  }
  assert.equal(choices, [named('look_up'), 'auto']);
});

middleware('works without a turn if the option says pass', async () => {
  const { seen, model } = modelWith([{ id: 'a', tool: 'send_email' }], 'done');
  const framework = createAgent({
    ...{ model, systemPrompt: 'Base.', tools: [toolOf('send_email', () => 'sent')] },
    middleware: [identityMiddleware({ withoutTurn: 'pass' })],
  });
  await framework.invoke(INPUT);
  assert.equal([seen[1]?.instructions, seen[1]?.results['a']], ['Base.', ['"sent"']]);
});

const tools = suite('tools of LangChain');

tools('of a provider are left out while the contract forbids these tools', async () => {
  await using server = await serviceWith();
  const policy = new ToolPolicy({ web_search: 'explore', look_up: 'clarify' });
  const { agent } = agentOn(server, { tools: policy });
  const { seen, model } = modelWith('done');
  const framework = createAgent({
    ...{ model, middleware: [identityMiddleware()] },
    tools: [{ type: 'web_search' }, toolOf('look_up', () => 1)],
  });
  await agent.turn({ runId: 'run' }, (turn) => framework.invoke(INPUT, { context: { turn } }));
  assert.equal(seen[0]?.tools, ['look_up']);
});

tools('answer with errors, which LangChain words for invalid input', async () => {
  await using server = await serviceWith();
  const uses: unknown[] = [];
  const { agent } = agentOn(server, {
    appraiser: ({ tools }) => void uses.push(...tools.map(({ outcome }) => outcome)),
  });
  const schema = z.object({ text: z.string() });
  const failed = new ToolMessage({ content: 'no network', tool_call_id: 'b', status: 'error' });
  const { model } = modelWith(
    ['look_up', 'ask_user', 'send_email'].map((name) => ({ id: name, tool: name })),
    'done',
  );
  const framework = createAgent({
    ...{ model, middleware: [identityMiddleware()] },
    tools: [
      tool(() => '', { name: 'look_up', description: 'looks up', schema }),
      tool(() => failed, { name: 'ask_user', description: 'asks', schema: z.object({}) }),
    ],
  });
  const { messages } = await agent.turn({ runId: 'run' }, (turn) =>
    framework.invoke(INPUT, { context: { turn } }),
  );
  const answers = messages.filter((message) => message instanceof ToolMessage);
  assert.equal(
    answers.map(({ status }) => status),
    ['error', 'error', 'error'],
  );
  assert.not.match(answers[0]?.text ?? '', /Please fix your mistakes/);
  assert.equal(uses.sort(), ['error', 'error', 'refused']);
});

tools('for structured output are never refused', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server, { tools: new ToolPolicy({}, { unmapped: 'refuse' }) });
  const responseFormat = toolStrategy(z.object({ mood: z.string() }));
  const { model } = modelWith(({ tools: [name = ''] }) => [
    { id: 'a', tool: name, args: { mood: 'calm' } },
  ]);
  const framework = createAgent({ model, responseFormat, middleware: [identityMiddleware()] });
  const { structuredResponse } = await agent.turn({ runId: 'run' }, (turn) =>
    framework.invoke(INPUT, { context: { turn } }),
  );
  assert.equal(structuredResponse, { mood: 'calm' });
});

tools('that wait for a person are one turn with the same run, which counts once', async () => {
  await using server = await serviceWith();
  const { agent, errors } = agentOn(server);
  const ran: unknown[] = [];
  const ask_user = toolOf('ask_user', () => {
    ran.push(interrupt('May I?'));
    return 'asked';
  });
  const { seen, model } = modelWith(
    [
      { id: 'a', tool: 'ask_user' },
      { id: 'b', tool: 'send_email' },
    ],
    'done',
  );
  const framework = createAgent({
    ...{ model, checkpointer: new MemorySaver(), middleware: [identityMiddleware()] },
    tools: [ask_user, toolOf('send_email', () => 'sent')],
  });
  const inTurn = (input: Parameters<typeof framework.invoke>[0]) =>
    agent.turn({ runId: 'thread', turn: 1 }, (turn) =>
      framework.invoke(input, { context: { turn }, configurable: { thread_id: 'thread' } }),
    );
  await inTurn(INPUT);
  assert.equal(modesOf(server), []);
  await inTurn(new Command({ resume: 'yes' }));
  assert.equal([ran, modesOf(server), errors], [['yes'], ['PERCEPTION'], []]);
  assert.equal([seen.length, seen[1]?.results['a']], [2, ['"asked"']]);
  assert.match(seen[1]?.results['b']?.join() ?? '', /^The tool send_email was not run/);
});

/** The context is typed by the schema of the user. Compiled, never run. */
export async function typed(turn: AgentTurn) {
  const contextSchema = z.object({ turn: z.custom<AgentTurn>() });
  const { model } = modelWith('done');
  const framework = createAgent({ model, contextSchema, middleware: [identityMiddleware()] });
  await framework.invoke(INPUT, { context: { turn } });
  // @ts-expect-error: no turn
  await framework.invoke(INPUT, { context: { user: 'ada' } });
}

for (const group of [middleware, tools]) group.run();
