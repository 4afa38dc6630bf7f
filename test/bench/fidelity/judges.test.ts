import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Dialogue } from '#bench/fidelity/dialogue';
import type { JudgeFiles } from '#bench/fidelity/judge-files';
import { type Ask, Judge, SCORES, spread } from '#bench/fidelity/judges';

/** Stand-ins with the placeholders of the published files, which git fetches. */
const FILES: JudgeFiles = {
  rubrics: {
    'Expected Action': 'ACT {persona}|{question}|{response}|{score_example}',
    'Action Justification': 'WHY {persona}|{question}|{response}|{score_example}',
    'Linguistic Habits': 'TALK {persona}|{question}|{response}|{score_example}',
    'Persona Consistency': 'BE {persona}|{question}|{response}|{score_example}',
    Toxicity: 'TOX {persona}|{question}|{response}|{score_example}',
  },
  example: 'EXAMPLE {persona}|{question}|{rubric}',
  examples: 'EXAMPLES {rubrics}',
  gradingSystem: 'JUDGE',
  grading: 'GRADE {rubrics}',
  consistency: {
    combined_prompt_consistency: 'P2L %SCENARIO_DESC%|%SPEAKER_BACKSTORY%|%SPEAKER_LINE%',
    index_consistency: 'L2L %SPEAKER_ROLE%|%CONVERSATION%|%SPEAKER_LINE%',
    backstory_test: 'TEST %SPEAKER_BACKSTORY%|%PREVIOUS_QUESTIONS%',
    answer_backstory: 'ANSWER %SPEAKER_BACKSTORY%|%CONVERSATION%|%BACKSTORY_QUESTION%',
    grade_backstory: 'MARK %GIVEN_ANSWER%|%CORRECT_ANSWER%',
  },
};

/** A dialogue whose agent says these messages. */
function dialogueOf(messages: readonly string[]): Dialogue {
  const turns = messages.map((message, turn) => ({
    ...{ block: 0, request: `ask {persona} ${turn}`, message, actions: [], isAnswered: true },
    ...{ allowed: [], forbidden: [], expressiveness: 'low', promptTokens: 1 },
    ...{ contractTokens: 1, engineMs: 1, turnMs: 1 },
  }));
  const facts = { persona: 'p', description: 'Ada %SPEAKER_LINE%', work: 'coding' } as const;
  return { ...facts, seed: 1, repeat: 1, arm: 'engine', turns };
}

const EXAMPLES =
  'Rubric 1 Examples:\nScore 1:  Response - "bad"\n\nScore 5: Response - good\nRubric 2 Examples:\nScore 3: Response - "so so"';

/** A scripted judge. Answers by the first word of the prompt, and keeps all prompts. */
function scripted(answers: Readonly<Record<string, string | (() => string)>>) {
  const asked: string[] = [];
  const ask: Ask = async ({ system = '', user }) => {
    asked.push(system + user);
    const answer = answers[/^[A-Z0-9]+/.exec(user)?.[0] ?? ''] ?? '';
    return typeof answer === 'string' ? answer : answer();
  };
  const of = (word: string) => asked.filter((prompt) => prompt.startsWith(word));
  return { ask, asked, of };
}

const judge = suite('a judge');

judge(
  'grades with the rubric, and leaves out evaluations without a score from 1 to 5',
  async () => {
    const grade =
      '(1) Evaluation: fine. Therefore, the final score is 4.\n(2) Evaluation: I cannot say.\n' +
      '(3) Evaluation: Therefore, the final score is 9\n(4) Evaluation: Therefore, the final score is\n2';
    const model = scripted({ EXAMPLES, GRADE: grade });
    const scores = await new Judge(FILES, model.ask, 2).judge(dialogueOf(['yes {x}', 'no']));
    for (const name of SCORES.slice(0, 5)) assert.equal(scores[name], [6, 2], name);
    assert.equal(Object.keys(scores), [...SCORES]);
  },
);

judge('gives each rubric its own examples, and inserts texts with braces unchanged', async () => {
  const model = scripted({ EXAMPLES });
  await new Judge(FILES, model.ask, 2).judge(dialogueOf(['yes {x}', 'no']));
  const [first = ''] = model.of('JUDGEGRADE');
  const [one = '', other = ''] = JSON.parse(first.slice('JUDGEGRADE '.length));
  assert.is(
    one,
    'ACT Ada %SPEAKER_LINE%|ask {persona} 0|yes {x}|Score 1: "bad"\n\nScore 5: "good"',
  );
  assert.is(other, 'ACT Ada %SPEAKER_LINE%|ask {persona} 1|no|Score 3: "so so"');
});

judge('counts a line as consistent unless the answer has YES', async () => {
  const answers = ['It fits. NO', 'It contradicts. YES', 'yes, it fits', ''];
  const model = scripted({ P2L: () => answers.shift() ?? '' });
  const scores = await new Judge(FILES, model.ask, 4).judge(dialogueOf(['a', 'b', 'c', 'd']));
  assert.equal(scores['prompt-to-line consistency'], [3, 4]);
  assert.is(
    model.of('P2L')[1],
    'P2L A dialogue during coding work.|Ada %SPEAKER_LINE%|the assistant: b\n',
  );
});

judge('counts conflicts only with earlier lines of the agent', async () => {
  // Lines 0 and 2 are the user's. A list that is not of numbers counts nothing.
  const answers = ['None. []', 'Conflicts: [0, 1, 3]', 'See [index1] and [1]'];
  const model = scripted({ L2L: () => answers.shift() ?? '' });
  const scores = await new Judge(FILES, model.ask, 4).judge(dialogueOf(['a', 'b', 'c', 'd']));
  // The lines 3, 5 and 7 have 1 + 2 + 3 earlier lines of the agent.
  assert.equal(scores['line-to-line consistency'], [4, 6]);
  assert.match(model.of('L2L')[0] ?? '', '1: the assistant: a\n2: the user: ask {persona} 1\n|');
});

judge('asks the same five questions about a persona in every dialogue', async () => {
  let number = 0;
  const model = scripted({
    TEST: () => {
      number += 1;
      return `Sure. Question: which? ${number} Answer: b`;
    },
    ANSWER: 'I say b',
    MARK: () => (number % 2 === 1 ? 'Yes.' : 'NO'),
  });
  const asking = new Judge(FILES, model.ask, 2);
  const scores = await asking.judge(dialogueOf(['a', 'b']));
  await asking.judge(dialogueOf(['c', 'd']));
  assert.is(model.of('TEST').length, 5);
  assert.match(
    model.of('TEST')[4] ?? '',
    'already been asked:\nQuestion: which? 1 Question: which? 2',
  );
  assert.equal(scores['Q&A consistency'], [10, 10]);
  assert.is(model.of('MARK')[0], 'MARK I say b|Answer: b');
  assert.match(
    model.of('ANSWER')[0] ?? '',
    '|the user: ask {persona} 0\nthe assistant: a\n|Question',
  );
});

judge('reads turns that are spread over the dialogue, to the end', () => {
  assert.equal(spread(120, 5), [23, 47, 71, 95, 119]);
  assert.equal(spread(2, 5), [0, 1]);
  assert.equal(spread(0, 5), []);
});

judge.run();
