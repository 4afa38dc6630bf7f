import { PERSONA_PROFILES, personaIndexOf } from '#identity/persona-profiles';
import { AppraisedAgent, FAILED, TURNS, used } from '#test/simulation/agent/turns';

/** Turns in which the tools of the drawn agent fail. */
const BROKEN = { from: 60, to: 90 } as const;

const STEP = 4;
const LEFT = 90;
const HEIGHT = 60;
const PICTURE_HEIGHT = 270;
const WIDTH = LEFT + TURNS * STEP + 20;

/**
 * SVG picture of 200 turns of one agent that deploys, 45 s apart: whether the deployment runs, fails
 * or is refused, without and with the engine; the stress and energy of its instance.
 */
export function agentPicture(): string {
  const guardian = PERSONA_PROFILES[personaIndexOf('persona_guardian')];
  const agent = new AppraisedAgent(guardian?.strengths ?? []);
  const turns = Array.from({ length: TURNS }, (_, turn) => {
    const isBroken = turn >= BROKEN.from && turn < BROKEN.to;
    const isRefused = agent.forbids('execute');
    const tools = isBroken ? [FAILED, FAILED] : [used('execute')];
    if (isRefused) agent.turn([used('clarify')], 45);
    else agent.turn(tools, 45);
    const { energy } = agent.report.snapshot;
    const { load: stress } = agent;
    return {
      stress,
      energy,
      without: isBroken ? 'failed' : 'ran',
      with: isRefused ? 'refused' : isBroken ? 'failed' : 'ran',
    } as const;
  });
  const failuresOf = (side: 'without' | 'with') =>
    turns.filter((turn) => turn[side] === 'failed').length;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${PICTURE_HEIGHT}" font-family="sans-serif" font-size="11">`,
    `<rect width="${WIDTH}" height="${PICTURE_HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="16" font-size="13">One deployment every 45 s, a broken build from turn ${BROKEN.from} to ${BROKEN.to}. Failed: ${failuresOf('without')} without the engine, ${failuresOf('with')} with it</text>`,
    ...strip(
      'without engine',
      28,
      turns.map((turn) => turn.without),
    ),
    ...strip(
      'with engine',
      48,
      turns.map((turn) => turn.with),
    ),
    ...curve('stress', 80, '#b3402e', turns),
    ...curve('energy', 160, '#2f5d7d', turns),
    ...Object.entries(COLOURS).flatMap(([name, colour], index) => [
      `<rect x="${LEFT + index * 100}" y="245" width="10" height="10" fill="${colour}"/>`,
      `<text x="${LEFT + index * 100 + 15}" y="254">${name}</text>`,
    ]),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

const COLOURS = { ran: '#2f7d4f', failed: '#b3402e', refused: '#d9b44a' } as const;

/** A row of turns, colored by the outcome of the deployment. */
function strip(label: string, top: number, outcomes: readonly (keyof typeof COLOURS)[]): string[] {
  return [
    `<text x="84" y="${top + 10}" text-anchor="end">${label}</text>`,
    ...outcomes.map(
      (outcome, turn) =>
        `<rect x="${LEFT + turn * STEP}" y="${top}" width="${STEP - 1}" height="14" fill="${COLOURS[outcome]}"/>`,
    ),
  ];
}

type Figures = Readonly<Record<'stress' | 'energy', number>>;

/** A curve from 0 to 1 below a label. */
function curve(
  name: keyof Figures,
  top: number,
  colour: string,
  turns: readonly Figures[],
): string[] {
  const y = (value: number) => (top + HEIGHT * (1 - value)).toFixed(1);
  const points = turns.map((turn, index) => `${LEFT + index * STEP},${y(turn[name])}`).join(' ');
  return [
    `<text x="84" y="${top + HEIGHT / 2}" text-anchor="end">${name}</text>`,
    `<rect x="${LEFT}" y="${top}" width="${TURNS * STEP}" height="${HEIGHT}" fill="#f4f2ee"/>`,
    `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
  ];
}
