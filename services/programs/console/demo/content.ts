/*
 * Content of the demonstration fleet: 50 agents of one company, and the story of their past week.
 * `demo/weeks` turns a story into observations.
 */
import type { PersonaId } from '#identity/persona-profiles';

/** Last day of the week: today. Day 0 is six days ago. */
export const TODAY = 6;

/**
 * What happens to an agent on a day, after its usual work: `pressure` is `count` readings of stress
 * near `level`; `departure` is readings in which the `modes` weakest and strongest modes alternate
 * `times` times with the opposite of the agent's character.
 */
export type Happening =
  | { readonly day: number; readonly pressure: number; readonly level: number }
  | { readonly day: number; readonly departure: number; readonly times: number };

/** Courses of a week. Without happenings, an agent acts in character. */
export const STORIES = {
  calm: [],
  /** Demanding work today. */
  busy: [{ day: TODAY, pressure: 3, level: 0.52 }],
  /** Under growing pressure since yesterday. */
  stressed: [
    { day: 5, pressure: 2, level: 0.5 },
    { day: TODAY, pressure: 5, level: 0.78 },
  ],
  /** Far beyond its limits for three days. */
  overloaded: [
    { day: 4, pressure: 3, level: 0.97 },
    { day: 5, pressure: 6, level: 0.97 },
    { day: TODAY, pressure: 9, level: 0.97 },
  ],
  /** Under pressure in the middle of the week, calm since. */
  recovered: [{ day: 3, pressure: 5, level: 0.85 }],
  /** Out of character today. */
  situational: [{ day: TODAY, departure: 2, times: 1 }],
  /** Leaves its character day by day. */
  drifting: [
    { day: 4, departure: 1, times: 3 },
    { day: 5, departure: 1, times: 6 },
    { day: TODAY, departure: 1, times: 9 },
  ],
  /** Broke with its character in the middle of the week, so the service rolled the agent back. */
  rolled_back: [{ day: 3, departure: 4, times: 3 }],
  /** Confused in the first days, then reset by an operator. */
  reset: [
    { day: 0, departure: 2, times: 2 },
    { day: 1, departure: 2, times: 2 },
    { day: 2, departure: 2, times: 2 },
  ],
} as const satisfies Record<string, readonly Happening[]>;

/** Course of an agent's week. */
export type Story = keyof typeof STORIES;

/** Number of days before the reset in the story `reset`. */
export const RESET_AFTER_DAYS = 3;

/** Teams with the tasks that their observations name. */
export const TEAMS = {
  support: ['refund request', 'login problem', 'late delivery', 'angry customer', 'thank-you note'],
  docs: ['release notes', 'broken link', 'new tutorial', 'style review', 'reader question'],
  research: ['literature search', 'experiment plan', 'odd result', 'summary', 'peer review'],
  operations: ['failed backup', 'night alert', 'capacity plan', 'rollout', 'post-mortem'],
  sales: ['first call', 'price question', 'demo request', 'lost deal', 'contract draft'],
} as const;

/** A team. */
type Team = keyof typeof TEAMS;

/** An agent of the demonstration. */
export type DemoAgent = {
  /** Stable name, from which the id of the instance is derived. */
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly persona: PersonaId;
  readonly team: Team;
  readonly story: Story;
};

type Row = readonly [
  name: string,
  persona: Exclude<PersonaId, never> extends `persona_${infer Name}` ? Name : never,
  story: Story,
  work: string,
];

