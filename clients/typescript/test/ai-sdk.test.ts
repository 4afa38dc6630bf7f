import {
  generateText,
  isStepCount,
  streamText,
  type ToolCallRepairFunction,
  ToolLoopAgent,
  type ToolSet,
  tool,
} from 'ai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { endTurn, withTurn } from '../src/adapters/ai-sdk.ts';
import { type AgentTurn, ToolPolicy, toPrompt } from '../src/identity-engine.ts';
import {
  ACTIONS_OF_TOOLS,
  agentOn,
  CONTRACT,
  observed,
  serviceWith,
  TOOLS,
} from './support/agent-scene.ts';
import { modelOf } from './support/frameworks/ai-sdk.ts';
import type { Call, Seen } from './support/frameworks/framework.ts';

/* Hooks of the Vercel AI SDK that other frameworks lack. `adapters.test.ts` has the common tests. */

const BASE = 'You are a helpful assistant.';
const WITH_PROMPT = `${BASE}\n\n${toPrompt(CONTRACT)}`;

const call = (tool: string): readonly Call[] => [{ id: 'a', tool }];

/** A model that calls one tool, then answers. */
function callerOf(name: string) {
  const seen: Seen[] = [];
  const reply = (request: Seen) => {
    seen.push(request);
    return request.step === 0 ? call(name) : 'done';
  };
  return { seen, model: modelOf({ reply }), stopWhen: isStepCount(3), prompt: 'hello' } as const;
}

/** Tools that note their calls. */
function toolsWith(ran: string[]) {
  const inputSchema = z.object({});
  const execute = (name: string) => () => ({ ran: ran.push(name) });
  return {
    send_email: tool({ inputSchema, execute: execute('send_email') }),
    look_up: tool({ inputSchema, execute: execute('look_up') }),
  };
}

/** Runs a test in one turn of an agent on a fake service. */
async function inTurn<T>(
  run: (turn: AgentTurn) => Promise<T>,
  options: Parameters<typeof agentOn>[1] = {},
) {
  await using server = await serviceWith();
  const { agent } = agentOn(server, options);
  const result = await agent.turn({ runId: 'run' }, run);
  const modes = observed(server).map(({ body }) => (body as { mode_target: string }).mode_target);
  return { result, modes };
}

const steps = suite('steps of the AI SDK');

steps('are prepared by the user too, whose instructions persist without the prompt', async () => {
  const { model, seen, ...settings } = callerOf('look_up');
  const given: unknown[] = [];
  await inTurn((turn) =>
    generateText(
      withTurn(turn, {
        ...{ ...settings, model, tools: toolsWith([]), instructions: BASE },
        activeTools: ['look_up'],
        prepareStep: ({ instructions, initialInstructions, stepNumber }) => {
          given.push([stepNumber, instructions, initialInstructions]);
          return stepNumber === 0 ? { instructions: 'Changed.' } : { activeTools: ['send_email'] };
        },
      }),
    ),
  );
  assert.equal(given, [
    [0, BASE, BASE],
    [1, 'Changed.', BASE],
  ]);
  const changed = WITH_PROMPT.replace(BASE, 'Changed.');
  assert.equal(
    seen.map(({ instructions, tools }) => [instructions, tools]),
    [
      [changed, ['look_up']],
      [changed, ['send_email']],
    ],
  );
});

steps('have the intersection of the tools that are active and that the turn offers', async () => {
  const { model, seen, ...settings } = callerOf('look_up');
  const tools = new ToolPolicy(ACTIONS_OF_TOOLS, { mode: 'hide' });
  await inTurn(
    (turn) =>
      generateText(
        withTurn(turn, {
          ...{ ...settings, model, tools: toolsWith([]) },
          prepareStep: ({ stepNumber }) =>
            stepNumber === 0 ? {} : { activeTools: ['send_email'], toolChoice: 'required' },
        }),
      ),
    { tools },
  );
  assert.equal(
    seen.map(({ tools, isForced }) => [tools, isForced]),
    [
      [['look_up'], false],
      [[], false],
    ],
  );
  assert.is(seen[0]?.instructions, toPrompt(CONTRACT));
});

steps('fail with the error of the user', async () => {
  const { model, seen, ...settings } = callerOf('look_up');
  const failure = new Error('not prepared');
  const failing = inTurn((turn) =>
    generateText(
      withTurn(turn, { ...settings, model, prepareStep: () => Promise.reject(failure) }),
    ),
  );
  assert.is(await failing.catch((error: unknown) => error), failure);
  assert.is(seen.length, 0);
});

