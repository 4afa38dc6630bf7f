import { Agent, IdentityEngine, ToolPolicy } from 'identity-engine';

/*
 * An agent that changes its behavior. A scripted model deploys again and again, and every
 * deployment fails. The failures are observed as stress, until the contract forbids the tool and
 * the prompt asks for help. Needs a service and an API key (`make run` in the service's repository
 * prints a key).
 *
 * Usage: IDENTITY_ENGINE_API_KEY=… node examples/agent-loop.ts [turns, default 10]
 */

const TOOLS = { deploy: () => Promise.reject(new Error('the build is broken')) };

const turns = Number(process.argv[2] ?? 10);
const client = new IdentityEngine();
const { data: ada } = await client.instances.create({
  name: 'Ada',
  initial_config: { mode_strengths: { perception: 0.7, order: 0.6, connection: 0.4 } },
});
const agent = new Agent(client.instance(ada.id), {
  tools: new ToolPolicy({ deploy: 'execute' }, { tools: Object.keys(TOOLS) as 'deploy'[] }),
  onError: (error) => console.error(`the service is away: ${error}`),
});

for (let number = 1; number <= turns; number += 1) {
  const turn = await agent.begin({ runId: ada.id, turn: number });
  // Put turn.prompt last into the instructions of a language model. This model always deploys.
  const refusal = turn.refusalOf('deploy');
  if (refusal === undefined) {
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await TOOLS.deploy().then(
        () => turn.used('deploy', 'ok'),
        () => turn.used('deploy', 'error'),
      );
    }
  }
  console.log(
    `${number}: ${turn.contract?.stress_state}; ${refusal ?? 'deployed twice, failed twice'}`,
  );
  await turn.end();
}
await client.instances.delete(ada.id);
