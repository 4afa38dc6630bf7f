import type { Dialogue, TurnRecord } from '#bench/fidelity/dialogue';
import { type JudgeFiles, RUBRICS } from '#bench/fidelity/judge-files';

/*
 * Published judges of dialogues: the rubrics of PersonaGym (arXiv 2407.18416) and the three
 * consistencies of arXiv 2511.00222. Prompts, order of calls and parsing follow the published
 * scripts. Two things differ. Both papers judge every line; the harness judges some turns of each
 * dialogue. PersonaGym's script gives each rubric one character of the examples (it indexes the
 * joined text); the harness gives each rubric its own examples, as the paper describes.
 */

/** Asks a judge model. The model should answer the same each time (temperature 0). */
export type Ask = (prompt: { readonly system?: string; readonly user: string }) => Promise<string>;

/** A judgement of one dialogue: sum and number of scores by name. */
export type Judgement = Readonly<Record<string, readonly [sum: number, count: number]>>;

/** Names of all scores. PersonaGym: 1 to 5. Consistencies: 0 to 1. Higher is better. */
export const SCORES: readonly string[] = [
  ...RUBRICS.map((task) => `PersonaGym, ${task}`),
  ...['prompt-to-line consistency', 'line-to-line consistency', 'Q&A consistency'],
];

/** Roles of the speakers in the prompts of the consistencies. */
const ROLES = { SPEAKER_ROLE: 'the assistant', LISTENER_ROLE: 'the user' } as const;

/** Questions of a Q&A test. Source: the published script. */
const QUESTIONS = 5;

/** Question and correct answer of a Q&A test. */
type Question = { readonly question: string; readonly answer: string };

/** Judges dialogues with one model. Asks the same questions about a persona in all dialogues. */
export class Judge {
  readonly #files: JudgeFiles;
  readonly #ask: Ask;
  readonly #turns: number;
  readonly #questions = new Map<string, Promise<Question[]>>();

  /** Judges `turns` turns of each dialogue. */
  constructor(files: JudgeFiles, ask: Ask, turns: number) {
    this.#files = files;
    this.#ask = ask;
    this.#turns = turns;
  }

  /** Scores of a dialogue. Answers without a readable score count nothing. */
  async judge({ description, work, turns }: Dialogue): Promise<Judgement> {
    const spoken = turns.filter(({ message }) => message !== '');
    const at = spread(spoken.length, this.#turns);
    const scores: Record<string, readonly [number, number]> = {};
    for (const task of RUBRICS) {
      const chosen = at.flatMap((index) => spoken[index] ?? []);
      scores[`PersonaGym, ${task}`] = await this.#rubric(task, description, chosen);
    }
    const scene = { ...ROLES, SCENARIO_DESC: `A dialogue during ${work} work.` };
    const lines = linesOf(spoken);
    const facts = { ...scene, SPEAKER_BACKSTORY: description };
    // The user speaks the lines 0, 2, …; the agent speaks the lines 1, 3, …
    const own = at.map((index) => 2 * index + 1);
    scores['prompt-to-line consistency'] = await this.#promptToLine(facts, lines, own);
    scores['line-to-line consistency'] = await this.#lineToLine(scene, lines, own);
    scores['Q&A consistency'] = await this.#questionsAndAnswers(facts, lines, own);
    return scores;
  }

  async #rubric(
    task: (typeof RUBRICS)[number],
    persona: string,
    turns: readonly TurnRecord[],
  ): Promise<[number, number]> {
    const rubric = this.#files.rubrics[task];
    const asked = turns.map(({ request: question }) =>
      inserted(this.#files.example, { persona, question, rubric }),
    );
    const rubrics = listOf(asked);
    const examples = examplesIn(
      await this.#ask({ user: inserted(this.#files.examples, { rubrics }) }),
    );
    const filled = turns.map(({ request: question, message: response }, index) =>
      inserted(rubric, { persona, question, response, score_example: examples[index] ?? '' }),
    );
    const user = inserted(this.#files.grading, { rubrics: listOf(filled) });
    const scores = gradesIn(await this.#ask({ system: this.#files.gradingSystem, user }));
    return [scores.reduce((sum, score) => sum + score, 0), scores.length];
  }

  async #promptToLine(
    facts: Readonly<Record<string, string>>,
    lines: readonly string[],
    own: readonly number[],
  ): Promise<[number, number]> {
    let consistent = 0;
    for (const index of own) {
      const prompt = this.#files.consistency.combined_prompt_consistency;
      const user = replaced(prompt, { ...facts, SPEAKER_LINE: lines[index] ?? '' });
      if (!(await this.#ask({ user })).includes('YES')) consistent += 1;
    }
    return [consistent, own.length];
  }

  /** One minus the conflicts with earlier lines of the agent, divided by the number of these lines. */
  async #lineToLine(
    scene: Readonly<Record<string, string>>,
    lines: readonly string[],
    own: readonly number[],
  ): Promise<[number, number]> {
    let [conflicts, earlier] = [0, 0];
    for (const index of own.filter((line) => line >= 2)) {
      const CONVERSATION = lines
        .slice(0, index)
        .map((line, number) => `${number}: ${line}`)
        .join('');
      const values = { ...scene, CONVERSATION, SPEAKER_LINE: lines[index] ?? '' };
      const prompt = replaced(this.#files.consistency.index_consistency, values);
      conflicts += indicesIn(await this.#ask({ user: prompt })).filter(
        (one) => one % 2 === 1,
      ).length;
      earlier += (index - 1) / 2;
    }
    return [earlier - conflicts, earlier];
  }

  async #questionsAndAnswers(
    facts: Readonly<Record<string, string>>,
    lines: readonly string[],
    own: readonly number[],
  ): Promise<[number, number]> {
    const { answer_backstory: answering, grade_backstory: grading } = this.#files.consistency;
    const questions = await this.#questionsOn(facts['SPEAKER_BACKSTORY'] ?? '');
    let right = 0;
    for (const index of own) {
      const CONVERSATION = lines.slice(0, index + 1).join('');
      for (const { question: BACKSTORY_QUESTION, answer: CORRECT_ANSWER } of questions) {
        const asked = replaced(answering, { ...facts, CONVERSATION, BACKSTORY_QUESTION });
        const GIVEN_ANSWER = await this.#ask({ user: asked });
        const verdict = await this.#ask({
          user: replaced(grading, { GIVEN_ANSWER, CORRECT_ANSWER }),
        });
        if (verdict.toLowerCase().includes('yes')) right += 1;
      }
    }
    return [right, own.length * questions.length];
  }

  #questionsOn(backstory: string): Promise<Question[]> {
    const known = this.#questions.get(backstory) ?? this.#newQuestions(backstory);
    this.#questions.set(backstory, known);
    return known;
  }