steps('keep messages with options of a provider before the prompt', async () => {
  const { model, ...settings } = callerOf('look_up');
  const providerOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };
  const instructions = { role: 'system', content: BASE, providerOptions } as const;
  const { result } = await inTurn((turn) =>
    generateText(
      withTurn(turn, { ...settings, model, instructions, include: { requestMessages: true } }),
    ),
  );
  assert.ok(result.steps.length > 0);
  const { doGenerateCalls } = model as unknown as { doGenerateCalls: { prompt: unknown[] }[] };
  assert.equal(doGenerateCalls[0]?.prompt.slice(0, 2), [
    { role: 'system', content: BASE, providerOptions },
    { role: 'system', content: toPrompt(CONTRACT), providerOptions: undefined },
  ]);
});

const approvals = suite('approvals of the AI SDK');

approvals('are asked from the user for permitted tools only', async () => {
  for (const [name, expected] of [
    ['look_up', [['look_up'], []]],
    ['send_email', [[], []]],
  ] as const) {
    const { model, ...settings } = callerOf(name);
    const [asked, ran] = [[] as string[], [] as string[]];
    const { result } = await inTurn((turn) =>
      generateText(
        withTurn(turn, {
          ...{ ...settings, model, tools: toolsWith(ran) },
          toolApproval: ({ toolCall }) => {
            asked.push(toolCall.toolName);
            return 'user-approval';
          },
        }),
      ),
    );
    assert.equal([asked, ran], expected);
    assert.is(result.steps.length, name === 'look_up' ? 1 : 2);
  }
});

approvals('by tool and by the tool itself still apply', async () => {
  const needed: unknown[] = [];
  const tools = {
    ...toolsWith([]),
    ask_user: tool({
      inputSchema: z.object({}),
      execute: () => 'asked',
      needsApproval: (input, { toolCallId, messages, context }) => {
        needed.push([input, toolCallId, messages.length, context]);
        return true;
      },
    }),
  };
  const toolApproval = {
    look_up: (_: unknown, { toolCallId }: { toolCallId: string }) =>
      ({ type: 'denied', reason: `no ${toolCallId}` }) as const,
    send_email: 'user-approval',
  } as const;
  const answers: unknown[] = [];
  for (const name of ['look_up', 'ask_user', 'send_email']) {
    const { model, ...settings } = callerOf(name);
    const { result } = await inTurn((turn) =>
      generateText(withTurn(turn, { ...settings, model, tools, toolApproval })),
    );
    const answer = result.steps[0]?.content.at(-1);
    answers.push([answer?.type, answer !== undefined && 'reason' in answer && answer.reason]);
  }
  assert.equal(needed, [[{}, 'a', 1, undefined]]);
  assert.equal(answers, [
    ['tool-approval-response', 'no a'],
    ['tool-approval-request', false],
    ['tool-approval-response', TOOLS.refusalOf('send_email', CONTRACT)],
  ]);
});

const execution = suite('tools of the AI SDK');

execution('that run elsewhere are left out while the contract forbids these tools', async () => {
  const { model, seen, ...settings } = callerOf('look_up');
  const elsewhere = tool({ inputSchema: z.object({}), outputSchema: z.object({}) });
  const tools = { ...toolsWith([]), send_email: elsewhere, ask_user: elsewhere };
  await inTurn((turn) => generateText(withTurn(turn, { ...settings, model, tools })));
  assert.equal(seen[0]?.tools, ['look_up', 'ask_user']);
});

execution('that stream keep their parts, and are noted once', async () => {
  const { model, ...settings } = callerOf('look_up');
  const look_up = tool({
    inputSchema: z.object({}),
    async *execute() {
      yield 'half';
      yield 'whole';
    },
  });
  const { result, modes } = await inTurn(async (turn) => {
    const { fullStream } = streamText(withTurn(turn, { ...settings, model, tools: { look_up } }));
    const outputs: unknown[] = [];
    for await (const part of fullStream) {
      if (part.type === 'tool-result' && !part.dynamic) outputs.push(part.output);
    }
    return outputs;
  });
  assert.equal([result, modes], [['half', 'whole', 'whole'], ['PERCEPTION']]);
});

execution('that fail at once or in their stream are noted as errors', async () => {
  for (const execute of [
    () => {
      throw new Error('at once');
    },
    async function* stream() {
      yield 'half';
      throw new Error('in the stream');
    },
  ]) {
    const { model, ...settings } = callerOf('look_up');
    const tools: ToolSet = { look_up: tool({ inputSchema: z.object({}), execute }) };
    const { modes } = await inTurn((turn) =>
      generateText(withTurn(turn, { ...settings, model, tools })),
    );
    assert.equal(modes, ['STRESS_RESPONSE']);
  }
});

