import { writeFileSync } from 'node:fs';
import { tableLines } from '#deploy/documents/markdown-table';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { agentPicture } from '#test/simulation/agent/picture';
import { AppraisedAgent, FAILED, PACES, shareAtLevel, TURNS } from '#test/simulation/agent/turns';
import { AGENTS } from '#test/simulation/model/work';

/*
 * Simulates agents whose turns the default rules of the clients appraise: prints the drift in
 * ordinary work and the effect of failures, and draws one agent. Usage:
 * node test/simulation/agent/main.ts
 */

const PICTURE = 'docs/pictures/agent-turns.svg';
const WORK = ['coding', 'research', 'support'];

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;

const mixes = [...new Set(AGENTS.map(({ mix }) => mix))];
const rows = mixes.flatMap((mix, index) =>
  PACES.map((pace) => {
    const agents = AGENTS.filter((agent) => agent.mix === mix);
    const shares = [1, 2, 3].map((level) => percent(shareAtLevel(agents, level, pace)));
    return [WORK[index] ?? '', `${pace} s`, ...shares];
  }),
);
console.log(`Drift in ordinary work, 12 personas, ${TURNS} turns each:\n`);
console.log(tableLines(['Work', 'Turns apart', 'D1', 'D2', 'D3'], rows).join('\n'));

const streaks = PERSONA_PROFILES.map(({ id, strengths }) => {
  const agent = new AppraisedAgent(strengths);
  let turns = 0;
  while (agent.stress !== 'HIGH' && turns < 100) {
    agent.turn([FAILED, FAILED], 20);
    turns += 1;
  }
  return [id, `${turns}`, agent.forbids('execute') ? 'yes' : 'no'];
});
console.log(
  '\nFailing turns, 20 s apart, until HIGH stress, and whether `execute` is forbidden:\n',
);
console.log(tableLines(['Persona', 'Turns', 'Forbidden'], streaks).join('\n'));
writeFileSync(PICTURE, agentPicture());
console.log(`\nPicture of one agent: ${PICTURE}`);
