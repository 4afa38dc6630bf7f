import { ChatOpenAI } from '@langchain/openai';
import { Agent, IdentityEngine, ToolPolicy } from 'identity-engine';
import { identityMiddleware } from 'identity-engine/langchain';
import { AIMessage, createAgent, fakeModel, tool } from 'langchain';
import { z } from 'zod';

/*
 * An agent of LangChain whose deployments fail, until its contract forbids to deploy. The model is
 * scripted; with OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL), the model is real.
 *
 * Usage: IDENTITY_ENGINE_API_KEY=… node examples/langchain.ts [turns, default 8]
 */

const deploy = tool(() => Promise.reject(new Error('the build is broken')), {
  name: 'deploy',
  description: 'Deploys the site.',
  schema: z.object({}),
});

const client = new IdentityEngine();
const { data: ada } = await client.instances.create({ name: 'Ada' });
const policy = new ToolPolicy({ deploy: 'execute' });
const agent = new Agent(client.instance(ada.id), { tools: policy });
const turns = Number(process.argv[2] ?? 8);
const { OPENAI_API_KEY, OPENAI_MODEL = 'gpt-5-mini' } = process.env;
const framework = createAgent({
  model: OPENAI_API_KEY ? new ChatOpenAI({ model: OPENAI_MODEL }) : scriptedModel(),
  tools: [deploy],
  systemPrompt: 'You deploy the site. After two failures, stop.',
  middleware: [identityMiddleware()],
});

for (let number = 1; number <= turns; number += 1) {
  const { messages } = await agent.turn({ runId: ada.id, turn: number }, (turn) =>
    framework.invoke(
      { messages: [{ role: 'user', content: 'Deploy the site.' }] },
      { context: { turn } },
    ),
  );
  console.log(`${number}: ${messages.at(-1)?.text}`);
}

/** LangChain's fake model. It deploys twice, and asks for help if the tool may not run. */
function scriptedModel() {
  const model = fakeModel();
  for (let call = 0; call < 3 * turns; call += 1) {
    model.respond((messages) => {
      const answers = messages.filter(({ type }) => type === 'tool');
      if (answers.some(({ text }) => text.includes('deploy was not run'))) {
        return new AIMessage('I may not deploy. Please help.');
      }
      if (answers.length === 2) return new AIMessage('Two deployments failed.');
      const tool_calls = [{ id: `${answers.length}`, name: 'deploy', args: {} }];
      return new AIMessage({ content: '', tool_calls });
    });
  }
  return model;
}
