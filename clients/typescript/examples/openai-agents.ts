import * as sdk from '@openai/agents';
import * as fake from '@openai/agents/testing';
import { Agent, IdentityEngine, ToolPolicy } from 'identity-engine';
import { runOptions, withIdentity } from 'identity-engine/openai-agents';
import { z } from 'zod';

/*
 * An agent of the OpenAI Agents SDK whose deployments fail, until its contract forbids to deploy.
 * The model is scripted; with OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL), it is real.
 *
 * Usage: IDENTITY_ENGINE_API_KEY=… node examples/openai-agents.ts [turns, default 8]
 */

const deploy = sdk.tool({
  name: 'deploy',
  description: 'Deploys the site.',
  parameters: z.object({}),
  execute: () => Promise.reject(new Error('the build is broken')),
});

const client = new IdentityEngine();
const { data: ada } = await client.instances.create({ name: 'Ada' });
const policy = new ToolPolicy({ deploy: 'execute' });
const agent = new Agent(client.instance(ada.id), { tools: policy });
const turns = Number(process.argv[2] ?? 8);
const { OPENAI_API_KEY, OPENAI_MODEL = 'gpt-5-mini' } = process.env;
sdk.setOpenAIAPI('chat_completions'); // Other providers have this API too.
sdk.setTracingDisabled(true);
const framework = withIdentity(
  new sdk.Agent({
    name: 'Ada',
    model: OPENAI_API_KEY ? OPENAI_MODEL : scriptedModel(),
    tools: [deploy],
    instructions: 'You deploy the site. After two failures, stop.',
  }),
);

for (let number = 1; number <= turns; number += 1) {
  const { finalOutput } = await agent.turn({ runId: ada.id, turn: number }, (turn) =>
    sdk.run(framework, 'Deploy the site.', runOptions({ turn })),
  );
  console.log(`${number}: ${finalOutput}`);
}

/** The SDK's scripted model. It deploys twice, and asks for help if the tool may not run. */
function scriptedModel() {
  const respond = fake.modelResponder(({ request }) => {
    const texts = [...request.input].map((item) => JSON.stringify(item));
    const calls = texts.filter((text) => text.includes('function_call_result')).length;
    if (texts.join().includes('deploy was not run')) {
      return [fake.assistantMessage('I may not deploy. Please help.')];
    }
    if (calls === 2) return [fake.assistantMessage('Two deployments failed.')];
    return [fake.functionCall('deploy', {}, { callId: `${calls}` })];
  });
  return new fake.ScriptedModel(Array.from({ length: 3 * turns }, () => respond));
}
