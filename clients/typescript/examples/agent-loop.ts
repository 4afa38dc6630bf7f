import { ACTIONS, IdentityEngine, type KnownAction, type ModeTarget } from 'identity-engine';

/*
 * An agent that obeys its contract: before each turn it offers its language model only the actions that are not
 * forbidden, and afterwards it reports what it has done. The language model is a stand-in that asks for actions
 * at random. Needs a service and a key (`make run` in the service's repository prints one):
 * IDENTITY_ENGINE_API_KEY=… node examples/agent-loop.ts [turns, default 10]
 */

/** What an action says of the agent: which of its modes it exercises, and how strongly. */
const SHOWS: Readonly<Record<KnownAction, readonly [ModeTarget, number]>> = {
  explore: ['EXPLORATION', 0.8],
  question: ['PERCEPTION', 0.6],
  elaborate: ['EXPLORATION', 0.4],
  suggest: ['ASSERTION', 0.4],
  execute: ['ORDER', 0.7],
  pivot: ['EXPLORATION', 0.9],
  challenge: ['ASSERTION', 0.9],
  comfort: ['CONNECTION', 0.8],
  clarify: ['PERCEPTION', 0.7],
  stabilize: ['ORDER', 0.5],
  defer: ['CONNECTION', 0.3],
  withdraw: ['STRESS_RESPONSE', 0.6],
};

/** Stands in for a language model that was given these tools: it picks one of them. */
async function languageModel(tools: readonly KnownAction[]): Promise<KnownAction> {
  return tools[Math.floor(Math.random() * tools.length)] ?? 'defer';
}

const turns = Number(process.argv[2] ?? 10);
const client = new IdentityEngine();
const { data: agent } = await client.instances.create({
  name: 'Ada',
  initial_config: { mode_strengths: { perception: 0.7, order: 0.6, connection: 0.4 } },
});
const instance = client.instance(agent.id);
const guard = instance.guard({ maxAgeMs: 60_000 });
await guard.refresh();

const startMs = Date.now() - turns * 60_000;
for (let turn = 1; turn <= turns; turn += 1) {
  const tools = Object.values(ACTIONS).filter((action) => guard.allows(action));
  const action = await languageModel(tools);
  guard.require(action); // a model may ask for what it was not offered
  const [mode_target, signal_strength] = SHOWS[action];
  // This agent lives one minute a turn, so that the example does not take that long.
  const timestamp = new Date(startMs + turn * 60_000).toISOString();
  const context = { turn, action };
  const { data } = await instance.process({ mode_target, signal_strength, context, timestamp });
  const { stress_state, energy_level } = data.snapshot;
  console.log(
    `${turn}: ${action}; stress ${stress_state}, energy ${energy_level.toFixed(2)}, ` +
      `drift ${data.drift.level}; not now: ${data.contract.forbidden_actions.join(' ') || 'nothing'}`,
  );
}
await client.instances.delete(agent.id);
