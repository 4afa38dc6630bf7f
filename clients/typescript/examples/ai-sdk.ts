import { openai } from '@ai-sdk/openai';
import { generateText, isStepCount, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { Agent, IdentityEngine, ToolPolicy } from 'identity-engine';
import { withTurn } from 'identity-engine/ai-sdk';
import { z } from 'zod';

/*
 * An agent of the Vercel AI SDK whose deployments fail, until its contract forbids to deploy. The
 * model is scripted; with OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL), the model is real.
 *
 * Usage: IDENTITY_ENGINE_API_KEY=… node examples/ai-sdk.ts [turns, default 8]
 */

const tools = {
  deploy: tool({
    description: 'Deploys the site.',
    inputSchema: z.object({}),
    execute: (): Promise<string> => Promise.reject(new Error('the build is broken')),
  }),
};

const client = new IdentityEngine();
const { data: ada } = await client.instances.create({ name: 'Ada' });
const policy = new ToolPolicy<keyof typeof tools>({ deploy: 'execute' });
const agent = new Agent(client.instance(ada.id), { tools: policy });
const { OPENAI_API_KEY, OPENAI_MODEL = 'gpt-5-mini' } = process.env;
const model = OPENAI_API_KEY ? openai.chat(OPENAI_MODEL) : scriptedModel();

for (let number = 1; number <= Number(process.argv[2] ?? 8); number += 1) {
  const { text } = await agent.turn({ runId: ada.id, turn: number }, (turn) =>
    generateText(
      withTurn(turn, {
        ...{ model, tools, prompt: 'Deploy the site.', stopWhen: isStepCount(5) },
        instructions: 'You deploy the site. After two failures, stop.',
      }),
    ),
  );
  console.log(`${number}: ${text}`);
}

/** The SDK's mock model. It deploys twice, and asks for help if the tool may not run. */
function scriptedModel() {
  const none = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const isRefused = JSON.stringify(prompt).includes('deploy was not run');
      const calls = prompt.filter(({ role }) => role === 'tool').length;
      const text = isRefused ? 'I may not deploy. Please help.' : 'Two deployments failed.';
      const reason = isRefused || calls === 2 ? 'stop' : 'tool-calls';
      const call = { toolCallId: `${calls}`, toolName: 'deploy', input: '{}' };
      return {
        content: [reason === 'stop' ? { type: 'text', text } : { type: 'tool-call', ...call }],
        finishReason: { unified: reason, raw: reason },
        usage: { inputTokens: none, outputTokens: none },
        warnings: [],
      };
    },
  });
}
