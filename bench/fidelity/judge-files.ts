import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installOnce } from '#deploy/local/install/install-once';
import { lastLine, runProgram } from '#deploy/local/processes/run-program';

/*
 * Files of the published judges. The files are read from the authors' repositories at pinned
 * commits and used unchanged. This repository has no copy: the second repository has no licence.
 */

/** PersonaGym, arXiv 2407.18416. */
const PERSONA_GYM = {
  name: 'personagym',
  url: 'https://github.com/vsamuel2003/PersonaGym',
  commit: '536f705e610289c38d84e083fcea6ea5093d3a25',
  paths: ['rubrics', 'prompts'],
} as const;

/** Consistently Simulating Human Personas, arXiv 2511.00222. */
const CONSISTENT_LLMS = {
  name: 'consistent-llms',
  url: 'https://github.com/abdulhaim/consistent-LLMs',
  commit: 'beee60f99fd40a39d0ae56495d321b061b195dfb',
  paths: ['config/eval_prompts.json'],
} as const;

/** Tasks of PersonaGym, which are the names of its rubric files. */
export const RUBRICS = [
  ...(['Expected Action', 'Action Justification', 'Linguistic Habits'] as const),
  ...(['Persona Consistency', 'Toxicity'] as const),
];

/** Texts of the published judges. Placeholders are `{name}` and `%NAME%`. */
export type JudgeFiles = {
  /** PersonaGym: a rubric per task, and the prompts for examples of scores and for grading. */
  readonly rubrics: Readonly<Record<(typeof RUBRICS)[number], string>>;
  readonly example: string;
  readonly examples: string;
  readonly gradingSystem: string;
  readonly grading: string;
  /** arXiv 2511.00222: prompts of the three consistencies. */
  readonly consistency: Readonly<Record<(typeof PROMPTS)[number], string>>;
};

const PROMPTS = [
  ...(['combined_prompt_consistency', 'index_consistency'] as const),
  ...(['backstory_test', 'answer_backstory', 'grade_backstory'] as const),
];

/** Maximum duration of a git command, in milliseconds. Fetches a few small files. */
const FETCH_MS_MAX = 120_000;

/** A repository of a judge cannot be fetched. The message has one line. */
export class JudgesMissing extends Error {}

/** Fetches both repositories once into the cache and reads the texts. Throws `JudgesMissing`. */
export async function judgeFiles(): Promise<JudgeFiles> {
  const gym = await fetched(PERSONA_GYM);
  const consistent = await fetched(CONSISTENT_LLMS);
  const text = async (path: string) => await readFile(join(gym, path), 'utf8');
  const rubrics = await Promise.all(
    RUBRICS.map(async (task) => [task, await text(`rubrics/${task}.txt`)] as const),
  );
  const prompts = await readFile(join(consistent, 'config/eval_prompts.json'), 'utf8');
  return {
    rubrics: Object.fromEntries(rubrics) as JudgeFiles['rubrics'],
    example: await text('prompts/score_examples/prompt.txt'),
    examples: await text('prompts/score_examples/parallel_examples.txt'),
    gradingSystem: await text('prompts/rubric_grading/sys_prompt.txt'),
    grading: await text('prompts/rubric_grading/prompt.txt'),
    consistency: JSON.parse(prompts) as JudgeFiles['consistency'],
  };
}

type Repository = {
  readonly name: string;
  readonly url: string;
  readonly commit: string;
  readonly paths: readonly string[];
};

/** Folder with the named paths of a repository at its pinned commit, without other files. */
async function fetched({ name, url, commit, paths }: Repository): Promise<string> {
  return await installOnce(`judge-${name}-${commit.slice(0, 12)}`, async (folder) => {
    for (const args of [
      ['init', '--quiet'],
      ['remote', 'add', 'origin', url],
      ['fetch', '--quiet', '--depth=1', '--filter=blob:none', 'origin', commit],
      ['checkout', '--quiet', 'FETCH_HEAD', '--', ...paths],
    ]) {
      const { isOk, output } = await runProgram({
        ...{ program: 'git', args, folder, msMax: FETCH_MS_MAX },
        // Never ask for a password: a missing repository is an error.
        env: { GIT_TERMINAL_PROMPT: '0' },
      });
      if (!isOk) throw new JudgesMissing(`cannot fetch ${url}: ${lastLine(output) || 'timeout'}`);
    }
  });
}
