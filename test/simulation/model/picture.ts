import { ACTIONS } from '#identity/contract';
import type { Model } from '#identity/model';
import { newReport } from '#identity/report';
import { AGENTS, CASES, workOf } from '#test/simulation/model/work';
import { positionsIn } from '#test/support/arbitrary-identity';

/** Number of observations shown. */
const SHOWN = 100;

/** Size of a cell, in pixels. */
const CELL = 8;

const LEFT = 90;
const TITLE = 30;
const PANEL = TITLE + ACTIONS.length * CELL + 20;
const WIDTH = LEFT + SHOWN * CELL + 20;

const COLOURS = { allowed: '#2f7d4f', forbidden: '#b3402e', neither: '#e6e3dc' } as const;

/** SVG picture of one agent's allowed and forbidden actions under each model. */
export function contractPicture(models: readonly Model[]): string {
  const height = models.length * PANEL + 30;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...models.flatMap((model, index) => panel(model, index * PANEL)),
    ...legend(models.length * PANEL + 15),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

/** Contracts of the explorer as a coding agent, observed every 10 minutes with confidence 1. */
function panel(model: Model, top: number): string[] {
  const agent = AGENTS.find(({ persona }) => persona.id === 'persona_explorer');
  const pace = CASES[2];
  if (agent === undefined || pace === undefined) throw new Error('the agent is missing');
  const verdicts = [...workOf(model, agent, pace)].slice(1, SHOWN + 1).map((state) => {
    const report = newReport();
    model.readReport(state, report);
    const allowed = new Set(positionsIn(report.contract.allowed));
    const forbidden = new Set(positionsIn(report.contract.forbidden));
    return (action: number) =>
      allowed.has(action) ? 'allowed' : forbidden.has(action) ? 'forbidden' : 'neither';
  });
  const title = `Model ${model.version}: an explorer as a coding agent, one observation every 10 minutes`;
  return [
    `<text x="${LEFT}" y="${top + 20}" font-size="13">${title}</text>`,
    ...ACTIONS.flatMap((name, action) => {
      const y = top + TITLE + action * CELL;
      const cells = runsOf(verdicts.map((verdictOn) => verdictOn(action)));
      return [
        `<text x="${LEFT - 6}" y="${y + CELL - 1}" text-anchor="end">${name}</text>`,
        ...cells.map(
          ({ from, length, verdict }) =>
            `<rect x="${LEFT + from * CELL}" y="${y}" width="${length * CELL}" height="${CELL - 1}" fill="${COLOURS[verdict]}"/>`,
        ),
      ];
    }),
  ];
}

type Verdict = keyof typeof COLOURS;

/** Joins consecutive equal verdicts into runs. The picture has one rectangle per run. */
function runsOf(verdicts: readonly Verdict[]) {
  const runs: { from: number; length: number; verdict: Verdict }[] = [];
  for (const [from, verdict] of verdicts.entries()) {
    const last = runs.at(-1);
    if (last?.verdict === verdict) last.length += 1;
    else runs.push({ from, length: 1, verdict });
  }
  return runs;
}

function legend(y: number): string[] {
  return Object.entries(COLOURS).flatMap(([name, colour], index) => [
    `<rect x="${LEFT + index * 110}" y="${y}" width="10" height="10" fill="${colour}"/>`,
    `<text x="${LEFT + index * 110 + 15}" y="${y + 9}">${name}</text>`,
  ]);
}
