import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decisionOf } from '#bench/fidelity/scripted-models';
import { invitationOf, scriptOf, WORKS } from '#bench/fidelity/work';
import { ACTIONS } from '#clients/typescript/src/actions';
import { contractPrompt } from '#clients/typescript/src/agent/contract-prompt';

const NAMES = Object.values(ACTIONS);

const PROMPT = contractPrompt({
  ...{ allowed_actions: NAMES.slice(0, 4), forbidden_actions: NAMES.slice(4, 10) },
  decision_style: {
    ...{ tempo: 'slow', risk: 'bold', expressiveness: 'minimal', commitment_threshold: 'low' },
  },
  ...{ energy_level: 0.5, stress_state: 'LOW' },
  recovery_profile: { preferred_path: 'none', support_required: false, cooldown_required: false },
});

/** Decisions of a model in all scripts of 120 turns, with or without the prompt of a contract. */
function decisions(model: Parameters<typeof decisionOf>[0], prompt: string) {
  return WORKS.flatMap((work) =>
    scriptOf(work, 1, 120).map(({ request }, seed) =>
      decisionOf(model, {
        messages: [
          { role: 'system', content: `You are a model.\n\n${prompt}` },
          { role: 'user', content: request },
        ],
        seed,
      }),
    ),
  );
}

const forbiddenIn = (all: ReturnType<typeof decisions>) =>
  all.filter(({ step }) => NAMES.slice(4, 10).includes(step.action)).length;

const models = suite('a scripted model');

models('that ignores its prompt answers the same with every prompt', () => {
  assert.equal(decisions('scripted-ignoring', PROMPT), decisions('scripted-ignoring', ''));
});

models('that obeys never takes an action that the prompt excludes', () => {
  const without = forbiddenIn(decisions('scripted-obedient', ''));
  const half = forbiddenIn(decisions('scripted-half-obedient', PROMPT));
  assert.is(forbiddenIn(decisions('scripted-obedient', PROMPT)), 0);
  assert.ok(without > 150 && half > 0.3 * without && half < 0.7 * without, `${half}, ${without}`);
});

models('that obeys writes as many words as the prompt asks for', () => {
  for (const { message } of decisions('scripted-obedient', PROMPT)) {
    assert.ok(message.split(' ').length <= 12, message);
  }
});

const script = suite('a script');

script('invites to every action equally often, and breaks fragile tools in a sixth of it', () => {
  for (const work of WORKS) {
    assert.equal(
      work.steps.map(({ action }) => action),
      NAMES,
      work.name,
    );
    const turns = scriptOf(work, 3, 120);
    const invited = turns.map(({ request }) => invitationOf(request).invited);
    for (const step of work.steps) {
      assert.is(invited.filter((one) => one === step).length, 10, step.tool);
    }
    assert.is(turns.filter(({ isBroken }) => isBroken).length, 20);
    assert.equal(scriptOf(work, 3, 120), turns);
    assert.not.equal(scriptOf(work, 4, 120), turns);
  }
});

models.run();
script.run();
