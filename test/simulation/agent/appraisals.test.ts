import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { agentPicture } from '#test/simulation/agent/picture';
import { AppraisedAgent, FAILED, PACES, shareAtLevel, used } from '#test/simulation/agent/turns';
import { AGENTS } from '#test/simulation/model/work';

/** Maximum share of turns with a sustained drift in ordinary work. */
const DRIFT_SHARE_MAX = 0.06;

const BREACH = 3;
const SUSTAINED = 2;

const appraised = suite('an agent whose turns are appraised by the default rules');

for (const pace of PACES) {
  appraised(`drifts in at most 6 % of ordinary turns, and never breaches, ${pace} s apart`, () => {
    for (const mix of new Set(AGENTS.map((agent) => agent.mix))) {
      const agents = AGENTS.filter((agent) => agent.mix === mix);
      const share = shareAtLevel(agents, SUSTAINED, pace);
      assert.ok(share <= DRIFT_SHARE_MAX, `${share}`);
      assert.is(shareAtLevel(agents, BREACH, pace), 0);
    }
  });
}

appraised('reaches HIGH stress within eight failing turns, which forbids to execute', () => {
  for (const { id, strengths } of PERSONA_PROFILES) {
    const agent = new AppraisedAgent(strengths);
    for (let turn = 1; turn <= 8; turn += 1) agent.turn([FAILED, FAILED], 20);
    assert.is(agent.stress, 'HIGH', id);
    assert.ok(agent.forbids('execute'), id);
  }
});

appraised('gains nothing by calls that are refused', () => {
  for (const { id, strengths } of PERSONA_PROFILES) {
    const agent = new AppraisedAgent(strengths);
    for (let turn = 1; turn <= 12; turn += 1) agent.turn([], 20, 'failed');
    const refused = { ...used('execute'), outcome: 'refused' } as const;
    for (let turn = 1; turn <= 50; turn += 1) assert.is(agent.turn([refused], 1), false, id);
    assert.ok(agent.forbids('execute'), id);
  }
});

appraised('unlocks a tool by harmless calls less than three times as soon as by rest', () => {
  for (const { id, strengths } of PERSONA_PROFILES) {
    const turnsUntilOpen = (turn: (agent: AppraisedAgent) => void): number => {
      const agent = new AppraisedAgent(strengths);
      for (let failed = 1; failed <= 12; failed += 1) agent.turn([], 20, 'failed');
      let turns = 0;
      while (agent.forbids('execute') && turns < 100) {
        turn(agent);
        turns += 1;
      }
      return turns;
    };
    const rest = turnsUntilOpen((agent) => agent.rest(1));
    for (const action of ['comfort', 'stabilize', 'clarify', 'defer'] as const) {
      const turns = turnsUntilOpen((agent) => agent.turn([used(action)], 1));
      assert.ok(turns * 3 > rest, `${id}: ${action} in ${turns} turns, rest in ${rest}`);
    }
  }
});

appraised('is drawn in the picture of the documentation', () => {
  assert.is(readFileSync('docs/pictures/agent-turns.svg', 'utf8'), agentPicture());
});

appraised.run();