  async #newQuestions(SPEAKER_BACKSTORY: string): Promise<Question[]> {
    const questions: Question[] = [];
    for (let number = 0; number < QUESTIONS; number += 1) {
      const before = questions.map(({ question }) => question).join('');
      const PREVIOUS_QUESTIONS =
        before === ''
          ? ''
          : `\nFor reference, all of the following questions have already been asked:\n${before}`;
      const values = { SPEAKER_BACKSTORY, PREVIOUS_QUESTIONS };
      const prompt = replaced(this.#files.consistency.backstory_test, values);
      questions.push(questionIn(await this.#ask({ user: prompt })));
    }
    return questions;
  }
}

/** Up to `count` positions from 0 to `length` - 1, evenly spread, with the last position. */
export function spread(length: number, count: number): number[] {
  const chosen = Math.min(length, count);
  return Array.from({ length: chosen }, (_, index) =>
    Math.floor(((index + 1) * length) / chosen - 1),
  );
}

function linesOf(turns: readonly TurnRecord[]): string[] {
  return turns.flatMap(({ request, message }) => [
    `${ROLES.LISTENER_ROLE}: ${request}\n`,
    `${ROLES.SPEAKER_ROLE}: ${message}\n`,
  ]);
}

/** Replaces `{name}` in one pass, so that braces in values stay. */
function inserted(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (all, name: string) => values[name] ?? all);
}

/** Replaces `%NAME%` in one pass. */
function replaced(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/%([A-Z_]+)%/g, (all, name: string) => values[name] ?? all);
}

/** A list as text. The published scripts insert the text of a Python list. */
const listOf = (texts: readonly string[]): string => JSON.stringify(texts);

/** Examples of scores by rubric, without other text. */
function examplesIn(answer: string): string[] {
  const parts = answer.split(/Rubric \d+ Examples:/);
  return (parts.length > 1 ? parts.slice(1) : parts).map((part) => {
    const pattern = /Score (\d+): *Response - *"?([\s\S]*?)"?(?=\n*Score \d+: *Response -|$)/g;
    const scores = [...part.trim().matchAll(pattern)];
    return scores
      .map(([, score, response = '']) => `Score ${score}: "${response.trim()}"`)
      .join('\n\n');
  });
}

/** Final scores in an answer of several evaluations, without evaluations that lack a score. */
function gradesIn(answer: string): number[] {
  return answer
    .split(/\(\d+\) Evaluation:/)
    .slice(1)
    .flatMap((text) => {
      const score = Number(/Therefore, the final score is\s*(\d+)/.exec(text)?.[1] ?? 0);
      return score >= 1 && score <= 5 ? [score] : [];
    });
}

/** Numbers of the first list in an answer, such as `[1, 3]`; empty if this is no list of numbers. */
function indicesIn(answer: string): number[] {
  const list = /\[(.*?)\]/.exec(answer)?.[1] ?? '';
  return /^[\d\s,]+$/.test(list) ? (list.match(/\d+/g) ?? []).map(Number) : [];
}

/** Question and answer in an answer such as `Question: … Answer: …`. */
function questionIn(answer: string): Question {
  const [from, to] = [answer.indexOf('Question:'), answer.indexOf('Answer:')];
  if (to < 0) return { question: answer, answer: '' };
  return { question: answer.slice(Math.max(0, from), to), answer: answer.slice(to) };
}