execution('that another tool calls are refused too', async () => {
  await inTurn(async (turn) => {
    const { tools } = withTurn(turn, { tools: toolsWith([]) });
    const options = { toolCallId: 'a', messages: [], context: undefined };
    assert.throws(() => tools.send_email.execute?.({}, options as never), /send_email was not run/);
  });
});

for (const name of ['repairToolCall', 'experimental_repairToolCall'] as const) {
  execution(`that the model misspells are repaired by ${name} of the user`, async () => {
    const { model, ...settings } = callerOf('lookup');
    const ran: string[] = [];
    const repair: ToolCallRepairFunction<ToolSet> = async ({ toolCall }) => {
      return { ...toolCall, toolName: 'look_up' };
    };
    const tools: ToolSet = toolsWith(ran);
    await inTurn((turn) =>
      generateText(withTurn(turn, { ...{ ...settings, model, tools }, [name]: repair })),
    );
    assert.equal(ran, ['look_up']);
  });
}

execution('can be agents with instances, and each turn is observed once', async () => {
  await using server = await serviceWith();
  const { agent } = agentOn(server);
  const { model, ...settings } = callerOf('look_up');
  const expert = new ToolLoopAgent<{ turn: AgentTurn }, ToolSet>({
    ...{ model: callerOf('ask_user').model, tools: { ask_user: toolsWith([]).look_up } },
    prepareCall: ({ options, ...rest }) => withTurn(options.turn, rest),
  });
  const look_up = tool({
    inputSchema: z.object({}),
    execute: () =>
      agent.turn({ runId: 'expert' }, async (turn) => {
        return (await expert.generate({ prompt: 'help', options: { turn } })).text;
      }),
  });
  await agent.turn({ runId: 'run' }, (turn) =>
    generateText(withTurn(turn, { ...settings, model, tools: { look_up } })),
  );
  assert.equal(
    observed(server).map(({ headers }) => headers['idempotency-key']),
    ['turn:expert', 'turn:run'],
  );
});

const streams = suite('a stream of the AI SDK that outlives its function');

for (const [end, outcome] of [
  ['is read', 'completed'],
  ['fails', 'failed'],
  ['is aborted', 'aborted'],
] as const) {
  streams(`ends its turn once if it ${end}`, async () => {
    await using server = await serviceWith();
    const ends: unknown[] = [];
    const { agent } = agentOn(server, { appraiser: (turn) => void ends.push(turn.outcome) });
    const controller = new AbortController();
    const turn = await agent.begin({ runId: 'run' });
    const model = modelOf({
      reply: ({ step }) => {
        if (step === 0) return call('look_up');
        if (end === 'is aborted') controller.abort();
        if (end === 'is read') return 'done';
        throw controller.signal.aborted ? controller.signal.reason : new Error('nonsense');
      },
    });
    const settings = { ...{ model, prompt: 'hello', tools: toolsWith([]), maxRetries: 0 } };
    const { textStream } = streamText({
      ...withTurn(turn, { ...settings, stopWhen: isStepCount(3) }),
      ...{ abortSignal: controller.signal, ...endTurn(turn) },
    });
    for await (const _ of textStream);
    await agent.flush();
    assert.equal(ends, [outcome]);
  });
}

/** Types of tools survive, and names of tools are checked. Compiled, never run. */
export async function typed(turn: AgentTurn) {
  const { model, stopWhen, prompt } = callerOf('look_up');
  const tools = toolsWith([]);
  const { toolResults } = await generateText(
    withTurn(turn, {
      ...{ model, stopWhen, prompt, tools, runtimeContext: { userId: 7 } },
      prepareStep: ({ runtimeContext }) => ({
        activeTools: runtimeContext.userId > 7 ? ['look_up'] : [],
      }),
      toolApproval: ({ toolCall }) => (toolCall.toolName === 'look_up' ? 'approved' : undefined),
    }),
  );
  // @ts-expect-error: no such tool
  withTurn(turn, { tools, activeTools: ['lookup'] });
  // @ts-expect-error: no such tool
  new ToolPolicy<keyof typeof tools>({ lookup: 'clarify' });
  new ToolPolicy<keyof typeof tools>({ look_up: 'clarify', send_email: ['execute', 'suggest'] });
  return toolResults.map((each): number => (each.dynamic === true ? 0 : each.output.ran));
}

for (const group of [steps, approvals, execution, streams]) group.run();