const ROWS: Readonly<Record<Team, readonly Row[]>> = {
  support: [
    ['Mira', 'supporter', 'calm', 'Answers the first line of the chat'],
    ['Tomas', 'diplomat', 'stressed', 'Handles complaints about deliveries'],
    ['Aiko', 'supporter', 'calm', 'Answers questions about accounts'],
    ['Bruno', 'guardian', 'busy', 'Checks refunds above 100 euros'],
    ['Leila', 'diplomat', 'recovered', 'Takes over calls that went wrong'],
    ['Pavel', 'analytical', 'calm', 'Sorts new tickets by subject'],
    ['Nadia', 'supporter', 'overloaded', 'Covers the night shift alone'],
    ['Owen', 'performer', 'situational', 'Writes to customers who want to leave'],
    ['Ines', 'supporter', 'calm', 'Answers mail in Spanish'],
    ['Kofi', 'catalyst', 'busy', 'Collects ideas from customers'],
  ],
  docs: [
    ['Greta', 'scholar', 'calm', 'Writes the reference of the API'],
    ['Hugo', 'creative', 'drifting', 'Writes tutorials for beginners'],
    ['Sana', 'analytical', 'calm', 'Checks every example before a release'],
    ['Lars', 'guardian', 'calm', 'Keeps terms and style consistent'],
    ['Yuki', 'creative', 'calm', 'Draws diagrams from descriptions'],
    ['Emil', 'scholar', 'busy', 'Writes release notes'],
    ['Zoe', 'performer', 'calm', 'Records short videos'],
    ['Ravi', 'philosopher', 'calm', 'Explains why things are as they are'],
    ['Clara', 'diplomat', 'recovered', 'Answers readers in the forum'],
    ['Anton', 'scholar', 'rolled_back', 'Translates the guide'],
  ],
  research: [
    ['Dora', 'philosopher', 'calm', 'Formulates questions for experiments'],
    ['Felix', 'explorer', 'situational', 'Searches papers for new methods'],
    ['Amara', 'analytical', 'calm', 'Analyses the results of experiments'],
    ['Jonas', 'scholar', 'calm', 'Summarises papers for the team'],
    ['Noor', 'explorer', 'drifting', 'Tries tools that nobody has tried'],
    ['Elif', 'analytical', 'busy', 'Plans experiments and their cost'],
    ['Marco', 'pioneer', 'calm', 'Builds prototypes in a day'],
    ['Sofia', 'philosopher', 'reset', 'Reviews the ethics of experiments'],
    ['Viktor', 'explorer', 'calm', 'Watches what other teams publish'],
    ['Hana', 'catalyst', 'calm', 'Brings results to the other teams'],
  ],
  operations: [
    ['Igor', 'guardian', 'stressed', 'Answers alerts at night'],
    ['Maya', 'leader', 'busy', 'Leads the response to incidents'],
    ['Stefan', 'guardian', 'calm', 'Checks backups every morning'],
    ['Alba', 'analytical', 'calm', 'Plans capacity for the next month'],
    ['Chen', 'pioneer', 'rolled_back', 'Automates tasks that people repeat'],
    ['Rosa', 'leader', 'recovered', 'Plans releases with all teams'],
    ['Timo', 'guardian', 'calm', 'Reviews changes of the configuration'],
    ['Asha', 'analytical', 'stressed', 'Looks for the cause of slow answers'],
    ['Erik', 'scholar', 'calm', 'Writes post-mortems'],
    ['Lina', 'diplomat', 'busy', 'Informs customers about incidents'],
  ],
  sales: [
    ['Carmen', 'leader', 'situational', 'Negotiates yearly contracts'],
    ['Ben', 'performer', 'calm', 'Gives demonstrations'],
    ['Olga', 'diplomat', 'calm', 'Answers questions about prices'],
    ['Dario', 'catalyst', 'drifting', 'Finds customers for new features'],
    ['Ivy', 'pioneer', 'busy', 'Opens new markets'],
    ['Samir', 'performer', 'stressed', 'Follows up on lost deals'],
    ['Wanda', 'guardian', 'calm', 'Checks contracts before signature'],
    ['Paul', 'leader', 'rolled_back', 'Coaches the other agents of the team'],
    ['Rhea', 'explorer', 'recovered', 'Reads the news of the market'],
    ['Luca', 'supporter', 'situational', 'Cares for old customers'],
  ],
};

/** All agents of the demonstration. */
export const DEMO_AGENTS: readonly DemoAgent[] = Object.entries(ROWS).flatMap(([team, rows]) =>
  rows.map(([name, persona, story, work]) => ({
    ...{ slug: name.toLowerCase(), name, description: `${work}.`, story },
    persona: `persona_${persona}` as const,
    team: team as Team,
  })),
);
