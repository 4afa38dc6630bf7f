import { Agent, IdentityEngine, ToolPolicy } from 'identity-engine';

/*
 * An agent that changes its behavior. Its scripted model deploys until its instructions say not to,
 * and every deployment fails. `make run` in the service's repository prints an API key.
 *
 * Usage: IDENTITY_ENGINE_API_KEY=… node examples/agent-loop.ts
 */

const model = (instructions: string) =>
  /Not now:.*carry out changes/.test(instructions) ? 'ask_for_help' : 'deploy';
const deploy = () => Promise.reject(new Error('the build is broken'));
const askForHelp = () => Promise.resolve('asked for help');

const client = new IdentityEngine();
const { data: ada } = await client.instances.create({ name: 'Ada' });
const tools = new ToolPolicy({ deploy: 'execute', ask_for_help: 'clarify' });
const agent = new Agent(client.instance(ada.id), { tools });

for (let number = 1; number <= 6; number += 1) {
  const answer = agent.turn({ runId: ada.id, turn: number }, async (turn) => {
    const tool = model(`You deploy the site. ${turn.prompt}`);
    const refusal = turn.refusalOf(tool);
    if (refusal !== undefined) return refusal;
    return tool === 'deploy' ? await deploy() : await askForHelp();
  });
  console.log(number, await answer.catch((error) => error.message));
}
