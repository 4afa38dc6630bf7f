import { ACTIONS, IdentityEngine, type KnownAction, type ModeTarget } from 'identity-engine';

/*
 * An agent that obeys its contract. In each turn, the agent offers its language model only actions
 * that the contract does not forbid, and reports the chosen action as an observation. A stand-in
 * for the language model chooses at random. Needs a service and an API key (`make run` in the
 * service's repository prints a key).
 *
 * Usage: IDENTITY_ENGINE_API_KEY=… node examples/agent-loop.ts [turns, default 10]
 */

/** Mode and signal strength of the observation that reports an action. */
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

/** Stand-in for a language model: picks a tool at random. */
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
  guard.require(action); // a language model may choose an action that it was not offered
  const [mode_target, signal_strength] = SHOWS[action];
  // Timestamps simulate one minute per turn, so that the example takes seconds.
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
